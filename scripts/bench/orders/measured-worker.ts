/** Role `worker` that a bench asks for the memory of its live objects. Needs the option `--expose-gc` of Node. */

process.on("message", () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
await import("../../worker.js");

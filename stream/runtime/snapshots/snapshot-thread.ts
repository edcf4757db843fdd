/** Snapshots on a thread of their own: the end in the worker, and the end in the thread. */

import { type MessagePort, Worker as Thread } from "node:worker_threads";
import { CorruptLog } from "../../log/packing.js";
import type { SnapshotRequest, Snapshots, SnapshotTaken } from "./snapshots.js";

/** Message to the thread: a request, or a call of `hurry`. */
type Asked = { readonly id: number; readonly request: SnapshotRequest } | { readonly hurryMoves: boolean };

/** Message from the thread. */
interface Answered {
  readonly id: number;
  readonly taken?: SnapshotTaken | undefined;
  readonly failure?: { readonly message: string; readonly isCorrupt: boolean } | undefined;
}

interface Waiting {
  readonly resolve: (taken: SnapshotTaken | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** Serves the requests of a worker in its thread. */
export function serveSnapshots(port: MessagePort, snapshots: Snapshots): void {
  port.on("message", (asked: Asked) => {
    if ("hurryMoves" in asked) {
      snapshots.hurry(asked.hurryMoves);
      return;
    }
    const { id, request } = asked;
    const answer = (answered: Answered): void => port.postMessage(answered);
    snapshots.take(request).then(
      (taken) => answer({ id, taken }),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        answer({ id, failure: { message, isCorrupt: error instanceof CorruptLog } });
      },
    );
  });
}

/** Asks a thread for snapshots. A thread that has ended is started again for the next one. */
export class SnapshotThread implements Snapshots {
  readonly #start: () => Thread;
  #thread: Thread | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #closed = false;

  /** `entry` is the module that calls `serveSnapshots`; it gets `data` as its `workerData`. */
  constructor(entry: URL, data: unknown) {
    this.#start = () => startThread(entry, data);
  }

  take(request: SnapshotRequest): Promise<SnapshotTaken | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const thread = (this.#thread ??= this.#started());
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      thread.postMessage({ id, request } satisfies Asked);
    });
  }

  hurry(isForMove: boolean): void {
    this.#thread?.postMessage({ hurryMoves: isForMove } satisfies Asked);
  }

  #started(): Thread {
    const thread = this.#start();
    thread.on("message", (answered: Answered) => this.#answered(answered));
    thread.on("error", (error) => this.#ended(thread, error));
    thread.on("exit", () => this.#ended(thread, new Error("the thread of the snapshots has ended")));
    return thread;
  }

  #answered({ id, taken, failure }: Answered): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (failure === undefined) waiting?.resolve(taken);
    else waiting?.reject(failure.isCorrupt ? new CorruptLog(failure.message) : new Error(failure.message));
  }

  #ended(thread: Thread, error: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.terminate();
  }
}

/** Starts a thread. A source module, which only tests run, needs a loader of its own in the thread. */
function startThread(entry: URL, workerData: unknown): Thread {
  if (!entry.pathname.endsWith(".ts")) return new Thread(entry, { workerData });
  const source = `import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(entry.href)});
  });`;
  return new Thread(source, { eval: true, workerData });
}

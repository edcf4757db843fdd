import type { ChildProcess } from "node:child_process";
import { scryptSync } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import os from "node:os";
import { expect } from "chai";
import { ScryptProcesses, type ScryptInput } from "../../../../http/auth/passwords/scrypt.js";
import { until } from "../../../support/until.js";

const input = (password: string, N = 1_024): ScryptInput => ({
  password,
  salt: Buffer.from("salt"),
  bytes: 32,
  options: { N, r: 8, p: 1, maxmem: 2 ** 28 },
});

/** Calls `listener` with each process that is started, until the returned function is called. */
function onStart(listener: (child: ChildProcess) => void): () => void {
  const onMessage = (message: unknown): void => listener((message as { process: ChildProcess }).process);
  subscribe("child_process", onMessage);
  return () => unsubscribe("child_process", onMessage);
}

describe("the processes of scrypt", () => {
  it("compute the hashes of node:crypto, several at once and one after the other", async () => {
    const processes = new ScryptProcesses();
    const hashOf = ({ password, salt, bytes, options }: ScryptInput): string =>
      scryptSync(password, salt, bytes, options).toString("hex");
    for (const names of [["a", "b", "c"], ["d"], ["e"]]) {
      const hashes = await Promise.all(names.map((name) => processes.hash(input(name))));
      expect(hashes.map((hash) => hash.toString("hex"))).to.deep.equal(
        names.map((name) => hashOf(input(name))),
      );
    }
  });

  it("reject what scrypt refuses, and go on", async () => {
    const processes = new ScryptProcesses();
    const error: unknown = await processes.hash(input("a", 1_000)).catch((refused: unknown) => refused);
    expect(error).to.be.instanceOf(Error);
    expect(await processes.hash(input("a"))).to.have.length(32);
  });

  it("that end without work, or with it, lose no hash", async () => {
    const started: ChildProcess[] = [];
    const kill = async (child: ChildProcess | undefined): Promise<void> => {
      const exited = child === undefined ? undefined : once(child, "exit");
      child?.kill("SIGKILL");
      await exited;
    };
    const stop = onStart((child) => started.push(child));
    try {
      const processes = new ScryptProcesses();
      await processes.hash(input("a"));
      await kill(started.at(-1));
      const afterIt = await processes.hash(input("b"));
      const ending = kill(started.at(-1));
      const meanwhile = await processes.hash(input("b"));
      await ending;
      const [before, hashing] = [started.length, processes.hash(input("b", 2 ** 15))];
      await kill(started.at(-1));
      expect(await hashing).to.have.length(32);
      expect(meanwhile.equals(afterIt)).to.equal(true);
      expect([before, started.length], "each has one follower").to.deep.equal([3, 4]);
    } finally {
      stop();
    }
  });

  it("end when a hash takes too long, which is rejected", async () => {
    const exits: Promise<unknown>[] = [];
    const stop = onStart((child) => exits.push(once(child, "exit")));
    try {
      const slow = input("a", 2 ** 14);
      const hashing = new ScryptProcesses(50).hash({ ...slow, options: { ...slow.options, p: 200 } });
      const error: unknown = await hashing.catch((refused: unknown) => refused);
      expect(String(error)).to.equal("Error: a hash took longer than 50 ms");
      expect(exits).to.have.length(1);
      await Promise.all(exits);
    } finally {
      stop();
    }
  });

  it("end with the process that has started them", async () => {
    const started: ChildProcess[] = [];
    const stop = onStart((child) => started.push(child));
    await new ScryptProcesses().hash(input("a"));
    stop();
    const [child] = started;
    if (child === undefined) throw new Error("no process was started");
    const exited = once(child, "exit");
    // The channel of a process that was killed is closed too.
    child.disconnect();
    await exited;
  });

  it("have a lower priority than the event loop", async function () {
    if (process.platform !== "linux") this.skip();
    const started: ChildProcess[] = [];
    const stop = onStart((child) => started.push(child));
    const hashing = new ScryptProcesses().hash(input("a", 2 ** 16));
    stop();
    const pid = started[0]?.pid ?? 0;
    expect(pid).to.be.above(0);
    await until(() => os.getPriority(pid) > os.getPriority());
    await hashing;
  });
});

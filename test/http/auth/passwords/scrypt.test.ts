import { spawnSync } from "node:child_process";
import { scryptSync } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import os from "node:os";
import type { Worker as Thread } from "node:worker_threads";
import { expect } from "chai";
import { ScryptThreads, type ScryptInput } from "../../../../http/auth/passwords/scrypt.js";
import { until } from "../../../support/until.js";

const input = (password: string, N = 1_024): ScryptInput => ({
  password,
  salt: Buffer.from("salt"),
  bytes: 32,
  options: { N, r: 8, p: 1, maxmem: 2 ** 28 },
});

/** Policy of threads that run only while nothing else wants their core, in the statuses of Linux. */
const SCHED_IDLE = "5";

/** Returns the number of threads of this process that have this policy. */
function threadsOfClassIdle(): number {
  if (process.platform !== "linux") return 0;
  return readdirSync("/proc/self/task").filter((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, "latin1");
    // The name of the program stands in brackets; the policy is the 41st field, and the state behind the name the third.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[38] === SCHED_IDLE;
  }).length;
}

describe("the threads of scrypt", () => {
  it("compute the hashes of node:crypto, several at once and one after the other", async () => {
    const threads = new ScryptThreads();
    const hashOf = ({ password, salt, bytes, options }: ScryptInput): string =>
      scryptSync(password, salt, bytes, options).toString("hex");
    for (const names of [["a", "b", "c"], ["d"], ["e"]]) {
      const hashes = await Promise.all(names.map((name) => threads.hash(input(name))));
      expect(hashes.map((hash) => hash.toString("hex"))).to.deep.equal(
        names.map((name) => hashOf(input(name))),
      );
    }
  });

  it("reject what scrypt refuses, and go on", async () => {
    const threads = new ScryptThreads();
    const error: unknown = await threads.hash(input("a", 1_000)).catch((refused: unknown) => refused);
    expect(error).to.be.instanceOf(Error);
    expect(await threads.hash(input("a"))).to.have.length(32);
  });

  it("that end without work, or with it, lose no hash", async () => {
    const started: Thread[] = [];
    const onThread = (thread: Thread): unknown => started.push(thread);
    process.on("worker", onThread);
    try {
      const threads = new ScryptThreads();
      await threads.hash(input("a"));
      await started.at(-1)?.terminate();
      const afterIt = await threads.hash(input("b"));
      const ending = started.at(-1)?.terminate();
      const meanwhile = await threads.hash(input("b"));
      await ending;
      const [before, hashing] = [started.length, threads.hash(input("b", 2 ** 15))];
      await started.at(-1)?.terminate();
      expect(await hashing).to.have.length(32);
      expect(meanwhile.equals(afterIt)).to.equal(true);
      expect([before, started.length], "each has one follower").to.deep.equal([3, 4]);
    } finally {
      process.off("worker", onThread);
    }
  });

  it("end when a hash takes too long, which is rejected", async () => {
    const started = once(process, "worker") as Promise<[Thread]>;
    const threads = new ScryptThreads(50);
    const slow = input("a", 2 ** 14);
    const hashing = threads.hash({ ...slow, options: { ...slow.options, p: 20 } });
    const [thread] = await started;
    const exited = once(thread, "exit");
    const error: unknown = await hashing.catch((refused: unknown) => refused);
    expect(String(error)).to.equal("Error: a hash took longer than 50 ms");
    await exited;
  });

  it("that are patient give way to every other one, and get help from an urgent one after a time", async function () {
    this.timeout(30_000);
    const started: Thread[] = [];
    const onThread = (thread: Thread): unknown => started.push(thread);
    process.on("worker", onThread);
    try {
      const before = threadsOfClassIdle();
      const threads = new ScryptThreads(30_000, 1);
      const [hash] = await Promise.all(
        Array.from({ length: 4 }, () => threads.hash(input("a", 2 ** 12), true)),
      );
      expect(started, "three patient ones and an urgent one").to.have.length(4);
      if (process.platform === "linux" && spawnSync("chrt", ["--version"]).status === 0)
        expect(threadsOfClassIdle() - before).to.equal(3);
      const impatient = new ScryptThreads(30_000, 0);
      expect((await impatient.hash(input("a", 2 ** 12), true)).equals(hash ?? Buffer.of())).to.equal(true);
      expect(started, "two that compute the same").to.have.length(6);
    } finally {
      process.off("worker", onThread);
    }
  });

  it("have a lower priority than the event loop", async function () {
    if (process.platform !== "linux") this.skip();
    const own = os.getPriority(process.pid);
    const lower = (): number =>
      readdirSync("/proc/self/task").filter((thread) => os.getPriority(Number(thread)) > own).length;
    const hashing = new ScryptThreads().hash(input("a", 2 ** 16));
    await until(() => lower() > 0);
    await hashing;
  });
});

import { scryptSync } from "node:crypto";
import { readdirSync } from "node:fs";
import os from "node:os";
import { expect } from "chai";
import { ScryptThreads, type ScryptInput } from "../../../../http/auth/passwords/scrypt.js";
import { until } from "../../../support/until.js";

const input = (password: string, N = 1_024): ScryptInput => ({
  password,
  salt: Buffer.from("salt"),
  bytes: 32,
  options: { N, r: 8, p: 1, maxmem: 2 ** 28 },
});

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

import { expect } from "chai";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { type AofScan, scanAof } from "../../../scripts/embedded/aof-scan.js";
import { lastAofFile, repairAof } from "../../../scripts/embedded/aof-repair.js";
import { findRedis } from "../../../scripts/embedded/redis-binary.js";
import { embeddedRedisUrl, startRedis } from "../../../scripts/embedded/redis.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { programPath } from "../../../scripts/config.js";
import { programOf } from "../../support/run/program.js";
import { cacheDir } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

/** Real starts of Redis on torn files; CI makes a few, `TORN_STARTS=20` more. */
const STARTS = Number(process.env["TORN_STARTS"] ?? 4);
const ROOT = path.join(import.meta.dirname, "..", "..", "..");

/** Commits like those of the log: one script that writes an entry and the head that belongs to it. */
const COMMIT = `
  redis.call('XADD', KEYS[1], ARGV[1] .. '-0', 'e', ARGV[2])
  redis.call('HSET', KEYS[2], 'seq', ARGV[1])
  redis.call('SET', KEYS[3], ARGV[1])`;

/** State and size of the append-only file after a write that Redis has acknowledged. */
interface Step {
  readonly size: number;
  readonly state: string;
}

function start(dataDir: string, said: string[] = []): Promise<RunningServer> {
  const quiet = (): void => undefined;
  return startRedis({ dataDir, cacheDir, log: quiet, say: (line) => said.push(line), fsync: "always" });
}

async function onRedis<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { retryStrategy: () => null });
  client.on("error", () => undefined);
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

async function stateOf(client: Redis): Promise<string> {
  return JSON.stringify([
    await client.xrange("deltas", "-", "+"),
    await client.hgetall("head"),
    await client.get("seq"),
    await client.lrange("list", 0, -1),
  ]);
}

async function commit(client: Redis, seq: number, body: string): Promise<void> {
  await client.eval(COMMIT, 3, "deltas", "head", "seq", seq, body);
}

/** Writes a file with a real Redis, in commits that contain every special byte of the format. */
async function written(
  dataDir: string,
): Promise<{ readonly bytes: Buffer; readonly steps: readonly Step[] }> {
  const server = await start(dataDir);
  const file = path.join(dataDir, "redis", "appendonlydir", "appendonly.aof.1.incr.aof");
  const steps: Step[] = [{ size: 0, state: "[[],{},null,[]]" }];
  await onRedis(server.url, async (client) => {
    const writes = [
      () => commit(client, 1, "first"),
      () => client.rpush("list", "alone"),
      () => commit(client, 2, "*1\r\n$4\r\nEXEC\r\n"),
      () => client.multi().rpush("list", "MULTI", "EXEC").set("seq", "\0\r\n*").exec(),
      () => client.rpush("list", "MULTI"),
      () => commit(client, 3, "x".repeat(300)),
    ];
    for (const write of writes) {
      await write();
      steps.push({ size: fs.statSync(file).size, state: await stateOf(client) });
    }
  });
  await server.stop();
  return { bytes: fs.readFileSync(file), steps };
}

function inspect(file: string): Promise<AofScan> {
  return scanAof([fs.readFileSync(file)]);
}

function scanIn(bytes: Uint8Array, chunkBytes: number): Promise<AofScan> {
  const chunks = [];
  for (let from = 0; from < bytes.length; from += chunkBytes)
    chunks.push(bytes.subarray(from, from + chunkBytes));
  return scanAof(chunks);
}

function lastStepWithin(steps: readonly Step[], size: number): Step {
  const step = steps.findLast((each) => each.size <= size);
  if (step === undefined) throw new Error("the first step has size 0");
  return step;
}

describe("the torn tail of an append-only file", function () {
  this.timeout(60_000 + STARTS * 4_000);

  it("is cut after the last whole commit, wherever in the file it begins", () =>
    inTemporaryDirectory(async (dataDir) => {
      const { bytes, steps } = await written(dataDir);
      for (let size = 0; size <= bytes.length; size++) {
        // The SELECT that Redis writes first is a whole command too.
        const atLeast = lastStepWithin(steps, size).size;
        const select = size >= 23 && atLeast === 0 ? 23 : atLeast;
        for (const chunkBytes of [1, 7, 1_000_000]) {
          const scan = await scanIn(bytes.subarray(0, size), chunkBytes);
          expect(scan, `cut at ${size}`).to.deep.equal({ size, keep: select, torn: true, nested: [] });
        }
      }
    }));

  it("may end in zeros that the file system has not overwritten", () =>
    inTemporaryDirectory(async (dataDir) => {
      const { bytes, steps } = await written(dataDir);
      const from = steps.at(-4)?.size ?? 0;
      for (let size = from; size < bytes.length; size++) {
        const zeros = Buffer.concat([bytes.subarray(0, size), Buffer.alloc(5_000)]);
        const { keep, torn } = await scanIn(zeros, 4_096);
        expect({ keep, torn }, `zeros from ${size}`).to.deep.equal({
          keep: lastStepWithin(steps, size).size,
          torn: true,
        });
      }
    }));

  it("is no tail when valid commands may follow it", async () => {
    const set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n";
    for (const damage of [
      "nonsense",
      "*x\r\n",
      "*2\r\n$1\r\nabc",
      `${"\0".repeat(20)}*`,
      "*0\r\n",
      "$3\r\n",
    ]) {
      const { keep, torn } = await scanAof([Buffer.from(`${set}${damage}${set}`)]);
      expect({ keep, torn }, damage).to.deep.equal({ keep: set.length, torn: false });
    }
  });

  it("passes over annotations and reports a transaction that another one follows", async () => {
    const [multi, exec, get] = ["*1\r\n$5\r\nmulti\r\n", "*1\r\n$4\r\nEXEC\r\n", "*1\r\n$4\r\nPING\r\n"];
    const whole = `#TS:1700000000\r\n${multi}${get}${multi}${get}${exec}`;
    expect(await scanAof([Buffer.from(`${whole}#TS:17`)])).to.deep.equal({
      size: whole.length + 6,
      keep: whole.length,
      torn: true,
      nested: [{ from: 16, to: 16 + multi.length + get.length, isExecuted: false }],
    });
  });

  it("takes the commands after a SELECT for those of the next start, unless the transaction ends", async () => {
    const [multi, exec] = ["*1\r\n$5\r\nMULTI\r\n", "*1\r\n$4\r\nEXEC\r\n"];
    const [select, get] = ["*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", "*2\r\n$3\r\nGET\r\n$6\r\nSELECT\r\n"];
    const nestedIn = async (text: string) => (await scanAof([Buffer.from(text)])).nested;
    const half = `${multi}${select}${get}`;
    const next = `${multi}${get}${exec}`;
    const found = { from: 0, to: half.length, isExecuted: false };
    expect(await nestedIn(`${half}${select}${get}${next}`)).to.deep.equal([found]);
    expect(await nestedIn(`${half}${multi}${select}${get}${exec}`)).to.deep.equal([found]);
    expect(await nestedIn(`${half}${select}${get}${exec}${next}`)).to.deep.equal([]);
    const executed = [{ ...found, isExecuted: true }];
    expect(await nestedIn(`${half}${select}${next}${select}${next}`)).to.deep.equal(executed);
    const first = `${multi}${select}${get}${exec}`;
    expect(await nestedIn(`${half}${first}${select}${next}${select}`)).to.deep.equal(executed);
    expect(await nestedIn(`${half}${select}${get}${select}${next}`)).to.deep.equal(executed);
  });

  it("keeps the commands of the next start after a MULTI alone", async () => {
    const [multi, exec] = ["*1\r\n$5\r\nMULTI\r\n", "*1\r\n$4\r\nEXEC\r\n"];
    const [select, get] = ["*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"];
    const nestedIn = async (text: string) => (await scanAof([Buffer.from(text)])).nested;
    const next = `${multi}${get}${exec}`;
    const found = { from: 0, to: multi.length, isExecuted: false };
    expect(await nestedIn(`${multi}${select}${get}${next}${next}`)).to.deep.equal([found]);
    expect(await nestedIn(`${multi}${multi}${select}${get}${exec}`)).to.deep.equal([found]);
    expect(
      await nestedIn(`${multi}${select}${get}${next}${select}${get}`),
      "after another start",
    ).to.deep.equal([{ ...found, isExecuted: true }]);
    const own = { from: 0, to: `${multi}${select}${get}`.length, isExecuted: false };
    expect(await nestedIn(`${multi}${select}${get}${multi}${select}${get}${exec}`)).to.deep.equal([own]);
  });

  it("takes an annotation inside of a transaction for no command", async () => {
    const [multi, exec, get] = ["*1\r\n$5\r\nMULTI\r\n", "*1\r\n$4\r\nEXEC\r\n", "*1\r\n$4\r\nPING\r\n"];
    const whole = `${multi}#TS:1700000000\r\n${get}${exec}#TS:1700000001\r\n`;
    expect(await scanAof([Buffer.from(whole)])).to.deep.equal({
      size: whole.length,
      keep: whole.length,
      torn: true,
      nested: [],
    });
  });

  it("is gone although Redis has cut it inside its transaction and has written since", () =>
    inTemporaryDirectory(async (dataDir) => {
      const { bytes, steps } = await written(dataDir);
      const redis = path.join(dataDir, "redis");
      const file = lastAofFile(redis) ?? "";
      fs.truncateSync(file, bytes.length - 20);
      // Starts Redis as a service manager does, without a repair.
      const config = path.join(redis, "redis.conf");
      fs.writeFileSync(
        config,
        fs.readFileSync(config, "utf8").replace("aof-load-truncated no", "aof-load-truncated yes"),
      );
      const { command, env } = findRedis({
        serverBin: undefined,
        programPath: programPath(),
        cacheDir,
        log: () => undefined,
      });
      const alone = spawn(command, [config], {
        cwd: redis,
        env: { ...process.env, ...env },
        stdio: "ignore",
      });
      const ended = new Promise((resolve) => alone.on("exit", resolve));
      const url = embeddedRedisUrl(dataDir) ?? expect.fail("Redis has no record");
      await until(() => onRedis(url, (client) => client.ping()));
      const expected = await onRedis(url, async (client) => {
        expect(await stateOf(client)).to.equal(steps.at(-2)?.state);
        await client.rpush("list", "after the cut");
        await commit(client, 9, "after the cut");
        return stateOf(client);
      });
      alone.kill("SIGTERM");
      await ended;
      expect((await inspect(file)).nested).to.have.length(1);

      const said: string[] = [];
      const server = await start(dataDir, said);
      expect(await onRedis(server.url, stateOf)).to.equal(expected);
      await server.stop();
      expect(said.join("\n")).to.match(/has half of a transaction from byte \d+ to byte \d+/);
      expect((await inspect(file)).nested).to.deep.equal([]);
      const [removed = ""] = fs.readdirSync(path.dirname(file)).filter((name) => name.includes(".cut-"));
      expect(fs.readFileSync(path.join(path.dirname(file), removed), "latin1")).to.match(
        /^\*1\r\n\$5\r\nMULTI/,
      );
    }));

  it(`is gone when the embedded Redis starts, and later commits are whole (${STARTS} starts)`, () =>
    inTemporaryDirectory(async (directory) => {
      const first = path.join(directory, "first");
      const { bytes, steps } = await written(first);
      const from = steps.at(-4)?.size ?? 0;
      for (let index = 0; index < STARTS; index++) {
        // The first cut is inside the last commit, the second just after its MULTI; the others are spread evenly.
        const spread = from + 1 + Math.floor(((bytes.length - from - 1) * index) / STARTS);
        const size = [bytes.length - 20, (steps.at(-2)?.size ?? 0) + 15][index] ?? spread;
        const dataDir = path.join(directory, `cut-${index}`);
        fs.cpSync(first, dataDir, { recursive: true });
        const file = lastAofFile(path.join(dataDir, "redis")) ?? "";
        fs.truncateSync(file, size);
        const said: string[] = [];
        const expected = lastStepWithin(steps, size);
        const server = await start(dataDir, said);
        const afterCommit = await onRedis(server.url, async (client) => {
          expect(await stateOf(client), `cut at ${size}`).to.equal(expected.state);
          await commit(client, 9, "after the repair");
          return stateOf(client);
        });
        await server.stop();
        const again = await start(dataDir);
        expect(await onRedis(again.url, stateOf), `second start after a cut at ${size}`).to.equal(
          afterCommit,
        );
        await again.stop();
        const kept = fs.readdirSync(path.dirname(file)).filter((name) => name.includes(".cut-"));
        expect(kept.length).to.equal(size === expected.size ? 0 : 1);
        for (const name of kept) {
          const removed = fs.readFileSync(path.join(path.dirname(file), name));
          expect(removed.equals(bytes.subarray(expected.size, size))).to.equal(true);
          expect(said.join("\n")).to.include(
            `${size - expected.size} of ${size} bytes, from byte ${expected.size}`,
          );
          expect(said.join("\n")).to.include(name);
        }
      }
    }));

  it("leaves the removed bytes of the last ten cuts", () =>
    inTemporaryDirectory(async (directory) => {
      const file = path.join(directory, "appendonly.aof.1.incr.aof");
      const removed: string[] = [];
      for (let cut = 0; cut < 12; cut++) {
        fs.writeFileSync(file, `*1\r\n$${cut + 10}\r\n`);
        await repairAof(file, { say: (line) => removed.push(line), cuts: true });
        await sleep(2);
      }
      const names = removed.flatMap((line) => /removed bytes are in (\S+)/.exec(line)?.[1] ?? []);
      expect(names).to.have.length(12);
      expect(names.map((name) => fs.existsSync(name))).to.deep.equal(names.map((_, index) => index >= 2));
    }));

  it("is found before an empty file of a rewrite that had just begun", () =>
    inTemporaryDirectory((directory) => {
      const files = path.join(directory, "appendonlydir");
      fs.mkdirSync(files);
      expect(lastAofFile(directory)).to.equal(undefined);
      fs.writeFileSync(
        path.join(files, "appendonly.aof.manifest"),
        "file a.1.base.rdb seq 1 type b\nfile a.0.incr.aof seq 0 type h\nfile a.1.incr.aof seq 1 type i\n" +
          "file a.2.incr.aof seq 2 type i startoffset 0\n",
      );
      for (const name of ["a.1.base.rdb", "a.0.incr.aof", "a.1.incr.aof"])
        fs.writeFileSync(path.join(files, name), "x");
      fs.writeFileSync(path.join(files, "a.2.incr.aof"), "");
      expect(lastAofFile(directory)).to.equal(path.join(files, "a.1.incr.aof"));
      expect(lastAofFile(files)).to.equal(path.join(files, "a.1.incr.aof"));
    }));

  it("is cut by npm run repair-aof, which only reports it in a dry run", () =>
    inTemporaryDirectory((directory) => {
      const set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n";
      const file = path.join(directory, "appendonly.aof.1.incr.aof");
      const run = (...args: string[]) => {
        const { entry, execArgv } = programOf("scripts/embedded/repair-aof.ts");
        const { status, stdout, stderr } = spawnSync(process.execPath, [...execArgv, entry, ...args], {
          cwd: ROOT,
          encoding: "utf8",
        });
        return { status, text: `${stdout}${stderr}` };
      };
      fs.writeFileSync(file, `${set}*1\r\n$5\r\nMULTI\r\n${set}`);
      const dry = run(file, "--dry-run");
      expect(dry.status).to.equal(1);
      expect(dry.text).to.include(`42 of 69 bytes, from byte 27`);
      expect(fs.statSync(file).size).to.equal(69);
      const cut = run(file);
      expect(cut.status).to.equal(0);
      expect(fs.readFileSync(file, "latin1")).to.equal(set);
      const [, removed = ""] = /removed bytes are in (\S+)/.exec(cut.text) ?? [];
      expect(fs.readFileSync(removed, "latin1")).to.equal(`*1\r\n$5\r\nMULTI\r\n${set}`);
      expect(run(file)).to.deep.equal({ status: 0, text: `${file} is whole (27 bytes)\n` });
      const exec = "*1\r\n$4\r\nEXEC\r\n";
      fs.writeFileSync(
        file,
        `${set}*1\r\n$5\r\nMULTI\r\n${set}*1\r\n$5\r\nMULTI\r\n${set}${exec}${set.slice(0, 9)}`,
      );
      expect(run(file, "--dry-run")).to.have.property("status", 1);
      expect(run(file)).to.have.property("status", 0);
      expect(fs.readFileSync(file, "latin1")).to.equal(`${set}*1\r\n$5\r\nMULTI\r\n${set}${exec}`);
      const missing = run(path.join(directory, "missing"));
      expect(missing.status).to.equal(1);
      expect(missing.text).to.match(/^repair-aof: .*missing does not exist: name an append-only file\n$/);
    }));
});

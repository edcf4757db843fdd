import { expect } from "chai";
import { Redis } from "ioredis";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { AppendOnlyFile } from "../../../scripts/embedded/append-only-file.js";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { isReachableByAll, isRoot } from "../../../scripts/embedded/reach.js";
import { readRecord, writeRecord } from "../../../scripts/embedded/record.js";
import { findRedis } from "../../../scripts/embedded/redis-binary.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { isRunning, markOf } from "../../../scripts/supervisor/identity.js";
import { cacheDir } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const quiet = (): void => undefined;

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}

async function onRedis<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null });
  client.on("error", quiet);
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}

async function listenOn(port: number): Promise<net.Server> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

async function killed(server: RunningServer): Promise<string> {
  const how = new Promise<string>((resolve) => server.onExit(resolve));
  process.kill(server.pid, "SIGKILL");
  return how;
}

describe("the embedded Postgres", () => {
  const start = (dataDir: string, more: Partial<Parameters<typeof startPostgres>[0]> = {}) =>
    startPostgres({ dataDir, log: quiet, durable: false, ...more });

  it("keeps its address and its data over a restart, also after a kill -9", () =>
    inTemporaryDirectory(async (dataDir) => {
      const first = await start(dataDir);
      await query(first.url, "CREATE TABLE bets AS SELECT 7 AS id");
      await first.stop();
      const second = await start(dataDir);
      expect(second.url).to.equal(first.url);
      expect(await killed(second)).to.equal("SIGKILL");
      const third = await start(dataDir, { keepPort: true });
      expect(third.url).to.equal(first.url);
      expect(await query(third.url, "SELECT id FROM bets")).to.deep.equal([{ id: 7 }]);
      await third.stop();
      expect(isRunning(markOf(third.pid))).to.equal(false);
    }));

  it("listens on loopback only and requires its password", () =>
    inTemporaryDirectory(async (dataDir) => {
      const server = await start(dataDir);
      const url = new URL(server.url);
      expect(await query(server.url, "SHOW listen_addresses")).to.deep.equal([
        { listen_addresses: "127.0.0.1" },
      ]);
      url.password = "wrong";
      expect(await failure(query(url.href, "SELECT 1"))).to.include("password authentication failed");
      expect(fs.statSync(path.join(dataDir, "postgres.json")).mode & 0o777).to.equal(0o600);
      await server.stop();
    }));

  it("moves to another port when a program uses its own, but not under running roles", () =>
    inTemporaryDirectory(async (dataDir) => {
      const first = await start(dataDir);
      await first.stop();
      const stranger = await listenOn(first.port);
      const said: string[] = [];
      expect(await failure(start(dataDir, { keepPort: true }))).to.equal(
        `postgres: port ${first.port} on 127.0.0.1 is taken by another program`,
      );
      const second = await start(dataDir, { say: (line) => said.push(line) });
      expect(said).to.deep.equal([
        `postgres: port ${first.port} is taken by another program; using ${second.port}`,
      ]);
      await second.stop();
      stranger.close();
    }));

  it("stops the server of a supervisor that was killed", () =>
    inTemporaryDirectory(async (dataDir) => {
      const leftover = await start(dataDir);
      const said: string[] = [];
      const server = await start(dataDir, { say: (line) => said.push(line) });
      expect(said[0]).to.equal(`postgres: stopping a server of an earlier run (process ${leftover.pid})`);
      expect(server.url).to.equal(leftover.url);
      await server.stop();
    }));

  it("removes a pid file whose process id now belongs to another program", () =>
    inTemporaryDirectory(async (dataDir) => {
      await (await start(dataDir)).stop();
      fs.writeFileSync(path.join(dataDir, "postgres", "postmaster.pid"), `${process.pid}\n`);
      const said: string[] = [];
      await (await start(dataDir, { say: (line) => said.push(line) })).stop();
      expect(said[0]).to.match(/removing a stale .*postmaster\.pid; its process \d+ is now another program/);
    }));

  it("names the remedy when the kept password is not that of the cluster", () =>
    inTemporaryDirectory(async (dataDir) => {
      await (await start(dataDir)).stop();
      const kept = readRecord(dataDir, "postgres");
      if (kept === undefined) throw new Error("there is no record");
      writeRecord(dataDir, "postgres", { ...kept, password: "another" });
      expect(await failure(start(dataDir))).to.match(
        /^postgres: the password in postgres\.json is not the password of this cluster, whose data is intact/,
      );
      const left = readRecord(dataDir, "postgres")?.process;
      expect(left !== undefined && isRunning(left)).to.equal(false);
    }));

  it("sets a new password when its record is damaged or missing, and keeps the data", () =>
    inTemporaryDirectory(async (dataDir) => {
      const first = await start(dataDir);
      await query(first.url, "CREATE TABLE bets AS SELECT 7 AS id");
      await first.stop();
      const file = path.join(dataDir, "postgres.json");
      for (const damage of [() => fs.writeFileSync(file, '{"port":2'), () => fs.rmSync(file)]) {
        damage();
        const said: string[] = [];
        const server = await start(dataDir, { say: (line) => said.push(line) });
        expect(await query(server.url, "SELECT id FROM bets")).to.deep.equal([{ id: 7 }]);
        await server.stop();
        expect(said.at(-1)).to.match(/^postgres: setting a new password for the cluster in /);
        expect(said.join("\n")).not.to.include("remove the data directory");
      }
      expect(fs.readFileSync(`${file}.damaged`, "utf8")).to.equal('{"port":2');
    }));

  it("keeps the data in another directory when that of root is below a private home", function () {
    if (!isRoot()) this.skip();
    return inTemporaryDirectory(async (home) => {
      fs.chmodSync(home, 0o700);
      const dataDir = path.join(home, "overround", ".data");
      const said: string[] = [];
      const server = await start(dataDir, { say: (line) => said.push(line) });
      await server.stop();
      const cluster = fs.realpathSync(path.join(dataDir, "postgres"));
      try {
        expect(said[0]).to.include(`the data is in ${cluster}, because`);
        expect(isReachableByAll(path.dirname(cluster))).to.equal(true);
        const again = await start(dataDir);
        expect(again.url).to.equal(server.url);
        await again.stop();
      } finally {
        fs.rmSync(path.dirname(cluster), { recursive: true });
      }
    });
  });
});

describe("the embedded Redis", () => {
  const start = (dataDir: string, more: Partial<Parameters<typeof startRedis>[0]> = {}) =>
    startRedis({ dataDir, cacheDir, log: quiet, fsync: "always", ...more });

  it("keeps its address and its data over a restart, and loses nothing in a kill -9", () =>
    inTemporaryDirectory(async (dataDir) => {
      const first = await start(dataDir);
      await onRedis(first.url, (client) => client.set("order", "7"));
      expect(await killed(first)).to.equal("SIGKILL");
      const second = await start(dataDir, { keepPort: true });
      expect(second.url).to.equal(first.url);
      expect(await onRedis(second.url, (client) => client.get("order"))).to.equal("7");
      await second.stop();
      expect(isRunning(markOf(second.pid))).to.equal(false);
    }));

  it("never evicts, appends before it answers, listens on loopback and requires its password", () =>
    inTemporaryDirectory(async (dataDir) => {
      const server = await start(dataDir);
      const setting = (name: string) => onRedis(server.url, (client) => client.call("CONFIG", "GET", name));
      expect(await setting("maxmemory-policy")).to.deep.equal(["maxmemory-policy", "noeviction"]);
      expect(await setting("appendonly")).to.deep.equal(["appendonly", "yes"]);
      expect(await setting("appendfsync")).to.deep.equal(["appendfsync", "always"]);
      expect(await setting("bind")).to.deep.equal(["bind", "127.0.0.1"]);
      expect(await setting("maxmemory")).to.satisfy(
        (value: string[]) => Number(value[1]) >= 256 * 1024 * 1024,
      );
      const stranger = `redis://127.0.0.1:${server.port}`;
      expect(await failure(onRedis(stranger, (client) => client.get("order")))).to.include("NOAUTH");
      await server.stop();
    }));

  it("bounds its append-only file by the live data", () =>
    inTemporaryDirectory(async (dataDir) => {
      const server = await start(dataDir, { fsync: "everysec" });
      const files = path.join(dataDir, "redis", "appendonlydir");
      const size = (): number =>
        fs.readdirSync(files).reduce((sum, name) => sum + fs.statSync(path.join(files, name)).size, 0);
      await onRedis(server.url, async (client) => {
        const value = Buffer.alloc(4 * 1024 * 1024, "x");
        for (let written = 0; written < 60; written++) {
          await client.set("order", value);
          // A rewrite begins within 100 ms.
          await sleep(20);
        }
      });
      await until(() => size() < 128 * 1024 * 1024);
      await server.stop();
    }));

  it("rewrites its append-only file on demand, and by itself only while it may", () =>
    inTemporaryDirectory(async (dataDir) => {
      const server = await start(dataDir, { fsync: "everysec" });
      const aof = new AppendOnlyFile(server.url, path.join(dataDir, "redis"));
      try {
        await onRedis(server.url, async (client) => {
          const value = Buffer.alloc(1024 * 1024, "x");
          for (let written = 0; written < 8; written++) await client.set("order", value);
          const before = await aof.use();
          expect(before.fileBytes).to.be.greaterThan(8 * 1024 * 1024);
          expect(before.usedBytes).to.be.within(1024 * 1024, 8 * 1024 * 1024);
          await aof.rewrite();
          await until(async () => (await aof.use()).fileBytes < before.usedBytes);
          const { fileBytes, baseBytes } = await aof.use();
          expect(baseBytes).to.equal(fileBytes);
          const percent = () => client.config("GET", "auto-aof-rewrite-percentage");
          await aof.setAutomatic(false);
          expect(await percent()).to.deep.equal(["auto-aof-rewrite-percentage", "0"]);
          await aof.setAutomatic(true);
          expect(await percent()).to.deep.equal(["auto-aof-rewrite-percentage", "100"]);
        });
      } finally {
        aof.close();
        await server.stop();
      }
    }));

  it("moves to another port when a program uses its own, but not under running roles", () =>
    inTemporaryDirectory(async (dataDir) => {
      const first = await start(dataDir);
      await first.stop();
      const stranger = await listenOn(first.port);
      expect(await failure(start(dataDir, { keepPort: true }))).to.equal(
        `redis: port ${first.port} on 127.0.0.1 is taken by another program`,
      );
      const second = await start(dataDir);
      expect(second.port).not.to.equal(first.port);
      await second.stop();
      stranger.close();
    }));

  it("names the remedy for a damaged append-only file", () =>
    inTemporaryDirectory(async (dataDir) => {
      const server = await start(dataDir);
      await onRedis(server.url, (client) => client.set("order", "7"));
      await server.stop();
      const log = path.join(dataDir, "redis", "appendonlydir", "appendonly.aof.1.incr.aof");
      fs.writeFileSync(log, `nonsense\r\n${fs.readFileSync(log, "latin1")}`);
      expect(await failure(start(dataDir))).to.match(
        /append-only file in .* is damaged before its end: .*redis-check-aof --fix/,
      );
    }));

  it("starts with its data when its record is damaged, and stops a server that still serves it", () =>
    inTemporaryDirectory(async (dataDir) => {
      const first = await start(dataDir);
      await onRedis(first.url, (client) => client.set("order", "7"));
      fs.writeFileSync(path.join(dataDir, "redis.json"), "{}");
      const said: string[] = [];
      const second = await start(dataDir, { say: (line) => said.push(line) });
      expect(isRunning(markOf(first.pid))).to.equal(false);
      expect(await onRedis(second.url, (client) => client.get("order"))).to.equal("7");
      await second.stop();
      expect(said[0]).to.match(
        /redis\.json is damaged and now named redis\.json\.damaged; the data is intact/,
      );
      expect(said[1]).to.equal(`redis: stopping a server of an earlier run (process ${first.pid})`);
    }));

  it("refuses a configured program that is not a Redis, or too old", () =>
    inTemporaryDirectory(async (directory) => {
      const old = path.join(directory, "redis-server");
      fs.writeFileSync(old, "#!/bin/sh\necho 'Redis server v=6.0.16 sha=0'\n", { mode: 0o755 });
      for (const serverBin of [old, path.join(directory, "missing")]) {
        expect(await failure(start(directory, { serverBin }))).to.equal(
          `redis: REDIS_SERVER_BIN ${serverBin} is not a Redis server of version 7 or newer that runs on this ` +
            "machine; correct the path, or unset it",
        );
      }
    }));

  it("skips a program on PATH that is too old", () =>
    inTemporaryDirectory((directory) => {
      for (const [folder, version] of [
        ["old", "6.0.16"],
        ["new", "7.2.4"],
      ] as const) {
        fs.mkdirSync(path.join(directory, folder));
        const script = `#!/bin/sh\necho 'Redis server v=${version} sha=0'\n`;
        fs.writeFileSync(path.join(directory, folder, "redis-server"), script, { mode: 0o755 });
      }
      const programPath = [path.join(directory, "old"), path.join(directory, "new")];
      const found = findRedis({ serverBin: undefined, programPath, cacheDir: directory, log: quiet });
      expect(found.version).to.equal("7.2.4");
    }));
});

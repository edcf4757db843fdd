import { expect } from "chai";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import pg from "pg";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { isRoot, NOBODY } from "../../../scripts/embedded/reach.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import { isRunning, markOf } from "../../../scripts/supervisor/identity.js";
import { cacheDir } from "../../support/servers.js";
import { readRecord, writeRecord } from "../../../scripts/embedded/record.js";
import { inTemporaryDirectory } from "../../support/temporary.js";

const quiet = (): void => undefined;

/** Connects and runs a query that lasts longer than any test, so that its process does not notice a killed server. */
async function occupy(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", quiet);
  await client.connect();
  client.query("SELECT count(*) FROM generate_series(1, 1000000000000)").catch(quiet);
}

describe("a Postgres of an earlier run that has not ended yet", function () {
  this.timeout(60_000);
  const start = (dataDir: string, said: string[] = []) =>
    startPostgres({ dataDir, log: quiet, durable: false, say: (line) => said.push(line) });

  it("is waited for when it was killed and its processes still work", () =>
    inTemporaryDirectory(async (dataDir) => {
      const killed = await start(dataDir);
      for (let count = 0; count < 3; count++) await occupy(killed.url);
      process.kill(killed.pid, "SIGKILL");
      const said: string[] = [];
      const next = await start(dataDir, said);
      expect(next.url).to.equal(killed.url);
      expect(said.at(-1)).to.match(/^postgres: waiting for the processes of a killed server on .* to end$/);
      await next.stop();
    }));

  it("is waited for when only its pid file names it", () =>
    inTemporaryDirectory(async (dataDir) => {
      const earlier = await start(dataDir);
      const { port, password } = readRecord(dataDir, "postgres") ?? { port: 0, password: "" };
      writeRecord(dataDir, "postgres", { port, password });
      setTimeout(() => process.kill(earlier.pid, "SIGINT"), 1_000);
      const next = await start(dataDir);
      expect(next.pid).not.to.equal(earlier.pid);
      await next.stop();
    }));
});

describe("a copy of the data directory of a running set", function () {
  this.timeout(60_000);

  it("starts its own servers and leaves those of the original alone", () =>
    inTemporaryDirectory(async (directory) => {
      fs.chmodSync(directory, 0o755);
      const [original, copy] = [path.join(directory, "original"), path.join(directory, "copy")];
      const startBoth = (dataDir: string) =>
        Promise.all([
          startPostgres({ dataDir, log: quiet, durable: false }),
          startRedis({ dataDir, log: quiet, cacheDir, fsync: "always" }),
        ]);
      const first = await startBoth(original);
      fs.cpSync(original, copy, { recursive: true, preserveTimestamps: true });
      if (isRoot()) execFileSync("chown", ["-R", `${NOBODY.uid}:${NOBODY.gid}`, path.join(copy, "postgres")]);
      fs.chmodSync(path.join(copy, "postgres"), 0o700);
      const second = await startBoth(copy);
      for (const { pid } of [...first, ...second]) expect(isRunning(markOf(pid))).to.equal(true);
      expect(new Set([...first, ...second].map(({ port }) => port)).size).to.equal(4);
      await Promise.all([...first, ...second].map((server) => server.stop()));
    }));

  it("does not start on the original's data when only the link to it was copied", function () {
    if (!isRoot()) this.skip();
    return inTemporaryDirectory(async (directory) => {
      const [original, copy] = [path.join(directory, "original"), path.join(directory, "copy")];
      const server = await startPostgres({ dataDir: original, log: quiet, durable: false });
      const cluster = fs.realpathSync(path.join(original, "postgres"));
      try {
        fs.cpSync(original, copy, { recursive: true });
        const problem = await startPostgres({ dataDir: copy, log: quiet }).then(String, String);
        expect(problem).to.include(
          `${copy} is a copy, and ${path.join(copy, "postgres")} leads to the data of`,
        );
        expect(isRunning(markOf(server.pid))).to.equal(true);
      } finally {
        await server.stop();
        fs.rmSync(path.dirname(cluster), { recursive: true });
      }
    });
  });
});

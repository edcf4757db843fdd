import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startRedis } from "../../../scripts/embedded/redis.js";
import { isRunning, markOf } from "../../../scripts/supervisor/identity.js";
import { openLog } from "../../../scripts/supervisor/log.js";
import { type ProcessSet, type Server, startSet } from "../../../scripts/supervisor/supervisor.js";
import { cacheDir } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const FIXTURES = path.join(import.meta.dirname, "fixtures");
const ROLE = path.join(FIXTURES, "role.mjs");
const quiet = (): void => undefined;

interface Stage {
  readonly set: ProcessSet;
  readonly said: string[];
  readonly directory: string;
  /** What the roles did, a line each. */
  readonly journal: () => string[];
  /** What the log file holds. */
  readonly log: () => string[];
}

/** A set of stand-in roles, by name and mode, on servers that exist in name only. */
async function withSet(
  modes: Readonly<Record<string, string>>,
  use: (stage: Stage) => Promise<void>,
  redis?: (again: boolean, dataDir: string) => Promise<Server>,
): Promise<void> {
  await inTemporaryDirectory(async (directory) => {
    const said: string[] = [];
    const journal = path.join(directory, "journal");
    fs.writeFileSync(journal, "");
    const log = openLog(path.join(directory, "overround.log"));
    const set = startSet({
      postgres: { url: "postgres://elsewhere/db" },
      redis:
        redis === undefined ? { url: "redis://elsewhere" } : { start: (again) => redis(again, directory) },
      migrate: (url) => {
        fs.appendFileSync(journal, `migrated ${url}\n`);
        return Promise.resolve();
      },
      roles: Object.entries(modes).map(([name, mode]) => ({
        name,
        entry: ROLE,
        env: { NAME: name, MODE: mode, JOURNAL: journal },
      })),
      log,
      say: (line) => said.push(line),
    });
    const lines = (file: string): string[] => fs.readFileSync(file, "utf8").trim().split("\n");
    try {
      await use({ set, said, directory, journal: () => lines(journal), log: () => lines(log.path) });
    } finally {
      await set.stop();
      log.close();
    }
  });
}

describe("a supervised set", () => {
  it("migrates, starts the roles in order, and stops them in the opposite order", () =>
    withSet({ worker: "", gateway: "" }, async ({ set, said, journal, log }) => {
      await set.ready;
      const [worker, gateway] = [set.pids().get("worker"), set.pids().get("gateway")];
      await set.stop();
      expect(journal()).to.deep.equal([
        "migrated postgres://elsewhere/db",
        `worker started ${worker ?? ""} redis://elsewhere`,
        `gateway started ${gateway ?? ""} redis://elsewhere`,
        "gateway stopped",
        "worker stopped",
      ]);
      expect(said).to.deep.equal(["stopping gateway", "stopping worker"]);
      expect(log().map((line) => (JSON.parse(line) as { msg: string }).msg)).to.deep.equal([
        "hello from worker",
        "hello from gateway",
      ]);
    }));

  it("starts a killed role again", () =>
    withSet({ worker: "" }, async ({ set, said }) => {
      await set.ready;
      const first = set.pids().get("worker") ?? 0;
      process.kill(first, "SIGKILL");
      await until(() => said.some((line) => line.includes("runs again")));
      const second = set.pids().get("worker");
      expect(second).not.to.equal(first);
      expect(said).to.deep.equal([
        `worker (process ${first}) ended: SIGKILL; starting it again`,
        `worker runs again (process ${second ?? ""})`,
      ]);
    }));

  it("starts a killed Redis again on the same address, with what was acknowledged", () => {
    const urls: string[] = [];
    const redis = async (again: boolean, dataDir: string): Promise<Server> => {
      const server = await startRedis({ dataDir, cacheDir, fsync: "always", log: quiet, keepPort: again });
      urls.push(server.url);
      return server;
    };
    return withSet(
      { worker: "" },
      async ({ set }) => {
        await set.ready;
        process.kill(set.pids().get("redis") ?? 0, "SIGKILL");
        await until(() => urls.length === 2);
        expect(urls[1]).to.equal(urls[0]);
      },
      redis,
    );
  });

  it("gives up a role that never becomes ready, and tells its reason", () =>
    withSet({ worker: "", gateway: "crash" }, async ({ set }) => {
      const outcome = await set.ready.then(String, String);
      expect(outcome).to.match(
        /gateway ended before it was ready \(exit code 1\)\n\s+the role has a reason to fail/,
      );
    }));

  it("runs a role that finishes only once", () =>
    withSet({}, async ({ set, directory, journal }) => {
      await set.ready;
      const env = { NAME: "demo", MODE: "finish", JOURNAL: path.join(directory, "journal") };
      await set.add({ name: "demo", entry: ROLE, env, mayFinish: true });
      await until(() => set.pids().size === 0);
      expect(journal().filter((line) => line.startsWith("demo started"))).to.have.length(1);
    }));

  it("ends at once when it must, also a role that does not listen", () =>
    withSet({ gateway: "stubborn" }, async ({ set }) => {
      await set.ready;
      const mark = markOf(set.pids().get("gateway") ?? 0);
      set.kill();
      await until(() => !isRunning(mark));
    }));
});

describe("a supervisor that is killed", () => {
  it("leaves neither roles nor servers behind", () =>
    inTemporaryDirectory(async (directory) => {
      const supervisor = spawn(
        process.execPath,
        [
          "--import",
          "tsx",
          path.join(FIXTURES, "supervisor.ts"),
          directory,
          cacheDir,
          path.join(directory, "journal"),
        ],
        { cwd: fileURLToPath(new URL("../../..", import.meta.url)), stdio: ["ignore", "pipe", "inherit"] },
      );
      const [chunk] = (await once(supervisor.stdout, "data")) as [Buffer];
      const pids = JSON.parse(chunk.toString()) as { redis: number; role: number };
      const marks = [markOf(pids.redis), markOf(pids.role)];
      expect(marks.map(isRunning)).to.deep.equal([true, true]);
      supervisor.kill("SIGKILL");
      await until(() => !marks.some(isRunning));
    }));
});

describe("the log file", () => {
  it("wraps plain lines and keeps JSON lines as they are", () =>
    inTemporaryDirectory((directory) => {
      const log = openLog(path.join(directory, "log"));
      log.from("redis")("Ready to accept connections");
      log.from("worker")('{"msg":"up"}');
      log.close();
      const lines = fs.readFileSync(log.path, "utf8").trim().split("\n");
      expect(JSON.parse(lines[0] ?? "")).to.include({ name: "redis", msg: "Ready to accept connections" });
      expect(lines[1]).to.equal('{"msg":"up"}');
    }));

  it("begins anew when it has grown large", () =>
    inTemporaryDirectory((directory) => {
      const file = path.join(directory, "log");
      fs.writeFileSync(file, Buffer.alloc(51 * 1024 * 1024, "x"));
      const log = openLog(file);
      log.from("worker")("new");
      log.close();
      expect(fs.statSync(file).size).to.be.lessThan(200);
      expect(fs.statSync(`${file}.1`).size).to.equal(51 * 1024 * 1024);
    }));
});

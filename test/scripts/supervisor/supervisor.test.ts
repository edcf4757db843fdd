import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startRedis } from "../../../scripts/embedded/redis.js";
import { NODE_OPTIONS, ROLE_ENVIRONMENT } from "../../../scripts/roles/node-options.js";
import { isRunning, markOf } from "../../../scripts/supervisor/identity.js";
import { openLog } from "../../../scripts/supervisor/log.js";
import { type ProcessSet, type Server, startSet } from "../../../scripts/supervisor/supervisor.js";
import { cacheDir } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const FIXTURES = path.join(import.meta.dirname, "fixtures");
const ROLE = path.join(FIXTURES, "role.mjs");
const quiet = (): void => undefined;

interface TestSet {
  readonly set: ProcessSet;
  readonly printed: string[];
  readonly directory: string;
  /** Returns what the roles did, one line for each event. */
  readonly journal: () => string[];
  /** Returns the lines of the log file. */
  readonly log: () => string[];
}

/** Runs `use` with a set of stand-in roles, given by name and mode, on servers that do not exist. */
async function withSet(
  modes: Readonly<Record<string, string>>,
  use: (parts: TestSet) => Promise<void>,
  redis?: (again: boolean, dataDir: string) => Promise<Server>,
): Promise<void> {
  await inTemporaryDirectory(async (directory) => {
    const printed: string[] = [];
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
        role: name.replace(/-\d+$/, ""),
        name,
        entry: ROLE,
        env: { NAME: name, MODE: mode, JOURNAL: journal },
        nodeOptions: NODE_OPTIONS.worker,
      })),
      replaceMs: 10_000,
      log,
      say: (line) => printed.push(line),
    });
    const lines = (file: string): string[] => fs.readFileSync(file, "utf8").trim().split("\n");
    try {
      await use({ set, printed, directory, journal: () => lines(journal), log: () => lines(log.path) });
    } finally {
      await set.stop();
      log.close();
    }
  });
}

describe("a supervised set", () => {
  it("migrates, starts the roles in order, and stops them in the opposite order", () =>
    withSet({ worker: "", gateway: "" }, async ({ set, printed, journal, log }) => {
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
      expect(printed).to.deep.equal(["stopping gateway", "stopping worker"]);
      expect(log().map((line) => (JSON.parse(line) as { msg: string }).msg)).to.deep.equal([
        "hello from worker",
        "hello from gateway",
      ]);
    }));

  it("runs a role with its environment and its options of Node, which `npm run` has too", () =>
    withSet({ worker: "options" }, async ({ set, journal }) => {
      await set.ready;
      expect(journal()).to.include(`worker --enable-source-maps ${NODE_OPTIONS.worker.join(" ")}`);
      for (const [name, value] of Object.entries(ROLE_ENVIRONMENT))
        expect(journal()).to.include(`worker ${name}=${value}`);
      const { scripts } = JSON.parse(fs.readFileSync("package.json", "utf8")) as {
        scripts: Record<string, string>;
      };
      for (const [role, own] of Object.entries(NODE_OPTIONS))
        expect(scripts[role]).to.equal(`node ${own.join(" ")} scripts/setup.mjs ${role}`);
    }));

  it("restarts a killed role", () =>
    withSet({ worker: "" }, async ({ set, printed }) => {
      await set.ready;
      const first = set.pids().get("worker") ?? 0;
      process.kill(first, "SIGKILL");
      await until(() => printed.some((line) => line.includes("is running again")));
      const second = set.pids().get("worker");
      expect(second).not.to.equal(first);
      expect(printed).to.deep.equal([
        `worker (process ${first}) ended: SIGKILL; restarting it`,
        `worker is running again (process ${second ?? ""})`,
      ]);
    }));

  it("starts and stops the processes of one role together, between the other roles", () =>
    withSet({ worker: "", "gateway-1": "", "gateway-2": "" }, async ({ set, journal }) => {
      await set.ready;
      await set.stop();
      const events = journal().map((line) => line.replace(/ \d+ redis.*/, ""));
      expect(events[1]).to.equal("worker started");
      expect(events.slice(2, 4)).to.have.members(["gateway-1 started", "gateway-2 started"]);
      expect(events.slice(4, 6)).to.have.members(["gateway-1 stopped", "gateway-2 stopped"]);
      expect(events[6]).to.equal("worker stopped");
    }));

  it("replaces one process after the other, each after its successor is ready", () =>
    withSet({ "worker-1": "", "worker-2": "", gateway: "" }, async ({ set, journal }) => {
      await set.ready;
      const before = journal().length;
      const old = set.pids();
      await set.restart();
      expect(
        journal()
          .slice(before)
          .map((line) => line.replace(/ \d+ redis.*/, "")),
      ).to.deep.equal(
        ["worker-1", "worker-2", "gateway"].flatMap((name) => [`${name} started`, `${name} stopped`]),
      );
      await until(() => set.pids().size === 3);
      for (const [name, pid] of set.pids()) expect(pid).not.to.equal(old.get(name));
    }));

  it("leaves everything as it is when the first successor cannot start", () =>
    withSet({ worker: "", gateway: "" }, async ({ set, directory }) => {
      await set.ready;
      const old = set.pids();
      fs.writeFileSync(path.join(directory, "broken"), "");
      const outcome = await set.restart().then(String, String);
      expect(outcome).to.match(/worker ended before it was ready \(exit code 1\)/);
      expect(set.pids()).to.deep.equal(old);
    }));

  it("restarts a killed Redis on the same address", () => {
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

  it("rejects with the reason when a role never becomes ready", () =>
    withSet({ worker: "", gateway: "crash" }, async ({ set }) => {
      const outcome = await set.ready.then(String, String);
      expect(outcome).to.match(
        /gateway ended before it was ready \(exit code 1\)\n\s+the role has a reason to fail/,
      );
    }));

  it("runs a role that finishes once", () =>
    withSet({}, async ({ set, directory, journal }) => {
      await set.ready;
      const env = { NAME: "demo", MODE: "finish", JOURNAL: path.join(directory, "journal") };
      await set.add({ role: "demo", name: "demo", entry: ROLE, env, mayFinish: true });
      await until(() => set.pids().size === 0);
      expect(journal().filter((line) => line.startsWith("demo started"))).to.have.length(1);
    }));

  it("kills every role at once, also one that ignores SIGTERM", () =>
    withSet({ gateway: "stubborn" }, async ({ set }) => {
      await set.ready;
      const mark = markOf(set.pids().get("gateway") ?? 0);
      set.kill();
      await until(() => !isRunning(mark));
    }));
});

describe("a killed supervisor", () => {
  it("leaves no role and no server running", () =>
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
  it("wraps plain lines and leaves JSON lines unchanged", () =>
    inTemporaryDirectory((directory) => {
      const log = openLog(path.join(directory, "log"));
      log.from("redis")("Ready to accept connections");
      log.from("worker")('{"msg":"up"}');
      log.close();
      const lines = fs.readFileSync(log.path, "utf8").trim().split("\n");
      expect(JSON.parse(lines[0] ?? "")).to.include({ name: "redis", msg: "Ready to accept connections" });
      expect(lines[1]).to.equal('{"msg":"up"}');
    }));

  it("starts a new file when the old one is large", () =>
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

import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import path from "node:path";
import { freePort } from "../../../scripts/embedded/ports.js";
import { migrate } from "../../../db/migrate.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { programOf } from "../../support/run/program.js";
import { freshDatabase, freshRedis } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";

const ROOT = path.join(import.meta.dirname, "..", "..", "..");
const SECRET = "a-secret-that-nobody-may-read-in-a-log";

/** Runs a script until it ends, and returns its exit code and its output. */
async function run(script: string, env: Readonly<Record<string, string>>) {
  return inTemporaryDirectory(async (directory) => {
    const port = String(await freePort());
    const { entry, execArgv } = programOf(`scripts/${script}.ts`);
    const child = spawn(process.execPath, [...execArgv, entry], {
      cwd: ROOT,
      env: { ...process.env, DATA_DIR: directory, PORT: port, DEMO: "off", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (output += String(chunk)));
    const force = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await once(child, "close");
    clearTimeout(force);
    return { code: child.exitCode, output };
  });
}

function withPassword(url: string, password: string): string {
  const changed = new URL(url);
  changed.password = password;
  return changed.href;
}

describe("a server that cannot be used", function () {
  this.timeout(120_000);

  const cases = async (): Promise<
    readonly (readonly [scripts: readonly string[], env: Record<string, string>, line: RegExp])[]
  > => {
    const redis = (await freshRedis()).url;
    const database = (await freshDatabase(migrate)).url;
    const { host } = new URL(redis);
    const { host: databaseHost, pathname } = new URL(database);
    const nowhere = `127.0.0.1:${await freePort()}`;
    const roles = ["worker", "projector", "jobs", "gateway"];
    const readers = ["projector", "jobs", "gateway", "migrate"];
    return [
      [
        [...roles, "start"],
        { REDIS_URL: `redis://:${SECRET}@${nowhere}`, DATABASE_URL: database },
        new RegExp(`Redis at ${nowhere} cannot be used: connect ECONNREFUSED ${nowhere}$`),
      ],
      [
        [...roles, "start"],
        { REDIS_URL: withPassword(redis, SECRET), DATABASE_URL: database },
        new RegExp(`Redis at ${host} cannot be used: WRONGPASS .*$`),
      ],
      [
        ["worker"],
        { REDIS_URL: `redis://:${SECRET}@${nowhere},redis://${nowhere}` },
        new RegExp(`Redis at ${nowhere}, ${nowhere} cannot be used: .*$`),
      ],
      [
        [...readers, "start"],
        { REDIS_URL: redis, DATABASE_URL: `postgres://u:${SECRET}@${nowhere}/d` },
        new RegExp(`Postgres at ${nowhere}/d cannot be used: connect ECONNREFUSED ${nowhere}$`),
      ],
      [
        readers,
        { REDIS_URL: redis, DATABASE_URL: withPassword(database, SECRET) },
        new RegExp(
          `Postgres at ${databaseHost}${pathname} cannot be used: password authentication failed .*$`,
        ),
      ],
      [
        ["gateway"],
        { REDIS_URL: redis, DATABASE_URL: `${database}x` },
        new RegExp(`Postgres at ${databaseHost}${pathname}x cannot be used: database .* does not exist$`),
      ],
    ];
  };

  it("is reported by every role and by start in one line, with its address and without its password", async () => {
    for (const [scripts, env, line] of await cases()) {
      // Two at a time, because each start takes a core.
      for (let from = 0; from < scripts.length; from += 2) {
        await Promise.all(
          scripts.slice(from, from + 2).map(async (script) => {
            const { code, output } = await run(script, env);
            const label = `${script} ${line.source}: ${output}`;
            expect(code, label).to.equal(1);
            expect(output, label)
              .not.to.include(SECRET)
              .and.not.to.match(/\n\s+at /);
            // The supervisor prints its own steps around the line.
            const lines = output
              .trim()
              .split("\n")
              .filter((each) => !/^overround: (starting|bringing|the log|stopped)/.test(each));
            expect(lines, label).to.have.length(1);
            expect(lines[0], label).to.match(line);
          }),
        );
      }
    }
  });

  it("is reported when it accepts connections and does not answer", async () => {
    const silent = net.createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const problem = await RedisLog.open({ url: `redis://127.0.0.1:${port}` }).then(String, String);
    silent.close();
    expect(problem).to.match(new RegExp(`Redis at 127.0.0.1:${port} cannot be used: it does not answer`));
  });

  it("is reported when its append-only file cannot be written", async () => {
    const messagesFor = async (status: string): Promise<string[]> => {
      const info = `redis_version:7.0.15\r\nloading:0\r\naof_last_write_status:${status}\r\n`;
      const server = net.createServer((socket) => {
        socket.on("data", (chunk) => {
          const commands = String(chunk).match(/^\*\d/gm) ?? [];
          socket.write(`$${info.length}\r\n${info}\r\n`.repeat(commands.length));
        });
        socket.on("error", () => undefined);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const messages: string[] = [];
      const note = (_: object, message: string): void => void messages.push(message);
      const { port } = server.address() as AddressInfo;
      const logger = { info: note, warn: note, error: note };
      await (await RedisLog.open({ url: `redis://127.0.0.1:${port}`, logger })).close();
      server.close();
      return messages;
    };
    expect(await messagesFor("ok")).to.deep.equal([]);
    expect((await messagesFor("err")).join()).to.match(
      /^Redis cannot write its append-only file: free space/,
    );
  });
});

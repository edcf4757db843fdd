/** Roles of the present build and of the one before it, as processes on one Redis and one Postgres. */

import { type ChildProcess, fork } from "node:child_process";
import fs from "node:fs";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import os from "node:os";
import path from "node:path";
import { Connection } from "../../http/client/client.js";
import { OperatorClient } from "../../http/client/rest/operator.js";
import { freePort } from "../../scripts/embedded/ports.js";
import { oldBuild } from "../support/old-build.js";
import { programOf } from "../support/run/program.js";
import { freshDatabase, freshRedis, type FreshDatabase, type FreshRedis } from "../support/servers.js";
import { OPERATOR } from "../support/stack.js";

export type Build = "old" | "new";
export type RoleName = "worker" | "gateway" | "projector" | "jobs";

export const ROLES: readonly RoleName[] = ["projector", "worker", "jobs", "gateway"];

const KEPT_LINES = 40;

/** Process of a role. */
export interface Member {
  readonly build: Build;
  readonly role: RoleName;
  readonly child: ChildProcess;
  readonly exited: Promise<number | string>;
  /** Port of a gateway. */
  readonly port: number;
}

/** A set of roles, behind one address that leads each new connection to one of the gateways. */
export class Fleet {
  readonly members: Member[] = [];
  /** Warnings and errors that the roles have logged. */
  readonly lines: string[] = [];
  readonly #redis: FreshRedis;
  readonly #database: FreshDatabase;
  readonly #dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  readonly #server: Server;
  readonly #open: Connection[] = [];
  #connections = 0;

  private constructor(redis: FreshRedis, database: FreshDatabase) {
    this.#redis = redis;
    this.#database = database;
    this.#server = createServer((client) => {
      const gateways = this.members.filter(({ port }) => port > 0);
      this.#connections += 1;
      const target = gateways[this.#connections % gateways.length];
      if (target === undefined) {
        client.destroy();
        return;
      }
      const upstream = connect(target.port, "127.0.0.1");
      client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
      upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.pipe(upstream).pipe(client);
    });
  }

  /** Creates a fleet without members, on an empty Redis and an empty database. */
  static async create(): Promise<Fleet> {
    const fleet = new Fleet(await freshRedis(), await freshDatabase());
    await new Promise<void>((resolve) => fleet.#server.listen(0, "127.0.0.1", resolve));
    return fleet;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get redisUrl(): string {
    return this.#redis.url;
  }

  get databaseUrl(): string {
    return this.#database.url;
  }

  /** Opens a connection that the fleet closes. */
  connect(): Connection {
    const connection = new Connection(this.url);
    this.#open.push(connection);
    return connection;
  }

  operator(): OperatorClient {
    return new OperatorClient(this.connect(), OPERATOR);
  }

  /** Starts a role; resolves when it is ready. A gateway then receives new connections. */
  async start(build: Build, role: RoleName, env: Readonly<Record<string, string>> = {}): Promise<Member> {
    const port = role === "gateway" ? await freePort() : 0;
    const { entry, execArgv } =
      build === "old"
        ? { entry: path.join(oldBuild(), "scripts", `${role}.js`), execArgv: [] }
        : programOf(`scripts/${role}.ts`);
    const child = fork(entry, [], {
      env: {
        ...process.env,
        LOG_LEVEL: "warn",
        REDIS_URL: this.redisUrl,
        DATABASE_URL: this.databaseUrl,
        DATA_DIR: this.#dataDir,
        JWT_WEB_SECRET: "the web secret of the tests, long enough",
        OPERATOR_EMAIL: OPERATOR.email,
        OPERATOR_PASSWORD: OPERATOR.password,
        THROTTLE: "off",
        EDGE_RATE: "1000000",
        EDGE_BURST: "1000000",
        ...(port > 0 ? { PORT: String(port) } : {}),
        ...env,
      },
      execArgv: [...execArgv],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const output of [child.stdout, child.stderr])
      output?.on("data", (chunk: Buffer) => this.#keep(`${build} ${role}: ${chunk.toString()}`));
    const exited = new Promise<number | string>((resolve) => {
      child.once("exit", (code, signal) => resolve(signal ?? code ?? "unknown"));
    });
    await new Promise<void>((resolve, reject) => {
      child.once("message", () => resolve());
      void exited.then((how) => reject(new Error(`${build} ${role} ended: ${how}\n${this.lines.join("")}`)));
    });
    const member = { build, role, child, exited, port };
    this.members.push(member);
    return member;
  }

  #keep(line: string): void {
    this.lines.push(line);
    if (this.lines.length > KEPT_LINES) this.lines.shift();
  }

  /** Starts one of each role. */
  async startAll(build: Build, env: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const role of ROLES) await this.start(build, role, env);
  }

  /** Sends SIGTERM to the members of a build, of one role or of all, one after the other. */
  async stopAll(build: Build, roles: readonly RoleName[] = ROLES): Promise<void> {
    for (const role of roles) {
      for (const member of [...this.members])
        if (member.build === build && member.role === role) await this.stop(member);
    }
  }

  /** Sends SIGTERM to a member, and waits until it has ended. A gateway receives no new connection from then on. */
  async stop(member: Member): Promise<void> {
    this.members.splice(this.members.indexOf(member), 1);
    member.child.kill("SIGTERM");
    const how = await member.exited;
    if (how !== 0)
      throw new Error(`${member.build} ${member.role} ended with ${how}\n${this.lines.join("")}`);
  }

  /** Kills what still runs, and removes the data. */
  async drop(): Promise<void> {
    for (const connection of this.#open) connection.close();
    for (const { child, exited } of this.members.splice(0)) {
      child.kill("SIGKILL");
      await exited;
    }
    await new Promise((resolve) => this.#server.close(resolve));
    fs.rmSync(this.#dataDir, { recursive: true, force: true });
    await this.#redis.drop();
    await this.#database.drop();
  }
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { WebSocket } from "ws";
import { migrate } from "../../db/migrate.js";
import { RestClient } from "../../http/client/rest/rest.js";
import { OperatorClient } from "../../http/client/rest/operator.js";
import { Connection, Signer } from "../../http/client/client.js";
import { freePort } from "../../scripts/embedded/ports.js";
import { programOf } from "../support/run/program.js";
import { freshDatabase, freshRedis } from "../support/servers.js";
import { BRAND, OPERATOR } from "../support/stack.js";
import { newMarket, newTrader, upgradeHeaders, type TestKey, type TestTrader } from "../support/traders.js";
import { untilWithin } from "../support/until.js";
import { BusyClient } from "./roles/busy-client.js";

const ROOT = path.join(import.meta.dirname, "..", "..");
const CLIENTS = 8;
/** Pause of a client after each order, in ms, so that the processes that start have the cores too. */
const PAUSE_MS = 50;
/** Longest wait for a line, in ms: a busy machine needs many seconds to start a process. */
const SAID_MS = 150_000;
const MARKETS = 4;
const SOCKETS = 8;
/** Close code of the sockets that the test closes. */
const STOPPED = 4_000;
const NAMES = ["worker-1", "worker-2", "projector-1", "projector-2", "jobs", "gateway-1", "gateway-2"];

/** Keeps a socket open: opens another one whenever it closes, and records how each of them ended. */
class LastingSocket {
  readonly codes: number[] = [];
  readonly failures: string[] = [];
  /** Longest time in ms from a close to the next open socket. */
  longestGapMs = 0;
  #socket: WebSocket | undefined;
  #stopped = false;

  constructor(
    private readonly url: string,
    private readonly trading: TestKey,
    /** True: closes each socket as soon as it is open. */
    private readonly churns = false,
  ) {}

  async run(): Promise<void> {
    while (!this.#stopped) {
      const began = performance.now();
      const headers = upgradeHeaders(this.trading);
      const socket = new WebSocket(this.url, { headers });
      this.#socket = socket;
      const closed = new Promise<number>((resolve) => socket.once("close", resolve));
      socket.on("error", (error) => this.failures.push(error.message));
      socket.once("open", () => {
        this.longestGapMs = Math.max(this.longestGapMs, performance.now() - began);
        if (this.churns) socket.close(STOPPED);
      });
      const code = await closed;
      // A socket that `stop` has closed has no code of the server.
      if (code !== STOPPED) this.codes.push(code);
      if (this.churns) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  stop(): void {
    this.#stopped = true;
    if (!this.churns) this.#socket?.close(STOPPED);
  }
}

describe("an exchange with several processes of each role", function () {
  this.timeout(300_000);
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  let exchange: ChildProcess;
  let url: string;
  let port: number;
  let connection: Connection;
  let operator: OperatorClient;
  let output = "";

  before(async () => {
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const { entry, execArgv } = programOf("scripts/start.ts");
    exchange = spawn(process.execPath, [entry], {
      cwd: ROOT,
      env: {
        ...process.env,
        NODE_OPTIONS: execArgv.join(" "),
        LOG_LEVEL: "warn",
        DATA_DIR: dataDir,
        PORT: String(port),
        REDIS_URL: (await freshRedis()).url,
        DATABASE_URL: (await freshDatabase(migrate)).url,
        OPERATOR_EMAIL: OPERATOR.email,
        OPERATOR_PASSWORD: OPERATOR.password,
        THROTTLE: "off",
        EDGE_RATE: "1000000",
        EDGE_BURST: "1000000",
        DEMO: "off",
        WORKERS: "2",
        GATEWAYS: "2",
        PROJECTORS: "2",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [exchange.stdout, exchange.stderr])
      stream?.on("data", (chunk) => (output += String(chunk)));
    await said(/overround is ready/);
    connection = new Connection(url);
    operator = new OperatorClient(connection, OPERATOR);
  });
  after(async () => {
    connection.close();
    const exited = once(exchange, "exit");
    exchange.kill("SIGTERM");
    const force = setTimeout(() => exchange.kill("SIGKILL"), 15_000);
    await exited;
    clearTimeout(force);
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  /** Waits for a line of the exchange after the first `from` characters of its output. */
  async function said(line: RegExp, from = 0): Promise<string> {
    try {
      return await untilWithin(SAID_MS, () => line.exec(output.slice(from))?.[0] ?? expect.fail(output));
    } catch (error) {
      throw new Error(`the exchange did not print ${String(line)}: ${output}`, { cause: error });
    }
  }

  const trader = (): Promise<TestTrader> =>
    newTrader({ connect: () => connection, operator, brand: BRAND }, "1000");

  async function metric(pattern: string): Promise<number | undefined> {
    const text = await (await fetch(`${url}/metrics`)).text();
    const value = new RegExp(`^overround_${pattern} (\\S+)$`, "m").exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  }

  async function readyz(): Promise<Readonly<Record<string, unknown>>> {
    return (await (await fetch(`${url}/readyz`)).json()) as Readonly<Record<string, unknown>>;
  }

  it("names each of them in /readyz, in its log and at the terminal", async () => {
    await untilWithin(20_000, async () => {
      expect((await readyz())["processes"]).to.deep.equal({
        worker: ["worker-1", "worker-2"],
        projector: ["projector-1", "projector-2"],
        jobs: ["jobs"],
        gateway: ["gateway-1", "gateway-2"],
      });
    });
    for (const name of NAMES) expect(output).to.match(new RegExp(`Processes .*\\b${name} \\d+`));
  });

  it("restarts every process under load without a refused or lost request", async () => {
    const markets = await Promise.all(Array.from({ length: MARKETS }, () => newMarket({ operator })));
    const outcomes = markets.map((market) => market.outcomes[0]);
    const traders = await Promise.all(Array.from({ length: CLIENTS }, trader));
    const clients = traders.map(({ trading }) => new BusyClient([port], trading, outcomes, PAUSE_MS));
    const tradingOf = (index: number): TestKey => (traders[index % CLIENTS] ?? expect.fail()).trading;
    const sockets = Array.from(
      { length: SOCKETS },
      (_, index) => new LastingSocket(url.replace("http", "ws") + "/v3/ws", tradingOf(index)),
    );
    const churning = Array.from(
      { length: 4 },
      (_, index) => new LastingSocket(`ws://127.0.0.1:${port}/v3/ws`, tradingOf(index), true),
    );
    const running = [...sockets, ...clients].map((load) => load.run());
    await untilWithin(20_000, () => sockets.every(({ isOpen }) => isOpen));
    for (const name of ["gateway-1", "gateway-2"]) {
      const pattern = `process_ws_sockets\\{role="gateway",name="${name}",process="[^"]+"\\}`;
      const open = await untilWithin(
        20_000,
        () => metric(pattern),
        (value) => (value ?? 0) > 0,
      );
      expect(open).to.be.within(SOCKETS / 2 - 2, SOCKETS / 2 + 2);
    }

    running.push(...churning.map((load) => load.run()));
    const before = output.length;
    exchange.kill("SIGUSR2");
    await said(/overround: every role has been restarted/, before);
    const replaced = [...output.slice(before).matchAll(/overround: (\S+) is process \d+ from now on/g)];
    expect(replaced.map(([, name]) => name)).to.deep.equal(NAMES);
    await untilWithin(20_000, () => sockets.every(({ isOpen }) => isOpen));
    for (const load of [...sockets, ...churning, ...clients]) load.stop();
    await Promise.all(running);

    expect(clients.flatMap(({ failures }) => failures)).to.deep.equal([]);
    expect([...sockets, ...churning].flatMap(({ failures }) => failures)).to.deep.equal([]);
    const codes = sockets.flatMap(({ codes }) => codes);
    expect(new Set(codes)).to.deep.equal(new Set([1012]));
    // A socket may reconnect to the gateway that is replaced next.
    expect(codes.length).to.be.within(SOCKETS, 2 * SOCKETS);
    expect(Math.max(...sockets.map(({ longestGapMs }) => longestGapMs))).to.be.below(2_000);
    for (const [index, { trading }] of traders.entries()) {
      const { orders: placed } = clients[index] ?? expect.fail();
      const rest = new RestClient(connection, new Signer(trading.key, trading.brand));
      await untilWithin(20_000, async () => {
        const open = await rest.orders();
        expect(open.map(({ clientId }) => clientId).toSorted()).to.deep.equal(placed.toSorted());
      });
    }
  });

  it("starts each process again that is killed", async () => {
    const before = output.length;
    for (const name of ["worker-1", "projector-2", "gateway-1"]) {
      const pid = [...output.matchAll(new RegExp(`${name} is process (\\d+) from now on`, "g"))].at(-1)?.[1];
      process.kill(Number(pid), "SIGKILL");
      await said(new RegExp(`${name} \\(process ${pid ?? ""}\\) ended: SIGKILL; restarting it`), before);
    }
    for (const name of ["worker-1", "projector-2", "gateway-1"])
      await said(new RegExp(`${name} is running again`), before);
    await untilWithin(20_000, async () => {
      expect(await readyz()).to.include({ ready: true, projecting: true });
    });
  });
});

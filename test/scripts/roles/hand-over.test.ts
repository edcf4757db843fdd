import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { WebSocket } from "ws";
import { freePort } from "../../../scripts/embedded/ports.js";
import { startOwnServers, type OwnServers } from "../../support/own-servers.js";
import { RoleProcess } from "../../support/role-process.js";
import { startStack, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { newMarket, newTrader, upgradeHeaders, type TestTrader } from "../../support/traders.js";
import { BusyClient } from "./busy-client.js";

/**
 * Longest stop of a gateway under load, and of another role, in ms (contract section 9.3). A busy machine adds to it at most
 * the time that it has needed to start the process, and never more than `MAX_ADDED_MS`.
 */
const STOP_MS = 1_000;
const ROLE_STOP_MS = 6_000;
const MAX_ADDED_MS = 4_000;
const CLIENTS = 24;

/** Returns what a busy machine may add to a stop, in ms, when a start has taken `startedMs`. */
function addedMs(startedMs: number): number {
  return Math.min(startedMs, MAX_ADDED_MS);
}

async function readyz(port: number): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`, { headers: { Connection: "close" } });
  return { status: response.status, ...((await response.json()) as object) };
}

describe("the hand-over of a gateway that stops", function () {
  this.timeout(120_000);
  let stack: Stack;
  let startedMs = 0;
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  const gateways = new Map<number, RoleProcess>();

  before(async () => {
    stack = await startStack();
    for (let i = 0; i < 2; i += 1) startedMs = await startGateway(await freePort());
  });
  after(async () => {
    for (const { child, exited } of gateways.values()) {
      child.kill("SIGKILL");
      await exited;
    }
    await stack.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  /** Starts a gateway, and returns the time that it needed, in ms. */
  async function startGateway(port: number, env: Readonly<Record<string, string>> = {}): Promise<number> {
    const began = performance.now();
    const gateway = new RoleProcess("gateway", {
      PORT: String(port),
      THROTTLE: "off",
      EDGE_RATE: "1000000",
      EDGE_BURST: "1000000",
      REDIS_URL: stack.redisUrl,
      DATABASE_URL: stack.databaseUrl,
      DATA_DIR: dataDir,
      JWT_WEB_SECRET: "the web secret of the tests, long enough",
      ...env,
    });
    gateways.set(port, gateway);
    await gateway.ready;
    return performance.now() - began;
  }

  /** Opens a socket and resolves to the code with which it closes. */
  async function socketTo(port: number, trader: TestTrader): Promise<{ readonly closed: Promise<number> }> {
    const headers = upgradeHeaders(trader.trading);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v3/ws`, { headers });
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return { closed };
  }

  it("refuses and loses no request of clients that go on to the other one, and takes less than a second", async () => {
    const ports = [...gateways.keys()];
    const markets = await Promise.all(Array.from({ length: 4 }, () => newMarket(stack)));
    const outcomes = markets.map((market) => market.outcomes[0]);
    const traders = await Promise.all(Array.from({ length: 4 }, () => newTrader(stack, "1000")));
    const clients = Array.from({ length: CLIENTS }, (_, index) => {
      const { trading } = traders[index % traders.length] ?? expect.fail();
      return new BusyClient(index % 2 === 0 ? ports : ports.toReversed(), trading, outcomes);
    });
    const running = Promise.all(clients.map((client) => client.run()));
    for (const port of ports) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const gateway = gateways.get(port) ?? expect.fail();
      const socket = await socketTo(port, traders[0] ?? expect.fail());
      const began = performance.now();
      const stopped = gateway.stop();
      expect(await socket.closed).to.equal(1012);
      expect(performance.now() - began, "the socket").to.be.below(STOP_MS + addedMs(startedMs));
      const { tookMs, how } = await stopped;
      expect(how).to.equal(0);
      expect(tookMs).to.be.below(STOP_MS + addedMs(startedMs));
      startedMs = await startGateway(port);
    }
    for (const client of clients) client.stop();
    await running;
    expect(clients.flatMap(({ failures }) => failures)).to.deep.equal([]);
    expect(clients.flatMap(({ orders }) => orders).length).to.be.above(500);
  });

  it("shows in /readyz that it begins, for as long as the load balancer needs to see it", async () => {
    const port = await freePort();
    startedMs = await startGateway(port, { DRAIN_NOTICE_MS: "2000" });
    const stopped = (gateways.get(port) ?? expect.fail()).stop();
    await until(async () => (await readyz(port))["stopping"] === true);
    expect(await readyz(port)).to.include({ status: 503, ready: false });
    const { tookMs, how } = await stopped;
    expect(how).to.equal(0);
    expect(tookMs).to.be.within(2_000, 2_000 + STOP_MS + addedMs(startedMs));
  });
});

describe("a role that stops while a server hangs", function () {
  this.timeout(120_000);
  let servers: OwnServers;
  let stack: Stack;
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));

  before(async () => {
    servers = await startOwnServers();
    stack = await startStack({ servers });
  });
  after(async () => {
    await stack.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  for (const server of ["redis", "postgres"] as const) {
    it(`ends in time when ${server} is the one: a gateway within a second, the others within six`, async () => {
      const env = {
        PORT: String(await freePort()),
        REDIS_URL: stack.redisUrl,
        DATABASE_URL: stack.databaseUrl,
        DATA_DIR: dataDir,
      };
      const names = ["gateway", "worker", "projector", "jobs"] as const;
      const began = performance.now();
      const roles = names.map((name) => new RoleProcess(name, env));
      await Promise.all(roles.map(({ ready }) => ready));
      const startedMs = performance.now() - began;
      const wake = servers.hang(server);
      try {
        // The roles notice the stall in the middle of their work.
        await new Promise((resolve) => setTimeout(resolve, 500));
        const [gateway, ...others] = await Promise.all(roles.map((role) => role.stop()));
        expect(gateway).to.include({ how: 0 });
        expect(gateway?.tookMs).to.be.below(STOP_MS + addedMs(startedMs));
        for (const { tookMs } of others) expect(tookMs).to.be.below(ROLE_STOP_MS + addedMs(startedMs));
      } finally {
        wake();
      }
    });
  }
});

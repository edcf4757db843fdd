import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { type ActorId, ledgerOf, ledgerShardOf, marketActor, partitionOf } from "../../../actors/actor.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { WriteRefused } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { packEnvelope } from "../../../stream/log/packing.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { startHeartbeats } from "../../../stream/redis/heartbeats.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { createMarket, deposit, marketDefinition, orderRequest } from "../../support/exchange/commands.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { cacheDir } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";

const MAX_MEMORY = 48 * 1_048_576;
const BATCH = 20;

describe("a Redis whose memory is small", function () {
  this.timeout(120_000);
  let dataDir: string;
  let server: RunningServer;
  let admin: Redis;
  let log: RedisLog;
  let worker: Worker;
  let exchange: LogExchange;
  const trader = randomUUID();
  const shard = ledgerShardOf(trader);
  const definition = marketDefinition();
  const actors: readonly ActorId[] = [ledgerOf(trader), marketActor(definition.marketId)];
  const open: string[] = [];
  /** Errors of heartbeats. */
  const missed: unknown[] = [];

  beforeEach(async () => {
    dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
    server = await startRedis({ dataDir, log: () => undefined, cacheDir, fsync: "everysec" });
    admin = new Redis(server.url);
    await admin.config("SET", "maxmemory", String(MAX_MEMORY));
    log = await RedisLog.open({ url: server.url });
    const id = randomUUID();
    const beats = { url: server.url, worker: id, leaseMs: 3_000, intervalMs: 1_000 };
    worker = new Worker({
      id,
      log,
      heartbeats: (listener) =>
        startHeartbeats(beats, {
          onBeat: (live, ageMs) => listener.onBeat(live, ageMs),
          onError: (error) => missed.push(error),
        }),
      actorOf,
      clock: systemClock,
      logger: silentLogger,
      leaseMs: 3_000,
    });
    await worker.start();
    exchange = new LogExchange({ log, clock: systemClock, logger: silentLogger, newId: randomUUID });
    await exchange.start();
    await exchange.market(definition.marketId, createMarket(definition));
    await exchange.ledger(shard, deposit(trader, 1_000_000_000));
  });

  afterEach(async () => {
    await exchange.close();
    await worker.stop();
    await log.close();
    admin.disconnect();
    await server.stop(1_000);
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  /** Places a batch of orders that rest. */
  async function place(): Promise<void> {
    const orders = Array.from({ length: BATCH }, (_, n) =>
      orderRequest(definition, { outcome: n % 2, price: 400 + 5 * (n % 10), qty: 1 }),
    );
    const reply = await exchange.ledger(shard, {
      kind: "place",
      wallet: trader,
      trader,
      orders,
      atomic: false,
    });
    if (!reply.ok || reply.kind !== "placed")
      throw new Error(`the orders were refused: ${JSON.stringify(reply)}`);
    for (const result of reply.results) if (result.ok) open.push(result.orderId);
  }

  async function cancel(): Promise<void> {
    const orderIds = open.splice(0, BATCH);
    const reply = await exchange.ledger(shard, { kind: "cancel", wallet: trader, orderIds });
    expect(reply.ok).to.equal(true);
  }

  /** Trades until new orders are refused; returns the message of the refusal. */
  async function fill(): Promise<string> {
    for (;;) {
      try {
        await place();
        await cancel();
      } catch (error) {
        if (error instanceof Unavailable) return error.message;
        throw error;
      }
    }
  }

  /** Writes what a read model that has every entry reports. */
  async function project(): Promise<void> {
    for (const actor of actors) {
      const partition = partitionOf(actor);
      const [head] = await log.heads(partition, [actor]);
      await log.markProjected(partition, [{ actor, seq: head?.seq ?? 0 }]);
    }
  }

  it("refuses orders with the cause while the read model is away, and recovers by itself", async () => {
    const refusal = await fill();
    expect(refusal).to.match(
      /^the exchange accepts no new orders: the log uses [78]\d % of its memory, because the database is \d+ entries behind; cancels/,
    );
    // Cancels, reads and operator commands go on.
    await cancel();
    expect(await exchange.ledger(shard, { kind: "wallet", wallet: trader })).to.have.property("ok", true);
    const paid = await exchange.ledger(shard, deposit(trader, 1));
    expect(paid.ok).to.equal(true);
    // The cancel has made some room, so a few more orders may fit.
    expect(await fill()).to.match(/^the exchange accepts no new orders/);
    await project();
    const beganMs = Date.now();
    await untilWithin(10_000, () => place().then(() => true));
    expect(Date.now() - beganMs, "ms until orders are accepted").to.be.lessThan(5_000);
    expect(await log.halted()).to.have.property("size", 0);
  });

  it("stays far below its limit while the read model keeps up", async () => {
    const projecting = setInterval(() => void project().catch(() => undefined), 100);
    try {
      // Without trims, the memory would be full about ten seconds after the beginning.
      for (const endMs = Date.now() + 15_000; Date.now() < endMs;) {
        await place();
        await cancel();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    } finally {
      clearInterval(projecting);
    }
    expect((await log.condition()).memoryUse).to.be.lessThan(0.6);
  });

  it("takes the messages that the relay holds even when all of its memory is used, and no command", async () => {
    const to = ledgerOf(trader);
    const body = packEnvelope({ source: marketActor(definition.marketId), seq: 1, commands: [] });
    const from = { partition: partitionOf(marketActor(definition.marketId)), epoch: 1 };
    await admin.config("SET", "maxmemory", "1mb");
    expect(await log.append(partitionOf(to), [{ to, body, from }])).to.deep.equal(["appended"]);
    const refused: unknown = await log
      .append(partitionOf(to), [{ to, body }])
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(WriteRefused);
  });

  it("commits what is in the mailboxes even when all of its memory is used", async () => {
    await place();
    const used = Number(/^used_memory:(\d+)/m.exec(await admin.info("memory"))?.[1]);
    await admin.config("SET", "maxmemory", String(Math.floor(used / 2)));
    const refused = await place().then(
      () => "accepted",
      (error: unknown) => String(error),
    );
    expect(refused).to.match(/the memory of Redis is full|of its memory/);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(worker.held.size, "partitions held through three leases").to.equal(80);
    expect(missed, "heartbeats that Redis refused").to.deep.equal([]);
    await admin.config("SET", "maxmemory", String(MAX_MEMORY));
    await untilWithin(5_000, () => place().then(() => true));
    expect(await log.halted()).to.have.property("size", 0);
  });
});

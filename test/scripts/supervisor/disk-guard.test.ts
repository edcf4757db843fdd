import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { ledgerShardOf } from "../../../actors/actor.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import { DiskGuard } from "../../../scripts/supervisor/disk-guard.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { Worker } from "../../../stream/runtime/worker.js";
import {
  createMarket,
  deposit,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";
import { cacheDir, freshRedis } from "../../support/servers.js";
import { until, untilWithin } from "../../support/until.js";
import { stopwatch } from "../../support/stopwatch.js";

const NO_ROOM =
  "the exchange accepts no new orders: the disk of its servers is nearly full; cancels and reads go on";

/** Mounts a small file system, if this process may; returns the function that removes it. */
function mountSmallDisk(directory: string): (() => void) | undefined {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=340m", "tmpfs", directory], { stdio: "ignore" });
    return () => execFileSync("umount", ["--lazy", directory], { stdio: "ignore" });
  } catch {
    return undefined;
  }
}

describe("a disk without room", function () {
  this.timeout(60_000);
  const trader = randomUUID();
  const shard = ledgerShardOf(trader);
  const definition = marketDefinition();
  const stops: (() => unknown)[] = [];

  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  /** Starts a worker and an exchange with a market and a wallet. */
  async function start(url: string): Promise<{ log: RedisLog; exchange: LogExchange }> {
    const log = await RedisLog.open({ url });
    stops.push(() => log.close());
    const parts = { log, clock: systemClock, logger: silentLogger };
    const worker = new Worker({ ...parts, id: randomUUID(), actorOf });
    await worker.start();
    stops.push(() => worker.stop());
    const exchange = new LogExchange({ ...parts, newId: randomUUID });
    await exchange.start();
    stops.push(() => exchange.close());
    await exchange.market(definition.marketId, createMarket(definition));
    await exchange.ledger(shard, deposit(trader, 100_000_000));
    return { log, exchange };
  }

  /** Places an order; returns its id, or the message of the refusal. */
  async function place(exchange: LogExchange): Promise<{ orderId: string } | { refusal: string }> {
    const order = orderRequest(definition, { outcome: 0, price: 400, qty: 1 });
    try {
      const reply = await exchange.ledger(shard, placement(trader, order));
      expect(reply).to.have.property("ok", true);
      return { orderId: order.orderId };
    } catch (error) {
      if (error instanceof Unavailable) return { refusal: error.message };
      throw error;
    }
  }

  const isPlaced = (answer: object): boolean => "orderId" in answer;

  it("refuses new orders while it is nearly full, and nothing else", async () => {
    const redis = await freshRedis();
    stops.push(() => redis.drop());
    const { exchange } = await start(redis.url);
    let free = 2_000;
    let attempts = 0;
    const said: string[] = [];
    const guard = new DiskGuard({
      open: () => {
        attempts += 1;
        return attempts < 3 ? Promise.reject(new Error("Redis restarts")) : RedisLog.open({ url: redis.url });
      },
      directories: ["/here", "/there"],
      minFreeBytes: 1_000,
      say: (line) => said.push(line),
      spaceOf: (directory) => Promise.resolve({ free: directory === "/there" ? free : 5_000, total: 10_000 }),
    });
    stops.push(() => guard.stop());
    const placed = await place(exchange);
    expect(placed).to.have.property("orderId");
    expect(guard.figures()).to.deep.equal({ disk_free_bytes: 2_000, disk_headroom_ratio: 0.1 });
    free = 999;
    await until(
      () => place(exchange),
      (answer) => "refusal" in answer && answer.refusal === NO_ROOM,
    );
    const orderIds = "orderId" in placed ? [placed.orderId] : [];
    expect(await exchange.ledger(shard, { kind: "cancel", wallet: trader, orderIds })).to.have.property(
      "ok",
      true,
    );
    expect(await exchange.ledger(shard, deposit(trader, 1))).to.have.property("ok", true);
    expect(guard.figures()).to.deep.equal({ disk_free_bytes: 999, disk_headroom_ratio: 0 });
    expect(said).to.have.length(1);
    expect(said[0]).to.contain("/there");
    free = 1_050;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await place(exchange), "a little more room is not enough").to.deep.equal({ refusal: NO_ROOM });
    free = 1_101;
    await untilWithin(5_000, () => place(exchange), isPlaced);
    expect(said).to.have.length(2);
  });

  it("counts what a rewrite of the append-only file needs, starts one, and none that has no room", async () => {
    const disk = { free: 10_000, total: 100_000 };
    const use = { usedBytes: 3_000, fileBytes: 5_000, baseBytes: 2_900, isRewriting: false };
    const calls: string[] = [];
    const reasons: (string | undefined)[] = [];
    const guard = new DiskGuard({
      open: () =>
        Promise.resolve({
          aof: {
            directory: "/redis",
            use: () => Promise.resolve({ ...use }),
            rewrite: () => {
              use.isRewriting = true;
              return Promise.resolve(void calls.push("rewrite"));
            },
            setAutomatic: (isAutomatic: boolean) =>
              Promise.resolve(void calls.push(isAutomatic ? "automatic" : "none")),
          },
          reportDisk: (reason) => Promise.resolve(void reasons.push(reason)),
          close: () => Promise.resolve(),
        }),
      directories: ["/redis", "/postgres"],
      minFreeBytes: 1_000,
      say: () => undefined,
      spaceOf: (directory) =>
        Promise.resolve(directory === "/redis" ? { ...disk } : { free: 2_000, total: 100_000 }),
    });
    stops.push(() => guard.stop());
    // The guard checks once a second.
    const checked = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2_500));
    await checked();
    expect(calls).to.deep.equal(["automatic"]);
    expect(reasons).to.deep.equal([]);
    expect(guard.figures().disk_headroom_ratio).to.equal(0.01);

    disk.free = 3_900;
    await until(() => reasons.at(-1) !== undefined);
    await until(() => calls.includes("rewrite"));
    await checked();
    Object.assign(use, { isRewriting: false, fileBytes: 3_000, baseBytes: 3_000 });
    disk.free = 5_900;
    await until(() => reasons.at(-1) === undefined);
    expect(calls).to.deep.equal(["automatic", "rewrite"]);

    // A rewrite that Redis has started uses the room that was kept for it.
    Object.assign(use, { isRewriting: true, fileBytes: 6_000 });
    disk.free = 2_900;
    await checked();
    expect(reasons.at(-1)).to.equal(undefined);
    use.isRewriting = false;
    await until(() => calls.at(-1) === "none");
    await checked();
    expect(reasons.at(-1)).to.equal("the disk of its servers is nearly full");
    expect(calls.filter((call) => call === "rewrite")).to.have.length(1);
    disk.free = 50_000;
    await until(() => calls.at(-1) === "automatic");
    await until(() => reasons.at(-1) === undefined);
  });

  it("is reported at once when Redis cannot write, halts no actor, and is over by itself", async function () {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
    stops.push(() => fs.rmSync(dataDir, { recursive: true, force: true }));
    const unmount = mountSmallDisk(dataDir);
    // Only root can mount a file system that this test may fill.
    if (unmount === undefined) return this.skip();
    stops.push(unmount);
    const server = await startRedis({ dataDir, log: () => undefined, cacheDir, fsync: "everysec" });
    stops.push(() => server.stop(1_000));
    const { log, exchange } = await start(server.url);
    expect(await place(exchange)).to.have.property("orderId");
    const ballast = path.join(dataDir, "ballast");
    fs.writeFileSync(ballast, "");
    const file = fs.openSync(ballast, "a");
    try {
      for (const chunk = Buffer.alloc(1_048_576); ;) fs.writeSync(file, chunk);
    } catch (error) {
      expect(String(error)).to.contain("ENOSPC");
    }
    try {
      for (;;) fs.writeSync(file, "x");
    } catch {
      // Not a byte is left.
    }
    fs.closeSync(file);
    await untilWithin(
      20_000,
      () => place(exchange),
      (answer) => "refusal" in answer && answer.refusal.includes("Redis cannot write"),
    );
    expect((await log.condition()).fault).to.be.a("string");
    const elapsedMs = stopwatch();
    expect(await place(exchange)).to.have.property("refusal");
    expect(elapsedMs(), "ms until the refusal").to.be.lessThan(500);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    fs.rmSync(ballast);
    const freedMs = Date.now();
    await untilWithin(20_000, () => place(exchange), isPlaced);
    expect(Date.now() - freedMs, "ms until orders are accepted").to.be.lessThan(8_000);
    expect(await log.halted()).to.have.property("size", 0);
  });
});

import { expect } from "chai";
import { randomUUID } from "node:crypto";
import { ledgerOf, ledgerShardOf } from "../../../actors/actor.js";
import { formatMoney, millicents } from "../../../actors/units.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { WorkerProcess } from "../../support/worker-process.js";

describe("the role worker", () => {
  let redis: FreshRedis;
  let log: RedisLog;
  let exchange: LogExchange;
  const workers: WorkerProcess[] = [];
  const wallets = Array.from({ length: 12 }, () => randomUUID());

  beforeEach(async () => {
    redis = await freshRedis();
    log = await RedisLog.open({ url: redis.url });
    exchange = new LogExchange({ log, clock: systemClock, logger: silentLogger, newId: randomUUID });
    await exchange.start();
  });

  afterEach(async () => {
    for (const { child } of workers) child.kill("SIGKILL");
    await Promise.all(workers.splice(0).map(({ exited }) => exited));
    await exchange.close();
    await log.close();
    await redis.drop();
  });

  async function start(): Promise<WorkerProcess> {
    const worker = new WorkerProcess(redis.url);
    workers.push(worker);
    await worker.ready;
    return worker;
  }

  /** Pays one unit into a wallet; repeats the command with the same id until it is answered, as a client does. */
  async function deposit(wallet: string): Promise<void> {
    const id = randomUUID();
    for (;;) {
      try {
        const reply = await exchange.ledger(
          ledgerShardOf(wallet),
          {
            kind: "transact",
            transactionId: id,
            transaction: "DEPOSIT",
            wallet,
            trader: wallet,
            currency: "CASH",
            amount: millicents(100_000),
            ref: "test",
          },
          { id, rememberMs: 60_000 },
        );
        expect(reply.ok).to.equal(true);
        return;
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
      }
    }
  }

  async function balance(wallet: string): Promise<string> {
    const reply = await exchange.ledger(ledgerShardOf(wallet), { kind: "wallet", wallet }, { rememberMs: 0 });
    if (!reply.ok || reply.kind !== "wallet") throw new Error("no wallet");
    return formatMoney(reply.wallet.balances.CASH.total);
  }

  /** Pays into all wallets repeatedly while `disturb` runs. */
  async function depositWhile(disturb: () => Promise<unknown>): Promise<number> {
    let running = true;
    const clients = wallets.map(async (wallet) => {
      let deposits = 0;
      for (; running; deposits += 1) await deposit(wallet);
      return deposits;
    });
    await disturb();
    running = false;
    const counts = await Promise.all(clients);
    for (const [index, wallet] of wallets.entries()) {
      expect(await balance(wallet), ledgerOf(wallet)).to.equal(
        formatMoney(millicents((counts[index] ?? 0) * 100_000)),
      );
    }
    return counts.reduce((sum, count) => sum + count, 0);
  }

  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it("hands its partitions over at a stop, and no effect is lost or repeated", async () => {
    const first = await start();
    let second: WorkerProcess | undefined;
    const deposits = await depositWhile(async () => {
      await pause(100);
      second = await start();
      await pause(500);
      first.child.kill("SIGTERM");
      expect(await first.exited).to.equal(0);
      await pause(300);
    });
    expect(deposits).to.be.above(50);
    expect(second?.child.exitCode).to.equal(null);
  });

  it("is replaced when it is killed or suspended, and no effect is lost or repeated", async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const deposits = await depositWhile(async () => {
      await pause(300);
      second.child.kill("SIGSTOP");
      await pause(1_500);
      second.child.kill("SIGCONT");
      await pause(1_000);
      first.child.kill("SIGKILL");
      await pause(1_000);
    });
    expect(deposits).to.be.above(50);
    expect(second.child.exitCode).to.equal(null);
  });

  it("ends when its supervisor has ended", async () => {
    const worker = await start();
    worker.child.disconnect();
    expect(await worker.exited).to.equal(0);
  });

  it("does not start without a Redis", async () => {
    const worker = new WorkerProcess(undefined);
    workers.push(worker);
    expect(await worker.exited).to.equal(1);
  });
}).timeout(60_000);

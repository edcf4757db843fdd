import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { MarketCommand, MarketReply } from "../../../actors/market/commands.js";
import { systemClock } from "../../../stream/log/clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { Unavailable, type AskOptions, type Exchange } from "../../../stream/log/ports.js";
import { startJobs, type JobsOptions, type RunningJobs } from "../../../stream/jobs/jobs.js";
import { openSettlementQueue, retryPauseMs, type SettlementQueue } from "../../../stream/jobs/queues.js";
import type { SettlementJob } from "../../../stream/jobs/settlement.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";
import { until } from "../../support/until.js";

/** A market with wallets to pay, which remembers its payments as the real market does. */
class PayingMarket implements Exchange {
  readonly paidIn: number[] = [];
  paid = 0;
  unavailable = 0;
  graded = true;
  /** Never answers while set. */
  hangs = false;

  constructor(readonly wallets: number) {}

  async market(_marketId: string, command: MarketCommand, _options?: AskOptions): Promise<MarketReply> {
    if (command.kind !== "settle") throw new Error(`a job sent ${command.kind}`);
    if (this.hangs) return new Promise(() => undefined);
    if (this.unavailable > 0) {
      this.unavailable -= 1;
      throw new Unavailable("no answer");
    }
    if (!this.graded) return { ok: false, refusal: "NOT_GRADED" };
    const now = Math.min(command.limit, this.wallets - this.paid);
    this.paid += now;
    this.paidIn.push(now);
    const done = this.paid === this.wallets;
    const status = done ? "SETTLED" : "CLOSED";
    return Promise.resolve({
      ok: true,
      kind: "settlement",
      status,
      settlementId: "s",
      paid: this.paid,
      wallets: this.wallets,
      done,
    });
  }

  ledger(): Promise<never> {
    return Promise.reject(new Error("a job sent a command to a ledger"));
  }
}

function someJob(): SettlementJob {
  return { marketId: randomUUID(), eventId: randomUUID(), settlementId: randomUUID(), remediating: false };
}

describe("settlement jobs", () => {
  let redis: FreshRedis;
  let queue: SettlementQueue;
  let prefix: string;
  let settled: SettlementJob[];
  const running: RunningJobs[] = [];

  beforeEach(async () => {
    redis = await freshRedis();
    prefix = `{jobs${redis.prefix.replaceAll(":", "")}}`;
    queue = openSettlementQueue(redis.url, prefix);
    settled = [];
  });

  afterEach(async () => {
    await queue.close();
    await Promise.all(running.splice(0).map((jobs) => jobs.stop()));
    await redis.drop();
  });

  async function start(exchange: Exchange, ports: Partial<JobsOptions["ports"]> = {}): Promise<RunningJobs> {
    const jobs = await startJobs({
      redisUrl: redis.url,
      exchange,
      log: silentLogger,
      clock: systemClock,
      prefix,
      sweepEveryMs: 100,
      lockMs: 400,
      ports: {
        unsettled: () => Promise.resolve([]),
        enqueue: (job) => queue.enqueue(job),
        sendLostSteps: () => Promise.resolve(),
        unfinishedSteps: () => Promise.resolve([]),
        finishStep: () => Promise.resolve(),
        tradersToRestrict: () => Promise.resolve([]),
        restrict: () => Promise.resolve(),
        settleFinalEvents: () => Promise.resolve(),
        restoreWanted: () => Promise.resolve(),
        removeSettled: () => Promise.resolve(),
        keepMonths: () => Promise.resolve(),
        marketSettled: (job) => {
          settled.push(job);
          return Promise.resolve();
        },
        ...ports,
      },
    });
    running.push(jobs);
    return jobs;
  }

  it("pays 500 wallets at a time until the market is done, and then calls marketSettled", async () => {
    const market = new PayingMarket(1_201);
    await start(market);
    const job = someJob();
    await queue.enqueue(job);
    await until(() => settled.length > 0);
    expect(market.paidIn).to.deep.equal([500, 500, 201]);
    expect(settled).to.deep.equal([job]);
  });

  it("is one job however often it is enqueued", async () => {
    const job = someJob();
    for (let i = 0; i < 5; i += 1) await queue.enqueue(job);
    await start(new PayingMarket(1));
    await until(() => settled.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(settled).to.have.length(1);
  });

  it("retries while the market does not answer", async () => {
    const market = new PayingMarket(700);
    market.unavailable = 3;
    await start(market);
    await queue.enqueue(someJob());
    await until(() => settled.length > 0);
    expect(market.paid).to.equal(700);
  });

  it("stops for a market that has nothing to settle, and can be enqueued again later", async () => {
    const market = new PayingMarket(10);
    market.graded = false;
    await start(market);
    const job = someJob();
    await queue.enqueue(job);
    await new Promise((resolve) => setTimeout(resolve, 300));
    market.graded = true;
    await queue.enqueue(job);
    await until(() => settled.length > 0);
    expect(market.paidIn).to.deep.equal([10]);
  });

  it("takes over the settlement of a process that died during it", async () => {
    const dying = new PayingMarket(1_000);
    dying.hangs = true;
    const market = new PayingMarket(1_000);
    const dead = await startDead(dying);
    const job = someJob();
    await queue.enqueue(job);
    await dead.hasTaken;
    await start(market);
    await until(() => settled.length > 0);
    expect(settled).to.deep.equal([job]);
    expect(market.paid).to.equal(1_000);
  });

  /** Starts a worker that takes a job from the queue, and then never renews its lock and never finishes it. */
  async function startDead(exchange: Exchange): Promise<{ hasTaken: Promise<void> }> {
    const { Worker } = await import("bullmq");
    const { connectJobs } = await import("../../../stream/jobs/connection.js");
    const connection = connectJobs(redis.url, "work");
    let markTaken: () => void = () => undefined;
    const hasTaken = new Promise<void>((resolve) => (markTaken = resolve));
    const worker = new Worker<SettlementJob>(
      "settlement",
      async (job) => {
        markTaken();
        await exchange.market(job.data.marketId, { kind: "settle", limit: 1 });
      },
      { connection, prefix, lockDuration: 400, skipLockRenewal: true, skipStalledCheck: true },
    );
    worker.on("error", () => undefined);
    running.push({
      stop: async () => {
        await worker.close(true);
        connection.disconnect();
      },
    });
    return { hasTaken };
  }

  it("sweeps settlements that were never enqueued, and steps that were never finished", async () => {
    const lost = someJob();
    const step = { actionId: 7, eventId: lost.eventId, action: "close" as const };
    const minimumAges: number[] = [];
    const finished: unknown[] = [];
    let finals = 0;
    const market = new PayingMarket(3);
    await start(market, {
      unsettled: () => Promise.resolve(market.paid < 3 ? [lost] : []),
      unfinishedSteps: (beforeTs) => {
        minimumAges.push(Date.now() - beforeTs);
        return Promise.resolve(finished.length === 0 ? [step] : []);
      },
      finishStep: (unfinished) => {
        finished.push(unfinished);
        return Promise.resolve();
      },
      tradersToRestrict: () => Promise.resolve([]),
      restrict: () => Promise.resolve(),
      settleFinalEvents: () => {
        finals += 1;
        return Promise.resolve();
      },
    });
    await until(() => settled.length > 0 && finished.length > 0 && finals > 0);
    expect(settled[0]).to.deep.equal(lost);
    expect(finished).to.deep.equal([step]);
    expect(Math.min(...minimumAges)).to.be.at.least(5_000);
  });

  it("continues a sweep after a failure", async () => {
    let finals = 0;
    await start(new PayingMarket(1), {
      unsettled: () => Promise.reject(new Error("Postgres is down")),
      tradersToRestrict: () => Promise.resolve([]),
      restrict: () => Promise.resolve(),
      settleFinalEvents: () => {
        finals += 1;
        return Promise.resolve();
      },
    });
    await until(() => finals > 1);
  });

  it("waits longer before each attempt, at most 15 s", () => {
    expect([1, 2, 3, 50].map(retryPauseMs)).to.deep.equal([200, 400, 800, 15_000]);
  });
});

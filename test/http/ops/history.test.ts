import { expect } from "chai";
import type { Readiness } from "../../../http/ops/health.js";
import { HealthHistory, requestRate, SAMPLE_MS } from "../../../http/ops/history.js";
import type { ProcessReport } from "../../../stream/services/process-reports.js";

const START = 1_790_000_000_000;
const HOUR_MS = 3_600_000;
const REPORT: Readiness = {
  ready: true,
  redis: true,
  postgres: true,
  replica: null,
  ledgers: 16,
  projectorLag: 7,
  projecting: true,
  reconciled: 0,
  strayRows: 0,
  halted: ["market:1"],
  quarantined: 2,
  stopping: false,
  unreadable: [],
  room: { accepts: "all", reason: null, memoryPercent: 69.9, diskPercent: null },
  clock: { heldMs: 0, hosts: {} },
  processes: { gateway: ["gateway-1", "gateway-2"], worker: ["worker-1"] },
  format: { active: 4, announced: { 4: 3 } },
};

/** Clock whose timers run when a test lets time pass. */
class ManualClock {
  #nowMs = START;
  #timers: { atMs: number; call: () => void }[] = [];

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = this.#timers.toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#nowMs = next.atMs;
      next.call();
      await new Promise(setImmediate);
    }
    this.#nowMs = endMs;
  }
}

/** Store of the samples of several gateways. */
class Store {
  readonly bodies: string[] = [];
  isAway = false;
  #claimedUntilMs = 0;

  open(clock: ManualClock) {
    let read = 0;
    const answer = <T>(value: () => T): Promise<T> =>
      this.isAway ? Promise.reject(new Error("away")) : Promise.resolve(value());
    return {
      claim: (ms: number) =>
        answer(() => {
          if (clock.now() < this.#claimedUntilMs) return false;
          this.#claimedUntilMs = clock.now() + ms;
          return true;
        }),
      add: (body: string) =>
        answer(() => {
          this.bodies.push(body);
        }),
      read: () =>
        answer(() => {
          const news = this.bodies.slice(read);
          read = this.bodies.length;
          return news;
        }),
    };
  }
}

describe("the last hour of the health", () => {
  let clock: ManualClock;
  let store: Store;
  let reports: number;

  beforeEach(() => {
    clock = new ManualClock();
    store = new Store();
    reports = 0;
  });

  async function gateway(): Promise<HealthHistory> {
    const history = new HealthHistory({
      shared: store.open(clock),
      clock,
      readiness: () => {
        reports += 1;
        return Promise.resolve(REPORT);
      },
      difference: () => Promise.resolve({ CASH: "0.00000", COIN: "0.00000" }),
      reports: () => [],
      onError: (error) => expect.fail(String(error)),
    });
    await history.start();
    return history;
  }

  it("has the figures of each report", async () => {
    const history = await gateway();
    expect(await history.read()).to.deep.equal([]);
    await clock.pass(SAMPLE_MS);
    expect(await history.read()).to.deep.equal([
      {
        ts: START + 5_000,
        ready: true,
        redis: true,
        postgres: true,
        replica: null,
        processes: { gateway: 2, worker: 1 },
        format: 4,
        ledgers: 16,
        halted: 1,
        projecting: true,
        projectorLag: 7,
        difference: { CASH: "0.00000", COIN: "0.00000" },
        accepts: "all",
        memoryPercent: 69.9,
        diskPercent: null,
        quarantined: 2,
        reconciled: 0,
        heldMs: 0,
        requestsPerSecond: null,
      },
    ]);
    history.stop();
  });

  it("is bounded, and forgets what is older", async () => {
    const history = await gateway();
    await clock.pass(3 * HOUR_MS);
    const samples = await history.read();
    expect(samples).to.have.length(HOUR_MS / SAMPLE_MS);
    expect(samples[0]?.ts).to.be.greaterThan(clock.now() - HOUR_MS);
    history.stop();
    await clock.pass(2 * HOUR_MS);
    expect(await history.read()).to.deep.equal([]);
  });

  it("is the same at every gateway, and one samples for all, also of those that start together", async () => {
    const [first, second] = [await gateway(), await gateway()];
    await clock.pass(HOUR_MS / 2);
    const late = await gateway();
    expect(await late.read())
      .to.have.length(60)
      .and.to.deep.equal(await first.read());
    expect(reports).to.equal(60);
    await clock.pass(SAMPLE_MS);
    expect(await second.read())
      .to.have.length(61)
      .and.to.deep.equal(await first.read());
    first.stop();
    await clock.pass(2 * SAMPLE_MS);
    expect((await second.read()).at(-1)?.ts).to.be.greaterThan(clock.now() - 2 * SAMPLE_MS);
    second.stop();
    late.stop();
  });

  it("goes on at each gateway while Redis does not answer", async () => {
    const history = await gateway();
    store.isAway = true;
    await clock.pass(4 * SAMPLE_MS);
    expect(await history.read()).to.have.length(4);
    expect(store.bodies).to.deep.equal([]);
    history.stop();
  });

  it("passes over a sample of another build, a broken one, and one from the future", async () => {
    store.bodies.push('{"ts":1,"other":2}', '{"ts":2,');
    const history = await gateway();
    await clock.pass(SAMPLE_MS);
    expect(await history.read()).to.have.length(1);
    const [sample] = await history.read();
    store.bodies.push(JSON.stringify({ ...sample, ts: START + 10 * HOUR_MS }));
    await clock.pass(2 * SAMPLE_MS);
    expect(await history.read()).to.have.length(3);
    history.stop();
  });
});

describe("the rate of requests", () => {
  const report = (process: string, requests?: number): ProcessReport => ({
    role: "gateway",
    name: process,
    host: "here",
    process,
    pid: 1,
    figures: requests === undefined ? {} : { requests_total: requests },
  });

  it("is the sum of all gateways since the last reading", () => {
    let reports = [report("a", 1_000), report("w")];
    const rate = requestRate(() => reports);
    expect(rate(START)).to.equal(null);
    reports = [report("a", 1_300), report("b", 5_000), report("w")];
    expect(rate(START + 30_000)).to.equal(10);
    reports = [report("a", 1_300), report("b", 5_015)];
    expect(rate(START + 60_000)).to.equal(0.5);
    reports = [];
    expect(rate(START + 90_000)).to.equal(null);
  });
});

import { expect } from "chai";
import { EngineClock } from "../../../stream/services/engine-clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { ManualClock, microtasksDone } from "../log/support.js";

const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;

/** A clock that can be set, beside the time that really passes. */
class HostClock extends ManualClock {
  setMs = 0;
  readonly #real: ManualClock;

  constructor(real: ManualClock) {
    super();
    this.#real = real;
  }

  override now(): number {
    return this.#real.now() + this.setMs;
  }

  override monotonic(): number {
    return this.#real.now();
  }

  override after(ms: number, call: () => void): () => void {
    return this.#real.after(ms, call);
  }
}

describe("engine time", () => {
  let real: ManualClock;
  let logClock: HostClock;
  let store: MemoryStore;
  let logged: string[];
  let isDown: boolean;
  const clocks: EngineClock[] = [];

  beforeEach(() => {
    real = new ManualClock(START_MS);
    logClock = new HostClock(real);
    store = new MemoryStore();
    [logged, isDown, stalled, isStalled] = [[], false, [], false];
  });

  afterEach(() => {
    for (const clock of clocks.splice(0)) clock.stop();
  });

  let stalled: (() => void)[];
  let isStalled: boolean;
  const gate: Gate = async (_operation, apply) => {
    if (isDown) throw new Error("connection lost");
    if (isStalled) await new Promise<void>((resolve) => stalled.push(resolve));
    return apply();
  };
  const release = (): void => stalled.splice(0).forEach((arrive) => arrive());
  const log = (): MemoryLog => new MemoryLog(store, { clock: logClock, gate });

  async function start(name: string, sets: boolean, host = new HostClock(real)): Promise<EngineClock> {
    const note = (_fields: object, message: string): void => void logged.push(message);
    const logger = { ...silentLogger, warn: note, error: note };
    const clock = await EngineClock.start({ log: log(), clock: host, logger, name, sets });
    clocks.push(clock);
    return clock;
  }

  /** Lets time pass, in which the clocks are sampled. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      real.advance(100);
      await microtasksDone();
    }
  }

  /** Difference of a clock from the time that really passed. */
  const offMs = (clock: EngineClock): number => clock.now() - real.now();

  it("follows the clock of the log, and no clock of a host", async () => {
    const host = new HostClock(real);
    host.setMs = -HOUR_MS;
    const worker = await start("w1", true, host);
    expect(offMs(worker)).to.equal(0);
    expect(logged).to.deep.equal(["the clock of this host differs from the clock of the log"]);
    host.setMs = HOUR_MS;
    await pass(5_000);
    expect(offMs(worker)).to.equal(0);
    expect(await log().clockReport()).to.deep.equal({ heldMs: 0, hosts: { w1: HOUR_MS } });
    host.setMs = 0;
    await pass(2_000);
    expect((await log().clockReport()).hosts).to.deep.equal({});
  });

  for (const driftMs of [4_900, -4_900]) {
    it(`slews a drift of ${driftMs} ms, and never goes back`, async () => {
      const worker = await start("w1", true);
      logClock.setMs = driftMs;
      let before = worker.now();
      for (let n = 0; n < 1_200; n += 1) {
        await pass(100);
        const now = worker.now();
        expect(now - before).to.be.within(90, 110);
        before = now;
      }
      expect(Math.abs(offMs(worker) - driftMs)).to.be.below(60);
      expect((await log().clockReport()).heldMs).to.equal(0);
    });
  }

  for (const jumpMs of [HOUR_MS, -HOUR_MS, 5_100, -5_100]) {
    it(`holds a jump of the log's clock by ${jumpMs} ms in every process, until it is confirmed`, async () => {
      const all = [await start("w1", true), await start("w2", true), await start("g1", false)];
      logClock.setMs = jumpMs;
      await pass(5_000);
      for (const clock of all) {
        expect(Math.abs(offMs(clock))).to.be.below(5);
        expect(clock.heldMs).to.be.within(-jumpMs - 2, -jumpMs + 2);
      }
      expect((await log().clockReport()).heldMs).to.be.within(-jumpMs - 2, -jumpMs + 2);
      const message = "the clock of the log has jumped; engine time ignores it until an operator confirms it";
      expect(logged.filter((line) => line === message)).to.have.length(1);
      const late = await start("w3", true);
      expect(Math.abs(offMs(late)), "a worker that starts").to.be.below(5);

      await log().confirmTime();
      await pass(2_000);
      for (const clock of [...all, late]) {
        expect(Math.abs(offMs(clock) - jumpMs)).to.be.below(5);
        expect(clock.heldMs).to.equal(0);
      }
      expect((await log().clockReport()).heldMs).to.equal(0);
    });
  }

  it("learns of a confirmation although every answer of the log takes too long for its time", async () => {
    const gateway = await start("g1", false);
    const worker = await start("w1", true);
    logClock.setMs = HOUR_MS;
    await pass(5_000);
    expect(gateway.heldMs).to.be.within(-HOUR_MS - 2, -HOUR_MS + 2);
    worker.stop();
    await log().confirmTime();
    isStalled = true;
    for (let samples = 0; samples < 3; samples += 1) {
      await pass(1_600);
      release();
      await microtasksDone();
    }
    expect(gateway.heldMs).to.equal(0);
    expect(gateway.lastJump).to.deep.include({ heldMs: -HOUR_MS });
    expect(Math.abs(offMs(gateway) - HOUR_MS)).to.be.below(1_000);
  });

  it("ends a hold when the jump is undone", async () => {
    const worker = await start("w1", true);
    logClock.setMs = HOUR_MS;
    await pass(3_000);
    logClock.setMs = 20;
    await pass(3_000);
    expect((await log().clockReport()).heldMs).to.equal(0);
    expect(offMs(worker)).to.be.within(-5, 25);
  });

  it("starts after the last recorded engine time when the log's clock was set back meanwhile", async () => {
    const worker = await start("w1", true);
    await pass(3_000);
    worker.stop();
    await pass(600_000);
    logClock.setMs = -HOUR_MS;
    const starting = start("w2", true);
    await pass(5_000);
    const next = await starting;
    expect(offMs(next)).to.be.within(-606_000, -599_000);
    expect((await log().clockReport()).heldMs).to.be.within(HOUR_MS - 606_000, HOUR_MS - 598_000);
  });

  for (const jumpMs of [HOUR_MS, -HOUR_MS]) {
    it(`starts with the time of a live worker whose record is late, after a jump by ${jumpMs} ms`, async () => {
      const host = new HostClock(real);
      // The timers of the live worker are late too.
      host.after = (ms, call) => real.after(ms + 300, call);
      const worker = await start("w1", true, host);
      await pass(3_900);
      logClock.setMs = jumpMs;
      // The log stalls: what the worker sent before arrives much later, and the worker ignores such an answer.
      isStalled = true;
      await pass(4_000);
      isStalled = false;
      release();
      await microtasksDone();
      let started: EngineClock | undefined;
      void start("w2", true).then((clock) => (started = clock));
      for (let n = 0; n < 60; n += 1) {
        await pass(100);
        for (const clock of [worker, started ?? worker]) expect(Math.abs(offMs(clock))).to.be.below(5);
      }
      expect(started).to.not.equal(undefined);
    });
  }

  it("starts with the time of a live worker after a jump, on a host whose clock jumps too", async () => {
    const worker = await start("w1", true);
    await pass(3_000);
    logClock.setMs = HOUR_MS;
    const host = new HostClock(real);
    host.setMs = HOUR_MS;
    const starting = start("w2", true, host);
    await pass(3_000);
    for (const clock of [worker, await starting]) expect(Math.abs(offMs(clock))).to.be.below(5);
  });

  it("starts with the clock of the log after a long time without a worker", async () => {
    (await start("w1", true)).stop();
    await pass(600_000);
    const starting = start("w2", true);
    await pass(1_500);
    expect(offMs(await starting)).to.equal(0);
    expect((await log().clockReport()).heldMs).to.equal(0);
  });

  it("of a process that was suspended is that of the others", async () => {
    await start("w1", true);
    const suspended = new HostClock(real);
    const worker = await start("w2", true, suspended);
    // The monotonic clock of a virtual machine does not count the time in which it is suspended.
    const monotonic = suspended.monotonic.bind(suspended);
    suspended.monotonic = () => monotonic() - 600_000;
    await pass(3_000);
    expect(Math.abs(offMs(worker))).to.be.below(5);
    expect((await log().clockReport()).heldMs).to.equal(0);
  });

  it("of a process whose monotonic clock jumps ahead is that of the others", async () => {
    const other = await start("w1", true);
    const wrong = new HostClock(real);
    const worker = await start("w2", true, wrong);
    const monotonic = wrong.monotonic.bind(wrong);
    wrong.monotonic = () => monotonic() + 600_000;
    await pass(4_000);
    for (const clock of [worker, other]) expect(Math.abs(offMs(clock))).to.be.below(5);
    expect((await log().clockReport()).heldMs).to.equal(0);
  });

  it("of a process alone whose monotonic clock jumps ahead is that of the log, with which its host agrees", async () => {
    const wrong = new HostClock(real);
    const worker = await start("w1", true, wrong);
    const monotonic = wrong.monotonic.bind(wrong);
    wrong.monotonic = () => monotonic() + 600_000;
    await pass(7_000);
    expect(Math.abs(offMs(worker))).to.be.below(5);
    expect((await log().clockReport()).heldMs).to.equal(0);
  });

  for (const workers of [1, 2]) {
    it(`holds a jump of the log's clock back to where it was before a stall, with ${workers} at work`, async () => {
      const gateway = await start("g1", false);
      const all = [gateway];
      for (let n = 1; n <= workers; n += 1) all.push(await start(`w${n}`, true));
      await pass(3_000);
      isDown = true;
      await pass(60_000);
      // The virtual machine of the log was paused, and its clock has not caught up.
      logClock.setMs = -60_000;
      isDown = false;
      for (let n = 0; n < 80; n += 1) {
        await pass(100);
        for (const clock of all) expect(Math.abs(offMs(clock))).to.be.below(5);
      }
      expect((await log().clockReport()).heldMs).to.be.within(59_990, 60_010);
      logClock.setMs = 0;
      await pass(3_000);
      expect((await log().clockReport()).heldMs).to.equal(0);
      for (const clock of all) expect(Math.abs(offMs(clock))).to.be.below(5);
    });
  }

  it("goes on while the log does not answer", async () => {
    const worker = await start("w1", true);
    isDown = true;
    await pass(10_000);
    expect(Math.abs(offMs(worker))).to.be.below(5);
  });
});

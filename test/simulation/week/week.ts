/**
 * Simulates a week of a league. The real actors and the real runtime run on the log in memory, with the limits of
 * production, while markets open, trade, settle and are removed, and processes are upgraded and fail. At the end of each
 * day everything is recovered from the log, checked, and measured.
 */

import { type ActorId, partitionOf } from "../../../actors/actor.js";
import { LATEST_FORMAT, OLDEST_FORMAT } from "../../../actors/format.js";
import { KEYS } from "../journal.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { must } from "../checks.js";
import { Network, NO_FAULTS } from "../machine/network.js";
import type { Machine } from "../machine/process.js";
import { Random } from "../machine/random.js";
import { Scheduler } from "../machine/scheduler.js";
import { CompressedArchive } from "./archive.js";
import { Callers } from "./callers.js";
import { Cluster } from "./cluster.js";
import type { DaySizes } from "./judge.js";
import { League } from "./league.js";
import { sessionMs, type WeekPlan } from "./plan.js";
import { ReadModel } from "./read-model.js";
import { type LogSizes, logSizes, meanOf, takeOver } from "./sizes.js";

const START_MS = 1_700_006_400_000;
const HOUR_MS = 3_600_000;
/** Time after the trading of a session in which actors are removed and snapshots are taken, in ms. */
const UPKEEP_MS = 6_000;
/** Time limit of each part of the week. */
const LIMIT_MS = 3_600_000;
const MIN_IDLE_MS = 900_000;

/** Progress of a week, after each session. */
export interface WeekProgress {
  readonly session: number;
  readonly orders: number;
  readonly markets: number;
  readonly openMarkets: number;
  readonly commands: number;
}

export interface WeekPorts {
  readonly plan: WeekPlan;
  readonly seed: number;
  readonly heapBytes: () => number;
  readonly onSession?: (progress: WeekProgress) => void;
  readonly onDay?: (day: DaySizes) => void;
}

export class Week {
  /** Number of times that each event occurred. */
  readonly reached = new Map<string, number>();
  readonly #ports: WeekPorts;
  readonly #random: Random;
  readonly #scheduler = new Scheduler(START_MS);
  readonly #store = new MemoryStore();
  readonly #network: Network;
  readonly #logClock = { stepMs: 0 };
  readonly #readModel = new ReadModel();
  readonly #archive: CompressedArchive;
  readonly #cluster: Cluster;
  readonly #callers: Callers;
  readonly #league: League;

  constructor(ports: WeekPorts) {
    const { plan, seed } = ports;
    const scheduler = this.#scheduler;
    this.#ports = ports;
    this.#random = new Random(seed);
    const count = (event: string): void => this.#count(event);
    const onFault = count;
    this.#network = new Network(this.#store, scheduler, new Random(seed, 1), {
      onArrival: () => undefined,
      onResult: () => undefined,
      onFault,
    });
    this.#network.faults = NO_FAULTS;
    const onViolation = (error: Error): void => scheduler.fail(error);
    const machine: Machine = {
      ...{ store: this.#store, scheduler, network: this.#network, logClock: this.#logClock, oneGroup: true },
      changeCommit: (commit) => commit,
      changeOutcome: (outcome) => outcome,
      onViolation,
    };
    const now = (): number => scheduler.nowMs;
    this.#archive = new CompressedArchive(this.#readModel, now);
    this.#cluster = new Cluster({
      ...{ machine, count, onViolation, readModel: this.#readModel, archive: this.#archive },
      random: new Random(seed, 2),
      reviews: plan.reviews,
      // Only an actor without a command in two sessions is idle.
      limits: { ...plan.limits, idleMs: Math.max(MIN_IDLE_MS, 2 * sessionMs(plan)) },
    });
    this.#callers = new Callers(scheduler, new Random(seed, 3), () => this.#cluster.exchanges);
    this.#league = new League({
      ...{ plan, callers: this.#callers, count, now, readModel: this.#readModel },
      random: new Random(seed, 4),
      isProjected: (actor) => this.#isProjected(actor),
    });
  }

  #count(event: string): void {
    this.reached.set(event, (this.reached.get(event) ?? 0) + 1);
  }

  #isProjected(actor: ActorId): boolean {
    const last = this.#readModel.cursors.get(actor)?.seq ?? 0;
    return [...this.#heads([actor])].every(({ seq }) => seq === last);
  }

  /** Runs the week. Returns the sizes at the end of each day; rejects at the first violation. */
  async run(): Promise<readonly DaySizes[]> {
    const { plan, onDay } = this.#ports;
    const days: DaySizes[] = [];
    try {
      await this.#until(this.#cluster.start(), "the processes do not start");
      await this.#until(this.#league.fund(), "the wallets are not funded");
      for (let day = 0; day < plan.days; day += 1) {
        const sizesOfLog: LogSizes[] = [];
        for (let session = 0; session < plan.sessionsPerDay; session += 1)
          sizesOfLog.push(await this.#session(day, session));
        const sizes = await this.#measure(day, sizesOfLog);
        days.push(sizes);
        onDay?.(sizes);
      }
      await this.#until(this.#league.close(), "a settlement does not end");
      await this.#untilQuiet();
      await this.#measure(plan.days, []);
    } finally {
      this.#cluster.crashAll();
    }
    return days;
  }

  async #session(day: number, session: number): Promise<LogSizes> {
    const { plan, onSession } = this.#ports;
    const number = day * plan.sessionsPerDay + session;
    const endMs = START_MS + (number + 1) * sessionMs(plan);
    const isQuarter = session === Math.floor(plan.sessionsPerDay / 4);
    // The first day begins with the build before formats. The second day has a roll-back, and an upgrade after it.
    if (day === 0 && isQuarter)
      await this.#until(this.#cluster.roll(LATEST_FORMAT), "an upgrade does not end");
    if (day === 1 && session === 0)
      await this.#until(this.#cluster.roll(OLDEST_FORMAT), "a roll-back does not end");
    if (day === 1 && isQuarter)
      await this.#until(this.#cluster.roll(LATEST_FORMAT), "an upgrade does not end");
    const fault = this.#fault(number);
    await this.#until(Promise.all([this.#league.session(), fault]), "a session does not end");
    await this.#until(this.#callers.sleep(UPKEEP_MS), "the clock does not advance");
    await this.#untilQuiet();
    onSession?.({
      session: number,
      orders: this.#readModel.rows.orders,
      markets: this.#league.markets,
      openMarkets: this.#league.openMarkets,
      commands: this.#callers.answered,
    });
    must(this.#scheduler.nowMs < endMs, "a session takes longer than the time to the next");
    this.#scheduler.leap(endMs - this.#scheduler.nowMs);
    return logSizes(this.#store);
  }

  /** Injects one fault into a session; in turns, so that every kind of fault happens every day. */
  async #fault(session: number): Promise<void> {
    const random = this.#random;
    const faults: readonly (() => Promise<void> | void)[] = [
      () => this.#cluster.startWorker(),
      () => this.#network.stall(random.between(500, 4_000)),
      () => this.#cluster.crashGateway(),
      () => this.#network.powerCut(),
      () => this.#cluster.removeWorker(),
      () => this.#cluster.restartProjector(),
      () => this.#stepHosts(),
      () => this.#cluster.crashWorker(),
      () => this.#cluster.pauseWorker(random.between(200, 4_000)),
      () => this.#stepLog(),
    ];
    const names = [
      ...["worker joins", "log stall", "gateway crash", "power cut", "worker leaves", "projector crash"],
      ...["clock step of hosts", "worker crash", "worker pause", "clock step of the log"],
    ];
    const index = session % faults.length;
    await this.#callers.sleep(random.between(20, 200));
    this.#count(names[index] ?? "");
    await faults[index]?.();
  }

  async #stepHosts(): Promise<void> {
    this.#cluster.stepClock(HOUR_MS);
    await this.#callers.sleep(2_000);
    this.#cluster.stepClock(-HOUR_MS);
  }

  /** Steps the clock of the log by an hour. Somebody sets it right later. */
  async #stepLog(): Promise<void> {
    const ms = this.#random.pick([HOUR_MS, -HOUR_MS]);
    this.#logClock.stepMs += ms;
    await this.#callers.sleep(3_000);
    this.#logClock.stepMs -= ms;
    await this.#callers.sleep(3_000);
  }

  *#heads(actors: Iterable<ActorId>): Generator<{ readonly seq: number; readonly isIdle: boolean }> {
    for (const actor of actors) {
      const head = this.#store.fields(KEYS.head(partitionOf(actor), actor));
      const seq = Number(head.get("seq") ?? 0);
      const waiting = this.#store.stream(KEYS.mailbox(partitionOf(actor), actor)).entries.length;
      yield { seq, isIdle: waiting === 0 && Number(head.get("relayed") ?? 0) === seq };
    }
  }

  /** Waits until nothing is in flight between actors, and the read model has every entry. */
  async #untilQuiet(): Promise<void> {
    const wait = async (): Promise<void> => {
      while (!this.#isQuiet()) await this.#callers.sleep(50);
    };
    await this.#until(wait(), "the exchange does not come to rest");
  }

  #isQuiet(): boolean {
    const { cursors } = this.#readModel;
    for (const [actor, { seq }] of cursors) {
      for (const head of this.#heads([actor])) if (!head.isIdle || head.seq !== seq) return false;
    }
    return true;
  }

  async #until(result: Promise<unknown>, otherwise: string): Promise<void> {
    let done = false;
    result.then(
      () => (done = true),
      (error: unknown) => this.#scheduler.fail(error),
    );
    must(await this.#scheduler.run(() => done, LIMIT_MS), otherwise);
  }

  /** Checks the whole exchange, and measures it. The sizes of the log are the means of those after each session. */
  async #measure(day: number, sizesOfLog: readonly LogSizes[]): Promise<DaySizes> {
    const { rows, effects, mayBeNegative, removed } = this.#readModel;
    must(
      this.#league.effects.equals(effects),
      "the log has other orders, deposits and transfers than the answers",
    );
    const log = meanOf(sizesOfLog);
    const logAtEnd = logSizes(this.#store);
    const heapBytes = this.#ports.heapBytes();
    return {
      ...{ day, log, logAtEnd, heapBytes, takeOver: await takeOver(this.#store, mayBeNegative) },
      ...{ orders: rows.orders, rows: { ...rows }, markets: this.#league.markets, removedMarkets: removed },
      archiveBytes: this.#archive.bytes,
    };
  }
}

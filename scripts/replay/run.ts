/** Plays the segments of a recording in order, checks the book between them, and settles the market. */

import { writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { unreachable } from "../../actors/unreachable.js";
import { pause } from "../../http/client/connection.js";
import type { OperatorClient } from "../../http/client/rest/operator.js";
import type { BalanceAnswer } from "../../http/client/wire/account.js";
import type { MoneyReport } from "../../http/client/wire/operator.js";
import type { ReplaySetUp } from "./set-up.js";
import { check, streamedDifference, type Check, type Difference } from "./checks.js";
import { EMPTY_LADDER, type Ladder } from "./recording/ladder.js";
import type { Mirror } from "./makers/mirror.js";
import type { Progress } from "./progress.js";
import type { Segment, Transition, Wave } from "./recording/waves.js";

export interface RunOptions {
  /** Ratio of recorded time to real time; Infinity plays without pauses. */
  readonly speed: number;
  /** Number of recorded messages between two checks. */
  readonly checkEvery: number;
  /** Ends the replay early when it aborts. */
  readonly stopped: AbortSignal | undefined;
}

/** Result of a run. */
export interface Outcome {
  messages: number;
  waves: number;
  brokenLines: number;
  /** Contracts of recorded trades that no maker's order could fill. */
  untaken: number;
  checks: number;
  /** Check with the largest difference. */
  worstCheck: Check | undefined;
  slowestCatchUpMs: number;
  /** Largest difference seen between two checks, while frames were in flight. */
  worstBetween: Difference;
  settled: boolean;
  tradingMs: number;
  balances: Readonly<Record<string, Pick<BalanceAnswer, "balance" | "reserved">>>;
  money: MoneyReport | undefined;
}

const SETTLEMENT_MS = 60_000;
const POLL_MS = 100;

export class Run {
  readonly outcome: Outcome = {
    messages: 0,
    waves: 0,
    brokenLines: 0,
    untaken: 0,
    checks: 0,
    worstCheck: undefined,
    slowestCatchUpMs: 0,
    worstBetween: { contracts: 0, where: "" },
    settled: false,
    tradingMs: 0,
    balances: {},
    money: undefined,
  };
  #ladder: Ladder = EMPTY_LADDER;
  #line = 0;
  #nextCheck: number;
  #clock: { readonly recordedMs: number; readonly realMs: number } | undefined;

  constructor(
    private readonly setUp: ReplaySetUp,
    private readonly mirror: Mirror,
    private readonly operator: OperatorClient,
    private readonly progress: Progress,
    private readonly options: RunOptions,
  ) {
    this.#nextCheck = options.checkEvery;
  }

  /** Plays all segments; resolves when the market is settled, or when the recording has ended without a result. */
  async play(segments: AsyncIterable<Segment>): Promise<Outcome> {
    const began = Date.now();
    for await (const segment of segments) {
      if (this.options.stopped?.aborted === true) break;
      if (segment.kind === "broken") {
        this.outcome.brokenLines += 1;
        this.progress.say(`skipped line ${segment.line}: ${segment.reason}`);
      } else if (segment.kind === "wave") {
        await this.#wave(segment);
      } else {
        await this.#apply(segment);
      }
    }
    if (!this.outcome.settled) await this.#check();
    this.outcome.tradingMs = Date.now() - began;
    await this.#close();
    return this.outcome;
  }

  async #wave(wave: Wave): Promise<void> {
    await this.#pace(wave.publishMs);
    await this.mirror.play(wave);
    this.#ladder = wave.target;
    this.#line = wave.lastLine;
    const { outcome } = this;
    outcome.messages += wave.messages;
    outcome.waves += 1;
    outcome.untaken += wave.untaken;
    if (!this.mirror.suspended) {
      const between = streamedDifference(this.#ladder, this.setUp);
      if (between.contracts > outcome.worstBetween.contracts) outcome.worstBetween = between;
    }
    if (outcome.messages >= this.#nextCheck) {
      this.#nextCheck = outcome.messages + this.options.checkEvery;
      await this.#check();
    }
    const placed = [...this.setUp.makers, ...this.setUp.takers].reduce(
      (sum, { tally }) => sum + tally.placed,
      0,
    );
    this.progress.update(outcome.messages, `${placed} orders placed, ${outcome.checks} checks`);
  }

  async #apply(transition: Transition): Promise<void> {
    const { marketId } = this.setUp.market;
    const { eventId } = this.setUp.event;
    switch (transition.kind) {
      case "define":
        return;
      case "suspend":
        await this.#check();
        this.progress.say(`line ${this.#line}: suspended`);
        await this.operator.setMarketStatus(marketId, "pause");
        this.mirror.setSuspended(true);
        return;
      case "resume":
        this.progress.say(`line ${this.#line}: open again`);
        await this.operator.setMarketStatus(marketId, "resume");
        this.mirror.setSuspended(false);
        return;
      case "golive":
      case "unlive":
        await this.#check();
        this.progress.say(
          `line ${this.#line}: ${transition.kind === "golive" ? "in play" : "no longer in play"}`,
        );
        await this.operator.setEventStatus(eventId, transition.kind);
        if (transition.kind === "unlive") await this.operator.setEventStatus(eventId, "open");
        await this.mirror.untilEmpty();
        this.#ladder = EMPTY_LADDER;
        return;
      case "result":
        await this.#check();
        await this.#settle(transition.winner);
        return;
      default:
        return unreachable(transition);
    }
  }

  /**
   * Compares the book with the recorded ladder. A paused market accepts no orders while the recording goes on, so its
   * book is compared with the orders that rested before the pause.
   */
  async #check(): Promise<void> {
    await this.mirror.untilQuiet();
    const expected = this.mirror.suspended ? this.mirror.ladder() : this.#ladder;
    const found = await check(expected, this.setUp, this.#line);
    const { outcome } = this;
    outcome.checks += 1;
    outcome.slowestCatchUpMs = Math.max(outcome.slowestCatchUpMs, found.caughtUpMs);
    if (found.difference.contracts > (outcome.worstCheck?.difference.contracts ?? -1))
      outcome.worstCheck = found;
    if (found.difference.contracts > 0) this.progress.say(`line ${found.line}: ${found.difference.where}`);
  }

  async #settle(winner: number | undefined): Promise<void> {
    const { market, outcomeIds, event } = this.setUp;
    const winning = winner === undefined ? undefined : outcomeIds[winner === 0 ? 0 : 1];
    await this.operator.grade(market.marketId, winning === undefined ? { push: true } : { winner: winning });
    const deadlineMs = Date.now() + SETTLEMENT_MS;
    while ((await this.operator.settlementStatus(market.marketId)) !== "SETTLED") {
      if (Date.now() > deadlineMs)
        throw new Error(`the market did not settle within ${SETTLEMENT_MS / 1_000} s`);
      await pause(POLL_MS);
    }
    await this.operator.setEventStatus(event.eventId, "finalise");
    this.outcome.settled = true;
  }

  /** Cancels the orders of the replay when the file has no result and the market stays open; reads the money. */
  async #close(): Promise<void> {
    if (!this.outcome.settled)
      await Promise.all(this.setUp.makers.map((maker) => maker.cancel(maker.live())));
    await this.mirror.untilEmpty();
    this.outcome.money = await this.operator.money();
    const traders = [...this.setUp.makers, ...this.setUp.takers];
    const balances = await Promise.all(
      traders.map(async ({ name, rest }) => [name, await rest.balance()] as const),
    );
    this.outcome.balances = Object.fromEntries(
      balances.map(([name, { balance, reserved }]) => [name, { balance, reserved }]),
    );
  }

  async #pace(recordedMs: number): Promise<void> {
    if (this.options.speed === Infinity) return;
    this.#clock ??= { recordedMs, realMs: Date.now() };
    const due = this.#clock.realMs + (recordedMs - this.#clock.recordedMs) / this.options.speed;
    if (due > Date.now()) await this.#sleep(due - Date.now());
  }

  /** Sleeps; a stop ends the sleep early, because a recording has pauses of hours. */
  async #sleep(ms: number): Promise<void> {
    const { stopped } = this.options;
    await setTimeout(ms, undefined, stopped === undefined ? {} : { signal: stopped }).catch(() => undefined);
  }
}

/** Writes the final balances under the names of the traders, so that `diff` can compare two runs. */
export function writeBalances(file: string, { balances }: Outcome): void {
  writeFileSync(file, `${JSON.stringify(balances, undefined, 2)}\n`);
}

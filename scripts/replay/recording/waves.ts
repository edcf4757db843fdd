/**
 * Cuts a recording into waves. A wave holds as many consecutive messages as can be played at once with the same result
 * as one after the other: first their takes in order, then changes of different prices. No state of the recording is
 * skipped. The waves depend on the recording alone, never on timing.
 */

import { unreachable } from "../../../actors/unreachable.js";
import { EMPTY_LADDER, RecordedMarket, type Ladder, type Mapping, type Traded } from "./ladder.js";
import { contractsOf, snapDown, thousandthsOf, type Side } from "./odds.js";
import type { Line, MarketDefinition } from "./recording.js";

/** Order of a taker: buys `outcome` at up to `tick`, where exactly `qty` contracts are available. */
export interface Take {
  readonly outcome: number;
  readonly tick: number;
  readonly qty: number;
}

export interface Wave {
  readonly kind: "wave";
  readonly messages: number;
  readonly lastLine: number;
  readonly publishMs: number;
  /** Takes in the order in which they run; afterwards the mirror makes the book equal `target`. */
  readonly takes: readonly Take[];
  readonly target: Ladder;
  /** Contracts of recorded trades at prices where no maker's order rests. */
  readonly untaken: number;
}

/** Change of the market's status. `winner` is the index of the runner; `undefined`: all bets are void. */
export type Transition =
  | { readonly kind: "define"; readonly definition: MarketDefinition }
  | { readonly kind: "suspend" }
  | { readonly kind: "resume" }
  | { readonly kind: "golive" }
  | { readonly kind: "unlive" }
  | { readonly kind: "result"; readonly winner: number | undefined };

/** Part of a recording, in the order in which the parts are played. */
export type Segment =
  Wave | Transition | { readonly kind: "broken"; readonly line: number; readonly reason: string };

export interface WaveOptions extends Mapping {
  /** Longest recorded time between the first and the last message of a wave, in ms. */
  readonly windowMs: number;
}

const MAX_MESSAGES = 256;
/** One cent of each party's stake, in money. */
const ROUNDING = 0.02;

function keyOf(outcome: number, tick: number): string {
  return `${outcome} ${tick}`;
}

function changedKeys(before: Ladder, after: Ladder): string[] {
  const keys: string[] = [];
  before.forEach((bids, outcome) => {
    const now = after[outcome] ?? new Map<number, number>();
    for (const [tick, qty] of bids) if (now.get(tick) !== qty) keys.push(keyOf(outcome, tick));
    for (const tick of now.keys()) if (!bids.has(tick)) keys.push(keyOf(outcome, tick));
  });
  return keys;
}

/** Wave under construction: its takes, the book after them, and the prices that the mirror has yet to set. */
class OpenWave {
  readonly takes: Take[] = [];
  messages = 0;
  untaken = 0;
  readonly #resting: [Map<number, number>, Map<number, number>];
  /** Prices at which the recorded book differs from the book after the takes. */
  readonly #unset = new Set<string>();

  constructor(
    readonly openedMs: number,
    book: Ladder,
    readonly options: WaveOptions,
  ) {
    this.#resting = [new Map(book[0]), new Map(book[1])];
  }

  /** Returns the level that a recorded trade takes from: the outcome of the bids and the lowest of their prices. */
  levelOf(traded: Traded): Level | undefined {
    const candidates = (["back", "lay"] as const).flatMap((side: Side) => {
      const tick = snapDown(thousandthsOf(traded.odds, side), this.options.grid);
      if (tick === undefined) return [];
      const outcome = side === "back" ? traded.runner : 1 - traded.runner;
      return [{ side, outcome, tick, resting: this.#resting[outcome]?.get(tick) ?? 0 }];
    });
    const available = candidates.filter(({ resting }) => resting > 0).sort((a, b) => b.resting - a.resting);
    return available.find(({ side }) => side === traded.shrank) ?? available[0];
  }

  /** Returns whether the message sets, or takes from, a price that an earlier message of the wave has yet to set. */
  conflictsWith(changed: readonly string[], traded: readonly Traded[]): boolean {
    if (changed.some((key) => this.#unset.has(key))) return true;
    return traded.some((one) => {
      const level = this.levelOf(one);
      return level !== undefined && this.#hasUnsetFrom(level);
    });
  }

  /**
   * Adds the take of a recorded trade: the available contracts, best price first, down to the level. Sizes are rounded
   * to the cent on both sides of a trade: if the remainder differs from the recorded level by that rounding alone, the
   * take is the change of the level.
   */
  take(traded: Traded, { outcome, tick }: Level, after: Ladder): void {
    const bids = this.#resting[outcome] ?? new Map<number, number>();
    const prices = [...bids.keys()].filter((price) => price >= tick).sort((a, b) => b - a);
    const { odds, contracts } = traded;
    const rounding = contractsOf(ROUNDING, odds, this.options.scale);
    let left = contracts;
    let qty = 0;
    for (const price of prices) {
      const available = bids.get(price) ?? 0;
      let taken = Math.min(available, left);
      if (taken === 0) break;
      left -= taken;
      const shown = after[outcome]?.get(price) ?? 0;
      if (price === tick && shown < available && Math.abs(available - taken - shown) <= rounding)
        taken = available - shown;
      qty += taken;
      if (taken === available) bids.delete(price);
      else bids.set(price, available - taken);
    }
    this.untaken += left;
    if (qty > 0) this.takes.push({ outcome: 1 - outcome, tick: 1_000 - tick, qty });
  }

  /** Adds a message whose takes are already added and whose ladder is `after`. */
  add(after: Ladder): void {
    this.messages += 1;
    this.#unset.clear();
    for (const key of changedKeys(this.#resting, after)) this.#unset.add(key);
  }

  #hasUnsetFrom({ outcome, tick }: Level): boolean {
    for (const key of this.#unset) {
      const [o, t] = key.split(" ");
      if (Number(o) === outcome && Number(t) >= tick) return true;
    }
    return false;
  }
}

interface Level {
  readonly outcome: number;
  readonly tick: number;
}

/** Yields the segments of a recording. Throws `UnusableRecording` for a market that cannot be replayed. */
export async function* cutWaves(
  lines: AsyncIterable<Line> | Iterable<Line>,
  options: WaveOptions,
): AsyncGenerator<Segment> {
  const market = new RecordedMarket(options);
  let ladder: Ladder = EMPTY_LADDER;
  let phase = { suspended: false, live: false, defined: false };
  let last = { line: 0, publishMs: 0 };
  let wave: OpenWave | undefined;

  const close = (open: OpenWave): Wave => ({
    kind: "wave",
    messages: open.messages,
    lastLine: last.line,
    publishMs: last.publishMs,
    takes: open.takes,
    target: ladder,
    untaken: open.untaken,
  });

  for await (const line of lines) {
    if (!line.ok) {
      yield { kind: "broken", line: line.number, reason: line.reason };
      continue;
    }
    const { traded, definition } = market.apply(line.changes);
    const after = market.snapped();
    const transitions = transitionsOf(phase, definition);
    const changed = changedKeys(ladder, after);
    if (wave !== undefined && mustCut(wave, line.publishMs, options, transitions, changed, traded)) {
      yield close(wave);
      wave = undefined;
    }
    const result = transitions.find(({ kind }) => kind === "result");
    for (const transition of transitions) {
      phase = phaseAfter(phase, transition);
      if (transition !== result) yield transition;
    }
    const cleared = transitions.some(({ kind }) => kind === "golive" || kind === "unlive");
    wave ??= new OpenWave(line.publishMs, cleared ? EMPTY_LADDER : ladder, options);
    for (const one of traded) {
      const level = phase.suspended ? undefined : wave.levelOf(one);
      if (level === undefined) wave.untaken += one.contracts;
      else wave.take(one, level, after);
    }
    wave.add(after);
    ladder = after;
    last = { line: line.number, publishMs: line.publishMs };
    if (result !== undefined) {
      yield close(wave);
      yield result;
      return;
    }
  }
  if (wave !== undefined) yield close(wave);
}

interface Phase {
  readonly suspended: boolean;
  readonly live: boolean;
  readonly defined: boolean;
}

function mustCut(
  wave: OpenWave,
  publishMs: number,
  options: WaveOptions,
  transitions: readonly Transition[],
  changed: readonly string[],
  traded: readonly Traded[],
): boolean {
  if (transitions.length > 0 || wave.messages >= MAX_MESSAGES) return true;
  if (publishMs - wave.openedMs > options.windowMs) return true;
  return wave.conflictsWith(changed, traded);
}

/** Returns the changes of status in a definition, in the order in which the replay applies them. */
function transitionsOf(phase: Phase, definition: MarketDefinition | undefined): Transition[] {
  if (definition === undefined) return [];
  const found: Transition[] = [];
  if (!phase.defined) found.push({ kind: "define", definition });
  if (definition.inPlay && !phase.live) found.push({ kind: "golive" });
  if (!definition.inPlay && phase.live) found.push({ kind: "unlive" });
  const suspended = definition.status !== "OPEN";
  if (suspended && !phase.suspended) found.push({ kind: "suspend" });
  if (!suspended && phase.suspended) found.push({ kind: "resume" });
  if (definition.status === "CLOSED") {
    const runners = definition.runners.filter(({ status }) => status !== "REMOVED");
    const winner = runners.findIndex(({ status }) => status === "WINNER");
    found.push({ kind: "result", winner: winner === -1 ? undefined : winner });
  }
  return found;
}

function phaseAfter(phase: Phase, { kind }: Transition): Phase {
  switch (kind) {
    case "define":
      return { ...phase, defined: true };
    case "suspend":
      return { ...phase, suspended: true };
    case "resume":
      return { ...phase, suspended: false };
    case "golive":
      return { ...phase, live: true };
    case "unlive":
      return { ...phase, live: false };
    case "result":
      return phase;
    default:
      return unreachable(kind);
  }
}

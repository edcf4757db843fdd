/**
 * Cuts a recording into waves. A wave is as many messages in a row as can travel at once and still end where one
 * message after the other would have ended: their takes in order, and then different prices to set. No state that the
 * recording shows is skipped. Where the waves are cut, and what is in them, depends on nothing but the recording.
 */

import { EMPTY_LADDER, RecordedMarket, type Ladder, type Mapping, type Traded } from "./ladder.js";
import { contractsOf, snapDown, thousandthsOf, type Side } from "./odds.js";
import type { Line, MarketDefinition } from "./recording.js";

/** A taker order: buys `outcome` at up to `tick`, where exactly `qty` is there to be had. */
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
  /** First the takers take, in this order; then the mirror makes the book equal `target`. */
  readonly takes: readonly Take[];
  readonly target: Ladder;
  /** Contracts that were traded in the recording where nothing of ours rested. */
  readonly untaken: number;
}

/** What the market itself went through. `winner` is the runner's index; without one all bets were void. */
export type Transition =
  | { readonly kind: "define"; readonly definition: MarketDefinition }
  | { readonly kind: "suspend" }
  | { readonly kind: "resume" }
  | { readonly kind: "golive" }
  | { readonly kind: "unlive" }
  | { readonly kind: "result"; readonly winner: number | undefined };

export type Scene =
  Wave | Transition | { readonly kind: "broken"; readonly line: number; readonly reason: string };

export interface Cutting extends Mapping {
  /** Messages further apart than this in recorded time are not in one wave, ms. */
  readonly windowMs: number;
}

const MAX_MESSAGES = 256;
/** A cent of each party's stake, in money. */
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

/** The messages of a wave so far: its takes, what they leave of the book, and the prices that are still to be set. */
class OpenWave {
  readonly takes: Take[] = [];
  messages = 0;
  untaken = 0;
  readonly #resting: [Map<number, number>, Map<number, number>];
  /** Prices where the recording differs from what the takes leave. */
  readonly #unset = new Set<string>();

  constructor(
    readonly openedMs: number,
    book: Ladder,
    readonly cutting: Cutting,
  ) {
    this.#resting = [new Map(book[0]), new Map(book[1])];
  }

  /** Where a traded volume rested with us: the outcome whose bids it takes, and the lowest of them. */
  levelOf(traded: Traded): Level | undefined {
    const candidates = (["back", "lay"] as const).flatMap((side: Side) => {
      const tick = snapDown(thousandthsOf(traded.odds, side), this.cutting.grid);
      if (tick === undefined) return [];
      const outcome = side === "back" ? traded.runner : 1 - traded.runner;
      return [{ side, outcome, tick, resting: this.#resting[outcome]?.get(tick) ?? 0 }];
    });
    const there = candidates.filter(({ resting }) => resting > 0).sort((a, b) => b.resting - a.resting);
    return there.find(({ side }) => side === traded.shrank) ?? there[0];
  }

  /** Whether a price that the message sets, or a take of it reaches, still has to be set by an earlier message. */
  isInTheWay(changed: readonly string[], traded: readonly Traded[]): boolean {
    if (changed.some((key) => this.#unset.has(key))) return true;
    return traded.some((one) => {
      const level = this.levelOf(one);
      return level !== undefined && this.#hasUnsetFrom(level);
    });
  }

  /**
   * Takes what is there, best price first, down to the level. Sizes are rounded to the cent on both sides of a trade:
   * where that alone stands between what would be left and what the recording shows, the take is what the level lost.
   */
  take(traded: Traded, { outcome, tick }: Level, after: Ladder): void {
    const bids = this.#resting[outcome] ?? new Map<number, number>();
    const prices = [...bids.keys()].filter((price) => price >= tick).sort((a, b) => b - a);
    const { odds, contracts } = traded;
    const rounding = contractsOf(ROUNDING, odds, this.cutting.scale);
    let left = contracts;
    let qty = 0;
    for (const price of prices) {
      const there = bids.get(price) ?? 0;
      let taken = Math.min(there, left);
      if (taken === 0) break;
      left -= taken;
      const shown = after[outcome]?.get(price) ?? 0;
      if (price === tick && shown < there && Math.abs(there - taken - shown) <= rounding)
        taken = there - shown;
      qty += taken;
      if (taken === there) bids.delete(price);
      else bids.set(price, there - taken);
    }
    this.untaken += left;
    if (qty > 0) this.takes.push({ outcome: 1 - outcome, tick: 1_000 - tick, qty });
  }

  /** Adds a message, whose takes are taken and whose ladder is `after`. */
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

/** Cuts the lines of a recording. Throws `UnusableRecording` for a market that cannot be replayed. */
export async function* cutWaves(
  lines: AsyncIterable<Line> | Iterable<Line>,
  cutting: Cutting,
): AsyncGenerator<Scene> {
  const market = new RecordedMarket(cutting);
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
    if (wave !== undefined && mustCut(wave, line.publishMs, cutting, transitions, changed, traded)) {
      yield close(wave);
      wave = undefined;
    }
    const result = transitions.find(({ kind }) => kind === "result");
    for (const transition of transitions) {
      phase = enter(phase, transition);
      if (transition !== result) yield transition;
    }
    const cleared = transitions.some(({ kind }) => kind === "golive" || kind === "unlive");
    wave ??= new OpenWave(line.publishMs, cleared ? EMPTY_LADDER : ladder, cutting);
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
  cutting: Cutting,
  transitions: readonly Transition[],
  changed: readonly string[],
  traded: readonly Traded[],
): boolean {
  if (transitions.length > 0 || wave.messages >= MAX_MESSAGES) return true;
  if (publishMs - wave.openedMs > cutting.windowMs) return true;
  return wave.isInTheWay(changed, traded);
}

/** What a definition changes, in the order in which we follow it. */
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

function enter(phase: Phase, { kind }: Transition): Phase {
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
  }
}

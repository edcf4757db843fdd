/**
 * Cuts a recording into waves. A wave is as many messages in a row as touch different prices, so that all it asks for
 * can travel at once and still ends where one message after the other would have ended; no state that the recording
 * shows is skipped. Where the waves are cut, and what is in them, depends on nothing but the recording.
 */

import { EMPTY_LADDER, RecordedMarket, type Ladder, type Mapping, type Traded } from "./ladder.js";
import { snapDown, thousandthsOf, type Side } from "./odds.js";
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

/** What stands between the messages of a wave: its takes so far, the prices it touched and the book after its takes. */
class OpenWave {
  readonly takes: Take[] = [];
  readonly touched = new Set<string>();
  messages = 0;
  untaken = 0;
  readonly #resting: [Map<number, number>, Map<number, number>];

  constructor(
    readonly openedMs: number,
    book: Ladder,
    readonly grid: readonly number[],
  ) {
    this.#resting = [new Map(book[0]), new Map(book[1])];
  }

  /** Where a traded volume rested with us: the outcome whose bids it takes, and the lowest of them. */
  levelOf(traded: Traded): { readonly outcome: number; readonly tick: number } | undefined {
    const candidates = (["back", "lay"] as const).flatMap((side: Side) => {
      const tick = snapDown(thousandthsOf(traded.odds, side), this.grid);
      if (tick === undefined) return [];
      const outcome = side === "back" ? traded.runner : 1 - traded.runner;
      return [{ side, outcome, tick, resting: this.#resting[outcome]?.get(tick) ?? 0 }];
    });
    const there = candidates.filter(({ resting }) => resting > 0).sort((a, b) => b.resting - a.resting);
    return there.find(({ side }) => side === traded.shrank) ?? there[0];
  }

  /** Whether the wave has already changed a price that a take down to `tick` would meet. */
  hasTouchedAbove(outcome: number, tick: number): boolean {
    for (const key of this.touched) {
      const [o, t] = key.split(" ");
      if (Number(o) === outcome && Number(t) >= tick) return true;
    }
    return false;
  }

  /** Takes what is there, best price first, down to `tick`. */
  take(outcome: number, tick: number, contracts: number): void {
    const bids = this.#resting[outcome];
    const prices = [...(bids?.keys() ?? [])].filter((price) => price >= tick).sort((a, b) => b - a);
    let left = contracts;
    for (const price of prices) {
      const there = bids?.get(price) ?? 0;
      const taken = Math.min(there, left);
      if (taken === 0) break;
      left -= taken;
      this.touched.add(keyOf(outcome, price));
      if (taken === there) bids?.delete(price);
      else bids?.set(price, there - taken);
    }
    this.untaken += left;
    if (left < contracts)
      this.takes.push({ outcome: 1 - outcome, tick: 1_000 - tick, qty: contracts - left });
  }
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
    wave ??= new OpenWave(line.publishMs, cleared ? EMPTY_LADDER : ladder, cutting.grid);
    for (const one of traded) {
      const level = phase.suspended ? undefined : wave.levelOf(one);
      if (level === undefined) wave.untaken += one.contracts;
      else wave.take(level.outcome, level.tick, one.contracts);
    }
    for (const key of changed) wave.touched.add(key);
    wave.messages += 1;
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
  if (changed.some((key) => wave.touched.has(key))) return true;
  return traded.some((one) => {
    const level = wave.levelOf(one);
    return level !== undefined && wave.hasTouchedAbove(level.outcome, level.tick);
  });
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

/** Generates small recorded markets for the replay: two runners, trades, a suspension, in play, a result. */

import { randomFrom, type Random } from "../../scripts/replay/random.js";

interface Runner {
  readonly id: number;
  readonly atb: Map<number, number>;
  readonly atl: Map<number, number>;
  readonly traded: Map<number, number>;
}

export interface RecordingOptions {
  readonly seed: number;
  /** Messages before, and again after, the market goes in play. */
  readonly messages: number;
  /** Index of the winner; undefined for a file that ends before the result. */
  readonly winner?: 0 | 1;
}

const RUNNER_IDS = [101, 202] as const;
const BASE_MS = 1_700_000_000_000;

function definition(status: string, inPlay: boolean, winner?: number): object {
  return {
    status,
    inPlay,
    betDelay: inPlay ? 5 : 0,
    marketTime: "2026-01-01T12:00:00.000Z",
    eventName: "Ants v Bees",
    name: "Match odds",
    runners: RUNNER_IDS.map((id, index) => ({
      id,
      name: index === 0 ? "Ants" : "Bees",
      status: winner === undefined ? "ACTIVE" : winner === index ? "WINNER" : "LOSER",
    })),
  };
}

/** Returns the lines of a recording; the same seed gives the same lines. */
export function makeRecording({ seed, messages, winner }: RecordingOptions): string[] {
  const random = randomFrom(seed);
  const runners: Runner[] = RUNNER_IDS.map((id) => ({
    id,
    atb: new Map<number, number>(),
    atl: new Map<number, number>(),
    traded: new Map<number, number>(),
  }));
  const lines: string[] = [];
  const say = (change: object): void => {
    const pt = BASE_MS + lines.length * 200;
    lines.push(JSON.stringify({ op: "mcm", clk: "x", pt, mc: [{ id: "1.1", ...change }] }));
  };
  const busy = (count: number): void => {
    for (let i = 0; i < count; i += 1) say({ rc: [change(random, runners)] });
  };
  say({ img: true, marketDefinition: definition("OPEN", false) });
  busy(messages);
  say({ marketDefinition: definition("SUSPENDED", false) });
  busy(2);
  say({ marketDefinition: definition("OPEN", true) });
  busy(messages);
  if (winner !== undefined) {
    say({ marketDefinition: definition("SUSPENDED", true) });
    say({ marketDefinition: definition("CLOSED", true, winner) });
  }
  return lines;
}

/** Returns a level near evens; backs of a runner are always shorter than its lays, so that no levels cross. */
function change(random: Random, runners: readonly Runner[]): object {
  const runner = random.pick(runners);
  const side = random.next() < 0.5 ? "atb" : "atl";
  const ladder = runner[side];
  const best = side === "atb" ? Math.max(...ladder.keys()) : Math.min(...ladder.keys());
  if (ladder.size > 0 && random.next() < 0.3) {
    const size = ladder.get(best) ?? 0;
    const left = random.next() < 0.5 ? 0 : Math.round(size * 50) / 100;
    const traded = Math.round(((runner.traded.get(best) ?? 0) + 2 * (size - left)) * 100) / 100;
    runner.traded.set(best, traded);
    if (left === 0) ladder.delete(best);
    else ladder.set(best, left);
    return { id: runner.id, [side]: [[best, left]], trd: [[best, traded]] };
  }
  const step = Math.floor(random.next() * 8);
  const odds = Math.round((side === "atb" ? 1.9 - step * 0.02 : 2.1 + step * 0.05) * 100) / 100;
  const size = random.next() < 0.2 ? 0 : Math.round(random.next() * 20_000 + 100) / 100;
  if (size === 0) ladder.delete(odds);
  else ladder.set(odds, size);
  return { id: runner.id, [side]: [[odds, size]] };
}

/**
 * Measures what one hostile trader does to the others: each behavior beside quiet runs before and after it, on the same
 * exchange and within the published limits. Other traders place and cancel at a steady rate meanwhile, and each time is
 * measured from the moment at which its request was due. The hostile trader has a process of its own.
 */

import { embeddedRedisUrl } from "../../embedded/redis.js";
import { startBenchExchange } from "../bench-exchange.js";
import { Sampler } from "../endurance/sampler.js";
import { percentile, type Row } from "../table.js";
import { AttackProcess } from "./attack-process.js";
import type { Tally } from "./attackers.js";
import { BEHAVIORS, type Behavior } from "./behaviors.js";
import { type Sizes, type Target, type Victim, type World, type WorldSize, openWorld } from "./world.js";

/**
 * Length of a quiet run and of a behavior without `--seconds`, in s. With fewer than two thousand times, the p99 is what the
 * first requests of a behavior do, which open its connections.
 */
export const HOSTILE_SECONDS = 30;
/** Length of the run before the first measurement, as a multiple of that of a measurement. */
const WARM_UP = 2;
/** Length of each behavior before the first measurement, in s: what it alone runs becomes faster in its first seconds. */
const BEHAVIOR_WARM_UP = 5;
/** Enough measured traders for a p99 of more than 2,400 times. */
const FULL_SIZE: WorldSize = { victims: 14, dust: 4_500, readers: 8 };
/** Orders that each measured trader places a second; the published limit is 8. */
const RATE = 6;
/** Largest ratio of the p50 and of the p99 beside a behavior to those of the quiet runs. */
const MAX_RATIO = 2;
/**
 * Most rounds in which a behavior is measured. The first two judge its ratios if they agree, and otherwise a third one does,
 * because the speed of a machine may change within a minute by as much as a behavior changes the p99.
 */
const ROUNDS = 3;
const P50 = "another trader's p50";
const P99 = "another trader's p99";
/** Least share of the requests of a behavior that it must send, unless the behavior has a share of its own. */
const LEAST_SHARE = 0.5;
/** Largest growth of the memory of a role, and of Redis, over a behavior, in bytes. Heaps move by tens of MB by themselves. */
const MAX_KEPT_BYTES = 200e6;
/** Longest rest after a behavior, in ms: the processes report their memory every 5 s. */
const REST_MS = 6_000;
const BENCH = "hostile";

/** Times of the measured traders, in ms, and the requests that got no good answer. */
interface Measured {
  readonly timesMs: readonly number[];
  readonly failures: number;
}

/** Runs the behaviors against an exchange of its own: all of them, or those whose names have one of the words. */
export async function hostile(seconds: number = HOSTILE_SECONDS, only?: readonly string[]): Promise<Row[]> {
  const chosen = BEHAVIORS.filter(({ name }) => only?.some((word) => name.includes(word)) ?? true);
  // The times of traders behind one proxy: the addresses of the clients come from the header.
  const exchange = await startBenchExchange({ THROTTLE: "on", TRUST_PROXY: "1" });
  const sampler = await Sampler.open(exchange.dataDir);
  try {
    const target: Target = {
      ...exchange,
      redisUrl: embeddedRedisUrl(exchange.dataDir) ?? "",
      sizes: () => sampler.take(),
    };
    const rows: Row[] = [];
    const rounds = new Rounds(chosen);
    for await (const measured of attack(target, rounds.behaviors(), seconds, FULL_SIZE, chosen)) {
      const figures = measured.map(({ measure, figure }) => `${measure} ${figure.toPrecision(3)}`);
      console.log(`${measured[0]?.bench ?? ""}: ${figures.join(", ")}`);
      rounds.record(measured);
      rows.push(...measured);
    }
    return [...rows, ...rounds.verdicts()];
  } finally {
    await sampler.close();
    await exchange.stop();
  }
}

/** Behaviors in rounds, until two rounds agree over each. */
export class Rounds {
  readonly #behaviors: readonly Behavior[];
  /** Ratios by behavior, the larger one of each round. */
  readonly #ratios = new Map<string, number[]>();

  constructor(behaviors: readonly Behavior[]) {
    this.#behaviors = behaviors;
  }

  /** Yields the next behavior; each must be recorded before the next one is taken. */
  *behaviors(): Generator<Behavior> {
    for (let round = 1; round <= ROUNDS; round += 1) {
      yield* this.#behaviors.filter(({ name }) => !this.#isDecided(this.#ratiosOf(name)));
    }
  }

  record(measured: readonly Row[]): void {
    const judged = measured.filter(({ measure }) => measure === P50 || measure === P99);
    for (const bench of new Set(judged.map((each) => each.bench))) {
      const ratio = Math.max(...judged.filter((each) => each.bench === bench).map(({ figure }) => figure));
      this.#ratios.set(bench, [...(this.#ratios.get(bench) ?? []), Number.isNaN(ratio) ? Infinity : ratio]);
    }
  }

  /** Returns the verdicts. The second smallest ratio is within the limit if and only if two rounds are. */
  verdicts(): Row[] {
    return this.#behaviors.map(({ name }) => {
      const [, second = Number.NaN] = this.#ratiosOf(name).toSorted((a, b) => a - b);
      return row("verdicts of the rounds", name, second, "x quiet", second <= MAX_RATIO);
    });
  }

  #ratiosOf(name: string): readonly number[] {
    return this.#ratios.get(benchOf(name)) ?? [];
  }

  #isDecided(ratios: readonly number[]): boolean {
    const within = ratios.filter((ratio) => ratio <= MAX_RATIO).length;
    return within >= 2 || ratios.length - within >= 2;
  }
}

/** Runs the behaviors, one after the other, and yields the rows of each. Those of `first` run before, unmeasured. */
export async function* attack(
  target: Target,
  behaviors: Iterable<Behavior>,
  seconds: number,
  size: WorldSize,
  first: readonly Behavior[] = [],
): AsyncGenerator<Row[]> {
  const world = await openWorld(target, size);
  try {
    yield* attackWorld(target, behaviors, world, seconds, first);
  } finally {
    world.close();
  }
}

/** Runs the behaviors in an open world. */
export async function* attackWorld(
  target: Target,
  behaviors: Iterable<Behavior>,
  world: World,
  seconds: number,
  first: readonly Behavior[] = [],
): AsyncGenerator<Row[]> {
  const attack = await AttackProcess.start(world.facts);
  const rest = (): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, Math.min(REST_MS, 1_200 * seconds)));
  try {
    // The code of the roles becomes faster while it runs for the first time.
    await measure(world, WARM_UP * seconds);
    for (const { name } of first) {
      await attack.begin(name);
      await measure(world, BEHAVIOR_WARM_UP);
      await attack.end();
      await world.restoreDust();
    }
    await rest();
    let quietBefore = await measure(world, seconds);
    for (const { name, leastShare } of behaviors) {
      const before = await target.sizes();
      const began = performance.now();
      await attack.begin(name);
      const beside = await measure(world, seconds);
      const attackSeconds = (performance.now() - began) / 1_000;
      const tally = await attack.end();
      // Each behavior meets the same books: those before it may have canceled or swept the dust.
      await world.restoreDust();
      await rest();
      const quietAfter = await measure(world, seconds);
      const after = await target.sizes();
      yield [
        ...timesRows(name, [quietBefore, quietAfter], beside),
        ...attackRows(name, tally, attackSeconds, leastShare),
        ...sizesRows(name, before, after),
      ];
      quietBefore = quietAfter;
    }
  } finally {
    await attack.close();
  }
}

function benchOf(name: string): string {
  return `${BENCH}: ${name}`;
}

function row(name: string, measure: string, figure: number, unit: string, isGood?: boolean): Row {
  const verdict = isGood === undefined ? {} : ({ verdict: isGood ? "pass" : "FAIL" } as const);
  return { bench: benchOf(name), measure, figure, unit, ...verdict };
}

/** Figures of an attack. One that sends too little shows nothing about the exchange, and fails. */
function attackRows(
  name: string,
  { aimed, sent, answered, refused }: Tally,
  seconds: number,
  leastShare = LEAST_SHARE,
): Row[] {
  const share = sent / aimed;
  return [
    row(name, "hostile requests", sent / seconds, "/s", sent > 0),
    ...(aimed === 0 ? [] : [row(name, "of the aimed rate", 100 * share, "%", share >= leastShare)]),
    row(name, "hostile requests refused", answered === 0 ? 0 : (100 * refused) / answered, "%"),
  ];
}

function timesRows(name: string, quiet: readonly Measured[], beside: Measured): Row[] {
  const quietMs = (share: number): number =>
    quiet.reduce((sum, { timesMs }) => sum + percentile(timesMs, share), 0) / quiet.length;
  const ratioOf = (share: number): number => percentile(beside.timesMs, share) / quietMs(share);
  return [
    row(name, P50, ratioOf(0.5), "x quiet"),
    row(name, P99, ratioOf(0.99), "x quiet"),
    row(name, "quiet p50", quietMs(0.5), "ms"),
    row(name, "quiet p99", quietMs(0.99), "ms"),
    row(name, "p99 beside it", percentile(beside.timesMs, 0.99), "ms"),
    row(name, "longest beside it", percentile(beside.timesMs, 1), "ms"),
    row(name, "failed requests", beside.failures, "", beside.failures === 0),
  ];
}

function sizesRows(name: string, before: Sizes, after: Sizes): Row[] {
  const restarted = Object.entries(before.processes).filter(([role, id]) => after.processes[role] !== id);
  const kept = Math.max(
    after.redisBytes - before.redisBytes,
    ...Object.entries(after.rssBytes).map(([role, bytes]) => bytes - (before.rssBytes[role] ?? bytes)),
  );
  return [
    row(name, "roles restarted", restarted.length, "", restarted.length === 0),
    row(name, "memory kept", Math.max(0, kept) / 1e6, "MB", kept <= MAX_KEPT_BYTES),
  ];
}

/** Lets the measured traders place at their rate, and cancel what they have placed. */
async function measure(world: World, seconds: number): Promise<Measured> {
  const timesMs: number[] = [];
  let failures = 0;
  const pending: Promise<void>[] = [];
  const { outcomes } = world.facts;
  const place = async ({ requests, caller }: Victim, dueMs: number): Promise<void> => {
    try {
      const body = { outcomeId: outcomes[0], price: "0.300", qty: 1, tif: "GTC" };
      const placed = await caller.send(await requests.of("POST", "/v3/orders", body));
      timesMs.push(performance.now() - dueMs);
      if (placed.status !== 201) throw new Error(placed.body.toString());
      const { orderId } = JSON.parse(placed.body.toString()) as { orderId: string };
      const canceled = await caller.send(await requests.of("DELETE", `/v3/orders/${orderId}`));
      if (canceled.status !== 200) throw new Error(canceled.body.toString());
    } catch {
      failures += 1;
    }
  };
  const began = performance.now();
  const total = seconds * RATE;
  for (let sent = 0; sent < total;) {
    const due = Math.min(total, ((performance.now() - began) / 1_000) * RATE);
    for (; sent < due; sent += 1) {
      for (const [index, victim] of world.victims.entries()) {
        // The traders do not place at the same moments.
        const dueMs = began + ((sent + index / world.victims.length) / RATE) * 1_000;
        const wait = Math.max(0, dueMs - performance.now());
        pending.push(
          new Promise<void>((resolve) => setTimeout(resolve, wait)).then(() => place(victim, dueMs)),
        );
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(pending);
  return { timesMs, failures };
}

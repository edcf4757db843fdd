/** Tasks of `npm run simulate`. A process of the pool runs one task at a time. */

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { Differential } from "../actors/differential/differential.js";
import { EXCHANGE_MUTANTS } from "../actors/differential/mutants.js";
import { type Scenario, scenario } from "../actors/differential/steps.js";
import { boundsOfOrders } from "../support/exchange/network.js";
import { runInterests } from "../stream/log/interests.js";
import { CRASHES, runSeed as runCounters, traffic } from "../stream/runtime/chaos.js";
import { COUNTER_MUTANTS, INTEREST_MUTANTS, RUNTIME_MUTANTS } from "./mutants.js";
import { type Outcome, Simulation } from "./simulation.js";
import { unreachable } from "../../actors/unreachable.js";
import { runWeek, type WeekReport, type WeekTask } from "./week/run.js";

const STEPS = 40;

export type Task =
  /** Runs the simulation of one seed, then one scenario against the naive exchange. */
  | { readonly kind: "seed"; readonly seed: number }
  | { readonly kind: "mutant"; readonly name: string }
  | WeekTask;

export type Report =
  | {
      readonly kind: "seed";
      readonly seed: number;
      readonly hash: string;
      readonly events: number;
      readonly reached: readonly (readonly [string, number])[];
      readonly failure: string | undefined;
    }
  | { readonly kind: "mutant"; readonly name: string; readonly caught: Caught | undefined }
  | WeekReport;

interface Caught {
  readonly seed: number;
  /** Number of events of the simulation, or of steps of the scenario. */
  readonly steps: number;
  readonly by: string;
}

/** Number of seeds within which a planted bug must be caught. */
const RUNTIME_SEEDS = 400;
const COUNTER_SEEDS = 400;
const INTEREST_SEEDS = 100;
const EXCHANGE_SEEDS = 1_000;
/** A seed that has caught each of the bugs which the first eight seeds do not. It is tried before all others. */
const TRIED_FIRST: Readonly<Record<string, number>> = {
  "a ledger ignores what was looked up": 9,
  "a hand-over ignores all messages in the mailbox": 10,
  "a message that leaves with a commit overtakes those that the relay holds": 10,
  "the messages of a commit are appended in reverse order": 12,
  "a transfer moves CASH whatever its currency": 13,
  "a restriction leaves the orders of the other wallets open": 14,
  "a fee is rounded down": 14,
  "the maker pays the taker's fee": 14,
  "the house keeps the maker's credit": 14,
  "every self-trade is a wash": 14,
  "a pause changes nothing": 14,
  "a snapshot lacks the filters of ids": 16,
  "netting pays nothing": 18,
  "a post-only order takes": 18,
  "the rest of a netted set is not kept for settlement": 18,
  "a snapshot lacks the answers": 19,
  "the fee of an order is left out of its reserve": 19,
  "going live keeps the book": 22,
  "a restored actor begins again at the first seq": 24,
  "silence counts as the latest format": 24,
  "the active format rises without a stable time": 24,
  "a recovery forgets unfinished work": 24,
  "a source is forgotten before it is removed": 24,
  "an order never expires": 24,
  "engine time follows every step of the log's clock": 29,
  "an amendment cancels the order": 29,
  "a market that its event has closed stays closed when the event goes live": 36,
  "netting pays the full value on a PUSH market": 43,
  "a snapshot lacks the restrictions": 46,
  "the messages of a commit are appended although the commit is refused": 56,
  "the messages after one that is left unfinished count as handled": 63,
  "a market that its operator has closed opens when the event goes live": 71,
  "the parts of the previous snapshot are removed": 91,
  "a failed relay counts as a success": 107,
  "a mailbox is read before the relayed messages are in it": 107,
  "uncertain ids are looked up in tables that are behind": 154,
  "a message is handed over past one that is on its way to the mailbox": 204,
  "a hand-over ignores the messages that the previous owner left in the mailbox": 248,
  "a remediation takes back 1 millicent less": 620,
};

export async function runTask(task: Task, trace?: (line: string) => void): Promise<Report> {
  switch (task.kind) {
    case "seed":
      return seedReport(await runSeed(task.seed, trace));
    case "mutant":
      return { ...task, caught: await search(task.name) };
    case "week":
      return runWeek(task);
    default:
      return unreachable(task);
  }
}

function seedReport({ seed, hash, events, reached, failure }: Outcome): Report {
  return { kind: "seed", seed, hash, events, reached: [...reached], failure: failure?.stack };
}

async function runSeed(seed: number, trace?: (line: string) => void): Promise<Outcome> {
  const outcome = await new Simulation(seed, {}, trace).run();
  if (outcome.failure !== undefined) return outcome;
  const tally = new Map<string, number>();
  let failure: Error | undefined;
  try {
    // Every second scenario has decisions that touch few orders, so that its work goes on in pieces.
    const bounds = seed % 2 === 0 ? undefined : boundsOfOrders(1 + (seed % 3));
    new Differential(undefined, tally, bounds).run(scenarioOf(seed));
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  const reached = new Map(outcome.reached);
  for (const [name, count] of tally) reached.set(`against the naive exchange: ${name}`, count);
  return { ...outcome, reached, failure };
}

function scenarioOf(seed: number): Scenario {
  const [sampled] = fc.sample(scenario(STEPS), { seed, numRuns: 1 });
  if (sampled === undefined) throw new Error("the generator returned no scenario");
  return sampled;
}

export const MUTANT_NAMES: readonly string[] = [
  ...RUNTIME_MUTANTS,
  ...COUNTER_MUTANTS,
  ...INTEREST_MUTANTS,
  ...EXCHANGE_MUTANTS,
].map(({ name }) => name);

async function search(name: string): Promise<Caught | undefined> {
  return (
    (await searchRuntimeBug(name)) ??
    (await searchCounterBug(name)) ??
    (await searchInterestBug(name)) ??
    searchExchangeBug(name)
  );
}

/** Returns the seeds that are tried for a planted bug, in order. */
function seedsFor(name: string, most: number): number[] {
  const inOrder = Array.from({ length: most }, (_, i) => i + 1);
  const first = TRIED_FIRST[name];
  return first === undefined ? inOrder : [first, ...inOrder];
}

async function searchRuntimeBug(name: string): Promise<Caught | undefined> {
  const mutant = RUNTIME_MUTANTS.find((candidate) => candidate.name === name);
  if (mutant === undefined) return undefined;
  for (const seed of seedsFor(name, RUNTIME_SEEDS)) {
    const { events, failure } = await new Simulation(seed, mutant.mutation).run();
    if (failure !== undefined) return { seed, steps: events, by: failure.message };
  }
  return undefined;
}

async function searchCounterBug(name: string): Promise<Caught | undefined> {
  const mutant = COUNTER_MUTANTS.find((candidate) => candidate.name === name);
  if (mutant === undefined) return undefined;
  const undo = mutant.patch();
  try {
    for (const seed of seedsFor(name, COUNTER_SEEDS)) {
      const world = await runCounters(seed, CRASHES);
      const { sent, received } = await traffic(world);
      if (isDeepStrictEqual(sent, received)) continue;
      return { seed, steps: world.trace.length, by: "the numbers received are not those sent" };
    }
    return undefined;
  } finally {
    undo();
  }
}

async function searchInterestBug(name: string): Promise<Caught | undefined> {
  const mutant = INTEREST_MUTANTS.find((candidate) => candidate.name === name);
  if (mutant === undefined) return undefined;
  const undo = mutant.patch();
  try {
    for (const seed of seedsFor(name, INTEREST_SEEDS)) {
      const { failure, rounds } = await runInterests(seed);
      if (failure !== undefined) return { seed, steps: rounds, by: failure };
    }
    return undefined;
  } finally {
    undo();
  }
}

function searchExchangeBug(name: string): Caught | undefined {
  const mutant = EXCHANGE_MUTANTS.find((candidate) => candidate.name === name);
  if (mutant === undefined) return undefined;
  const undo = mutant.patch?.();
  try {
    for (const seed of seedsFor(name, EXCHANGE_SEEDS)) {
      const differential = new Differential(mutant.actors);
      try {
        differential.run(scenarioOf(seed));
      } catch (error) {
        const by = error instanceof Error ? error.message : String(error);
        return { seed, steps: differential.stepsTaken, by };
      }
    }
    return undefined;
  } finally {
    undo?.();
  }
}

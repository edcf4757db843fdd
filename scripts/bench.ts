/**
 * `npm run bench [-- NAME ...]`: prints a table and writes the figures to `.bench/results.json`. Each figure stands
 * beside a limit or a reference measured in the same run; machines differ, so compare the ratios. Ends with 1 when a
 * figure that has a limit is beyond it.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { readCommandLine, UsageError } from "./command-line.mjs";
import { endurance, FLOOD_MINUTES, STEADY_MINUTES } from "./bench/endurance/endurance.js";
import { joins } from "./bench/endurance/joins.js";
import { BEHAVIORS } from "./bench/hostile/behaviors.js";
import { hostile, HOSTILE_SECONDS } from "./bench/hostile/hostile.js";
import { fanOut } from "./bench/fan-out.js";
import { marketsByEvent } from "./bench/markets-by-event.js";
import { manyMarkets } from "./bench/orders/many-markets.js";
import { matching } from "./bench/core/matching.js";
import { capacity } from "./bench/orders/capacity.js";
import { orders, ORDERS_SECONDS, ordersInFull } from "./bench/orders/orders.js";
import { projection } from "./bench/projection.js";
import { roundTrip } from "./bench/round-trip.js";
import { settling } from "./bench/core/settlement.js";
import { signedPlace } from "./bench/signed-place.js";
import { streamSockets } from "./bench/stream-sockets.js";
import { sweeping } from "./bench/core/sweep.js";
import { printRows, type Row } from "./bench/table.js";
import { describe, StartError } from "./supervisor/start-error.js";

/** Options of the command line that a bench may heed. */
interface BenchOptions {
  readonly minutes: number | undefined;
  readonly seconds: number | undefined;
  readonly only: readonly string[] | undefined;
  readonly isFull: boolean;
}

type Bench = (options: BenchOptions) => Row[] | Promise<Row[]>;

const BENCHES: Readonly<Record<string, Bench>> = {
  matching: () => matching(),
  sweep: () => sweeping(),
  settlement: () => settling(),
  "markets-by-event": () => marketsByEvent(),
  "fan-out": () => fanOut(),
  "stream-sockets": () => streamSockets(),
  "signed-place": () => signedPlace(),
  "round-trip": () => roundTrip(),
};
/** Benches that take so long that they run only when they are named. */
const LONG_BENCHES: Readonly<Record<string, Bench>> = {
  endurance: ({ minutes }) => endurance(minutes),
  joins: () => joins(),
  orders: ({ seconds, isFull }) => (isFull ? ordersInFull(seconds) : orders({ seconds })),
  projection: () => projection(),
  capacity: () => capacity(),
  hostile: ({ seconds, only }) => hostile(seconds, only),
  "many-markets": ({ seconds }) => manyMarkets({ seconds }),
};
const ALL_BENCHES = { ...BENCHES, ...LONG_BENCHES };

/** Returns the number of an option, or `undefined` when it is not given. */
function numberOf(name: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const given = Number(text);
  if (given > 0 && given <= max) return given;
  throw new UsageError(`--${name} must be a number above 0 and up to ${max}`);
}

/** Returns the words of `--only`, or `undefined` when it is not given. */
function wordsOf(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const words = text.split(",").map((word) => word.trim());
  if (words.every((word) => BEHAVIORS.some(({ name }) => word !== "" && name.includes(word)))) return words;
  const list = BEHAVIORS.map(({ name }) => `\n  ${name}`).join("");
  throw new UsageError(`--only must be words of the behaviors, between commas; the behaviors are${list}`);
}

const { names, options } = readCommandLine(
  {
    name: "bench",
    call: "npm run bench --",
    summary:
      "Measures the exchange, all of it or the named benches, prints a table, and writes the figures to " +
      ".bench/results.json. Each figure stands beside a limit or a reference measured in the same run.",
    operands: { usage: "[NAME ...]", max: Infinity },
    options: {
      minutes: {
        value: "N",
        description:
          `Shortens both runs of endurance to N minutes; without it they take ${FLOOD_MINUTES} and ` +
          `${STEADY_MINUTES} minutes.`,
      },
      seconds: {
        value: "N",
        description:
          `Length of each measurement of orders, many-markets and hostile in seconds; without it ${ORDERS_SECONDS}, and ` +
          `${HOSTILE_SECONDS} of hostile.`,
      },
      only: {
        value: "WORDS",
        description: "Limits hostile to the behaviors whose names have one of the words, between commas.",
      },
      full: { description: "Lets orders measure every combination of its axes, which takes hours." },
    },
    notes: () =>
      `Benches: ${Object.keys(BENCHES).join(", ")}\nOnly when named: ${Object.keys(LONG_BENCHES).join(", ")}`,
  },
  ({ operands, values }) => {
    const unknown = operands.find((name) => !Object.hasOwn(ALL_BENCHES, name));
    if (unknown !== undefined) {
      throw new UsageError(
        `there is no bench '${unknown}'; the benches are ${Object.keys(ALL_BENCHES).join(", ")}`,
      );
    }
    const options: BenchOptions = {
      minutes: numberOf("minutes", values.minutes, 1_440),
      seconds: numberOf("seconds", values.seconds, 3_600),
      only: wordsOf(values.only),
      isFull: values.full,
    };
    return { names: operands.length === 0 ? Object.keys(BENCHES) : operands, options };
  },
);

/** Runs the named benches and writes their figures. */
async function main(): Promise<void> {
  const rows: Row[] = [];
  for (const [name, run] of Object.entries(ALL_BENCHES)) {
    if (!names.includes(name)) continue;
    const measured = await run(options);
    printRows(measured);
    rows.push(...measured);
  }
  mkdirSync(".bench", { recursive: true });
  writeFileSync(".bench/results.json", `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);
  const listOf = (verdict: Row["verdict"]): string =>
    rows.flatMap((row) => (row.verdict === verdict ? [`\n  ${row.bench}: ${row.measure}`] : [])).join("");
  const [unclear, failed] = [listOf("unclear"), listOf("FAIL")];
  if (unclear !== "") console.log(`\nunclear, run it again:${unclear}`);
  if (failed !== "") throw new StartError(`beyond their limits:${failed}`);
}

main().catch((error: unknown) => {
  console.error(`\nbench: ${describe(error)}`);
  process.exitCode = 1;
});

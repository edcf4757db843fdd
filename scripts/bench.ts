/**
 * `npm run bench [-- NAME ...]`: prints a table and writes the figures to `.bench/results.json`. Each figure stands
 * beside a limit or a reference measured in the same run; machines differ, so compare the ratios.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { readCommandLine, UsageError } from "./command-line.mjs";
import { fanOut } from "./bench/fan-out.js";
import { marketsByEvent } from "./bench/markets-by-event.js";
import { matching } from "./bench/core/matching.js";
import { roundTrip } from "./bench/round-trip.js";
import { settling } from "./bench/core/settlement.js";
import { signedPlace } from "./bench/signed-place.js";
import { streamSockets } from "./bench/stream-sockets.js";
import { sweeping } from "./bench/core/sweep.js";
import { printRows, type Row } from "./bench/table.js";

const BENCHES: Readonly<Record<string, () => Row[] | Promise<Row[]>>> = {
  matching: () => matching(),
  sweep: () => sweeping(),
  settlement: () => settling(),
  "markets-by-event": () => marketsByEvent(),
  "fan-out": () => fanOut(),
  "stream-sockets": () => streamSockets(),
  "signed-place": () => signedPlace(),
  "round-trip": () => roundTrip(),
};

const names = readCommandLine(
  {
    name: "bench",
    call: "npm run bench --",
    summary:
      "Measures the exchange, all of it or the named benches, prints a table, and writes the figures to " +
      ".bench/results.json. Each figure stands beside a limit or a reference measured in the same run.",
    operands: { usage: "[NAME ...]", max: Infinity },
    options: {},
    notes: () => `Benches: ${Object.keys(BENCHES).join(", ")}`,
  },
  ({ operands }) => {
    const unknown = operands.find((name) => !Object.hasOwn(BENCHES, name));
    if (unknown === undefined) return operands;
    throw new UsageError(
      `there is no bench '${unknown}'; the benches are ${Object.keys(BENCHES).join(", ")}`,
    );
  },
);

const rows: Row[] = [];
for (const [name, run] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const measured = await run();
  printRows(measured);
  rows.push(...measured);
}
mkdirSync(".bench", { recursive: true });
writeFileSync(".bench/results.json", `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);

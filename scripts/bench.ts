/**
 * `npm run bench [-- NAME ...]`: prints a table and keeps the figures in `.bench/results.json`. Every figure stands
 * beside its limit or its peer from the same run; machines are noisy, so read the ratios.
 */

import { mkdirSync, writeFileSync } from "node:fs";
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

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`bench: there is no ${unknown.join(", ")}; there is ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}

const rows: Row[] = [];
for (const [name, run] of Object.entries(BENCHES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const measured = await run();
  printRows(measured);
  rows.push(...measured);
}
mkdirSync(".bench", { recursive: true });
writeFileSync(".bench/results.json", `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);

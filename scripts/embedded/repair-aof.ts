import fs from "node:fs";
import { readCommandLine } from "../command-line.mjs";
import { describeAof, lastAofFile, repairAof } from "./aof-repair.js";
import { describe, StartError } from "../supervisor/start-error.js";

/** `npm run repair-aof`: cuts the torn tail of the append-only file of a Redis that does not run. */
async function main(): Promise<number> {
  const { values, operands } = readCommandLine({
    name: "repair-aof",
    call: "npm run repair-aof --",
    summary:
      "Cuts the append-only file of a stopped Redis back to its last whole command outside of an unfinished " +
      "transaction, and keeps the removed bytes in a file beside it. Run it after a crash of the machine and before " +
      "Redis starts: Redis 7 itself cuts inside a transaction, whose first half then runs at the next start; such a half " +
      "is cut out too. FILE is " +
      "the append-only file, or the data directory of Redis. npm start does the same for the embedded Redis. Ends " +
      "with 0 when the file is whole or repaired, and with 1 when it is not.",
    operands: { usage: "FILE", min: 1, max: 1 },
    options: { "dry-run": { description: "Reports what would be cut, and changes nothing." } },
  });
  const file = fileOf(operands[0] ?? "");
  const say = (line: string): void => console.log(line);
  const { report, isWhole } = await repairAof(file, { say, cuts: !values["dry-run"] });
  if (isWhole && report.keep === report.size) say(describeAof(report));
  return isWhole ? 0 : 1;
}

function fileOf(operand: string): string {
  if (!fs.existsSync(operand)) throw new StartError(`${operand} does not exist: name an append-only file`);
  if (!fs.statSync(operand).isDirectory()) return operand;
  const file = lastAofFile(operand);
  if (file === undefined) throw new StartError(`${operand} has no append-only file with data in it`);
  return file;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`repair-aof: ${describe(error)}`);
  process.exitCode = 1;
}

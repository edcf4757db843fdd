/** Cuts torn transactions out of the append-only file of a Redis that does not run. */

import fs from "node:fs";
import path from "node:path";
import { type AofScan, type ByteRange, scanAof, type TornHalf } from "./aof-scan.js";

/** Scan of a file that may need a repair. */
export interface AofReport extends AofScan {
  readonly file: string;
}

/** Directory of the append-only files in the data directory of a Redis 7 or newer. */
const DIRECTORY = "appendonlydir";
const MANIFEST_LINE = /^file "?([^"\s]+)"? seq \d+ type i\b/;
const CHUNK_BYTES = 1024 * 1024;
/** Part of the name of a file with removed bytes, before its time. */
const CUT = ".cut-";
/** Number of such files that stay. */
const KEPT_CUTS = 10;

/**
 * Returns the file that Redis was writing when it ended: the last incremental file of the manifest that is not empty.
 * An empty one after it belongs to a rewrite that had just begun. Returns undefined when there is none.
 *
 * @param directory data directory of Redis, or the directory `appendonlydir` in it
 */
export function lastAofFile(directory: string): string | undefined {
  const inner = path.join(directory, DIRECTORY);
  const files = fs.existsSync(inner) ? inner : directory;
  const manifest = fs.readdirSync(files).find((name) => name.endsWith(".manifest"));
  if (manifest === undefined) return undefined;
  return fs
    .readFileSync(path.join(files, manifest), "utf8")
    .split("\n")
    .flatMap((line) => MANIFEST_LINE.exec(line)?.[1] ?? [])
    .map((name) => path.join(files, name))
    .findLast((file) => fs.existsSync(file) && fs.statSync(file).size > 0);
}

/** Scans an append-only file. The file is streamed, so its size does not matter. */
async function inspectAof(file: string): Promise<AofReport> {
  return { file, ...(await scanAof(fs.createReadStream(file, { highWaterMark: CHUNK_BYTES }))) };
}

/**
 * Cuts the torn tail of a file, and the torn halves of transactions before it, if `cuts` is true, and says what is wrong with
 * the file and what is cut. Returns the report from before the cut of the tail, and whether the file is whole now.
 */
export async function repairAof(
  file: string,
  { say, cuts }: { readonly say: (line: string) => void; readonly cuts: boolean },
): Promise<{ readonly report: AofReport; readonly isWhole: boolean }> {
  const report = await inspectAof(file);
  const halves = report.nested.filter(({ isExecuted }) => !isExecuted);
  for (const half of halves.length > 0 ? halves : report.nested) say(describeHalf(file, half));
  if (halves.length > 0) {
    if (!cuts) return { report, isWhole: false };
    say(`cut it out; the removed bytes are in ${cutHalves(report, halves)}`);
    return repairAof(file, { say, cuts });
  }
  if (report.keep === report.size) return { report, isWhole: true };
  say(describeAof(report));
  if (!hasTornTail(report) || !cuts) return { report, isWhole: false };
  say(`cut it; the removed bytes are in ${cutTornTail(report)}`);
  return { report, isWhole: true };
}

/** Returns whether the file ends in a tail that can be cut. */
function hasTornTail({ keep, size, torn }: AofScan): boolean {
  return torn && keep < size;
}

/**
 * Cuts the torn tail of a file and returns the name of a new file beside it that holds the removed bytes. Both files
 * are on disk when this function returns; a crash before that leaves the torn file as it was.
 * @throws Error when the file has changed since the scan, because a server still writes to it.
 */
function cutTornTail(report: AofReport): string {
  const { file, keep, size } = report;
  const removed = nameOfCut(file, "tail");
  const source = openUnchanged(report);
  try {
    copy(source, [{ from: keep, to: size }], removed);
    syncDirectory(path.dirname(file));
    fs.ftruncateSync(source, keep);
    fs.fsyncSync(source);
  } finally {
    fs.closeSync(source);
  }
  forgetOldCuts(path.dirname(file));
  return removed;
}

/**
 * Cuts first halves of torn transactions out of a file. Redis itself has passed over them when it cut the rest.
 * Returns the name of a new file that holds them. A crash leaves the file as it was, or without them.
 * @throws Error when the file has changed since the scan, because a server still writes to it.
 */
function cutHalves(report: AofReport, halves: readonly ByteRange[]): string {
  const { file, size } = report;
  const removed = nameOfCut(file, "half");
  const rest = `${file}.rest`;
  const source = openUnchanged(report);
  try {
    copy(source, halves, removed);
    fs.rmSync(rest, { force: true });
    const ends = [0, ...halves.map(({ to }) => to)];
    const starts = [...halves.map(({ from }) => from), size];
    copy(
      source,
      ends.map((from, index) => ({ from, to: starts[index] ?? size })),
      rest,
    );
    const { mode, uid, gid } = fs.fstatSync(source);
    fs.chmodSync(rest, mode);
    fs.chownSync(rest, uid, gid);
  } catch (error) {
    fs.rmSync(rest, { force: true });
    throw error;
  } finally {
    fs.closeSync(source);
  }
  fs.renameSync(rest, file);
  syncDirectory(path.dirname(file));
  forgetOldCuts(path.dirname(file));
  return removed;
}

function nameOfCut(file: string, part: "tail" | "half"): string {
  return `${file}${CUT}${new Date().toISOString().replace(/[:.]/g, "-")}-${part}`;
}

/** Opens a file that nobody has changed since its scan. */
function openUnchanged({ file, size }: AofReport): number {
  const source = fs.openSync(file, "r+");
  if (fs.fstatSync(source).size === size) return source;
  fs.closeSync(source);
  throw new Error(`${file} changes while it is repaired: stop the server that writes to it first`);
}

/** Removes the oldest files with removed bytes. */
function forgetOldCuts(directory: string): void {
  const timeOf = (name: string): string => name.slice(name.lastIndexOf(CUT));
  const cuts = fs.readdirSync(directory).filter((name) => name.includes(CUT));
  cuts.sort((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
  for (const name of cuts.slice(0, -KEPT_CUTS)) fs.rmSync(path.join(directory, name), { force: true });
}

/** Copies parts of a file into a new one, and waits until that is on disk. */
function copy(source: number, ranges: readonly ByteRange[], to: string): void {
  const target = fs.openSync(to, "wx", 0o600);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (const range of ranges) {
      for (let offset = range.from; offset < range.to;) {
        const length = fs.readSync(source, buffer, 0, Math.min(buffer.length, range.to - offset), offset);
        if (length === 0)
          throw new Error(`${to} cannot be completed: the append-only file has become shorter`);
        fs.writeFileSync(target, buffer.subarray(0, length));
        offset += length;
      }
    }
    fs.fsyncSync(target);
  } finally {
    fs.closeSync(target);
  }
}

function syncDirectory(directory: string): void {
  const descriptor = fs.openSync(directory, "r");
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * Returns one line on the state of a file: that it is whole, what its torn tail is, or where it is damaged in a way
 * that a cut does not repair.
 */
export function describeAof(report: AofReport): string {
  const { file, keep, size } = report;
  if (keep === size) return `${file} is whole (${size} bytes)`;
  if (hasTornTail(report)) {
    return `${file} ends in a torn command or an unfinished transaction: ${size - keep} of ${size} bytes, from byte ${keep}`;
  }
  return `${file} is damaged at or after byte ${keep} of ${size}, and data follows the damage; it is left as it is`;
}

/** Returns one line on a half of a transaction. */
function describeHalf(file: string, { from, to, isExecuted }: TornHalf): string {
  const half = `${file} has half of a transaction from byte ${from} to byte ${to}, whose rest an earlier start of Redis has cut`;
  return isExecuted
    ? `${half}; a later start has executed the half, and it is left as it is: look for halted actors`
    : `${half}; the next start would execute the half`;
}

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { identityOf } from "../supervisor/identity.js";
import { StartError } from "../supervisor/start-error.js";
import type { LineLog } from "./server.js";

const ServerRecord = z.object({
  port: z.int().min(1).max(65_535),
  password: z.string().min(1),
  /** Process that last served this data, to recognize one that outlived its supervisor. */
  process: z.object({ pid: z.int(), started: z.string() }).optional(),
  /** Data directory of that process (see `identityOf`); earlier builds wrote none. */
  directory: z.string().optional(),
});

/** Port, password and process of an embedded server, kept beside its data for the next start. */
export type ServerRecord = z.infer<typeof ServerRecord>;

function recordFile(dataDir: string, name: string): string {
  return path.join(dataDir, `${name}.json`);
}

/** Reads the record of the server `name`; returns undefined when it never ran in this data directory. */
export function readRecord(dataDir: string, name: string): ServerRecord | undefined {
  const file = recordFile(dataDir, name);
  if (!fs.existsSync(file)) return undefined;
  const record = parseRecord(file);
  if (record === undefined) throw new StartError(`${file} is damaged; the next npm start makes it anew`);
  return record;
}

/**
 * Reads the record for a start of the server. Returns undefined when there is none; the server then receives a new port
 * and a new password, also for data that exists. A damaged file is renamed and reported first. The record in a copied
 * data directory is returned without its process, which serves the original.
 */
export function recordForStart(dataDir: string, name: string, say: LineLog): ServerRecord | undefined {
  const file = recordFile(dataDir, name);
  if (!fs.existsSync(file)) return undefined;
  const record = parseRecord(file);
  if (record !== undefined) {
    const isCopy = record.directory !== undefined && record.directory !== identityOf(dataDir);
    return isCopy ? { ...record, process: undefined } : record;
  }
  fs.renameSync(file, `${file}.damaged`);
  say(
    `${name}: ${file} is damaged and now named ${path.basename(file)}.damaged; the data is intact, and the server ` +
      "receives a new port and a new password",
  );
  return undefined;
}

function parseRecord(file: string): ServerRecord | undefined {
  const text = fs.readFileSync(file, "utf8");
  try {
    return ServerRecord.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Writes the record, which only its owner can read because it holds the password of the server. */
export function writeRecord(dataDir: string, name: string, record: ServerRecord): void {
  const file = recordFile(dataDir, name);
  fs.writeFileSync(`${file}.new`, JSON.stringify({ ...record, directory: identityOf(dataDir) }), {
    mode: 0o600,
  });
  fs.renameSync(`${file}.new`, file);
}

/** Returns a random password for an embedded server. */
export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

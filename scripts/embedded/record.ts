import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { StartError } from "../supervisor/start-error.js";

const ServerRecord = z.object({
  port: z.int().min(1).max(65_535),
  password: z.string().min(1),
  /** Process that last served this data, to recognize one that outlived its supervisor. */
  process: z.object({ pid: z.int(), started: z.string() }).optional(),
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
  try {
    return ServerRecord.parse(JSON.parse(fs.readFileSync(file, "utf8")));
  } catch {
    throw new StartError(
      `${file} is damaged: restore it, or remove the data directory ${dataDir} to start with empty data`,
    );
  }
}

/** Writes the record, which only its owner can read because it holds the password of the server. */
export function writeRecord(dataDir: string, name: string, record: ServerRecord): void {
  const file = recordFile(dataDir, name);
  fs.writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

/** Returns a random password for an embedded server. */
export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

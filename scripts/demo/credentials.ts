/** State of the demo that survives a restart: its traders and their keys, in a file that only its owner can read. */

import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { StartError } from "../supervisor/start-error.js";

const Key = z.object({ keyId: z.string(), algorithm: z.enum(["Ed25519", "P-256"]), privateKey: z.string() });
const Account = z.object({
  email: z.string(),
  password: z.string(),
  traderId: z.string(),
  managementKey: Key,
  tradingKey: Key,
});

const Traders = z.object({
  /** Login for a visitor: a verified trader with money and no keys yet. */
  login: z.object({ email: z.string(), password: z.string() }),
  quoters: z.array(Account),
  taker: Account,
});

const DemoFile = Traders.extend({
  /** Probability of the first outcome, by market id. */
  fair: z.record(z.string(), z.number()),
});
export type DemoFile = z.infer<typeof DemoFile>;

/** A demo that is being created: its traders, and the events and markets so far, by their descriptions. */
const DemoDraft = Traders.extend({
  events: z.record(z.string(), z.object({ eventId: z.string(), markets: z.record(z.string(), z.string()) })),
});
export type DemoDraft = z.infer<typeof DemoDraft>;

const FILE = "demo.json";
const DRAFT_FILE = "demo.draft.json";

/** Returns the state of an earlier demo, if any. Throws `StartError` for a file that cannot be used. */
export function readDemoFile(dataDir: string): DemoFile | undefined {
  return read(path.join(dataDir, FILE), DemoFile);
}

/** Returns the state of a demo whose creation was interrupted, if any. Throws as `readDemoFile` does. */
export function readDemoDraft(dataDir: string): DemoDraft | undefined {
  return read(path.join(dataDir, DRAFT_FILE), DemoDraft);
}

function read<Content>(file: string, schema: z.ZodType<Content>): Content | undefined {
  if (!fs.existsSync(file)) return undefined;
  try {
    return schema.parse(JSON.parse(fs.readFileSync(file, "utf8")));
  } catch {
    throw new StartError(
      `${file} is not a valid file of the demo: remove it; the demo then begins anew on an exchange without events`,
    );
  }
}

/** Returns the visitor's login for the table that `npm start` prints, or `undefined` without a readable file. */
export function demoLogin(dataDir: string): DemoFile["login"] | undefined {
  try {
    return readDemoFile(dataDir)?.login;
  } catch {
    return undefined;
  }
}

/** Records a demo that is complete. */
export function writeDemoFile(dataDir: string, content: DemoFile): void {
  write(path.join(dataDir, FILE), content);
  fs.rmSync(path.join(dataDir, DRAFT_FILE), { force: true });
}

/** Records how far the creation of a demo has come. */
export function writeDemoDraft(dataDir: string, content: DemoDraft): void {
  write(path.join(dataDir, DRAFT_FILE), content);
}

/** Replaces a file in one step, so that a crash leaves the old or the new one. */
function write(file: string, content: object): void {
  const replacement = `${file}.${process.pid}`;
  fs.writeFileSync(replacement, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  fs.renameSync(replacement, file);
}

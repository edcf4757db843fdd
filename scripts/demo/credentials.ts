/** What the demo must remember to go on after a restart: its traders and their keys, for the owner's eyes only. */

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

const DemoFile = z.object({
  /** The login for a visitor: a verified trader with money and no keys yet. */
  login: z.object({ email: z.string(), password: z.string() }),
  quoters: z.array(Account),
  taker: Account,
  /** The probability of each market's first outcome, by market. */
  fair: z.record(z.string(), z.number()),
});
export type DemoFile = z.infer<typeof DemoFile>;

function fileIn(dataDir: string): string {
  return path.join(dataDir, "demo.json");
}

/** What a former demo left, if any. Throws `StartError` for a file that cannot be used. */
export function readDemoFile(dataDir: string): DemoFile | undefined {
  const file = fileIn(dataDir);
  if (!fs.existsSync(file)) return undefined;
  try {
    return DemoFile.parse(JSON.parse(fs.readFileSync(file, "utf8")));
  } catch {
    throw new StartError(`${file} cannot be read as the demo's own: remove it, and the demo starts anew`);
  }
}

/** The visitor's login, for the table at the end of the start; nothing when there is none to show. */
export function demoLogin(dataDir: string): DemoFile["login"] | undefined {
  try {
    return readDemoFile(dataDir)?.login;
  } catch {
    return undefined;
  }
}

/** Replaces the file in one step, so that a crash leaves the old or the new one. */
export function writeDemoFile(dataDir: string, content: DemoFile): void {
  const draft = `${fileIn(dataDir)}.${process.pid}`;
  fs.writeFileSync(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  fs.renameSync(draft, fileIn(dataDir));
}

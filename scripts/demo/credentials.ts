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

const DemoFile = z.object({
  /** Login for a visitor: a verified trader with money and no keys yet. */
  login: z.object({ email: z.string(), password: z.string() }),
  quoters: z.array(Account),
  taker: Account,
  /** Probability of the first outcome, by market id. */
  fair: z.record(z.string(), z.number()),
});
export type DemoFile = z.infer<typeof DemoFile>;

function fileIn(dataDir: string): string {
  return path.join(dataDir, "demo.json");
}

/** Returns the state of an earlier demo, if any. Throws `StartError` for a file that cannot be used. */
export function readDemoFile(dataDir: string): DemoFile | undefined {
  const file = fileIn(dataDir);
  if (!fs.existsSync(file)) return undefined;
  try {
    return DemoFile.parse(JSON.parse(fs.readFileSync(file, "utf8")));
  } catch {
    throw new StartError(
      `${file} is not a valid file of the demo: remove it, and the demo starts again with new traders`,
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

/** Replaces the file in one step, so that a crash leaves the old or the new one. */
export function writeDemoFile(dataDir: string, content: DemoFile): void {
  const draft = `${fileIn(dataDir)}.${process.pid}`;
  fs.writeFileSync(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  fs.renameSync(draft, fileIn(dataDir));
}

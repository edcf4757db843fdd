/** Reads a recorded market file: one JSON object per line, in the format of Betfair's exchange stream. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { z } from "zod";

const Level = z.tuple([z.number().positive(), z.number().min(0)]);

const RunnerDefinition = z.object({
  id: z.number().int(),
  hc: z.number().optional(),
  name: z.string().optional(),
  status: z.string(),
});

const MarketDefinition = z.object({
  status: z.string(),
  inPlay: z.boolean(),
  betDelay: z.number().optional(),
  eventName: z.string().optional(),
  name: z.string().optional(),
  runners: z.array(RunnerDefinition),
});
export type MarketDefinition = z.infer<typeof MarketDefinition>;

const RunnerChange = z.object({
  id: z.number().int(),
  hc: z.number().optional(),
  atb: z.array(Level).optional(),
  atl: z.array(Level).optional(),
  trd: z.array(Level).optional(),
});
export type RunnerChange = z.infer<typeof RunnerChange>;

const MarketChange = z.object({
  id: z.string(),
  img: z.boolean().optional(),
  marketDefinition: MarketDefinition.optional(),
  rc: z.array(RunnerChange).optional(),
});
export type MarketChange = z.infer<typeof MarketChange>;

const Message = z.object({
  op: z.literal("mcm"),
  pt: z.number().int(),
  mc: z.array(MarketChange).default([]),
});

/** One line of the file: a message, or the reason why the line is not a message. */
export type Line =
  | {
      readonly ok: true;
      readonly number: number;
      readonly publishMs: number;
      readonly changes: readonly MarketChange[];
    }
  | { readonly ok: false; readonly number: number; readonly reason: string };

/** Reads one line; returns a broken line with its reason, and `undefined` for a blank line. */
export function readLine(text: string, number: number): Line | undefined {
  if (text.trim() === "") return undefined;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { ok: false, number, reason: "the line is not JSON" };
  }
  const message = Message.safeParse(json);
  if (message.success) {
    return { ok: true, number, publishMs: message.data.pt, changes: message.data.mc };
  }
  const issue = message.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "the message" : issue.path.join(".");
  return { ok: false, number, reason: `${where}: ${issue?.message ?? "is malformed"}` };
}

/** Yields the lines of a file in order without the blank ones; decompresses a file whose name ends in `.gz`. */
export async function* readRecording(file: string): AsyncGenerator<Line> {
  const bytes = createReadStream(file);
  const input = file.endsWith(".gz") ? bytes.pipe(createGunzip()) : bytes;
  bytes.on("error", (error) => input.destroy(error));
  let number = 0;
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number += 1;
    const line = readLine(text, number);
    if (line !== undefined) yield line;
  }
}

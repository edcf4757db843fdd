/** Command line of a replay. */

import { z } from "zod";
import { UsageError, type Command, type CommandLine } from "../command-line.mjs";
import { VICTIMS } from "./faults.js";
import { VOID_KINDS } from "../../actors/market/types.js";

const OPTIONS = {
  speed: { value: "N|max", default: "max", description: "N times real time, or as fast as possible." },
  standalone: {
    description: "Starts an exchange on a temporary directory, replays on it and removes it.",
  },
  url: {
    value: "URL",
    description: "Address of the exchange. Default: the exchange of this DATA_DIR and PORT.",
  },
  "admin-url": {
    value: "URL",
    description:
      "Address of the operators' routes. Default: --url, or the ADMIN_PORT or PORT of this exchange.",
  },
  "operator-email": {
    value: "EMAIL",
    description: "Login of the operator. Default: the login in the data directory.",
  },
  "operator-password": { value: "PASSWORD", description: "Password of the operator." },
  seed: { value: "N", default: "1", description: "Seed of the choice among the takers." },
  takers: { value: "N", default: "3", description: "Number of takers, 1 to 50." },
  scale: { value: "X", default: "1", description: "Contracts per cent of payout." },
  voids: { value: "PUSH|FMV", default: "PUSH", description: "Rule by which the market is voided." },
  "check-every": {
    value: "N",
    default: "500",
    description: "Recorded messages between two checks of the book.",
  },
  "write-balances": { value: "FILE", description: "Writes the final balances to FILE, to compare two runs." },
  kill: {
    value: "LIST",
    description: `Kills these processes in turn with SIGKILL during the replay: ${VICTIMS.join(", ")}.`,
  },
  "kill-every": { value: "SECONDS", default: "5", description: "Interval of --kill." },
} as const;

export const REPLAY: Command<typeof OPTIONS> = {
  name: "replay",
  call: "npm run replay --",
  summary:
    "Replays a recorded market (Betfair's exchange stream format, plain or .gz) on a running exchange, through its " +
    "public API.",
  operands: { usage: "FILE", min: 1, max: 1 },
  options: OPTIONS,
};

const positive = z.coerce.number().positive();
const whole = z.coerce.number().int().min(1);

const Options = z.object({
  file: z.string(),
  speed: z.union([z.literal("max").transform(() => Infinity), positive], {
    error: "--speed takes a positive number or max",
  }),
  standalone: z.boolean(),
  url: z
    .url({ protocol: /^https?$/, error: "--url takes an address such as http://127.0.0.1:8080" })
    .optional(),
  adminUrl: z
    .url({ protocol: /^https?$/, error: "--admin-url takes an address such as http://127.0.0.1:8081" })
    .optional(),
  operatorEmail: z.string().optional(),
  operatorPassword: z.string().optional(),
  seed: z.coerce.number({ error: "--seed takes a whole number" }).int(),
  takers: whole.max(50),
  scale: positive,
  voids: z.enum(VOID_KINDS, { error: "--voids takes PUSH or FMV" }),
  checkEvery: whole,
  writeBalances: z.string().optional(),
  kill: z
    .string()
    .transform((list) => list.split(","))
    .pipe(z.array(z.enum(VICTIMS, { error: `--kill takes a comma list of ${VICTIMS.join(", ")}` })))
    .optional(),
  killEvery: positive,
});
export type Options = z.infer<typeof Options>;

/** Returns the options with their values converted and checked. Throws `UsageError` for a value that does not fit. */
export function optionsOf({ values, operands }: CommandLine<typeof OPTIONS>): Options {
  const parsed = Options.safeParse({
    ...values,
    file: operands[0],
    adminUrl: values["admin-url"],
    operatorEmail: values["operator-email"],
    operatorPassword: values["operator-password"],
    checkEvery: values["check-every"],
    writeBalances: values["write-balances"],
    killEvery: values["kill-every"],
  });
  if (parsed.success) return parsed.data;
  throw new UsageError(parsed.error.issues.map(describeIssue).join("; "));
}

function describeIssue({ path, message }: z.core.$ZodIssue): string {
  const name = String(path[0]).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return message.includes(`--${name}`) ? message : `--${name}: ${message}`;
}

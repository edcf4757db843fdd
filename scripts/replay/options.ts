/** What can be asked of a replay on its command line. */

import { parseArgs } from "node:util";
import { z } from "zod";
import { StartError } from "../supervisor/start-error.js";
import { VICTIMS } from "./faults.js";

export const USAGE = `Usage: npm run replay -- FILE [options]

Replays a recorded market (Betfair's exchange stream format, plain or .gz) on a running exchange.

  --speed N|max            N times real time, or as fast as it goes (default max)
  --standalone             start an exchange of its own on a scratch directory, and remove it afterwards
  --url URL                where the exchange is (default: the one of this DATA_DIR and PORT)
  --operator-email EMAIL   the operator's login (default: from the data directory)
  --operator-password PW
  --seed N                 which taker takes when (default 1)
  --takers N               how many takers (default 3)
  --scale X                contracts per cent of payout (default 1)
  --voids PUSH|FMV         how the market voids (default PUSH)
  --check-every N          messages between two checked moments (default 500)
  --write-balances FILE    write the final balances, to compare two runs
  --kill LIST              meanwhile kill -9 these in turn: ${VICTIMS.join(", ")}
  --kill-every SECONDS     (default 5)
`;

const positive = z.coerce.number().positive();
const whole = z.coerce.number().int().min(1);

const Options = z.object({
  file: z.string({ error: "name the recorded file" }),
  speed: z.union([z.literal("max").transform(() => Infinity), positive], {
    error: "--speed takes a positive number or max",
  }),
  standalone: z.boolean(),
  url: z
    .url({ protocol: /^https?$/, error: "--url takes an address such as http://127.0.0.1:8080" })
    .optional(),
  operatorEmail: z.string().optional(),
  operatorPassword: z.string().optional(),
  seed: z.coerce.number({ error: "--seed takes a whole number" }).int(),
  takers: whole.max(50),
  scale: positive,
  voids: z.enum(["PUSH", "FMV"], { error: "--voids takes PUSH or FMV" }),
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

/** Reads the arguments after the command; `undefined` when help was asked for. Throws `StartError` with the remedy. */
export function readOptions(args: readonly string[]): Options | undefined {
  const text = { type: "string" } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        speed: { ...text, default: "max" },
        standalone: { type: "boolean", default: false },
        url: text,
        "operator-email": text,
        "operator-password": text,
        seed: { ...text, default: "1" },
        takers: { ...text, default: "3" },
        scale: { ...text, default: "1" },
        voids: { ...text, default: "PUSH" },
        "check-every": { ...text, default: "500" },
        "write-balances": text,
        kill: text,
        "kill-every": { ...text, default: "5" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return undefined;
    if (positionals.length > 1) throw new Error("name one file only");
    return Options.parse({
      ...values,
      file: positionals[0],
      operatorEmail: values["operator-email"],
      operatorPassword: values["operator-password"],
      checkEvery: values["check-every"],
      writeBalances: values["write-balances"],
      killEvery: values["kill-every"],
    });
  } catch (error) {
    const message =
      error instanceof z.ZodError ? describeIssues(error) : String(error).replace(/^\w*Error: /, "");
    throw new StartError(`${message}\n\n${USAGE}`);
  }
}

function describeIssues({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) =>
      message.includes(String(path[0])) ? message : `${path.join(".")}: ${message}`,
    )
    .join("\n");
}

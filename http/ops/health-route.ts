/** The readiness report for operators, whose port need not serve `/readyz` (contract section 8.23). */

import { z } from "zod";
import { formatMoney } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { money } from "../../db/queries/operator/money.js";
import { operatorWith } from "../request/access.js";
import { MoneyText } from "../request/fields.js";
import { route } from "../request/route.js";
import type { Readiness } from "./health.js";

interface HealthRouteParts {
  readonly db: Database;
  readonly readiness: () => Promise<Readiness>;
}

/** Time in ms for which a difference is answered again: it adds up the balances of all wallets. */
const DIFFERENCE_MS = 15_000;

/** Returns a reader of the difference of the money report that Postgres gives; `null` while Postgres does not answer. */
function differenceReader(db: Database) {
  const read = async () => {
    try {
      const { CASH, COIN } = await money(db);
      return { CASH: formatMoney(CASH.difference), COIN: formatMoney(COIN.difference) };
    } catch {
      return null;
    }
  };
  let last: ReturnType<typeof read> | undefined;
  let lastMs = 0;
  return (nowMs: number) => {
    if (last === undefined || nowMs >= lastMs + DIFFERENCE_MS) [last, lastMs] = [read(), nowMs];
    return last;
  };
}

const Count = z.int().nullable();
const Names = z.array(z.string());
/** The fields of `Readiness`, and the difference of the money report from Postgres. */
export const Health = z.strictObject({
  ready: z.boolean(),
  difference: z.strictObject({ CASH: MoneyText, COIN: MoneyText }).nullable(),
  redis: z.boolean(),
  postgres: z.boolean(),
  replica: z.boolean().nullable(),
  ledgers: z.int(),
  projectorLag: Count,
  projecting: z.boolean(),
  reconciled: Count,
  strayRows: Count,
  halted: Names,
  quarantined: Count,
  stopping: z.boolean(),
  unreadable: Names,
  room: z
    .strictObject({
      accepts: z.enum(["all", "cancels", "nothing"]),
      reason: z.string().nullable(),
      memoryPercent: z.number(),
      diskPercent: z.number().nullable(),
    })
    .nullable(),
  clock: z.strictObject({ heldMs: z.number(), hosts: z.record(z.string(), z.number()) }).nullable(),
  processes: z.record(z.string(), Names),
  format: z.strictObject({ active: z.int(), announced: z.record(z.string(), z.int()) }),
});

export function healthRoutes({ db, readiness }: HealthRouteParts) {
  const readDifference = differenceReader(db);
  const show = route("GET /admin/v1/health", {
    access: operatorWith("read"),
    answer: Health,
    docs: {
      summary: "Retrieve the health of the exchange",
      description:
        "Returns the readiness report of this gateway, with 200 also while it is not ready, and the difference of the money report as Postgres has it.",
    },
    run: async ({ incoming }) => {
      const [report, difference] = await Promise.all([readiness(), readDifference(incoming.receivedMs)]);
      const { halted, unreadable, room, clock, processes, format, ...others } = report;
      return {
        body: {
          ...others,
          difference,
          halted: [...halted],
          unreadable: [...unreadable],
          room: room && { ...room },
          clock: clock && { heldMs: clock.heldMs, hosts: { ...clock.hosts } },
          processes: Object.fromEntries(Object.entries(processes).map(([role, names]) => [role, [...names]])),
          format: { active: format.active, announced: { ...format.announced } },
        },
      };
    },
  });
  return [show];
}

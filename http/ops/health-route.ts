/** The readiness report for operators, whose port need not serve `/readyz` (contract section 8.23). */

import { z } from "zod";
import { operatorWith } from "../request/access.js";
import { MoneyText } from "../request/fields.js";
import { route } from "../request/route.js";
import type { Difference } from "./difference.js";
import type { Readiness } from "./health.js";
import { HealthSample, SAMPLE_MS, type HealthHistory } from "./history.js";

interface HealthRouteParts {
  readonly readiness: () => Promise<Readiness>;
  readonly difference: (nowMs: number) => Promise<Difference>;
  readonly healthHistory: Pick<HealthHistory, "read">;
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

/** Samples of the last hour, oldest first, one in `everyMs` while a gateway runs. */
export const HealthHistoryAnswer = z.strictObject({ everyMs: z.int(), items: z.array(HealthSample) });

export function healthRoutes({ readiness, difference: readDifference, healthHistory }: HealthRouteParts) {
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

  const history = route("GET /admin/v1/health/history", {
    access: operatorWith("read"),
    answer: HealthHistoryAnswer,
    docs: {
      summary: "List the health of the last hour",
      description:
        "Returns samples of the health, oldest first. In each interval one gateway takes a sample, which all gateways answer. A figure that could not be read is null, and an interval in which no gateway ran has no sample.",
    },
    run: async () => ({ body: { everyMs: SAMPLE_MS, items: [...(await healthHistory.read())] } }),
  });
  return [show, history];
}

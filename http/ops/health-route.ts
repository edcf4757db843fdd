/** The readiness report for operators, whose port need not serve `/readyz` (contract section 8.23). */

import { z } from "zod";
import { operatorWith } from "../request/access.js";
import { route } from "../request/route.js";
import type { Readiness } from "./health.js";

interface HealthRouteParts {
  readonly readiness: () => Promise<Readiness>;
}

const Count = z.int().nullable();
const Names = z.array(z.string());
/** The fields of `Readiness`. */
export const Health = z.strictObject({
  ready: z.boolean(),
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

export function healthRoutes({ readiness }: HealthRouteParts) {
  const show = route("GET /admin/v1/health", {
    access: operatorWith("read"),
    answer: Health,
    docs: {
      summary: "Retrieve the health of the exchange",
      description: "Returns the readiness report of this gateway, with 200 also while it is not ready.",
    },
    run: async () => {
      const { halted, unreadable, room, clock, processes, format, ...report } = await readiness();
      return {
        body: {
          ...report,
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

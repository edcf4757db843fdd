/** Roles of operators (contract section 8.5). */

import type { Account } from "../../../admin/schemas/operators.js";
import type { z } from "zod";

export type Role = z.infer<typeof Account>["role"];

/** Choices of a form. */
export const ROLES: readonly (readonly [Role, string])[] = [
  ["viewer", "viewer: reads"],
  ["support", "support: traders"],
  ["trading", "trading: events and markets"],
  ["settlement", "settlement: grades"],
  ["finance", "finance: money"],
  ["owner", "owner: everything"],
];

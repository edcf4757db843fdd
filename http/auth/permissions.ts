/** Permissions of operators: the one table of what each role may do (contract section 8.5). */

import { OPERATOR_ROLES, type OperatorRole } from "../../db/schema/operator-roles.js";

/** The roles that have each permission. A route of the operators names the permission that it needs. */
export const PERMISSIONS = {
  /** Reading everything that operators can read, but the list of all wallets. */
  read: OPERATOR_ROLES,
  /** Identity and state of traders, and the clients of market makers. */
  accounts: ["support", "owner"],
  /** The list of all wallets, with their owners and balances. */
  wallets: ["support", "finance", "owner"],
  /** Events, markets, strike requests and reference data. */
  markets: ["trading", "owner"],
  /** Maintenance, the changelog and the quarantine. */
  service: ["trading", "owner"],
  /** Grades, their approval and remediations. */
  settlement: ["settlement", "owner"],
  /** Transactions and the collateral of subaccounts. */
  money: ["finance", "owner"],
  /** Regions, networks and engine time. */
  configuration: ["owner"],
  /** Operators, their roles and their sessions. */
  operators: ["owner"],
  /** Decisions on what waits for a second operator; the approved action needs its own permission too. */
  approvals: ["trading", "settlement", "finance", "owner"],
} as const satisfies Readonly<Record<string, readonly OperatorRole[]>>;
export type Permission = keyof typeof PERMISSIONS;

/** Returns whether a role has a permission. */
export function allows(role: OperatorRole, permission: Permission): boolean {
  const roles: readonly OperatorRole[] = PERMISSIONS[permission];
  return roles.includes(role);
}

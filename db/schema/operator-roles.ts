/** Roles of operators (contract section 8.5). The file imports nothing, so that the pages can use it too. */

export const OPERATOR_ROLES = ["viewer", "support", "trading", "settlement", "finance", "owner"] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

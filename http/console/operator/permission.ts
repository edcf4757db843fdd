/** Permissions of the operator who is signed in (contract section 8.5). */

import { allows, PERMISSIONS, type Permission } from "../../auth/permissions.js";
import { session } from "../data/session.js";

/** Returns in words why the operator may not do something, or `undefined` when the operator may. */
export function whyNot(permission: Permission): string | undefined {
  const role = session.value?.operatorRole ?? "viewer";
  if (allows(role, permission)) return undefined;
  return `Your role is ${role}; this needs the role ${PERMISSIONS[permission].join(" or ")}.`;
}

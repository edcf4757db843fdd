/** Line that says why the role of the operator does not allow what a page is for. */

import type { Permission } from "../../auth/permissions.js";
import { whyNot } from "./permission.js";

export function Denied({ permission }: { readonly permission: Permission }) {
  const reason = whyNot(permission);
  return reason === undefined ? null : <p class="operator-denied">{reason}</p>;
}

/** The web session: who is signed in in this browser (contract section 8.1). */

import { signal } from "@preact/signals";
import type { OperatorRole } from "../../../db/schema/operator-roles.js";
import { address, navigate } from "../app/router.js";
import { isHeld } from "../app/stays.js";
import { readStored, writeStored } from "./remembered.js";

export interface Session {
  readonly token: string;
  /** End of the session, in ms since 1970. */
  readonly expiresAt: number;
  readonly accountId: string;
  readonly role: "trader" | "operator";
  /** Role that decides what an operator may do (contract section 8.5). */
  readonly operatorRole?: OperatorRole | undefined;
  readonly email: string;
}

const KEY = "overround.session";

function stored(): Session | undefined {
  const text = readStored(KEY);
  if (text === null) return undefined;
  try {
    const value = JSON.parse(text) as Session;
    return value.expiresAt > Date.now() ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Session of this browser; other tabs share it. */
export const session = signal<Session | undefined>(stored());
window.addEventListener("storage", ({ key }) => {
  if (key === KEY || key === null) session.value = stored();
});

/** Keeps a session for this browser, or forgets it. */
export function keepSession(value: Session | undefined): void {
  writeStored(KEY, value === undefined ? undefined : JSON.stringify(value));
  session.value = value;
}

/** Returns the address of the sign-in page, which leads back to `place`. */
export function signInAddress(place = address.value.pathname + address.value.search): string {
  if (place.startsWith("/login")) return place;
  return place === "/" ? "/login" : `/login?next=${encodeURIComponent(place)}`;
}

/** Asks to sign in again after the end of the session, and then returns to the same place. */
export function expireSession(): void {
  // A secret that is shown only once stays; the next request asks again.
  if (isHeld()) return;
  keepSession(undefined);
  navigate(signInAddress(), { replace: true });
}

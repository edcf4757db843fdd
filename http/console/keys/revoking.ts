/** Consequences of the revocation of a key, in words. */

import { WEB } from "../trading/web-key.js";
import type { KeyAnswer } from "./own-keys.js";

const FINAL = "A revocation is final, and in force everywhere within 5 seconds.";

/** Returns what stops working when a key is revoked, in sentences. */
export function revokes({ scope, restriction }: KeyAnswer): readonly string[] {
  const label = restriction ?? "the subaccount";
  switch (scope) {
    case "management":
      return [
        "Nobody can then move money between your account and your subaccounts, until you make another management key.",
        "Keys that trade or read go on working, and so do their programs.",
        FINAL,
      ];
    case "management::read":
      return ["Programs that read your account with this key stop working. Nothing else changes.", FINAL];
    case "trading":
      return [
        label === WEB
          ? "The browser that holds this key can no longer trade, until a browser makes a new one."
          : `Programs that trade in ${label} with this key stop working, and their sockets are closed.`,
        `Open orders of ${label} stay on the book until somebody cancels them. The money stays where it is.`,
        FINAL,
      ];
    case "trading::read":
      return [
        `Programs that read ${label} with this key stop working, and their sockets are closed. Nothing else changes.`,
        FINAL,
      ];
    default:
      return scope satisfies never;
  }
}

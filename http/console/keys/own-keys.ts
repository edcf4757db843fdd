/** Keys and subaccounts of the trader, as the service lists them. */

import type { z } from "zod";
import type { Key, Subaccount } from "../../surface-a/schemas/account.js";
import { call } from "../data/api.js";

export type KeyAnswer = z.infer<typeof Key>;
export type SubaccountAnswer = z.infer<typeof Subaccount>;

export interface OwnKeys {
  readonly keys: readonly KeyAnswer[];
  readonly subaccounts: readonly SubaccountAnswer[];
}

/** Reads the live keys and the open subaccounts. Throws `Refusal`. */
export async function readOwnKeys(signal?: AbortSignal): Promise<OwnKeys> {
  const [keys, subaccounts] = await Promise.all([
    call<readonly KeyAnswer[]>("GET", "/v3/keys", { signal }),
    call<readonly SubaccountAnswer[]>("GET", "/v3/account/subaccounts", { signal }),
  ]);
  return { keys, subaccounts };
}

/** Returns what a key may do. */
export function scopeInWords({ scope, restriction }: KeyAnswer): string {
  switch (scope) {
    case "management":
      return "manages";
    case "management::read":
      return "reads the account";
    case "trading":
      return `trades in ${restriction ?? "a subaccount"}`;
    case "trading::read":
      return `reads ${restriction ?? "a subaccount"}`;
    default:
      return scope satisfies never;
  }
}

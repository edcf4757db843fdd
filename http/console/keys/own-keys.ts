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

/** Scopes in words. */
export const SCOPES: Readonly<Record<KeyAnswer["scope"], string>> = {
  management: "management",
  "management::read": "reads the account",
  trading: "trades",
  "trading::read": "reads a subaccount",
};

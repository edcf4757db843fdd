/** The account's own wallet and its subaccounts with their balances. */

import type { z } from "zod";
import type { Balance, SessionAnswer, Subaccount } from "../../surface-a/schemas/account.js";
import { call } from "../data/api.js";

type BalanceAnswer = z.infer<typeof Balance>;
export type AccountAnswer = z.infer<typeof SessionAnswer>;

export interface Wallet {
  /** Key that names the subaccount in requests. */
  readonly keyId: string;
  readonly label: string;
  readonly cash: BalanceAnswer;
  readonly coin: BalanceAnswer;
}

export interface Wallets {
  readonly account: AccountAnswer;
  readonly subaccounts: readonly Wallet[];
}

/** Reads the balances of the account and of all subaccounts. */
export async function readWallets(signal: AbortSignal): Promise<Wallets> {
  const [account, subaccounts] = await Promise.all([
    call<AccountAnswer>("GET", "/v3/session", { signal }),
    call<readonly z.infer<typeof Subaccount>[]>("GET", "/v3/account/subaccounts", { signal }),
  ]);
  const balanceOf = (keyId: string, currency: "CASH" | "COIN"): Promise<BalanceAnswer> =>
    call("GET", `/v3/account/subaccounts/${keyId}/balance`, { query: { currency }, signal });
  const wallets = subaccounts.map(async ({ keyId, label }) => {
    const [cash, coin] = await Promise.all([balanceOf(keyId, "CASH"), balanceOf(keyId, "COIN")]);
    return { keyId, label, cash, coin };
  });
  return { account, subaccounts: await Promise.all(wallets) };
}

const ZERO = "0.00000";

/** Returns true when the wallet, or the account, has COIN. */
export function hasCoin({ account, subaccounts }: Wallets): boolean {
  return account.cash.COIN !== ZERO || subaccounts.some(({ coin }) => coin.balance !== ZERO);
}

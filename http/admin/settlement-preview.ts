/** Payouts of a grade or a remediation before it takes effect (contract section 8.9, `?preview=true`). */

import type { PreviewedPayout } from "../../actors/market/commands.js";
import { CURRENCIES, type Currency, type Grade } from "../../actors/market/types.js";
import { add, formatMoney, negate, ZERO } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { walletOwners } from "../../db/queries/accounts/subaccounts.js";
import type { Exchange } from "../../stream/log/ports.js";
import { READ_ONLY } from "../trading/ledger-client.js";
import { accepted } from "./markets.js";

interface PreviewParts {
  readonly db: Database;
  readonly exchange: Exchange;
}

/** Number of wallets whose owners are read by one query. */
const WALLETS_PER_QUERY = 5_000;

/** Returns the payouts by wallet, and their sums. `reversed` gives them the sign of a remediation. Changes nothing. */
export async function previewPayouts(
  parts: PreviewParts,
  marketId: string,
  grade: Grade,
  nowMs: number,
  direction: "paid" | "reversed" = "paid",
) {
  const reply = accepted(await parts.exchange.market(marketId, { kind: "previewGrade", grade }, READ_ONLY));
  if (reply.kind !== "gradePreview") throw new Error(`the market answered previewGrade with ${reply.kind}`);
  const payouts = reply.payouts.map((payout) =>
    direction === "paid" ? payout : { ...payout, amount: negate(payout.amount) },
  );
  const owners = await ownersOf(parts.db, payouts, nowMs);
  const [CASH, COIN] = CURRENCIES.map((currency) => formatMoney(sumOf(payouts, currency)));
  return {
    payouts: payouts.map(({ wallet, currency, amount }) => {
      const owner = owners.get(wallet);
      return {
        traderId: owner?.traderId ?? null,
        keyId: owner?.keyId ?? null,
        currency,
        amount: formatMoney(amount),
      };
    }),
    totals: { CASH: CASH ?? "0.00000", COIN: COIN ?? "0.00000" },
  };
}

function sumOf(payouts: readonly PreviewedPayout[], currency: Currency) {
  return payouts.reduce((sum, one) => (one.currency === currency ? add(sum, one.amount) : sum), ZERO);
}

async function ownersOf(db: Database, payouts: readonly PreviewedPayout[], nowMs: number) {
  const wallets = [...new Set(payouts.map(({ wallet }) => wallet))];
  const owners = new Map<string, { readonly traderId: string; readonly keyId: string | undefined }>();
  for (let from = 0; from < wallets.length; from += WALLETS_PER_QUERY) {
    for (const [wallet, owner] of await walletOwners(
      db,
      wallets.slice(from, from + WALLETS_PER_QUERY),
      nowMs,
    )) {
      owners.set(wallet, owner);
    }
  }
  return owners;
}

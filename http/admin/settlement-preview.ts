/** Payouts of a grade or a remediation before it takes effect (contract section 8.9, `?preview=true`). */

import type { PreviewedPayout } from "../../actors/market/commands.js";
import { CURRENCIES, type Currency, type Grade } from "../../actors/market/types.js";
import { add, formatMoney, negate, ZERO } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { walletOwners } from "../../db/queries/accounts/subaccounts.js";
import { type Exchange, Unavailable } from "../../stream/log/ports.js";
import { READ_ONLY } from "../trading/ledger-client.js";
import { accepted } from "./markets.js";

interface PreviewParts {
  readonly db: Database;
  readonly exchange: Exchange;
}

/** Number of payouts in one answer of the market. */
const PAYOUTS_PER_PAGE = 1_000;
/** Number of times that the pages are read when the market trades between them. */
const MAX_TRIES = 3;
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
  const payouts = (await payoutsOf(parts.exchange, marketId, grade)).map((payout) =>
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

/** Returns all payouts of a grade at one moment, page by page. */
async function payoutsOf(
  exchange: Exchange,
  marketId: string,
  grade: Grade,
): Promise<readonly PreviewedPayout[]> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const first = await payoutPage(exchange, marketId, grade, 0);
    const payouts = [...first.payouts];
    let { next } = first;
    while (next !== undefined) {
      const page = await payoutPage(exchange, marketId, grade, next);
      if (page.matches !== first.matches) break;
      payouts.push(...page.payouts);
      next = page.next;
    }
    if (next === undefined) return payouts;
  }
  throw new Unavailable("the market trades while its payouts are listed; close the market, or try again");
}

async function payoutPage(exchange: Exchange, marketId: string, grade: Grade, from: number) {
  const command = { kind: "previewGrade", grade, from, limit: PAYOUTS_PER_PAGE } as const;
  const reply = accepted(await exchange.market(marketId, command, READ_ONLY));
  if (reply.kind !== "gradePreview") throw new Error(`the market answered previewGrade with ${reply.kind}`);
  return reply;
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

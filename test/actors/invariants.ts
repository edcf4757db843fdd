/** Invariants that hold after every command, computed from the states independently of the actors. */

import type { ActorId, Batch } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { LedgerState, Wallet } from "../../actors/ledger/state.js";
import { channelOf as publicChannelOf, type MarketDelta } from "../../actors/market/deltas.js";
import type { RestingOrder } from "../../actors/market/book/ladder.js";
import type { MarketState } from "../../actors/market/state.js";
import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { feeFor, feesUpperBound } from "./naive/arithmetic.js";
import { type NaiveAccount, type NaiveOpenOrder, reserveOf } from "./naive/reserve.js";
import { rulesOf } from "../../actors/market/time-in-force.js";

/** Throws when a figure has the wrong value. Avoids chai, because every step of every simulation calls this function. */
function equal(actual: unknown, expected: unknown, figure: string, subject: string): void {
  if (actual !== expected)
    throw new Error(`${figure} (${subject}): ${String(actual)}, but must be ${String(expected)}`);
}

/** Invariants 2 and 4 of `test/simulation/README.md`: contracts, escrow and the resting book of a market. */
export function checkMarket(state: MarketState): void {
  const resting = sum(CURRENCIES, (currency) => checkBook(state, currency));
  equal(state.resting.size, resting, "orders resting", state.marketId);
  for (const currency of CURRENCIES) {
    const book = state.books[currency];
    if (state.definition === undefined) continue;
    const outstanding = state.definition.outcomes.map((_, outcome) => {
      let qty = 0;
      for (const { holdings } of book.positions.values()) qty += holdings[outcome]?.qty ?? 0;
      return qty;
    });
    const [first = 0] = outstanding;
    for (const qty of outstanding) equal(qty, first, `${currency} contracts of each outcome`, state.marketId);
    checkEscrow(state, currency, first);
  }
}

function checkEscrow(state: MarketState, currency: Currency, outstanding: number): void {
  const { escrow, positions } = state.books[currency];
  const all = [...positions.values()];
  const { settlement, definition, marketId } = state;
  let paidOut = 0;
  if (settlement !== undefined) {
    const paid = [...settlement.paid].filter(([key]) => key.startsWith(`${currency}:`));
    if (settlement.direction === "paying") paidOut = sum(paid, ([, amount]) => amount);
    else if (settlement.done > 0) return;
    else paidOut = escrowOf(all, outstanding);
  }
  if (state.status === "SETTLED") equal(escrow, 0, `${currency} escrow once settled`, marketId);
  equal(
    escrow,
    escrowOf(all, outstanding) - paidOut,
    `${currency} escrow, from the payout of each winner`,
    marketId,
  );
  if (definition?.voids !== "PUSH") return;
  const refunds = sum(all, ({ holdings, push }) => push + sum(holdings, ({ cost }) => cost));
  equal(escrow, refunds - paidOut, `${currency} escrow, from the refunds of a push`, marketId);
}

function escrowOf(positions: readonly { readonly win: number }[], outstanding: number): number {
  return 1_000 * outstanding + sum(positions, ({ win }) => win);
}

/** Checks one resting book. Returns the number of its orders. */
function checkBook({ marketId, books, resting: orders }: MarketState, currency: Currency): number {
  const book = books[currency];
  const ladders = orders.ladders[currency];
  let resting = 0;
  let together = 0;
  let complete = ladders.length > 0;
  ladders.forEach((ladder, outcome) => {
    let ahead: RestingOrder | undefined;
    let best = 0;
    let qty = 0;
    for (const order of ladder.orders()) {
      resting += 1;
      const { price } = order.order;
      if (ahead === undefined) best = price;
      else {
        const inOrder =
          ahead.order.price > price || (ahead.order.price === price && ahead.arrival < order.arrival);
        equal(inOrder, true, "order by price, then time", marketId);
      }
      if (price === best) qty += order.remaining;
      equal(order.remaining > 0, true, "a resting order has a remaining quantity", marketId);
      ahead = order;
    }
    const published = book.bbo[outcome];
    equal(published?.price ?? 0, best, "the published best bid", marketId);
    equal(published?.qty ?? 0, qty, "the quantity of the published best bid", marketId);
    together += best;
    complete &&= best > 0;
  });
  if (complete) equal(together < 1_000, true, "the best bids sum to less than 1", marketId);
  return resting;
}

/**
 * Invariant 3: the reserve of a wallet follows from its open orders, no available balance is below zero, and the sums of
 * the shard are those of its wallets. The set
 * `mayBeNegative` holds the wallets that a remediation may have left negative.
 */
export function checkLedger(state: LedgerState, mayBeNegative: ReadonlySet<string>): void {
  const sums = { CASH: { total: 0, reserved: 0 }, COIN: { total: 0, reserved: 0 } };
  for (const wallet of state.wallets.values()) {
    for (const currency of CURRENCIES) {
      const { total, reserved } = wallet.funds[currency];
      sums[currency].total += total;
      sums[currency].reserved += reserved;
      const [least, most] = reserveBounds(wallet, currency);
      if (reserved < least || reserved > most)
        equal(reserved, `from ${least} to ${most}`, `${currency} reserved`, wallet.wallet);
      if (total - reserved < 0 && !mayBeNegative.has(wallet.wallet))
        equal(total - reserved, "not below 0", `${currency} available`, wallet.wallet);
    }
  }
  for (const currency of CURRENCIES) {
    const { total, reserved } = state.funds[currency];
    equal(total, sums[currency].total, `${currency} total of all wallets`, `shard ${state.shard}`);
    equal(reserved, sums[currency].reserved, `${currency} reserved of all wallets`, `shard ${state.shard}`);
  }
}

/** Returns the orders and the holdings of each account of a wallet that is not settled. */
export function naiveAccounts(
  wallet: Wallet,
  currency: Currency,
): readonly (NaiveAccount & { readonly marketId: string; readonly orders: readonly NaiveOpenOrder[] })[] {
  const accounts = [...wallet.accounts.values()].filter(
    (account) => account.currency === currency && !account.settled,
  );
  return accounts.map(({ marketId, voids, holdings }) => {
    const own = [...wallet.orders.values()].filter(
      (order) => order.marketId === marketId && order.currency === currency,
    );
    const orders = own.map((order) => {
      const pays = order.pending && order.feeReserved && rulesOf(order.tif).mayTake;
      return { ...order, fee: pays ? order.fee : undefined };
    });
    return { marketId, voids, holdings, orders };
  });
}

/**
 * Returns bounds of the reserve of a wallet's open orders. They are one number under the policy `hold`, except for a
 * wallet that follows the rule of the builds before format 4.
 */
function reserveBounds(wallet: Wallet, currency: Currency): readonly [number, number] {
  if (wallet.reserveRule === 1) return boundsOfRule1(wallet, currency);
  const held = sum(naiveAccounts(wallet, currency), (account) => reserveOf(account, account.orders));
  return [wallet.policy === "hold" ? held : 0, held];
}

/** Returns bounds of the reserve by rule 1. Without holdings the bounds differ only by rounding. */
function boundsOfRule1(wallet: Wallet, currency: Currency): readonly [number, number] {
  let least = 0;
  let most = 0;
  for (const account of wallet.accounts.values()) {
    if (account.currency !== currency || account.settled) continue;
    const orders = [...wallet.orders.values()].filter(
      (order) => order.marketId === account.marketId && order.currency === currency,
    );
    const paying = orders.filter((order) => order.pending && order.feeReserved && rulesOf(order.tif).mayTake);
    const costs = sum(orders, ({ price, remaining }) => price * remaining);
    const fees = sum(paying, ({ fee, price, remaining }) => feeFor(fee, Math.min(price, 500), remaining));
    most += costs + sum(paying, ({ fee, price, remaining }) => feesUpperBound(fee, price, remaining));
    if (account.outcomes !== 2) least += costs + fees;
    if (account.outcomes !== 2 || wallet.policy === "net") continue;
    const beyond = [0, 1].map((outcome) => {
      const held = account.holding(1 - outcome).qty;
      const side = orders.filter((order) => order.outcome === outcome);
      const cost = sum(side, ({ price, remaining }) => price * remaining);
      const open = sum(side, ({ remaining }) => remaining);
      const dearest = Math.max(0, ...side.map(({ price }) => price));
      return held === 0 ? cost : Math.max(0, cost - dearest * Math.min(held, open));
    });
    least += sum(beyond, (cost) => cost);
  }
  return [least, most];
}

/** Invariant 1 in one currency. `inFlight` is the money on its way between markets and ledgers. */
export function checkMoney(
  markets: readonly MarketState[],
  ledgers: readonly LedgerState[],
  currency: Currency,
  inFlight: number,
): void {
  const escrow = sum(markets, ({ books }) => books[currency].escrow);
  const totals = ledgers.map((state) => state.totals[currency]);
  const wallets = sum(ledgers, (state) =>
    sum([...state.wallets.values()], (wallet) => wallet.funds[currency].total),
  );
  const deposited = sum(
    totals,
    ({ deposits, withdrawals, adjustments }) => deposits - withdrawals + adjustments,
  );
  const house = sum(totals, (total) => total.house);
  equal(wallets + escrow + house + inFlight, deposited, `total ${currency}`, "the exchange");
  const sent = 0 - escrow;
  const received = sum(totals, (total) => total.received);
  equal(sent - received, inFlight, `${currency} in flight, by the reports`, "the exchange");
}

/** Invariant 7: every batch of a channel carries the next seq. */
export class Seqs {
  readonly #last = new Map<string, number>();
  /** Seqs that every channel of an actor has left out. */
  readonly #skipped = new Map<ActorId, number>();

  check(actor: ActorId, { deltas }: Batch<MarketDelta | LedgerDelta>): void {
    const next = new Map<string, number>();
    const skipped = this.#skipped.get(actor) ?? 0;
    for (const delta of deltas) {
      if (delta.type === "skipped") this.#skipped.set(actor, skipped + delta.count);
      if (!("seq" in delta)) continue;
      const channel = `${actor} ${channelOf(delta)}`;
      const last = this.#last.get(channel) ?? 0;
      const seq = delta.seq - skipped;
      if (channel.endsWith(" lifecycle") || !next.has(channel)) {
        equal(seq, (next.get(channel) ?? last) + 1, "the next seq", channel);
        next.set(channel, seq);
      } else equal(seq, next.get(channel), "the seq of the whole command", channel);
    }
    for (const [channel, seq] of next) this.#last.set(channel, seq);
  }
}

function channelOf(delta: Extract<MarketDelta | LedgerDelta, { seq: number }>): string {
  if ("wallet" in delta) return `${delta.wallet} ${delta.type}`;
  return "currency" in delta ? `${delta.currency} ${publicChannelOf(delta)}` : publicChannelOf(delta);
}

export function sum<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}

/** What must hold of the exchange after every command, computed from the states by other means than theirs. */

import { expect } from "chai";
import type { ActorId, Batch } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { LedgerState, Wallet } from "../../actors/ledger/state.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import type { Book, MarketState } from "../../actors/market/state.js";
import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { feeFor, mostFees } from "./naive/arithmetic.js";

/** Invariants 2 and 4 of `design/quality.md`: contracts, escrow and the resting book of a market. */
export function checkMarket(state: MarketState): void {
  for (const currency of CURRENCIES) {
    const book = state.books[currency];
    checkBook(state.marketId, book);
    if (state.definition === undefined) continue;
    const outstanding = state.definition.outcomes.map((_, outcome) =>
      sum([...book.positions.values()], ({ holdings }) => holdings[outcome]?.qty ?? 0),
    );
    const [first = 0] = outstanding;
    for (const qty of outstanding)
      expect(qty, `contracts of each outcome of ${state.marketId} in ${currency}`).to.equal(first);
    checkEscrow(state, currency, first);
  }
}

function checkEscrow(state: MarketState, currency: Currency, outstanding: number): void {
  const { escrow, positions } = state.books[currency];
  const all = [...positions.values()];
  const { settlement, definition } = state;
  let gone = 0;
  if (settlement !== undefined) {
    const paid = [...settlement.paid].filter(([key]) => key.startsWith(`${currency}:`));
    if (settlement.direction === "paying") gone = sum(paid, ([, amount]) => amount);
    else if (settlement.done > 0) return;
    else gone = escrowOf(all, outstanding);
  }
  if (state.status === "SETTLED")
    expect(escrow, `escrow of settled ${state.marketId} in ${currency}`).to.equal(0);
  const where = `escrow of ${state.marketId} in ${currency}`;
  expect(escrow, `${where}: what any winner is paid`).to.equal(escrowOf(all, outstanding) - gone);
  if (definition?.voids !== "PUSH") return;
  const refunds = sum(all, ({ holdings, push }) => push + sum(holdings, ({ cost }) => cost));
  expect(escrow, `${where}: what a push refunds`).to.equal(refunds - gone);
}

function escrowOf(positions: readonly { readonly win: number }[], outstanding: number): number {
  return 1_000 * outstanding + sum(positions, ({ win }) => win);
}

function checkBook(marketId: string, book: Book): void {
  const best = book.ladders.map((ladder) => {
    const orders = [...ladder.orders()];
    const [first] = orders;
    if (first === undefined) return null;
    orders.reduce((ahead, behind) => {
      const inOrder =
        ahead.order.price > behind.order.price ||
        (ahead.order.price === behind.order.price && ahead.arrival < behind.arrival);
      expect(inOrder, `price, then time in ${marketId}`).to.equal(true);
      return behind;
    });
    for (const { remaining } of orders)
      expect(remaining, "a resting order has something left").to.be.above(0);
    const { price } = first.order;
    return {
      price,
      qty: sum(
        orders.filter(({ order }) => order.price === price),
        ({ remaining }) => remaining,
      ),
    };
  });
  expect(book.bbo, `best bids told of ${marketId}`).to.deep.equal(best);
  const levels = best.filter((level) => level !== null);
  if (best.length > 0 && levels.length === best.length)
    expect(
      sum(levels, ({ price }) => price),
      `best bids of ${marketId} together`,
    ).to.be.below(1_000);
  const resting = sum(book.ladders, (ladder) => [...ladder.orders()].length);
  expect(book.resting.size, `orders resting in ${marketId}`).to.equal(resting);
}

/**
 * Invariant 3: what is reserved follows from the open orders, and nothing available is below zero. `mayOwe` names the
 * wallets that a remediation may have left negative.
 */
export function checkLedger(state: LedgerState, mayOwe: ReadonlySet<string>): void {
  for (const wallet of state.wallets.values()) {
    for (const currency of CURRENCIES) {
      const { total, reserved } = wallet.funds[currency];
      const where = `of wallet ${wallet.wallet} in ${currency}`;
      const [least, most] = reserveBounds(wallet, currency);
      expect(reserved, `reserved ${where}`).to.be.within(least, most);
      if (mayOwe.has(wallet.wallet)) continue;
      expect(total - reserved, `available ${where}`).to.be.at.least(0);
    }
  }
}

/** The least and the most that the open orders of a wallet can hold back. Equal but for roundings without holdings. */
function reserveBounds(wallet: Wallet, currency: Currency): readonly [number, number] {
  let least = 0;
  let most = 0;
  for (const account of wallet.accounts.values()) {
    if (account.currency !== currency) continue;
    const orders = [...wallet.orders.values()].filter(
      (order) => order.marketId === account.marketId && order.currency === currency,
    );
    const paying = orders.filter((order) => order.pending && order.feeReserved && order.tif !== "PO");
    const costs = sum(orders, ({ price, remaining }) => price * remaining);
    const fees = sum(paying, ({ fee, price, remaining }) => feeFor(fee, Math.min(price, 500), remaining));
    most += costs + sum(paying, ({ fee, price, remaining }) => mostFees(fee, price, remaining));
    if (account.outcomes !== 2) {
      least += costs + fees;
      continue;
    }
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
  const broughtIn = sum(
    totals,
    ({ deposits, withdrawals, adjustments }) => deposits - withdrawals + adjustments,
  );
  const house = sum(totals, (total) => total.house);
  expect(wallets + escrow + house + inFlight, `all ${currency} there is`).to.equal(broughtIn);
  const sent = 0 - escrow;
  const received = sum(totals, (total) => total.received);
  expect(sent - received, `${currency} in flight, as the reports have it`).to.equal(inFlight);
}

/** Invariant 7: every batch of a channel carries the next number. */
export class Seqs {
  readonly #last = new Map<string, number>();

  check(actor: ActorId, { deltas }: Batch<MarketDelta | LedgerDelta>): void {
    const next = new Map<string, number>();
    for (const delta of deltas) {
      if (!("seq" in delta)) continue;
      const channel = `${actor} ${channelOf(delta)}`;
      const last = this.#last.get(channel) ?? 0;
      if (delta.type === "lifecycle" || !next.has(channel)) {
        expect(delta.seq, `seq of ${channel}`).to.equal((next.get(channel) ?? last) + 1);
        next.set(channel, delta.seq);
      } else expect(delta.seq, `seq of ${channel} within a command`).to.equal(next.get(channel));
    }
    for (const [channel, seq] of next) this.#last.set(channel, seq);
  }
}

function channelOf(delta: Extract<MarketDelta | LedgerDelta, { seq: number }>): string {
  if (delta.type === "lifecycle") return "lifecycle";
  return "wallet" in delta ? `${delta.wallet} ${delta.type}` : `${delta.currency} ${delta.type}`;
}

export function sum<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}

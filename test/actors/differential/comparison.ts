/** Compares orders, books, positions, money and prints of the two exchanges when no message is in flight. */

import { expect } from "chai";
import type { PlaceResult } from "../../../actors/ledger/commands.js";
import type { WalletOrderDelta } from "../../../actors/ledger/deltas.js";
import type { OrderRequest } from "../../../actors/ledger/types.js";
import type { MarketState } from "../../../actors/market/state.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { checkLedger, checkMarket, checkMoney, Seqs, sum } from "../invariants.js";
import type { Bench } from "./bench.js";
import type { ActorNetwork } from "../../support/exchange/network.js";
import type { NaiveExchange } from "../naive/exchange.js";
import type { NaiveMarket, OrderEvent, Print } from "../naive/market.js";
import { unreachable } from "../../../actors/unreachable.js";

export class Comparison {
  readonly #bench: Bench;
  readonly #seqs = new Seqs();
  /** Number of batches of each actor that have been read. */
  readonly #read = new Map<string, number>();
  /** Order events that the ledgers emitted, and prints that the markets emitted. */
  readonly #events = new Map<string, OrderEvent[]>();
  readonly #prints = new Map<string, Print[]>();
  readonly #ids = new Set<string>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  get #real(): ActorNetwork {
    return this.#bench.real;
  }

  get #naive(): NaiveExchange {
    return this.#bench.naive;
  }

  #count(name: string): void {
    this.#bench.count(name);
  }

  check(): void {
    expect(this.#real.undelivered, "messages in flight").to.have.length(0);
    this.#readJournals();
    for (const { state } of this.#real.markets.values()) {
      checkMarket(state);
      this.#compareMarket(state, this.#naive.market(state.marketId));
    }
    for (const { state } of this.#real.ledgers.values()) checkLedger(state, this.#bench.mayBeNegative);
    const markets = [...this.#real.markets.values()].map(({ state }) => state);
    const ledgers = [...this.#real.ledgers.values()].map(({ state }) => state);
    for (const currency of CURRENCIES) {
      checkMoney(markets, ledgers, currency, 0);
      const house = sum(ledgers, ({ totals }) => totals[currency].house);
      expect(house, `${currency} of the house`).to.equal(this.#naive.house[currency]);
    }
    this.#compareWallets();
    for (const { order, events } of this.#naive.orders)
      expect(this.#events.get(order.orderId) ?? [], `events of order ${order.orderId}`).to.deep.equal(events);
  }

  #readJournals(): void {
    for (const { id, emitted } of this.#real.markets.values()) {
      for (const batch of emitted.slice(this.#read.get(id) ?? 0)) {
        this.#seqs.check(id, batch);
        for (const delta of batch.deltas) {
          if (delta.type === "lifecycle") this.#count(delta.kind);
          if (delta.type !== "trade") continue;
          this.#checkUnique(delta.tradeId);
          const { currency, outcome, price, qty } = delta;
          listOf(this.#prints, id).push({ currency, outcome, price, qty });
        }
      }
      this.#read.set(id, emitted.length);
    }
    for (const { id, emitted } of this.#real.ledgers.values()) {
      for (const batch of emitted.slice(this.#read.get(id) ?? 0)) {
        this.#seqs.check(id, batch);
        for (const delta of batch.deltas) {
          if (delta.type === "order") this.#readOrder(delta);
          if (delta.type === "entry") this.#checkUnique(delta.transactionId);
        }
      }
      this.#read.set(id, emitted.length);
    }
  }

  #readOrder(delta: WalletOrderDelta): void {
    const event = eventOf(delta);
    listOf(this.#events, delta.orderId).push(event);
    if (event.kind === "reject" || event.kind === "cancel")
      this.#count(`${event.kind} ${event.reason ?? ""}`);
    else if (event.kind !== "fill") this.#count(event.kind);
    else {
      this.#count(event.wash ? "wash" : event.payout > 0 ? "netting" : "fill");
      if (delta.kind === "fill") this.#checkUnique(delta.fillId);
    }
  }

  #checkUnique(id: string): void {
    expect(this.#ids.has(id), `id ${id} is used twice`).to.equal(false);
    this.#ids.add(id);
  }

  #compareMarket(real: MarketState, naive: NaiveMarket): void {
    const where = `market ${real.marketId}`;
    expect([real.status, real.paused, real.live], `${where}: status`).to.deep.equal([
      naive.status,
      naive.paused,
      naive.live,
    ]);
    expect([...real.held.values()].map(({ order, remaining }) => [order.orderId, remaining])).to.deep.equal(
      naive.held.map(({ order, remaining }) => [order.orderId, remaining]),
    );
    expect(this.#prints.get(`market:${real.marketId}`) ?? [], `${where}: prints`).to.deep.equal(naive.prints);
    for (const currency of CURRENCIES) {
      const book = real.books[currency];
      expect([book.escrow, book.volume], `${where}: escrow and volume of ${currency}`).to.deep.equal([
        naive.escrow[currency],
        naive.volume[currency],
      ]);
      real.resting.ladders[currency].forEach((ladder, outcome) => {
        const orders = [...ladder.orders()].map(({ order, remaining }) => [
          order.orderId,
          order.price,
          remaining,
        ]);
        const expected = naive
          .ladder(currency, outcome)
          .map(({ order, remaining }) => [order.orderId, order.price, remaining]);
        expect(orders, `${where}: ${currency} bids on ${outcome}`).to.deep.equal(expected);
      });
      for (const { wallet, holdings, win, push } of book.positions.values()) {
        const expected = naive.positionOf(wallet, currency);
        expect({ holdings, win, push }, `${where}: ${currency} position of ${wallet}`).to.deep.equal({
          holdings: expected.holdings,
          win: expected.win,
          push: expected.push,
        });
      }
    }
  }

  #compareWallets(): void {
    for (const { state } of this.#real.ledgers.values()) {
      for (const { wallet, funds, accounts, orders } of state.wallets.values()) {
        for (const currency of CURRENCIES)
          expect(funds[currency].total, `${currency} of wallet ${wallet}`).to.equal(
            this.#naive.total(wallet, currency),
          );
        const open = this.#naive.orders.filter(
          (history) => history.order.wallet === wallet && history.remaining > 0,
        );
        expect(
          [...orders.values()].map(({ orderId, remaining }) => [orderId, remaining]),
        ).to.have.deep.members(open.map(({ order, remaining }) => [order.orderId, remaining]));
        for (const { definition } of this.#naive.markets)
          for (const currency of CURRENCIES) {
            const account = accounts.get(`${currency}:${definition.marketId}`);
            definition.outcomes.forEach((_, outcome) => {
              const held = this.#naive.held(wallet, definition.marketId, currency, outcome);
              expect(
                account?.holding(outcome) ?? { qty: 0, cost: 0 },
                `holding of wallet ${wallet}`,
              ).to.deep.equal(held);
            });
          }
      }
    }
  }
}

function listOf<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  const found = lists.get(key) ?? [];
  lists.set(key, found);
  return found;
}

function eventOf(delta: WalletOrderDelta): OrderEvent {
  switch (delta.kind) {
    case "open":
      return { kind: "open", qty: delta.qty };
    case "fill": {
      const { kind, price, qty, remaining, cost, payout, fee, credit, taker, wash } = delta;
      return { kind, price, qty, remaining, cost, payout, fee, credit, taker, wash };
    }
    case "reduce":
      return { kind: "reduce", remaining: delta.remaining };
    case "cancel":
      return { kind: "cancel", remaining: delta.remaining, reason: delta.reason };
    case "reject":
      return { kind: "reject", reason: delta.reason };
    default:
      return unreachable(delta);
  }
}

/** Records the order of each client id, and checks the ledger's answers to repeated client ids. */
export class ClientIds {
  readonly #known = new Map<string, { readonly orderId: string; readonly body: string }>();

  /** Returns true when the client id was used before, so that the result does not depend on the order itself. */
  check(wallet: string, request: OrderRequest, result: PlaceResult, nonePlaced: boolean): boolean {
    const { clientId, orderId, terms, ...rest } = request;
    if (clientId === undefined) return false;
    const key = `${wallet} ${clientId}`;
    const body = JSON.stringify([terms.marketId, rest]);
    const known = this.#known.get(key);
    if (known === undefined) {
      if (result.ok && !nonePlaced) this.#known.set(key, { orderId, body });
      return !result.ok && result.refusal === "CLIENT_ID_REUSED";
    }
    if (known.body === body)
      expect(result).to.deep.include({ ok: true, repeated: true, orderId: known.orderId });
    else expect(result).to.deep.equal({ ok: false, refusal: "CLIENT_ID_REUSED" });
    return true;
  }
}

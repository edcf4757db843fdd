/** The real actors and the naive exchange side by side, and what the steps of a scenario need to know of both. */

import { expect } from "chai";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { MarketTerms } from "../../../actors/ledger/types.js";
import type { Currency } from "../../../actors/market/types.js";
import { assert } from "../../../actors/units.js";
import { ClientIds } from "./comparison.js";
import { type Actors, Joined } from "../joined.js";
import { NaiveExchange, type OrderHistory } from "../naive/exchange.js";
import { pick, type TestWallet, uuid, walletsOf } from "./world.js";

const TRADERS = 5;

/** How often things happened, for a look at what a run has reached. */
export type Tally = Map<string, number>;

export class Bench {
  readonly real: Joined;
  readonly naive = new NaiveExchange();
  readonly wallets = walletsOf(TRADERS);
  readonly marketIds: string[] = [];
  readonly orders: { readonly orderId: string; readonly wallet: TestWallet }[] = [];
  readonly clientIds = new ClientIds();
  /** The first transaction with each `clientRef` of a trader. */
  readonly transactions = new Map<string, string>();
  /** Wallets that a remediation may have left negative. */
  readonly mayOwe = new Set<string>();
  readonly #tally: Tally;
  #ids = 0;

  constructor(actors: Actors | undefined, tally: Tally) {
    this.real = new Joined(actors);
    this.naive.now = this.real.now;
    this.#tally = tally;
  }

  count(what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
  }

  nextId(kind: number): string {
    this.#ids += 1;
    return uuid(kind, this.#ids);
  }

  wallet(n: number): TestWallet {
    return pick(this.wallets, n);
  }

  marketId(n: number): string {
    return pick(this.marketIds, n);
  }

  /** Asks the ledger of a wallet; what follows is not delivered yet. */
  ask(wallet: TestWallet, command: LedgerCommand): LedgerReply {
    const reply = this.real.ledger(wallet.shard, command);
    assert(reply !== undefined, "a ledger does not answer");
    return reply;
  }

  /** Orders that the last answer of a wallet's ledger accepted. */
  accepted(wallet: TestWallet): readonly Extract<LedgerDelta, { type: "accepted" }>[] {
    return this.real.lastBatch(wallet.shard).flatMap((delta) => (delta.type === "accepted" ? [delta] : []));
  }

  /** Lets everything under way arrive; then what the naive ledger wants canceled in consequence is canceled. */
  settle(): void {
    this.real.deliverAll();
    this.naive.cancelTripped();
  }

  spare({ wallet, shard }: TestWallet, currency: Currency): number {
    const funds = this.real.ledgerSeat(shard).state.wallets.get(wallet)?.funds[currency];
    return funds === undefined ? 0 : funds.total - funds.reserved;
  }

  terms(marketId: string): MarketTerms {
    const { definition, live } = this.naive.market(marketId);
    const { voids, fee } = definition;
    return { marketId, outcomes: definition.outcomes.length, voids, fee, live };
  }

  /** The open orders of a wallet, as the naive exchange knows them. */
  open({ wallet }: TestWallet): readonly OrderHistory[] {
    return this.naive.orders.filter(({ order, remaining }) => order.wallet === wallet && remaining > 0);
  }

  order(
    n: number,
  ): { readonly orderId: string; readonly wallet: TestWallet; readonly known: OrderHistory } | undefined {
    if (this.orders.length === 0) return undefined;
    const chosen = pick(this.orders, n);
    const known = this.naive.orders.find(({ order }) => order.orderId === chosen.orderId);
    assert(known !== undefined, "an order was placed that nobody knows");
    return { ...chosen, known };
  }

  /** Lets time pass in both. */
  wait(ms: number): void {
    const until = this.real.now + ms;
    this.real.wait(ms, (now, marketId) => {
      this.naive.now = now;
      if (marketId === undefined) this.naive.runDeadmen(now);
      else this.naive.market(marketId).passTime(now);
      this.settle();
    });
    this.naive.now = until;
    // Whatever else is due by now was forgotten by the real one.
    for (const market of this.naive.markets) market.passTime(until);
    this.naive.runDeadmen(until);
    this.settle();
    expect(this.real.travelling).to.have.length(0);
  }
}

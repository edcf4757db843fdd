/** Runs the real actors and the naive exchange side by side, and keeps the ids that the steps of a scenario refer to. */

import { expect } from "chai";
import type { Bounds } from "../../../actors/limits.js";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { MarketTerms } from "../../../actors/ledger/types.js";
import type { Currency } from "../../../actors/market/types.js";
import { assert } from "../../../actors/units.js";
import { ClientIds } from "./comparison.js";
import { ActorNetwork, type Actors } from "../../support/exchange/network.js";
import { CheckedActor } from "./checked-actor.js";
import { NaiveExchange, type OrderHistory } from "../naive/exchange.js";
import { pick, type TestWallet, uuid, walletsOf } from "./world.js";

const TRADERS = 5;

/** Number of times that each event occurred in a run. */
export type Tally = Map<string, number>;

export class Bench {
  readonly real: ActorNetwork;
  readonly naive = new NaiveExchange();
  readonly wallets = walletsOf(TRADERS);
  readonly marketIds: string[] = [];
  readonly orders: { readonly orderId: string; readonly wallet: TestWallet }[] = [];
  readonly clientIds = new ClientIds();
  /** First transaction with each `clientRef` of a trader. */
  readonly transactions = new Map<string, string>();
  /** Wallets that a remediation may have left negative. */
  readonly mayBeNegative = new Set<string>();
  readonly #tally: Tally;
  #ids = 0;

  constructor(actors: Actors | undefined, tally: Tally, bounds: Bounds | undefined) {
    this.real = new ActorNetwork({ actors, actorClass: CheckedActor, bounds });
    this.naive.now = this.real.now;
    this.#tally = tally;
  }

  count(name: string): void {
    this.#tally.set(name, (this.#tally.get(name) ?? 0) + 1);
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

  /** Sends a command to the ledger of a wallet. The messages that follow are not delivered yet. */
  ask(wallet: TestWallet, command: LedgerCommand): LedgerReply {
    const reply = this.real.ledger(wallet.shard, command);
    assert(reply !== undefined, "a ledger gave no answer");
    return reply;
  }

  /** Returns the deltas of the last decision of a wallet's ledger. */
  lastDeltas({ shard }: TestWallet): readonly LedgerDelta[] {
    return this.real.ledgerOf(shard).emitted.at(-1)?.deltas ?? [];
  }

  /** Returns the orders that the last decision of a wallet's ledger accepted. */
  accepted(wallet: TestWallet): readonly Extract<LedgerDelta, { type: "accepted" }>[] {
    return this.lastDeltas(wallet).flatMap((delta) => (delta.type === "accepted" ? [delta] : []));
  }

  /** Delivers all messages; then cancels the orders of tripped groups in the naive exchange. */
  deliverAll(): void {
    this.real.deliverAll();
    this.naive.cancelTripped();
  }

  available({ wallet, shard }: TestWallet, currency: Currency): number {
    const funds = this.real.ledgerOf(shard).state.wallets.get(wallet)?.funds[currency];
    return funds === undefined ? 0 : funds.total - funds.reserved;
  }

  terms(marketId: string): MarketTerms {
    const { definition, live } = this.naive.market(marketId);
    const { voids, fee } = definition;
    return { marketId, outcomes: definition.outcomes.length, voids, fee, live };
  }

  /** Returns the open orders of a wallet in the naive exchange. */
  open({ wallet }: TestWallet): readonly OrderHistory[] {
    return this.naive.orders.filter(({ order, remaining }) => order.wallet === wallet && remaining > 0);
  }

  order(
    n: number,
  ): { readonly orderId: string; readonly wallet: TestWallet; readonly history: OrderHistory } | undefined {
    if (this.orders.length === 0) return undefined;
    const chosen = pick(this.orders, n);
    const history = this.naive.orders.find(({ order }) => order.orderId === chosen.orderId);
    assert(history !== undefined, "the naive exchange does not know a placed order");
    return { ...chosen, history };
  }

  /** Advances the clock of both exchanges. */
  wait(ms: number): void {
    const until = this.real.now + ms;
    this.real.wait(ms, (now, marketId) => {
      this.naive.now = now;
      if (marketId === undefined) this.naive.runDeadmen(now);
      else this.naive.market(marketId).advanceTo(now);
      this.deliverAll();
    });
    this.naive.now = until;
    // Deadlines that are still due at this point are ones that the real actors have missed.
    for (const market of this.naive.markets) market.advanceTo(until);
    this.naive.runDeadmen(until);
    this.deliverAll();
    expect(this.real.undelivered).to.have.length(0);
  }
}

/** Runs random steps against the real actors and the naive exchange together, and compares all that both know. */

import { expect } from "chai";
import type { LedgerReply, PlaceResult } from "../../actors/ledger/commands.js";
import type { MarketTerms, OperatorTransactionKind, OrderRequest } from "../../actors/ledger/types.js";
import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { assert, contracts, millicents } from "../../actors/units.js";
import { ClientIds, Comparison } from "./comparison.js";
import { type Actors, Joined } from "./joined.js";
import { feeFor, mostFees } from "./naive/arithmetic.js";
import { NaiveExchange } from "./naive/exchange.js";
import type { OrderStep, Scenario, Step } from "./steps.js";
import {
  ACTIONS,
  COARSE,
  definitionOf,
  FEES,
  GRID,
  gradeOf,
  pick,
  priceOf,
  SELF_TRADES,
  type TestWallet,
  TIFS,
  TRANSACTIONS,
  uuid,
  walletsOf,
} from "./world.js";

const TRADERS = 5;
const START_MILLICENTS = 50_000;

type Command<Kind extends Step["do"]> = Extract<Step, { do: Kind }>;

/** What the comparison counts, for a look at what a run has reached. */
export type Tally = Map<string, number>;

export class Differential {
  readonly #real: Joined;
  readonly #naive = new NaiveExchange();
  readonly #wallets = walletsOf(TRADERS);
  readonly #markets: string[] = [];
  readonly #orders: { readonly orderId: string; readonly wallet: TestWallet }[] = [];
  readonly #clientIds = new ClientIds();
  readonly #transactions = new Map<string, string>();
  /** Wallets that a remediation may have left negative. */
  readonly #mayOwe = new Set<string>();
  readonly #comparison: Comparison;
  readonly #tally: Tally;
  /** Steps taken so far. */
  taken = 0;
  #ids = 0;

  constructor(actors?: Actors, tally: Tally = new Map()) {
    this.#real = new Joined(actors);
    this.#tally = tally;
    this.#comparison = new Comparison(this.#real, this.#naive, this.#mayOwe, (what) => this.#count(what));
  }

  run({ shapes, steps }: Scenario): void {
    shapes.forEach((shape, n) => {
      const definition = definitionOf(n, shape);
      this.#markets.push(definition.marketId);
      this.#real.market(definition.marketId, { kind: "create", definition, open: true, live: shape.live });
      this.#naive.create(definition);
      this.#naive.lifecycle(definition.marketId, shape.live ? ["golive", "open"] : ["open"]);
    });
    for (const wallet of this.#wallets)
      for (const currency of CURRENCIES)
        this.#transact(wallet, "DEPOSIT", START_MILLICENTS, currency, undefined);
    for (const step of steps) {
      this.taken += 1;
      this.#take(step);
      this.#comparison.check();
    }
    this.#finish();
  }

  /** Ends every market, so that each scenario reaches settlement. */
  #finish(): void {
    for (const [n, marketId] of this.#markets.entries()) {
      if (this.#naive.market(marketId).grade === undefined)
        this.#take({ do: "grade", market: n, kind: n, outcome: n, batch: 2 });
      if (this.#naive.market(marketId).grade === undefined)
        this.#take({ do: "grade", market: n, kind: 0, outcome: n, batch: 2 });
      this.#comparison.check();
      expect(this.#naive.market(marketId).status).to.equal("SETTLED");
    }
    for (const seat of [...this.#real.markets.values()]) seat.checkFold();
    for (const seat of [...this.#real.ledgers.values()]) seat.checkFold();
  }

  #take(step: Step): void {
    this.#count(step.do);
    switch (step.do) {
      case "place":
        this.#place(step);
        return;
      case "cancel":
        this.#cancel(step);
        return;
      case "cancelAll":
        this.#cancelAll(step);
        return;
      case "amend":
        this.#amend(step);
        return;
      case "transact": {
        const kind = pick(TRANSACTIONS, step.kind);
        const amount = kind === "ADJUSTMENT" ? step.amount : Math.abs(step.amount);
        const clientRef = step.clientRef === undefined ? undefined : `ref ${step.clientRef}`;
        const wallet = pick(this.#wallets, step.wallet);
        this.#transact(wallet, kind, amount, pick(CURRENCIES, step.currency), clientRef);
        return;
      }
      case "transfer":
        this.#transfer(step);
        return;
      case "lifecycle": {
        const marketId = pick(this.#markets, step.market);
        const actions = step.actions.map((n) => pick(ACTIONS, n));
        this.#real.market(marketId, { kind: "lifecycle", actions });
        this.#real.deliverAll();
        this.#naive.lifecycle(marketId, actions);
        return;
      }
      case "configure": {
        const marketId = pick(this.#markets, step.market);
        const fee = pick(FEES, step.fee);
        const liveDelayMs = step.delay * 1_500;
        const ticks = step.coarse ? COARSE : GRID;
        this.#real.market(marketId, { kind: "configure", fee, liveDelayMs, ticks });
        const market = this.#naive.market(marketId);
        market.definition = { ...market.definition, fee, liveDelayMs, ticks };
        return;
      }
      case "grade":
        this.#grade(step);
        return;
      case "remediate":
        this.#remediate(step);
        return;
      case "wait":
        this.#wait(step.ms);
        return;
      default:
        return step satisfies never;
    }
  }

  #count(what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
  }

  #wait(ms: number): void {
    const until = this.#real.now + ms;
    this.#real.wait(ms, (now) => {
      this.#real.deliverAll();
      for (const { definition } of this.#naive.markets) this.#naive.market(definition.marketId).passTime(now);
    });
    for (const market of this.#naive.markets) market.passTime(until);
  }

  #ledger(wallet: TestWallet, command: Parameters<Joined["ledger"]>[1]): LedgerReply {
    const reply = this.#real.ledger(wallet.shard, command);
    assert(reply !== undefined, "a ledger does not answer");
    return reply;
  }

  #place({ wallet: n, atomic, orders }: Command<"place">): void {
    const wallet = pick(this.#wallets, n);
    const requests = orders.map((order) => this.#request(order));
    const spare = requests.map(({ currency }) => this.#spare(wallet, currency));
    const reply = this.#ledger(wallet, {
      kind: "place",
      wallet: wallet.wallet,
      trader: wallet.trader,
      orders: requests,
      atomic,
    });
    assert(reply.ok && reply.kind === "placed", "a place is not answered by its results");
    const { results } = reply;
    expect(results).to.have.length(requests.length);
    const nothing = atomic && results.some((result) => !result.ok);
    const expected: string[] = [];
    requests.forEach((request, i) => {
      const result = results[i];
      assert(result !== undefined, "an order has no answer");
      this.#count(result.ok ? (result.repeated ? "repeated" : "accepted") : result.refusal);
      const known = this.#clientIds.check(wallet.wallet, request, result, nothing);
      if (!known && requests.length === 1) judge(request, result, spare[i] ?? 0);
      if (result.ok && !result.repeated && !nothing) expected.push(request.orderId);
    });
    this.#enter(wallet, requests, expected);
  }

  /** What the ledger accepted goes to the markets, both real and naive. */
  #enter(wallet: TestWallet, requests: readonly OrderRequest[], expected: readonly string[]): void {
    const accepted = this.#real
      .lastBatch(wallet.shard)
      .flatMap((delta) => (delta.type === "accepted" ? [delta] : []));
    expect(accepted.map(({ order }) => order.orderId)).to.deep.equal(expected);
    for (const { order, marketId } of accepted) {
      const request = requests.find(({ orderId }) => orderId === order.orderId);
      assert(request !== undefined, "an order is accepted that nobody asked for");
      expect(order).to.deep.include({
        wallet: wallet.wallet,
        trader: wallet.trader,
        ledger: wallet.shard,
        price: request.price,
        qty: request.qty,
        acceptedTs: this.#real.now,
        feeReserved: request.terms.fee.charged === "ALWAYS" || request.terms.live,
      });
      expect(order.expiresAt).to.equal(
        request.ttlMs === undefined ? undefined : this.#real.now + request.ttlMs,
      );
      this.#orders.push({ orderId: order.orderId, wallet });
      this.#naive.accepted(marketId, order);
    }
    this.#real.deliverAll();
    for (const { order, marketId } of accepted) this.#naive.market(marketId).enter(order, this.#real.now);
  }

  #request(step: OrderStep): OrderRequest {
    const marketId = pick(this.#markets, step.market);
    const { definition } = this.#naive.market(marketId);
    const outcomes = definition.outcomes.length;
    const tif = pick(TIFS, step.tif);
    const expires = tif === "GTT" || (tif === "PO" && step.ttlMs > 5_000);
    this.#ids += 1;
    return {
      orderId: uuid(20, this.#ids),
      terms: this.#terms(marketId),
      currency: pick(CURRENCIES, step.currency),
      outcome: step.outcome % outcomes,
      price: priceOf(step.price, outcomes, definition.ticks),
      qty: contracts(step.qty),
      tif,
      ttlMs: expires ? step.ttlMs : undefined,
      clientId: step.clientId === undefined ? undefined : uuid(21, step.clientId),
      selfTrade: pick(SELF_TRADES, step.selfTrade),
      notAfter: step.late ? this.#real.now - 1 : undefined,
    };
  }

  #terms(marketId: string): MarketTerms {
    const { definition, live } = this.#naive.market(marketId);
    const { voids, fee } = definition;
    return { marketId, outcomes: definition.outcomes.length, voids, fee, live };
  }

  #spare({ wallet, shard }: TestWallet, currency: Currency): number {
    const funds = this.#real.ledgerSeat(shard).state.wallets.get(wallet)?.funds[currency];
    return funds === undefined ? 0 : funds.total - funds.reserved;
  }

  #cancel({ orders }: Command<"cancel">): void {
    if (this.#orders.length === 0) return;
    const chosen = orders.map((n) => pick(this.#orders, n));
    const [first] = chosen;
    assert(first !== undefined, "a cancel names no order");
    const orderIds = [...new Set(chosen.map(({ orderId }) => orderId))];
    const open = orderIds.filter((orderId) => this.#openOf(first.wallet).includes(orderId));
    const reply = this.#ledger(first.wallet, { kind: "cancel", wallet: first.wallet.wallet, orderIds });
    assert(reply.ok && reply.kind === "cancels", "a cancel is not answered");
    expect(reply.queued.map(({ orderId }) => orderId)).to.have.members(open);
    expect(reply.unknown).to.have.members(orderIds.filter((orderId) => !open.includes(orderId)));
    this.#real.deliverAll();
    for (const market of this.#naive.markets) market.cancel(open, undefined);
  }

  /** The open orders of a wallet, as the naive exchange knows them. */
  #openOf({ wallet }: TestWallet): readonly string[] {
    return this.#naive.orders
      .filter(({ order, remaining }) => order.wallet === wallet && remaining > 0)
      .map(({ order }) => order.orderId);
  }

  #cancelAll({ wallet: n, market }: Command<"cancelAll">): void {
    const wallet = pick(this.#wallets, n);
    const marketIds = market === undefined ? undefined : [pick(this.#markets, market)];
    const reason = n > 14 ? "MAINTENANCE" : undefined;
    this.#ledger(wallet, { kind: "cancelAll", wallet: wallet.wallet, filter: { marketIds }, reason });
    const open = this.#openOf(wallet);
    this.#real.deliverAll();
    for (const one of this.#naive.markets) {
      if (marketIds?.includes(one.definition.marketId) ?? true) one.cancel(open, reason);
    }
  }

  #amend({ order: n, qty }: Command<"amend">): void {
    if (this.#orders.length === 0) return;
    const { orderId, wallet } = pick(this.#orders, n);
    const known = this.#naive.orders.find(({ order }) => order.orderId === orderId);
    const reply = this.#ledger(wallet, {
      kind: "amend",
      wallet: wallet.wallet,
      orderId,
      qty: contracts(Math.min(qty, known?.remaining ?? qty)),
    });
    const open = known !== undefined && known.remaining > 0;
    expect(reply.ok, "an amendment").to.equal(open && qty > 0);
    this.#real.deliverAll();
    if (open && reply.ok) this.#naive.market(known.marketId).amend(orderId, Math.min(qty, known.remaining));
  }

  #transact(
    wallet: TestWallet,
    transaction: OperatorTransactionKind,
    amount: number,
    currency: Currency,
    clientRef: string | undefined,
  ): void {
    const takes = transaction === "WITHDRAWAL" || transaction === "CREDIT_RECLAIM";
    const signed = takes ? -amount : amount;
    const spare = this.#spare(wallet, currency);
    this.#ids += 1;
    const transactionId = uuid(22, this.#ids);
    const reply = this.#ledger(wallet, {
      kind: "transact",
      transactionId,
      transaction,
      wallet: wallet.wallet,
      trader: wallet.trader,
      currency,
      amount: millicents(amount),
      ref: "",
      clientRef,
    });
    const key = `${wallet.trader} ${clientRef ?? transactionId}`;
    const known = this.#transactions.get(key);
    const fits = signed >= 0 || spare + signed >= 0;
    expect(reply.ok, `${transaction} of ${amount}`).to.equal(known !== undefined || fits);
    if (!reply.ok) return;
    assert(reply.kind === "transaction", "a transaction is not answered as one");
    expect(reply.transactionId).to.equal(known ?? transactionId);
    if (known !== undefined) return;
    this.#transactions.set(key, transactionId);
    this.#naive.move(wallet.wallet, currency, signed);
  }

  #transfer({ trader: n, fund, amount }: Command<"transfer">): void {
    const { trader } = pick(this.#wallets, n);
    const [own, sub] = this.#wallets.filter((wallet) => wallet.trader === trader);
    assert(own !== undefined && sub !== undefined, "a trader has two wallets");
    const [from, to] = fund ? [own, sub] : [sub, own];
    const fits = amount <= this.#spare(from, "CASH");
    this.#ids += 1;
    const reply = this.#ledger(own, {
      kind: "transfer",
      transferId: uuid(23, this.#ids),
      direction: fund ? "fund" : "defund",
      trader,
      wallet: sub.wallet,
      amount: millicents(amount),
    });
    assert(reply.ok && reply.kind === "transfer", "a transfer is not answered");
    expect(reply.transfer.status).to.equal(fits ? "Applied" : "Rejected");
    if (!fits) return;
    this.#naive.move(from.wallet, "CASH", -amount);
    this.#naive.move(to.wallet, "CASH", amount);
  }

  #grade({ market: n, kind, outcome, batch }: Command<"grade">): void {
    const marketId = pick(this.#markets, n);
    const grade = gradeOf(kind, outcome, this.#naive.market(marketId).outcomes);
    const reply = this.#real.market(marketId, { kind: "grade", settlementId: uuid(24, n), grade });
    expect(reply?.ok, "a grade").to.equal(this.#naive.grade(marketId, grade));
    this.#real.deliverAll();
    this.#settleAll(marketId, batch);
    this.#naive.settle(marketId);
  }

  /** Settles in batches to the end. Twice, because a repeat must change nothing. */
  #settleAll(marketId: string, limit: number): void {
    for (let rounds = 0, done = false; !done; rounds += 1) {
      const reply = this.#real.market(marketId, { kind: "settle", limit });
      this.#real.deliverAll();
      done = reply === undefined || !reply.ok || (reply.kind === "settlement" && reply.done);
      expect(rounds, "rounds of a settlement").to.be.below(50);
    }
    this.#real.market(marketId, { kind: "settle", limit });
    this.#real.deliverAll();
  }

  #remediate({ market: n, batch }: Command<"remediate">): void {
    const marketId = pick(this.#markets, n);
    const reply = this.#real.market(marketId, { kind: "remediate", reason: "wrong" });
    const allowed = this.#naive.remediate(marketId);
    expect(reply?.ok, "a remediation").to.equal(allowed);
    if (!allowed) return;
    for (const { wallet } of this.#wallets) this.#mayOwe.add(wallet);
    this.#real.deliverAll();
    this.#settleAll(marketId, batch);
  }
}

/** Whether an order that stands alone had to be accepted, or had to be refused, by bounds on what it holds back. */
function judge({ terms, price, qty, tif }: OrderRequest, result: PlaceResult, spare: number): void {
  const pays = tif !== "PO" && (terms.fee.charged === "ALWAYS" || terms.live);
  const cost = price * qty;
  const most = cost + (pays ? mostFees(terms.fee, price, qty) : 0);
  const least = terms.outcomes === 2 ? 0 : cost + (pays ? feeFor(terms.fee, Math.min(price, 500), qty) : 0);
  if (result.ok) expect(spare, "available to an accepted order").to.be.at.least(least);
  else if (result.refusal === "INSUFFICIENT_BALANCE")
    expect(spare, "available to an order refused for want of it").to.be.below(Math.max(most, 1));
  else throw new Error(`an order is refused with ${result.refusal}`);
}

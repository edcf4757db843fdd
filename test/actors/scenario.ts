/**
 * One market and its ledgers, joined without a runtime. Tests send commands in the notation of the exchange, such as
 * `place("ann", "YES 0.600 x 10")`. Every command and all its effects are processed before the next command.
 */

import { type ActorId, ledgerOf, marketActor, type Outgoing } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger, walletSnapshot } from "../../actors/ledger/ledger.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import { market } from "../../actors/market/market.js";
import type { MarketState } from "../../actors/market/state.js";
import type { Currency, FeeSchedule, Grade, MarketDefinition, Voids } from "../../actors/market/types.js";
import {
  contracts,
  formatMoney,
  formatPrice,
  millicents,
  parsePrice,
  ticks,
  type Ticks,
} from "../../actors/units.js";

export const GRID: readonly Ticks[] = [
  ...Array.from({ length: 50 }, (_, i) => i + 1),
  ...Array.from({ length: 179 }, (_, i) => 55 + 5 * i),
  ...Array.from({ length: 50 }, (_, i) => 950 + i),
].map(ticks);

export const FREE: FeeSchedule = { coefficientPpm: 0, makerCreditPpm: 0, charged: "ALWAYS" };
export const MARKET_ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

export interface ScenarioOptions {
  readonly outcomes?: readonly string[];
  readonly voids?: Voids;
  readonly fee?: FeeSchedule;
  readonly liveDelayMs?: number;
  readonly ticks?: readonly Ticks[];
}

type PlaceOptions = Partial<
  Pick<OrderRequest, "tif" | "ttlMs" | "clientId" | "groupId" | "selfTrade" | "notAfter" | "currency">
> & {
  readonly wallet?: string;
};

export class Scenario {
  nowMs = 1_000_000;
  readonly id = marketActor(MARKET_ID);
  readonly market: MarketState = market.create(this.id);
  readonly ledgers = new Map<ActorId, LedgerState>();
  /** Deltas of the market and the ledgers since the last call of `takeDeltas`. */
  #marketDeltas: MarketDelta[] = [];
  #ledgerDeltas: LedgerDelta[] = [];
  readonly definition: MarketDefinition;
  #orders = 0;

  constructor(options: ScenarioOptions = {}) {
    this.definition = {
      marketId: MARKET_ID,
      eventId: "6f9619ff-8b86-4011-b42d-00c04fc964aa",
      marketType: "MONEY",
      description: "who wins",
      voids: options.voids ?? "FMV",
      outcomes: (options.outcomes ?? ["YES", "NO"]).map((name) => ({ outcomeId: `outcome-${name}`, name })),
      fee: options.fee ?? FREE,
      liveDelayMs: options.liveDelayMs ?? 0,
      ticks: options.ticks ?? GRID,
    };
    this.operate({ kind: "create", definition: this.definition, open: true, live: false });
  }

  operate(command: MarketCommand): MarketReply | undefined {
    const { deltas, reply } = market.decide(this.market, command, this.nowMs);
    this.#marketDeltas.push(...deltas);
    this.#deliver(market.route(this.id, { ts: this.nowMs, deltas }));
    return reply;
  }

  lifecycle(...actions: LifecycleAction[]): MarketReply | undefined {
    return this.operate({ kind: "lifecycle", actions });
  }

  /** Grades and settles in batches of `limit`. */
  settle(grade: Grade, limit = 1): void {
    this.operate({ kind: "grade", settlementId: "settlement", grade });
    this.settleInBatches(limit);
  }

  settleInBatches(limit = 1): void {
    for (;;) {
      const reply = this.operate({ kind: "settle", limit });
      if (reply?.ok !== true || reply.kind !== "settlement" || reply.done) return;
    }
  }

  ask(trader: string, command: LedgerCommand): LedgerReply | undefined {
    const id = ledgerOf(trader);
    const state = this.ledger(trader);
    const { deltas, reply } = ledger.decide(state, command, this.nowMs);
    this.#ledgerDeltas.push(...deltas);
    this.#deliver(ledger.route(id, { ts: this.nowMs, deltas }));
    return reply;
  }

  fund(trader: string, amount: number, options: { currency?: Currency; wallet?: string } = {}): void {
    const { currency = "CASH", wallet = trader } = options;
    this.ask(trader, {
      kind: "transact",
      transactionId: `deposit-${trader}`,
      transaction: "DEPOSIT",
      wallet,
      trader,
      currency,
      amount: millicents(amount),
      ref: "test",
    });
  }

  request(text: string, options: PlaceOptions = {}): OrderRequest {
    const [name, price, , qty] = text.split(" ");
    this.#orders += 1;
    return {
      orderId: `o${this.#orders}`,
      terms: {
        marketId: MARKET_ID,
        outcomes: this.definition.outcomes.length,
        voids: this.definition.voids,
        fee: this.market.definition?.fee ?? this.definition.fee,
        live: this.market.live,
      },
      currency: options.currency ?? "CASH",
      outcome: this.outcome(name ?? ""),
      price: parsePrice(price ?? "") ?? ticks(0),
      qty: contracts(Number(qty)),
      tif: options.tif ?? "GTC",
      ttlMs: options.ttlMs,
      clientId: options.clientId,
      selfTrade: options.selfTrade ?? "wash",
      notAfter: options.notAfter,
      groupId: options.groupId,
    };
  }

  /** Places an order such as `"YES 0.600 x 10"`. Returns the order's id, or the code of the refusal. */
  place(trader: string, text: string, options: PlaceOptions = {}): string {
    const order = this.request(text, options);
    const reply = this.ask(trader, {
      kind: "place",
      wallet: options.wallet ?? trader,
      trader,
      orders: [order],
      atomic: false,
    });
    const result = reply?.ok === true && reply.kind === "placed" ? reply.results[0] : undefined;
    if (result === undefined) return "no answer";
    return result.ok ? result.orderId : result.refusal;
  }

  cancel(trader: string, ...orderIds: string[]): void {
    this.ask(trader, { kind: "cancel", wallet: trader, orderIds });
  }

  /** Advances the clock, and ticks every actor whose deadline has come. */
  wait(ms: number): void {
    this.nowMs += ms;
    for (
      let due = market.deadline(this.market);
      due !== undefined && due <= this.nowMs;
      due = market.deadline(this.market)
    ) {
      this.operate({ kind: "tick" });
    }
    for (const [id, state] of this.ledgers) {
      const due = ledger.deadline(state);
      if (due === undefined || due > this.nowMs) continue;
      const { deltas } = ledger.decide(state, ledger.tick, this.nowMs);
      this.#ledgerDeltas.push(...deltas);
      this.#deliver(ledger.route(id, { ts: this.nowMs, deltas }));
    }
  }

  outcome(name: string): number {
    return this.definition.outcomes.findIndex((outcome) => outcome.name === name);
  }

  ledger(trader: string): LedgerState {
    const id = ledgerOf(trader);
    const existing = this.ledgers.get(id);
    if (existing !== undefined) return existing;
    const state = ledger.create(id);
    this.ledgers.set(id, state);
    return state;
  }

  /** Prints the resting book: one line per outcome, and `price x qty owner` per order, best price first. */
  book(currency: Currency = "CASH"): string {
    return this.market.resting.ladders[currency]
      .map((ladder, outcome) => {
        const orders = [...ladder.orders()].map(
          ({ order, remaining }) => `${formatPrice(order.price)} x ${remaining} ${order.wallet}`,
        );
        return `${this.definition.outcomes[outcome]?.name ?? ""}: ${orders.join(", ") || "-"}`;
      })
      .join("\n");
  }

  /** Prints `total available` of a wallet, each with five decimals. */
  wallet(wallet: string, currency: Currency = "CASH"): string {
    const { balances } = walletSnapshot(this.ledger(wallet), wallet);
    const { total, reserved } = balances[currency];
    return `${formatMoney(total)} ${formatMoney(millicents(total - reserved))}`;
  }

  /** Prints each position as `"YES 10 @ 0.00600"`, with its total cost. */
  positions(wallet: string): string {
    return walletSnapshot(this.ledger(wallet), wallet)
      .positions.positions.map(
        ({ outcome, qty, cost }) =>
          `${this.definition.outcomes[outcome]?.name ?? ""} ${qty} @ ${formatMoney(cost)}`,
      )
      .join(", ");
  }

  /** Returns the deltas since the last call, and forgets them. */
  takeDeltas(): { market: MarketDelta[]; ledger: LedgerDelta[] } {
    const taken = { market: this.#marketDeltas, ledger: this.#ledgerDeltas };
    this.#marketDeltas = [];
    this.#ledgerDeltas = [];
    return taken;
  }

  /** Prints the order events of the private channels. */
  orderEvents(): string[] {
    return this.#ledgerDeltas.flatMap((delta) => {
      if (delta.type !== "order") return [];
      switch (delta.kind) {
        case "fill":
          return [
            `${delta.orderId} fill ${formatPrice(delta.price)} x ${delta.qty}${delta.wash ? " wash" : ""}`,
          ];
        case "reject":
          return [`${delta.orderId} reject ${delta.reason}`];
        case "cancel":
          return [`${delta.orderId} cancel${delta.reason === undefined ? "" : ` ${delta.reason}`}`];
        case "open":
          return [`${delta.orderId} open ${delta.qty}`];
        default:
          return [`${delta.orderId} reduce ${delta.remaining}`];
      }
    });
  }

  #deliver(outgoing: readonly Outgoing[]): void {
    for (const { to, command } of outgoing) {
      if (to === this.id) {
        this.operate(command);
      } else {
        const state = [...this.ledgers].find(([id]) => id === to)?.[1];
        if (state === undefined) throw new Error(`no wallet exists in ${to}`);
        const { deltas } = ledger.decide(state, command as LedgerCommand, this.nowMs);
        this.#ledgerDeltas.push(...deltas);
        this.#deliver(ledger.route(to, { ts: this.nowMs, deltas }));
      }
    }
  }
}

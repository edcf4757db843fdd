/**
 * One market and its ledgers, joined without a runtime. Tests send commands in the notation of the exchange, such as
 * `place("ann", "YES 0.600 x 10")`. Every command and all its effects are processed before the next command.
 */

import { ledgerShardOf, marketActor, type ActorId } from "../../actors/actor.js";
import type { AcceptedOrder, LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import type { MarketState } from "../../actors/market/state.js";
import type { Currency, FeeSchedule, Grade, MarketDefinition, Voids } from "../../actors/market/types.js";
import { formatMoney, formatPrice, millicents, parsePrice, type Ticks } from "../../actors/units.js";
import {
  createMarket,
  deposit,
  marketDefinition,
  orderRequest,
  placement,
} from "../support/exchange/commands.js";
import { ActorNetwork, boundsOfOrders } from "../support/exchange/network.js";

export const MARKET_ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

export interface ScenarioOptions {
  readonly outcomes?: readonly string[];
  readonly voids?: Voids;
  readonly fee?: FeeSchedule;
  readonly liveDelayMs?: number;
  readonly ticks?: readonly Ticks[];
  /** Maximum number of orders that one decision touches (default as in production). */
  readonly maxOrders?: number | undefined;
}

type PlaceOptions = Partial<
  Pick<OrderRequest, "tif" | "ttlMs" | "clientId" | "groupId" | "selfTrade" | "notAfter" | "currency">
> & {
  readonly wallet?: string;
};

export class Scenario {
  readonly id = marketActor(MARKET_ID);
  readonly definition: MarketDefinition;
  /** Deltas of the market and the ledgers since the last call of `takeDeltas`. */
  #marketDeltas: MarketDelta[] = [];
  #ledgerDeltas: LedgerDelta[] = [];
  /** Number of batches that are not empty, of any actor. */
  batches = 0;
  readonly #network: ActorNetwork;
  /** Accepted orders by client id, as the tables have them. */
  readonly #accepted = new Map<string, AcceptedOrder>();
  #orders = 0;

  constructor({ outcomes = ["YES", "NO"], maxOrders, ...changes }: ScenarioOptions = {}) {
    this.#network = new ActorNetwork({
      bounds: maxOrders === undefined ? undefined : boundsOfOrders(maxOrders),
      onBatch: (actor, { ts, deltas }) => {
        this.batches += 1;
        for (const delta of deltas)
          if (delta.type === "accepted" && delta.clientId !== undefined && delta.digest !== undefined)
            this.#accepted.set(delta.clientId, { orderId: delta.order.orderId, digest: delta.digest, ts });
        if (actor === this.id) this.#marketDeltas.push(...(deltas as readonly MarketDelta[]));
        else this.#ledgerDeltas.push(...(deltas as readonly LedgerDelta[]));
      },
    });
    this.definition = marketDefinition({ marketId: MARKET_ID, outcomes, ...changes });
    this.operate(createMarket(this.definition));
  }

  get nowMs(): number {
    return this.#network.now;
  }

  get market(): MarketState {
    return this.#network.marketOf(MARKET_ID).state;
  }

  /** States of the ledgers that have received a command. */
  get ledgers(): ReadonlyMap<ActorId, LedgerState> {
    return new Map([...this.#network.ledgers.values()].map(({ id, state }) => [id, state]));
  }

  operate(command: MarketCommand): MarketReply | undefined {
    const reply = this.#network.market(MARKET_ID, command);
    this.#network.deliverAll();
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
    const reply = this.#network.ledger(ledgerShardOf(trader), command);
    this.#network.deliverAll();
    return reply;
  }

  fund(trader: string, amount: number, options: { currency?: Currency; wallet?: string } = {}): void {
    this.ask(trader, deposit(trader, amount, { transactionId: `deposit-${trader}`, ...options }));
  }

  request(text: string, { wallet: _, ...changes }: PlaceOptions = {}): OrderRequest {
    const [name = "", price = "", , qty] = text.split(" ");
    this.#orders += 1;
    const order = orderRequest(this.market.definition ?? this.definition, {
      orderId: `o${this.#orders}`,
      outcome: this.outcome(name),
      price: parsePrice(price) ?? 0,
      qty: Number(qty),
      ...changes,
    });
    return { ...order, terms: { ...order.terms, live: this.market.live } };
  }

  /** Places an order such as `"YES 0.600 x 10"`. Returns the order's id, or the code of the refusal. */
  place(trader: string, text: string, options: PlaceOptions = {}): string {
    const order = this.request(text, options);
    const command = placement(trader, order, options.wallet);
    let reply = this.ask(trader, command);
    if (reply?.ok === true && reply.kind === "uncertain") {
      const lookedUp = reply.ids.map((clientId) => ({ clientId, first: this.#accepted.get(clientId) }));
      reply = this.ask(trader, { ...command, lookedUp });
    }
    const result = reply?.ok === true && reply.kind === "placed" ? reply.results[0] : undefined;
    if (result === undefined) return "no answer";
    return result.ok ? result.orderId : result.refusal;
  }

  cancel(trader: string, ...orderIds: string[]): void {
    this.ask(trader, { kind: "cancel", wallet: trader, orderIds });
  }

  /** Advances the clock, and ticks every actor whose deadline comes. */
  wait(ms: number): void {
    this.#network.wait(ms, () => this.#network.deliverAll());
  }

  outcome(name: string): number {
    return this.definition.outcomes.findIndex((outcome) => outcome.name === name);
  }

  ledger(trader: string): LedgerState {
    return this.#network.ledgerOf(ledgerShardOf(trader)).state;
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
    const { balances } = this.#network.wallet(ledgerShardOf(wallet), wallet);
    const { total, reserved } = balances[currency];
    return `${formatMoney(total)} ${formatMoney(millicents(total - reserved))}`;
  }

  /** Prints each position as `"YES 10 @ 0.00600"`, with its total cost. */
  positions(wallet: string): string {
    return this.#network
      .wallet(ledgerShardOf(wallet), wallet)
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
}

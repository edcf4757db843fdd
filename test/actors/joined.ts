/**
 * Markets and ledgers joined directly: what one sends, the other gets, first in first out between any two. No
 * runtime, no log. Every decision is also folded by a follower and made by a twin that was saved and restored just
 * before, and all three must agree.
 */

import { expect } from "chai";
import { type Actor, type ActorId, type Batch, ledgerActor, marketActor } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { EffectDelta, MarketDelta } from "../../actors/market/deltas.js";
import { market } from "../../actors/market/market.js";
import type { MarketState } from "../../actors/market/state.js";

export type Market = Actor<MarketState, MarketCommand, MarketDelta, MarketReply>;
export type Ledger = Actor<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>;
export interface Actors {
  readonly market: Market;
  readonly ledger: Ledger;
}

/** One actor's state and what checks it. */
class Seat<State, Command, Delta, Reply> {
  readonly id: ActorId;
  readonly actor: Actor<State, Command, Delta, Reply>;
  readonly state: State;
  readonly #follower: State;
  readonly journal: Batch<Delta>[] = [];

  constructor(id: ActorId, actor: Actor<State, Command, Delta, Reply>) {
    this.id = id;
    this.actor = actor;
    this.state = actor.create(id);
    this.#follower = actor.create(id);
  }

  tell(command: Command, now: number): { reply: Reply | undefined; batch: Batch<Delta> } {
    const { actor, id, state } = this;
    const twin = actor.restore(id, throughJson(actor.save(state)));
    const { deltas, reply } = actor.decide(state, command, now);
    const again = actor.decide(twin, command, now);
    expect(throughJson(again), "a restored actor decides otherwise").to.deep.equal(
      throughJson({ deltas, reply }),
    );
    const batch = { ts: now, deltas: throughJson(deltas) as Delta[] };
    this.journal.push(batch);
    for (const delta of batch.deltas) actor.evolve(this.#follower, delta, now);
    const saved = JSON.stringify(actor.save(state));
    expect(JSON.stringify(actor.save(twin)), "a restored actor ends otherwise").to.equal(saved);
    expect(JSON.stringify(actor.save(this.#follower)), "the fold of the deltas is not the state").to.equal(
      saved,
    );
    return { reply, batch };
  }

  /** The whole journal folded from nothing must be the state. */
  checkFold(): void {
    const folded = this.actor.create(this.id);
    for (const { ts, deltas } of this.journal)
      for (const delta of deltas) this.actor.evolve(folded, delta, ts);
    expect(JSON.stringify(this.actor.save(folded)), "the journal does not fold to the state").to.equal(
      JSON.stringify(this.actor.save(this.state)),
    );
  }
}

function throughJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

interface Travelling {
  readonly from: ActorId;
  readonly to: ActorId;
  readonly command: unknown;
}

export class Joined {
  now = 1_700_000_000_000;
  readonly markets = new Map<string, Seat<MarketState, MarketCommand, MarketDelta, MarketReply>>();
  readonly ledgers = new Map<number, Seat<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>>();
  readonly #actors: Actors;
  #travelling: Travelling[] = [];

  constructor(actors: Actors = { market, ledger }) {
    this.#actors = actors;
  }

  get travelling(): readonly Travelling[] {
    return this.#travelling;
  }

  marketSeat(marketId: string): Seat<MarketState, MarketCommand, MarketDelta, MarketReply> {
    const found = this.markets.get(marketId) ?? new Seat(marketActor(marketId), this.#actors.market);
    this.markets.set(marketId, found);
    return found;
  }

  ledgerSeat(shard: number): Seat<LedgerState, LedgerCommand, LedgerDelta, LedgerReply> {
    const found = this.ledgers.get(shard) ?? new Seat(ledgerActor(shard), this.#actors.ledger);
    this.ledgers.set(shard, found);
    return found;
  }

  market(marketId: string, command: MarketCommand): MarketReply | undefined {
    const seat = this.marketSeat(marketId);
    const { reply, batch } = seat.tell(command, this.now);
    this.#send(seat.id, this.#actors.market.route(seat.id, batch));
    return reply;
  }

  ledger(shard: number, command: LedgerCommand): LedgerReply | undefined {
    const seat = this.ledgerSeat(shard);
    const { reply, batch } = seat.tell(command, this.now);
    this.#send(seat.id, this.#actors.ledger.route(seat.id, batch));
    return reply;
  }

  #send(from: ActorId, outgoing: readonly { readonly to: ActorId; readonly command: unknown }[]): void {
    for (const { to, command } of outgoing)
      this.#travelling.push({ from, to, command: throughJson(command) });
  }

  /** Delivers one message: the oldest between some pair of actors, the pair chosen by `choice`. */
  deliver(choice: number): void {
    const pairs = [...new Set(this.#travelling.map(({ from, to }) => `${from} ${to}`))];
    const pair = pairs[choice % pairs.length];
    const index = this.#travelling.findIndex(({ from, to }) => `${from} ${to}` === pair);
    const [message] = index === -1 ? [] : this.#travelling.splice(index, 1);
    if (message === undefined) return;
    const [kind = "", id = ""] = message.to.split(":");
    if (kind === "market") this.market(id, message.command as MarketCommand);
    else this.ledger(Number(id), message.command as LedgerCommand);
  }

  /** What a shard said in its last decision. */
  lastBatch(shard: number): readonly LedgerDelta[] {
    return this.ledgerSeat(shard).journal.at(-1)?.deltas ?? [];
  }

  deliverAll(): void {
    while (this.#travelling.length > 0) this.deliver(0);
  }

  /**
   * Moves the clock on, giving each actor its tick whenever one is due; tells when that was, and for a market which. At
   * the same moment markets come first.
   */
  wait(ms: number, onTick: (now: number, marketId: string | undefined) => void): void {
    const until = this.now + ms;
    for (;;) {
      const markets = [...this.markets].map(([marketId, { state }]) => ({
        at: this.#actors.market.deadline(state) ?? Infinity,
        marketId,
        tick: (): unknown => this.market(marketId, this.#actors.market.tick),
      }));
      const ledgers = [...this.ledgers].map(([shard, { state }]) => ({
        at: this.#actors.ledger.deadline(state) ?? Infinity,
        marketId: undefined,
        tick: (): unknown => this.ledger(shard, this.#actors.ledger.tick),
      }));
      const [due] = [...markets, ...ledgers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (due === undefined) break;
      this.now = Math.max(this.now, due.at);
      due.tick();
      onTick(this.now, due.marketId);
    }
    this.now = until;
  }

  /** Money that left a market and has not reached its ledger, per currency; below zero when it goes the other way. */
  inFlight(currency: "CASH" | "COIN"): number {
    return this.#travelling.reduce((sum, { command }) => {
      const { kind, deltas } = command as { kind: string; deltas: readonly EffectDelta[] };
      return kind === "effects" ? sum + moneyOf(deltas, currency) : sum;
    }, 0);
  }
}

/** What a market's effects bring to wallets, less what they take. */
export function moneyOf(deltas: readonly EffectDelta[], currency: "CASH" | "COIN"): number {
  return deltas.reduce((sum, delta) => {
    if (!("currency" in delta) || delta.currency !== currency) return sum;
    if (delta.type === "payout") return sum + delta.amount;
    if (delta.type === "reversal") return sum - delta.amount;
    if (delta.type === "order") return sum + delta.payout - delta.cost;
    return sum;
  }, 0);
}

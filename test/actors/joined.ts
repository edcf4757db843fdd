/**
 * Joins markets and ledgers directly, without a runtime or a log. Messages between any two actors arrive in order. A
 * follower folds the deltas of every decision, and a twin, saved and restored just before, makes the same decision. The
 * states of all three must agree.
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
import type { Currency } from "../../actors/market/types.js";

export type Market = Actor<MarketState, MarketCommand, MarketDelta, MarketReply>;
export type Ledger = Actor<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>;
export interface Actors {
  readonly market: Market;
  readonly ledger: Ledger;
}

/** State of one actor, and the copies that check it. */
class ActorSlot<State, Command, Delta, Reply> {
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

  decide(command: Command, now: number): { reply: Reply | undefined; batch: Batch<Delta> } {
    const { actor, id, state } = this;
    const twin = actor.restore(id, throughJson(actor.save(state)));
    const { deltas, reply } = actor.decide(state, command, now);
    const again = actor.decide(twin, command, now);
    expect(throughJson(again), "the decision of a restored actor").to.deep.equal(
      throughJson({ deltas, reply }),
    );
    const batch = { ts: now, deltas: throughJson(deltas) as Delta[] };
    this.journal.push(batch);
    for (const delta of batch.deltas) actor.evolve(this.#follower, delta, now);
    const saved = JSON.stringify(actor.save(state));
    expect(JSON.stringify(actor.save(twin)), "the state of a restored actor after the decision").to.equal(
      saved,
    );
    expect(JSON.stringify(actor.save(this.#follower)), "the fold of the deltas").to.equal(saved);
    return { reply, batch };
  }

  /** Checks that the fold of the whole journal is the state. */
  checkFold(): void {
    const folded = this.actor.create(this.id);
    for (const { ts, deltas } of this.journal)
      for (const delta of deltas) this.actor.evolve(folded, delta, ts);
    expect(JSON.stringify(this.actor.save(folded)), "the fold of the journal").to.equal(
      JSON.stringify(this.actor.save(this.state)),
    );
  }
}

function throughJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

interface Message {
  readonly from: ActorId;
  readonly to: ActorId;
  readonly command: unknown;
}

export class JoinedActors {
  now = 1_700_000_000_000;
  readonly markets = new Map<string, ActorSlot<MarketState, MarketCommand, MarketDelta, MarketReply>>();
  readonly ledgers = new Map<number, ActorSlot<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>>();
  readonly #actors: Actors;
  #undelivered: Message[] = [];

  constructor(actors: Actors = { market, ledger }) {
    this.#actors = actors;
  }

  get undelivered(): readonly Message[] {
    return this.#undelivered;
  }

  marketSlot(marketId: string): ActorSlot<MarketState, MarketCommand, MarketDelta, MarketReply> {
    const found = this.markets.get(marketId) ?? new ActorSlot(marketActor(marketId), this.#actors.market);
    this.markets.set(marketId, found);
    return found;
  }

  ledgerSlot(shard: number): ActorSlot<LedgerState, LedgerCommand, LedgerDelta, LedgerReply> {
    const found = this.ledgers.get(shard) ?? new ActorSlot(ledgerActor(shard), this.#actors.ledger);
    this.ledgers.set(shard, found);
    return found;
  }

  market(marketId: string, command: MarketCommand): MarketReply | undefined {
    const slot = this.marketSlot(marketId);
    const { reply, batch } = slot.decide(command, this.now);
    this.#send(slot.id, this.#actors.market.route(slot.id, batch));
    return reply;
  }

  ledger(shard: number, command: LedgerCommand): LedgerReply | undefined {
    const slot = this.ledgerSlot(shard);
    const { reply, batch } = slot.decide(command, this.now);
    this.#send(slot.id, this.#actors.ledger.route(slot.id, batch));
    return reply;
  }

  #send(from: ActorId, outgoing: readonly { readonly to: ActorId; readonly command: unknown }[]): void {
    for (const { to, command } of outgoing)
      this.#undelivered.push({ from, to, command: throughJson(command) });
  }

  /** Delivers the oldest message between two actors. `choice` selects the pair of actors. */
  deliver(choice: number): void {
    const pairs = [...new Set(this.#undelivered.map(({ from, to }) => `${from} ${to}`))];
    const pair = pairs[choice % pairs.length];
    const index = this.#undelivered.findIndex(({ from, to }) => `${from} ${to}` === pair);
    const [message] = index === -1 ? [] : this.#undelivered.splice(index, 1);
    if (message === undefined) return;
    const [kind = "", id = ""] = message.to.split(":");
    if (kind === "market") this.market(id, message.command as MarketCommand);
    else this.ledger(Number(id), message.command as LedgerCommand);
  }

  /** Returns the deltas of a shard's last decision. */
  lastBatch(shard: number): readonly LedgerDelta[] {
    return this.ledgerSlot(shard).journal.at(-1)?.deltas ?? [];
  }

  deliverAll(): void {
    while (this.#undelivered.length > 0) this.deliver(0);
  }

  /**
   * Advances the clock, and ticks each actor whenever its deadline comes; markets come first at the same time. Calls
   * `onTick` after each tick, with the time and the id of a market.
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

  /** Returns the money in flight from markets to ledgers in one currency. Negative when it flows the other way. */
  inFlight(currency: Currency): number {
    return this.#undelivered.reduce((sum, { command }) => {
      const { kind, deltas } = command as { kind: string; deltas: readonly EffectDelta[] };
      return kind === "effects" ? sum + moneyOf(deltas, currency) : sum;
    }, 0);
  }
}

/** Returns the money that effects of a market add to wallets, less the money that they take. */
export function moneyOf(deltas: readonly EffectDelta[], currency: Currency): number {
  return deltas.reduce((sum, delta) => {
    if (!("currency" in delta) || delta.currency !== currency) return sum;
    if (delta.type === "payout") return sum + delta.amount;
    if (delta.type === "reversal") return sum - delta.amount;
    if (delta.type === "order") return sum + delta.payout - delta.cost;
    return sum;
  }, 0);
}

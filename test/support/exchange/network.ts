/** The real actors of markets and ledgers, connected in memory without a runtime and without a log. */

import {
  ledgerActor,
  marketActor,
  type Actor,
  type ActorId,
  type Batch,
  type Outgoing,
} from "../../../actors/actor.js";
import type { Bounds } from "../../../actors/limits.js";
import { packCommands, unpackCommands } from "../../../actors/packed/commands.js";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import { ledger } from "../../../actors/ledger/ledger.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import type { WalletSnapshot } from "../../../actors/ledger/types.js";
import type { MarketCommand, MarketReply } from "../../../actors/market/commands.js";
import type { EffectDelta, MarketDelta } from "../../../actors/market/deltas.js";
import { market } from "../../../actors/market/market.js";
import type { MarketState } from "../../../actors/market/state.js";
import type { Currency } from "../../../actors/market/types.js";

export type Market = Actor<MarketState, MarketCommand, MarketDelta, MarketReply>;
export type Ledger = Actor<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>;

/** Implementation of both actors, which a test may replace. */
export interface Actors {
  readonly market: Market;
  readonly ledger: Ledger;
}

/** An actor with its state and all batches that it has emitted. */
export class LocalActor<State, Command, Delta, Reply> {
  readonly state: State;
  readonly emitted: Batch<Delta>[] = [];

  /** `bounds` limits each decision (default as in production). */
  constructor(
    readonly id: ActorId,
    readonly actor: Actor<State, Command, Delta, Reply>,
    readonly bounds?: Bounds | undefined,
  ) {
    this.state = actor.create(id);
  }

  /** Decides a command; the emitted batch has passed through JSON, as one in the log has. */
  apply(command: Command, now: number): Applied<Delta, Reply, Command> {
    const decision = this.actor.decide(this.state, command, now, undefined, this.bounds);
    const batch = throughJson({ ts: now, deltas: decision.deltas }) as Batch<Delta>;
    this.emitted.push(batch);
    const unfinished = throughJson(decision.unfinished ?? []) as readonly Command[];
    return { reply: decision.reply, batch, unfinished };
  }
}

/** A decision of an actor: its batch, its answer, and the commands that finish it. */
export interface Applied<Delta, Reply, Command> {
  readonly reply: Reply | undefined;
  readonly batch: Batch<Delta>;
  readonly unfinished: readonly Command[];
}

type LocalMarket = LocalActor<MarketState, MarketCommand, MarketDelta, MarketReply>;
type LocalLedger = LocalActor<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>;
type Undelivered = Outgoing & { readonly from: ActorId };

export interface NetworkOptions {
  readonly actors?: Actors | undefined;
  /** Class of the actors; a subclass may check every decision. */
  readonly actorClass?: typeof LocalActor;
  /** Bounds of each decision (default as in production). */
  readonly bounds?: Bounds | undefined;
  /** Called with every batch that is not empty, before its messages are delivered. */
  readonly onBatch?: (actor: ActorId, batch: Batch<MarketDelta> | Batch<LedgerDelta>) => void;
}

/** Markets and ledgers. Their messages wait for delivery, in order between any two of them. */
export class ActorNetwork {
  now = 1_700_000_000_000;
  readonly markets = new Map<string, LocalMarket>();
  readonly ledgers = new Map<number, LocalLedger>();
  readonly undelivered: Undelivered[] = [];
  readonly #actors: Actors;
  readonly #actorClass: typeof LocalActor;
  readonly #bounds: Bounds | undefined;
  readonly #onBatch: NonNullable<NetworkOptions["onBatch"]>;

  constructor({
    actors = { market, ledger },
    actorClass = LocalActor,
    bounds,
    onBatch,
  }: NetworkOptions = {}) {
    this.#actors = actors;
    this.#actorClass = actorClass;
    this.#bounds = bounds;
    this.#onBatch = onBatch ?? (() => undefined);
  }

  marketOf(marketId: string): LocalMarket {
    const found = this.markets.get(marketId);
    if (found !== undefined) return found;
    const created = new this.#actorClass(marketActor(marketId), this.#actors.market, this.#bounds);
    this.markets.set(marketId, created);
    return created;
  }

  ledgerOf(shard: number): LocalLedger {
    const found = this.ledgers.get(shard);
    if (found !== undefined) return found;
    const created = new this.#actorClass(ledgerActor(shard), this.#actors.ledger, this.#bounds);
    this.ledgers.set(shard, created);
    return created;
  }

  market(marketId: string, command: MarketCommand): MarketReply | undefined {
    const actor = this.marketOf(marketId);
    return this.#finish(actor, command, (batch) => this.#onBatch(actor.id, batch));
  }

  ledger(shard: number, command: LedgerCommand): LedgerReply | undefined {
    const actor = this.ledgerOf(shard);
    return this.#finish(actor, command, (batch) => this.#onBatch(actor.id, batch));
  }

  /** Applies a command, and then the commands that finish it. Returns the answer to the command. */
  #finish<State, Command, Delta, Reply>(
    actor: LocalActor<State, Command, Delta, Reply>,
    command: Command,
    onBatch: (batch: Batch<Delta>) => void,
  ): Reply | undefined {
    const answers: (Reply | undefined)[] = [];
    const commands = [command];
    for (let next = commands.shift(); next !== undefined; next = commands.shift()) {
      const { reply, batch, unfinished } = actor.apply(next, this.now);
      if (batch.deltas.length > 0) onBatch(batch);
      this.#send(actor.id, actor.actor.route(actor.id, batch));
      commands.unshift(...unfinished);
      answers.push(reply);
    }
    return answers[0];
  }

  /** Returns the snapshot of a wallet from its ledger. */
  wallet(shard: number, wallet: string): WalletSnapshot {
    const { actor, state } = this.ledgerOf(shard);
    const { reply } = actor.decide(state, { kind: "wallet", wallet }, this.now);
    if (reply?.ok !== true || reply.kind !== "wallet")
      throw new Error(`the ledger has no snapshot of ${wallet}`);
    return reply.wallet;
  }

  /** Delivers the oldest message between one pair of actors, which `choice` selects. */
  deliver(choice: number): void {
    const pairs = [...new Set(this.undelivered.map(({ from, to }) => `${from} ${to}`))];
    const pair = pairs[choice % pairs.length];
    const index = this.undelivered.findIndex(({ from, to }) => `${from} ${to}` === pair);
    const [message] = index === -1 ? [] : this.undelivered.splice(index, 1);
    if (message === undefined) return;
    const [kind, id = ""] = message.to.split(":");
    if (kind === "market") this.market(id, message.command as MarketCommand);
    else this.ledger(Number(id), message.command as LedgerCommand);
  }

  deliverAll(): void {
    while (this.undelivered.length > 0) this.deliver(0);
  }

  /**
   * Advances the clock, and ticks each actor whenever its deadline comes; markets come first at the same time. Calls
   * `onTick` after each tick, with the time and the id of a market.
   */
  wait(ms: number, onTick: (now: number, marketId: string | undefined) => void = () => undefined): void {
    const end = this.now + ms;
    for (;;) {
      const markets = [...this.markets].map(([marketId, { actor, state }]) => ({
        at: actor.deadline(state) ?? Infinity,
        marketId,
        tick: (): unknown => this.market(marketId, actor.tick),
      }));
      const ledgers = [...this.ledgers].map(([shard, { actor, state }]) => ({
        at: actor.deadline(state) ?? Infinity,
        marketId: undefined,
        tick: (): unknown => this.ledger(shard, actor.tick),
      }));
      const [due] = [...markets, ...ledgers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (due === undefined) break;
      this.now = Math.max(this.now, due.at);
      due.tick();
      onTick(this.now, due.marketId);
    }
    this.now = end;
  }

  /** Sums what undelivered messages pay to wallets, less what they take from wallets. */
  inFlight(currency: Currency): number {
    return this.undelivered.reduce(
      (sum, { command }) => (command.kind === "effects" ? sum + moneyOf(command.deltas, currency) : sum),
      0,
    );
  }

  #send(from: ActorId, outgoing: readonly Outgoing[]): void {
    for (const { to, command } of outgoing) {
      const [sent] = unpackCommands(throughJson(packCommands([command])) as readonly unknown[]);
      this.undelivered.push({ to, command: sent, from } as Undelivered);
    }
  }
}

/** Sums what the effects of a market pay to wallets, less what they take from wallets. */
export function moneyOf(deltas: readonly EffectDelta[], currency: Currency): number {
  return deltas.reduce((sum, delta) => {
    if (!("currency" in delta) || delta.currency !== currency) return sum;
    if (delta.type === "payout") return sum + delta.amount;
    if (delta.type === "reversal") return sum - delta.amount;
    if (delta.type === "order") return sum + delta.payout - delta.cost;
    return sum;
  }, 0);
}

/** Returns a value after conversion to JSON and back. */
export function throughJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

/** Returns bounds under which a decision touches at most `orders` orders, so that a few orders are long work. */
export function boundsOfOrders(orders: number): Bounds {
  return { atOnce: orders, piece: orders };
}

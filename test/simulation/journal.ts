/**
 * Folds every commit as it reaches the log, and checks invariants 1 to 4, 7 and 10 to 12 of `test/simulation/README.md` at once.
 * The journal keeps all entries, including the entries that the log has trimmed.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { EffectDelta, MarketDelta } from "../../actors/market/deltas.js";
import type { MarketState } from "../../actors/market/state.js";
import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { Keys } from "../../stream/redis/keys.js";
import type { MemoryStore } from "../support/log/memory-store.js";
import { continues, parseEntry } from "../../stream/log/packing.js";
import type { Entry } from "../../stream/log/ports.js";
import { checkLedger, checkMarket, checkMoney, Seqs } from "../actors/invariants.js";
import { type Actors, moneyOf } from "../support/exchange/network.js";
import { savedText } from "../support/exchange/saved.js";

export const KEYS = new Keys("");

type AnyEntry = Entry<MarketDelta | LedgerDelta>;

interface ActorJournal {
  readonly actor: ActorId;
  readonly entries: AnyEntry[];
  state: MarketState | LedgerState;
  /** Last message applied from each sender. */
  readonly sources: Map<string, number>;
  /** `FOK` orders that are filled in part, of a ledger. They are only between two pieces of their sweep. */
  readonly partlyFilled: Set<string>;
  /** Orders of a ledger whose cancels are on their way. */
  readonly canceling: Set<string>;
}

/** Messages of one committed entry that their receiver has not applied, with the money in them. */
interface MessagesInFlight {
  readonly seq: number;
  readonly money: Readonly<Record<Currency, number>>;
}

export class Journal {
  readonly #store: MemoryStore;
  readonly #actors: Actors;
  readonly #journals = new Map<ActorId, ActorJournal>();
  readonly #actorOfKey = new Map<string, ActorId>();
  /** Messages in flight by sender and receiver, such as `"market:1 ledger:2"`. */
  readonly #messagesInFlight = new Map<string, MessagesInFlight[]>();
  #seqs = new Seqs();
  /** Actors of the written entries that the journal has not read, in order. */
  #unread: ActorId[] = [];
  readonly #mayBeNegative = new Set<string>();
  /** Called with each new delta. */
  readonly #onDelta: (delta: MarketDelta | LedgerDelta) => void;
  /** Called when an actor forgets a source. */
  readonly #onForgotten: () => void;

  constructor(
    store: MemoryStore,
    actors: Actors,
    ids: readonly ActorId[],
    onDelta: (delta: MarketDelta | LedgerDelta) => void,
    onForgotten: () => void,
  ) {
    this.#store = store;
    this.#actors = actors;
    this.#onDelta = onDelta;
    this.#onForgotten = onForgotten;
    for (const actor of ids) {
      this.#actorOfKey.set(KEYS.deltas(partitionOf(actor), actor), actor);
      this.#journals.set(actor, this.#newJournal(actor));
    }
    store.onGrowth((key) => {
      const actor = this.#actorOfKey.get(key);
      if (actor !== undefined) this.#unread.push(actor);
    });
  }

  #newJournal(actor: ActorId): ActorJournal {
    const state = isMarket(actor) ? this.#actors.market.create(actor) : this.#actors.ledger.create(actor);
    return { actor, entries: [], state, sources: new Map(), partlyFilled: new Set(), canceling: new Set() };
  }

  get actors(): readonly ActorId[] {
    return [...this.#journals.keys()];
  }

  entries(actor: ActorId): readonly AnyEntry[] {
    return this.#of(actor).entries;
  }

  get deltas(): readonly (MarketDelta | LedgerDelta)[] {
    return [...this.#journals.values()].flatMap(({ entries }) =>
      entries.flatMap(({ batches }) => batches.flatMap(({ deltas }) => deltas)),
    );
  }

  market(actor: ActorId): MarketState {
    return this.#of(actor).state as MarketState;
  }

  get markets(): readonly MarketState[] {
    return [...this.#journals.values()].flatMap(({ actor, state }) =>
      isMarket(actor) ? [state as MarketState] : [],
    );
  }

  get ledgers(): readonly LedgerState[] {
    return [...this.#journals.values()].flatMap(({ actor, state }) =>
      isMarket(actor) ? [] : [state as LedgerState],
    );
  }

  /** Returns the folded state of an actor as JSON. */
  saved(actor: ActorId): string {
    const { state } = this.#of(actor);
    return isMarket(actor)
      ? savedText(this.#actors.market, state as MarketState)
      : savedText(this.#actors.ledger, state as LedgerState);
  }

  #of(actor: ActorId): ActorJournal {
    const journal = this.#journals.get(actor);
    if (journal === undefined) throw new Error(`the simulation has no actor ${actor}`);
    return journal;
  }

  /** Reads, folds and checks the entries that the last operation has written. */
  readNewEntries(): void {
    if (this.#unread.length === 0) return;
    const unread = this.#unread;
    this.#unread = [];
    for (const actor of unread) {
      const journal = this.#of(actor);
      const readSeq = lastSeq(journal);
      for (const { id, body } of this.#store.after(KEYS.deltas(partitionOf(actor), actor), readSeq, 1)) {
        const entry = parseEntry(actor, { seq: id, body }) as AnyEntry;
        this.#append(journal, entry);
        for (const { deltas } of entry.batches) for (const delta of deltas) this.#onDelta(delta);
        this.#check(journal);
      }
    }
    for (const currency of CURRENCIES)
      checkMoney(this.markets, this.ledgers, currency, this.inFlight(currency));
  }

  /** Drops the entries that a power cut has removed from the log, and folds the others again. */
  losePower(): void {
    const entries = [...this.#journals.values()].flatMap((journal) => {
      const { last } = this.#store.stream(KEYS.deltas(partitionOf(journal.actor), journal.actor));
      return journal.entries.filter(({ seq }) => seq <= last);
    });
    this.#messagesInFlight.clear();
    this.#unread = [];
    this.#seqs = new Seqs();
    for (const actor of [...this.#journals.keys()]) this.#journals.set(actor, this.#newJournal(actor));
    for (const entry of entries) this.#append(this.#of(entry.actor), entry, true);
    for (const [pair, waiting] of this.#messagesInFlight) {
      const [from = "", to = ""] = pair.split(" ");
      const applied = this.#of(to as ActorId).sources.get(from) ?? 0;
      this.#messagesInFlight.set(
        pair,
        waiting.filter(({ seq }) => seq > applied),
      );
    }
    for (const journal of this.#journals.values()) this.#check(journal);
  }

  #append(journal: ActorJournal, entry: AnyEntry, replaying = false): void {
    const { actor, entries, sources } = journal;
    if (!continues(entry, lastSeq(journal)))
      throw new Error(`${actor}: entry ${entry.seq} after ${lastSeq(journal)}`);
    checkUnfinished(entries.at(-1), entry);
    entries.push(entry);
    for (const [source, seq] of Object.entries(entry.sources))
      this.#checkApplied(journal, source, seq, replaying);
    for (const batch of entry.batches) {
      this.#seqs.check(actor, batch);
      for (const delta of batch.deltas) this.#evolve(journal, delta, batch.ts);
    }
    for (const [source, seq] of Object.entries(entry.sources)) if (seq > 0) sources.set(source, seq);
    this.#recordSent(entry);
  }

  #evolve(journal: ActorJournal, delta: MarketDelta | LedgerDelta, ts: number): void {
    const { actor, state } = journal;
    if (delta.type === "reversal") this.#mayBeNegative.add(delta.wallet);
    if (isMarket(actor)) {
      checkTransition(state as MarketState, delta as MarketDelta);
      this.#actors.market.evolve(state as MarketState, delta as MarketDelta, ts);
    } else {
      checkFok(journal, delta as LedgerDelta);
      checkRestricted(journal, delta as LedgerDelta);
      this.#actors.ledger.evolve(state as LedgerState, delta as LedgerDelta, ts);
    }
  }

  /** Checks that an applied message was sent, and was not applied before, also by an actor that has forgotten its source. */
  #checkApplied({ actor, sources }: ActorJournal, source: string, seq: number, replaying: boolean): void {
    const last = sources.get(source) ?? 0;
    if (seq === 0) {
      this.#onForgotten();
      return;
    }
    if (seq <= last) throw new Error(`${actor}: message ${seq} of ${source} after ${last}`);
    const waiting = this.#messagesInFlight.get(`${source} ${actor}`);
    if (replaying) return;
    if (waiting?.some((message) => message.seq === seq) !== true)
      throw new Error(`${actor}: message ${seq} of ${source} was never sent`);
    while ((waiting[0]?.seq ?? Infinity) <= seq) waiting.shift();
  }

  #recordSent(entry: AnyEntry): void {
    const { actor, seq, batches } = entry;
    const byActor = new Map<ActorId, { CASH: number; COIN: number }>();
    for (const batch of batches) {
      const outgoing = isMarket(actor)
        ? this.#actors.market.route(actor, batch as { ts: number; deltas: MarketDelta[] })
        : this.#actors.ledger.route(actor, batch as { ts: number; deltas: LedgerDelta[] });
      for (const { to, command } of outgoing) {
        const money = byActor.get(to) ?? { CASH: 0, COIN: 0 };
        byActor.set(to, money);
        const { deltas = [] } = command as { deltas?: readonly EffectDelta[] };
        if (isMarket(actor)) for (const currency of CURRENCIES) money[currency] += moneyOf(deltas, currency);
      }
    }
    for (const [to, money] of byActor) {
      const pair = `${actor} ${to}`;
      const waiting = this.#messagesInFlight.get(pair);
      if (waiting === undefined) this.#messagesInFlight.set(pair, [{ seq, money }]);
      else waiting.push({ seq, money });
    }
  }

  #check(journal: ActorJournal): void {
    const { actor, state } = journal;
    if (isMarket(actor)) {
      checkMarket(state as MarketState);
      return;
    }
    checkLedger(state as LedgerState, this.#mayBeNegative);
    checkCanceled(journal);
  }

  /** Returns the money that markets have sent and ledgers have not received. */
  inFlight(currency: Currency): number {
    let sum = 0;
    for (const waiting of this.#messagesInFlight.values())
      for (const { money } of waiting) sum += money[currency];
    return sum;
  }

  /** Returns the number of messages between actors that are not applied. */
  get messagesInFlight(): number {
    return [...this.#messagesInFlight.values()].reduce((sum, waiting) => sum + waiting.length, 0);
  }
}

/** Checks that an actor with unfinished work applies no message before the work is done. */
function checkUnfinished(before: AnyEntry | undefined, entry: AnyEntry): void {
  if (before?.unfinished === undefined || entry.unfinished === undefined) return;
  const { actor, seq, cursor, sources } = entry;
  const isAlone = cursor === before.cursor && Object.keys(sources).length === 0;
  if (!isAlone) throw new Error(`${actor}: entry ${seq} applies a message between two pieces`);
}

/** Checks that a market cancels its orders before the transition for which they are canceled. */
function checkTransition({ marketId, resting, held }: MarketState, delta: MarketDelta): void {
  if (delta.type !== "lifecycle" || !["CLOSE", "GOLIVE", "UNLIVE"].includes(delta.kind)) return;
  const left = resting.size + held.size;
  if (left > 0) throw new Error(`market ${marketId} has ${left} orders at its ${delta.kind}`);
}

/** Checks that a `FOK` order fills completely or not at all. */
function checkFok({ state, partlyFilled }: ActorJournal, delta: LedgerDelta): void {
  if (delta.type !== "order") return;
  const { orderId, wallet, kind } = delta;
  const order = (state as LedgerState).wallets.get(wallet)?.orders.get(orderId);
  if (order?.tif !== "FOK") return;
  if (kind === "fill" && delta.remaining > 0) partlyFilled.add(orderId);
  else if (kind === "fill") partlyFilled.delete(orderId);
  else if (partlyFilled.has(orderId)) throw new Error(`the FOK order ${orderId} is filled in part`);
}

/** Checks that no order of a restricted trader is accepted, and notes the cancels that are sent. */
function checkRestricted({ state, canceling }: ActorJournal, delta: LedgerDelta): void {
  const { restricted } = state as LedgerState;
  if (delta.type === "canceling") for (const orderId of delta.orderIds) canceling.add(orderId);
  if (delta.type === "accepted" && restricted.has(delta.order.trader))
    throw new Error(`order ${delta.order.orderId} of a restricted trader is accepted`);
}

/** Checks that every order of a restricted trader is being canceled, once the ledger has finished its work. */
function checkCanceled({ state, entries, canceling }: ActorJournal): void {
  const { restricted, wallets } = state as LedgerState;
  if (restricted.size === 0 || entries.at(-1)?.unfinished !== undefined) return;
  for (const { trader, orders } of wallets.values()) {
    if (!restricted.has(trader)) continue;
    for (const orderId of orders.keys())
      if (!canceling.has(orderId)) throw new Error(`order ${orderId} of a restricted trader stays open`);
  }
}

function lastSeq({ entries }: ActorJournal): number {
  return entries.at(-1)?.seq ?? 0;
}

export function isMarket(actor: ActorId): boolean {
  return actor.startsWith("market:");
}

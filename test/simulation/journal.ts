/**
 * Sees every commit as it reaches the log, folds it, and checks at once what must hold of the exchange: invariants 1
 * to 4 and 7 of `README.md`. It keeps all entries, also those that the log has trimmed.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { EffectDelta, MarketDelta } from "../../actors/market/deltas.js";
import type { MarketState } from "../../actors/market/state.js";
import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { Keys } from "../../stream/redis/keys.js";
import type { MemoryStore } from "../support/log/memory-store.js";
import { parseEntry } from "../../stream/log/packing.js";
import type { Entry } from "../../stream/log/ports.js";
import { checkLedger, checkMarket, checkMoney, Seqs } from "../actors/invariants.js";
import { type Actors, moneyOf } from "../actors/joined.js";

export const KEYS = new Keys("");

type AnyEntry = Entry<MarketDelta | LedgerDelta>;

interface Kept {
  readonly actor: ActorId;
  readonly entries: AnyEntry[];
  state: MarketState | LedgerState;
  /** The last message applied of each sender. */
  readonly sources: Map<string, number>;
}

/** Messages that follow from a committed entry and are not applied yet, with the money in them. */
interface UnderWay {
  readonly seq: number;
  readonly money: Readonly<Record<Currency, number>>;
}

export class Journal {
  readonly #store: MemoryStore;
  readonly #actors: Actors;
  readonly #kept = new Map<ActorId, Kept>();
  readonly #actorOfKey = new Map<string, ActorId>();
  /** By sender and receiver. */
  readonly #underWay = new Map<string, UnderWay[]>();
  #seqs = new Seqs();
  /** Whose entries have been written, in order, and are not taken over yet. */
  #unread: ActorId[] = [];
  readonly #mayOwe = new Set<string>();
  /** Called with each delta that is new. */
  readonly #onDelta: (delta: MarketDelta | LedgerDelta) => void;

  constructor(
    store: MemoryStore,
    actors: Actors,
    ids: readonly ActorId[],
    onDelta: (delta: MarketDelta | LedgerDelta) => void,
  ) {
    this.#store = store;
    this.#actors = actors;
    this.#onDelta = onDelta;
    for (const actor of ids) {
      this.#actorOfKey.set(KEYS.deltas(partitionOf(actor), actor), actor);
      this.#kept.set(actor, this.#blank(actor));
    }
    store.onGrowth((key) => {
      const actor = this.#actorOfKey.get(key);
      if (actor !== undefined) this.#unread.push(actor);
    });
  }

  #blank(actor: ActorId): Kept {
    const state = isMarket(actor) ? this.#actors.market.create(actor) : this.#actors.ledger.create(actor);
    return { actor, entries: [], state, sources: new Map() };
  }

  get actors(): readonly ActorId[] {
    return [...this.#kept.keys()];
  }

  entries(actor: ActorId): readonly AnyEntry[] {
    return this.#of(actor).entries;
  }

  get deltas(): readonly (MarketDelta | LedgerDelta)[] {
    return [...this.#kept.values()].flatMap(({ entries }) =>
      entries.flatMap(({ batches }) => batches.flatMap(({ deltas }) => deltas)),
    );
  }

  market(actor: ActorId): MarketState {
    return this.#of(actor).state as MarketState;
  }

  get markets(): readonly MarketState[] {
    return [...this.#kept.values()].flatMap(({ actor, state }) =>
      isMarket(actor) ? [state as MarketState] : [],
    );
  }

  get ledgers(): readonly LedgerState[] {
    return [...this.#kept.values()].flatMap(({ actor, state }) =>
      isMarket(actor) ? [] : [state as LedgerState],
    );
  }

  /** What an actor's state is by the fold, as JSON. */
  saved(actor: ActorId): string {
    const { state } = this.#of(actor);
    return JSON.stringify(
      isMarket(actor)
        ? this.#actors.market.save(state as MarketState)
        : this.#actors.ledger.save(state as LedgerState),
    );
  }

  #of(actor: ActorId): Kept {
    const kept = this.#kept.get(actor);
    if (kept === undefined) throw new Error(`nobody expected ${actor}`);
    return kept;
  }

  /** Takes over what an operation has written. */
  read(): void {
    if (this.#unread.length === 0) return;
    const unread = this.#unread;
    this.#unread = [];
    for (const actor of unread) {
      const kept = this.#of(actor);
      const after = kept.entries.length;
      for (const { id, body } of this.#store.after(KEYS.deltas(partitionOf(actor), actor), after, 1)) {
        const entry = parseEntry(actor, { seq: id, body }) as AnyEntry;
        this.#take(kept, entry);
        for (const { deltas } of entry.batches) for (const delta of deltas) this.#onDelta(delta);
        this.#check(kept);
      }
    }
    for (const currency of CURRENCIES)
      checkMoney(this.markets, this.ledgers, currency, this.inFlight(currency));
  }

  /** The log has lost what was not on its disk: so does the journal. */
  cut(): void {
    const entries = [...this.#kept.values()].flatMap((kept) => {
      const { last } = this.#store.stream(KEYS.deltas(partitionOf(kept.actor), kept.actor));
      return kept.entries.filter(({ seq }) => seq <= last);
    });
    this.#underWay.clear();
    this.#unread = [];
    this.#seqs = new Seqs();
    for (const actor of [...this.#kept.keys()]) this.#kept.set(actor, this.#blank(actor));
    for (const entry of entries) this.#take(this.#of(entry.actor), entry, true);
    for (const [pair, waiting] of this.#underWay) {
      const [from = "", to = ""] = pair.split(" ");
      const applied = this.#of(to as ActorId).sources.get(from) ?? 0;
      this.#underWay.set(
        pair,
        waiting.filter(({ seq }) => seq > applied),
      );
    }
    for (const kept of this.#kept.values()) this.#check(kept);
  }

  #take(kept: Kept, entry: AnyEntry, again = false): void {
    const { actor, entries, sources } = kept;
    if (entry.seq !== entries.length + 1)
      throw new Error(`${actor}: entry ${entry.seq} after ${entries.length}`);
    entries.push(entry);
    for (const [source, seq] of Object.entries(entry.sources)) this.#applied(kept, source, seq, again);
    for (const batch of entry.batches) {
      this.#seqs.check(actor, batch);
      for (const delta of batch.deltas) this.#evolve(kept, delta, batch.ts);
    }
    for (const [source, seq] of Object.entries(entry.sources)) sources.set(source, seq);
    this.#sent(entry);
  }

  #evolve({ actor, state }: Kept, delta: MarketDelta | LedgerDelta, ts: number): void {
    if (delta.type === "reversal") this.#mayOwe.add(delta.wallet);
    if (isMarket(actor)) this.#actors.market.evolve(state as MarketState, delta as MarketDelta, ts);
    else this.#actors.ledger.evolve(state as LedgerState, delta as LedgerDelta, ts);
  }

  /** A message is applied: it must have been sent, and not applied before. */
  #applied({ actor, sources }: Kept, source: string, seq: number, again: boolean): void {
    const last = sources.get(source) ?? 0;
    if (seq <= last) throw new Error(`${actor}: message ${seq} of ${source} after ${last}`);
    const waiting = this.#underWay.get(`${source} ${actor}`);
    if (again) return;
    if (waiting?.some((message) => message.seq === seq) !== true)
      throw new Error(`${actor}: message ${seq} of ${source} was never sent`);
    while ((waiting[0]?.seq ?? Infinity) <= seq) waiting.shift();
  }

  #sent(entry: AnyEntry): void {
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
      const waiting = this.#underWay.get(pair);
      if (waiting === undefined) this.#underWay.set(pair, [{ seq, money }]);
      else waiting.push({ seq, money });
    }
  }

  #check({ actor, state }: Kept): void {
    if (isMarket(actor)) checkMarket(state as MarketState);
    else checkLedger(state as LedgerState, this.#mayOwe);
  }

  /** Money that markets have sent and ledgers have not received. */
  inFlight(currency: Currency): number {
    let sum = 0;
    for (const waiting of this.#underWay.values()) for (const { money } of waiting) sum += money[currency];
    return sum;
  }

  /** Messages between actors that are not applied. */
  get messagesUnderWay(): number {
    return [...this.#underWay.values()].reduce((sum, waiting) => sum + waiting.length, 0);
  }
}

export function isMarket(actor: ActorId): boolean {
  return actor.startsWith("market:");
}

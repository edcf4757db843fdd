/**
 * Markets by event: what never or seldom changes about them is kept, their books come from the replicas of this
 * gateway, and the JSON of a market is made once for everybody until the market changes. A request asks neither
 * Postgres nor Redis for anything, unless something changed.
 */

import { marketActor } from "../../../actors/actor.js";
import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import { fullValue, ZERO } from "../../../actors/units.js";
import { isUnavailable, type Database } from "../../../db/database.js";
import { findEvent } from "../../../db/queries/catalog/events.js";
import { allMarkets } from "../../../db/queries/catalog/markets.js";
import { Unavailable, type Tail } from "../../../stream/log/ports.js";
import type { PublicMarket } from "../../../stream/ws/market/public-market.js";
import type { Replica } from "../../../stream/ws/market/replica.js";
import type { Replicas } from "../../../stream/ws/market/replicas.js";
import { Cache } from "../../reference/cache.js";
import { Refused } from "../../request/errors.js";
import type { Change, Reference } from "../../reference/reference.js";
import { Answer, Piece } from "./answer.js";
import { bookOnB, type View } from "./books.js";
import { describeMarkets } from "./description.js";
import type { MarketWithBook } from "../schemas.js";
import { marketOnB, projected, type DescribedMarket, type LiveMarket } from "../wire.js";

export interface EventMarketsParts {
  readonly db: Database;
  readonly reference: Pick<Reference, "market" | "onChange">;
  readonly replicas: Pick<Replicas, "acquire" | "release">;
  readonly tail: Pick<Tail, "head">;
  readonly onError: (error: unknown) => void;
}

/** A market and, as text, all that is shown of it but for what its replica tells. */
interface Shown extends DescribedMarket {
  readonly still: string;
}

/** The markets of an event, oldest first. */
interface Description {
  readonly eventId: string;
  readonly markets: readonly Shown[];
}

/** One market as JSON, and what it was made of: while all of it stands, so does the JSON. */
interface Rendered {
  readonly still: string;
  readonly replica: PublicMarket | undefined;
  readonly seqs: string;
  readonly piece: Piece;
}

/** What is kept for an event while it is asked for. */
interface Warm {
  description: Description | undefined;
  readonly replicas: Map<string, Replica>;
  /** One at a time: taking the replicas of another description, or comparing them with the log. */
  working: Promise<void> | undefined;
  /** The replicas have all that the log had then, Unix ms. */
  comparedMs: number;
  usedMs: number;
  readonly rendered: Map<string, Rendered>;
  readonly answers: Map<string, Answer>;
}

const DESCRIPTION_TTL_MS = 30_000;
/** A replica hears of commits within a millisecond or two; this is how often it is held against the log besides. */
const FRESH_MS = 250;
const IDLE_MS = 120_000;
const SWEEP_MS = 15_000;
const MAX_WARM = 500;
/** What the JSON that is kept may come to. */
const MAX_BYTES = 256 * 1024 * 1024;
/** A description may change while the replicas of the last one are taken. */
const MAX_TRIES = 5;

export class EventMarkets {
  readonly #parts: EventMarketsParts;
  readonly #descriptions: Cache<Description>;
  readonly #warm = new Map<string, Warm>();
  /** Changed markets that may be new, until it is known which event they are of. */
  readonly #unplaced = new Set<Promise<void>>();
  readonly #stopListening: () => void;
  readonly #sweeping: ReturnType<typeof setInterval>;
  readonly #nowMs: () => number;

  constructor(parts: EventMarketsParts, nowMs: () => number = Date.now) {
    this.#parts = parts;
    this.#nowMs = nowMs;
    this.#descriptions = new Cache((eventId) => this.#describe(eventId), {
      ttlMs: DESCRIPTION_TTL_MS,
      maxEntries: 2 * MAX_WARM,
      unreachable: isUnavailable,
    });
    this.#stopListening = parts.reference.onChange((change) => this.#drop(change));
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#sweeping.unref();
  }

  /** The markets of an event with their books. Refuses `EVENT_NOT_FOUND`; throws `Unavailable`. */
  async markets(eventId: string, currency: Currency, view: View): Promise<Answer> {
    const beganMs = this.#nowMs();
    if (this.#unplaced.size > 0) await Promise.all(this.#unplaced);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const description = await this.#descriptions.get(eventId);
      if (description === undefined) throw new Refused("EVENT_NOT_FOUND");
      const warm = this.#warmFor(eventId);
      const isCurrent = warm.description === description && warm.comparedMs > beganMs - FRESH_MS;
      if (isCurrent) return this.#answer(warm, description, currency, view);
      warm.working ??= this.#bringUp(eventId, warm).finally(() => (warm.working = undefined));
      await warm.working;
    }
    throw new Unavailable("the event changes faster than it can be read");
  }

  #warmFor(eventId: string): Warm {
    const known = this.#warm.get(eventId);
    if (known !== undefined) {
      known.usedMs = this.#nowMs();
      return known;
    }
    const warm: Warm = {
      description: undefined,
      replicas: new Map(),
      working: undefined,
      comparedMs: -Infinity,
      usedMs: this.#nowMs(),
      rendered: new Map(),
      answers: new Map(),
    };
    this.#warm.set(eventId, warm);
    if (this.#warm.size > MAX_WARM) this.#sweep();
    return warm;
  }

  async #describe(eventId: string): Promise<Description | undefined> {
    const { db } = this.#parts;
    if ((await findEvent(db, eventId)) === undefined) return undefined;
    const records = await allMarkets(db, { eventId });
    const oldestFirst = records.toSorted(
      (a, b) => a.createdTs - b.createdTs || (a.marketId < b.marketId ? -1 : 1),
    );
    const markets = (await describeMarkets(db, oldestFirst)).map((market) => ({
      ...market,
      still: stillOf(market),
    }));
    return { eventId, markets };
  }

  /** Has the replicas that the event needs, as new as the log was a moment ago. */
  async #bringUp(eventId: string, warm: Warm): Promise<void> {
    const { replicas, tail } = this.#parts;
    const description = await this.#descriptions.get(eventId);
    if (description !== warm.description) {
      await this.#takeReplicas(warm, description);
      warm.description = description;
    }
    const askedMs = this.#nowMs();
    await Promise.all(
      [...warm.replicas].map(async ([marketId, replica]) =>
        replica.waitForSeq(await tail.head(marketActor(marketId))),
      ),
    );
    warm.comparedMs = askedMs;
    // It was forgotten meanwhile, and nobody else would give these back.
    if (this.#warm.get(eventId) !== warm) {
      for (const marketId of warm.replicas.keys()) replicas.release(marketId);
      warm.replicas.clear();
    }
  }

  /** Settled markets have no books, and need none. */
  async #takeReplicas(warm: Warm, description: Description | undefined): Promise<void> {
    const { replicas } = this.#parts;
    const needed = new Set(
      description?.markets.flatMap(({ record }) => (record.status === "SETTLED" ? [] : [record.marketId])),
    );
    for (const marketId of [...warm.replicas.keys()]) {
      if (needed.has(marketId)) continue;
      warm.replicas.delete(marketId);
      replicas.release(marketId);
    }
    await Promise.all(
      [...needed].map(async (marketId) => {
        if (warm.replicas.has(marketId)) return;
        const replica = await replicas.acquire(marketId);
        if (replica !== undefined) warm.replicas.set(marketId, replica);
      }),
    );
  }

  #answer(warm: Warm, { markets }: Description, currency: Currency, view: View): Answer {
    const pieces = markets.map((market) => this.#render(warm, market, currency, view));
    const kind = `${currency} ${view}`;
    const last = warm.answers.get(kind);
    if (last?.consistsOf(pieces)) return last;
    const answer = new Answer(pieces);
    warm.answers.set(kind, answer);
    return answer;
  }

  #render(warm: Warm, market: Shown, currency: Currency, view: View): Piece {
    const { marketId } = market.record;
    const replica = warm.replicas.get(marketId)?.market;
    const seqs =
      replica === undefined
        ? ""
        : `${replica.seq("lifecycle", currency)} ${replica.seq("book", currency)} ${replica.seq("trades", "CASH")} ${replica.seq("trades", "COIN")}`;
    const key = `${marketId} ${currency} ${view}`;
    const known = warm.rendered.get(key);
    const { still } = market;
    if (known?.still === still && known.replica === replica && known.seqs === seqs) return known.piece;
    const shown: MarketWithBook = {
      ...marketOnB(market, liveOf(market, replica, currency)),
      book: bookOnB(market.record, replica?.ladders(currency) ?? [], currency, view),
    };
    const piece = new Piece(shown);
    warm.rendered.set(key, { still, replica, seqs, piece });
    return piece;
  }

  #drop(change: Change): void {
    if (change.kind === "all") this.#descriptions.clear();
    else if (change.kind === "event") this.#descriptions.drop(change.id);
    else if (change.kind === "market") this.#dropMarket(change.id);
  }

  #dropMarket(marketId: string): void {
    const showing: string[] = [];
    this.#descriptions.dropWhere(({ eventId, markets }) => {
      const shows = markets.some(({ record }) => record.marketId === marketId);
      if (shows) showing.push(eventId);
      return shows;
    });
    if (showing.length > 0) return;
    const { reference, onError } = this.#parts;
    const placing: Promise<void> = reference
      .market(marketId)
      .then((market) => {
        if (market !== undefined) this.#descriptions.drop(market.event.eventId);
      })
      // Which event is stale cannot be told, so all are.
      .catch((error: unknown) => {
        this.#descriptions.clear();
        onError(error);
      })
      .finally(() => this.#unplaced.delete(placing));
    this.#unplaced.add(placing);
  }

  /** Forgets events that nobody asks for, and of the others the longest unasked while there is too much. */
  #sweep(): void {
    const byUse = [...this.#warm].toSorted(([, a], [, b]) => a.usedMs - b.usedMs);
    let bytes = byUse.reduce((sum, [, warm]) => sum + bytesOf(warm), 0);
    for (const [eventId, warm] of byUse) {
      const idle = this.#nowMs() - warm.usedMs > IDLE_MS;
      if (!idle && bytes <= MAX_BYTES && this.#warm.size <= MAX_WARM) return;
      bytes -= bytesOf(warm);
      this.#forget(eventId, warm);
    }
  }

  #forget(eventId: string, warm: Warm): void {
    this.#warm.delete(eventId);
    if (warm.working !== undefined) return;
    for (const marketId of warm.replicas.keys()) this.#parts.replicas.release(marketId);
    warm.replicas.clear();
  }

  /** Lets go of the replicas. */
  close(): void {
    clearInterval(this.#sweeping);
    this.#stopListening();
    for (const [eventId, warm] of [...this.#warm]) this.#forget(eventId, warm);
  }
}

function bytesOf({ rendered, answers }: Warm): number {
  const pieces = [...rendered.values()].map(({ piece }) => piece);
  return [...pieces, ...answers.values()].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** A settled market has no replica, so what moved about it is still by now. */
function stillOf(market: DescribedMarket): string {
  const { record } = market;
  const still: LiveMarket = { status: record.status, last: [], volume: ZERO };
  return JSON.stringify(
    CURRENCIES.map((currency) =>
      marketOnB(market, record.status === "SETTLED" ? projected(record, currency) : still),
    ),
  );
}

/**
 * What moves, as the replica has it. That a market is settled is told together with who won, which the read model
 * knows a moment later; until then it reads closed.
 */
function liveOf(
  { record }: DescribedMarket,
  replica: PublicMarket | undefined,
  currency: Currency,
): LiveMarket {
  if (replica === undefined) return projected(record, currency);
  const status = replica.status === "SETTLED" || record.status === "SETTLED" ? record.status : replica.status;
  return { status, last: replica.last(currency), volume: fullValue(replica.volume("CASH")) };
}

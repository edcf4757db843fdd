/** Public state of a market, folded from its deltas; snapshots and heartbeats are made from it. */

import { crc32 } from "node:zlib";
import type { BookDelta, MarketDelta, OrderDelta } from "../../../actors/market/deltas.js";
import type { MarketState } from "../../../actors/market/state.js";
import {
  CURRENCIES,
  type Currency,
  type Level,
  type MarketStatus,
  type Order,
} from "../../../actors/market/types.js";
import { assert, contracts, type Contracts, formatPrice, type Ticks } from "../../../actors/units.js";
import { type Channel, channelsOf, type Mask, pairOf } from "../channels.js";
import type { MarketIdentity } from "../ports.js";
import { currencyTag, levelOnWire, outcomeId } from "../values.js";
import type { ChannelBatch, PublicBatch } from "../wire.js";
import { unreachable } from "../../../actors/unreachable.js";

/** Number of batches of trades in a snapshot. */
export const TRADE_BATCHES = 50;

/** A resting order; `qty` is the remaining quantity. */
interface RestingOrder {
  readonly orderId: string;
  readonly price: Ticks;
  readonly qty: Contracts;
}

/** A resting order with its quantity and time at acceptance. */
export interface LadderOrder extends RestingOrder {
  readonly originalQty: Contracts;
  /** Time of acceptance by the ledger, Unix ms. */
  readonly acceptedTs: number;
}

/** A book as of `seq`, by outcome index: best price first, then queue order. */
export interface MarketBook {
  readonly seq: number;
  readonly orders: readonly (readonly RestingOrder[])[];
  /** True if the part that was asked for leaves out orders behind it. */
  readonly hasMore: boolean;
}

/** Part of a book. The orders of each outcome are counted by themselves, so that every part has all sides. */
export interface BookPart {
  /** Number of price levels of each outcome. */
  readonly depth?: number | undefined;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/** Position of an order in the book, with its quantity and time at acceptance. */
interface Place {
  readonly outcome: number;
  readonly price: Ticks;
  readonly originalQty: Contracts;
  readonly acceptedTs: number;
}

interface PublicBook {
  /** Price levels by outcome. The map of a level keeps its orders in time order. */
  readonly ladders: readonly Map<Ticks, Map<string, Contracts>>[];
  readonly places: Map<string, Place>;
  readonly bbo: (Level | null)[];
  readonly seqs: Record<Exclude<Channel, "lifecycle">, number>;
  /** Price of the last execution, by outcome. */
  readonly last: (Ticks | undefined)[];
  /** Number of contracts minted. */
  volume: Contracts;
  /** Last batches of trades, oldest first. */
  trades: { readonly seq: number; readonly json: string }[];
}

/** Public state of one market. */
export class PublicMarket {
  readonly identity: MarketIdentity;
  #status: MarketStatus;
  #lifecycleSeq: number;
  readonly #books: Readonly<Record<Currency, PublicBook>>;
  /** Fragments of snapshots and checksums, by name; each is valid for its seq. */
  readonly #cached = new Map<string, { readonly seq: number; readonly value: string }>();

  /** Copies the public part of the state of a market. The state has no past trades; see `addPastTrades`. */
  constructor(state: MarketState, identity: MarketIdentity) {
    this.identity = identity;
    this.#status = state.status;
    this.#lifecycleSeq = state.lifecycleSeq;
    this.#books = { CASH: bookOf(state, "CASH"), COIN: bookOf(state, "COIN") };
  }

  get status(): MarketStatus {
    return this.#status;
  }

  /** Returns the last seq of a channel. */
  seq(channel: Channel, currency: Currency): number {
    return channel === "lifecycle" ? this.#lifecycleSeq : this.#books[currency].seqs[channel];
  }

  /** Returns the last seq of the channel with this bit. */
  seqOf(bit: Mask): number {
    const { channel, currency } = pairOf(bit);
    return this.seq(channel, currency);
  }

  /** Folds the deltas of one command; `batch` is their serialized form. Throws on a delta it does not know. */
  apply(deltas: readonly MarketDelta[], batch: PublicBatch): void {
    let opened: Order | undefined;
    for (const delta of deltas) {
      switch (delta.type) {
        case "lifecycle":
          this.#status = delta.status;
          break;
        case "order":
          opened = openedBy(delta) ?? opened;
          break;
        case "book":
          applyToBook(this.#books[delta.currency], delta, opened);
          break;
        case "bbo":
          this.#books[delta.currency].bbo[delta.outcome] = delta.bbo;
          break;
        case "trade":
          this.#books[delta.currency].last[delta.outcome] = delta.price;
          break;
        case "match": {
          const book = this.#books[delta.currency];
          book.last[delta.outcome] = delta.price;
          book.volume = contracts(book.volume + delta.qty);
          break;
        }
        case "skipped":
          this.#skip(delta.count);
          break;
        default:
          // Snapshots show nothing else; `publicBatch` has rejected unknown kinds.
          break;
      }
    }
    for (const part of batch.parts) this.#takePart(part);
  }

  /** Leaves out seqs of every channel, so that a snapshot has the seq before the next batch. */
  #skip(count: number): void {
    this.#lifecycleSeq += count;
    for (const { seqs } of Object.values(this.#books)) {
      seqs.book += count;
      seqs.bbo += count;
      seqs.trades += count;
    }
  }

  #takePart({ channel, currency, seq, json }: ChannelBatch): void {
    if (channel === "lifecycle") {
      this.#lifecycleSeq = seq;
      return;
    }
    const { seqs, trades } = this.#books[currency];
    seqs[channel] = seq;
    if (channel !== "trades") return;
    trades.push({ seq, json });
    if (trades.length > TRADE_BATCHES) trades.shift();
  }

  /** Returns true when a snapshot would lack batches of trades from before this object was created. */
  lacksTrades(currency: Currency): boolean {
    const { trades, seqs } = this.#books[currency];
    return trades.length < Math.min(TRADE_BATCHES, seqs.trades);
  }

  /** Adds older batches of trades before those that were folded. */
  addPastTrades(past: readonly PublicBatch[]): void {
    for (const currency of CURRENCIES) {
      const book = this.#books[currency];
      const first = book.trades[0]?.seq ?? book.seqs.trades + 1;
      const older = past
        .flatMap((batch) => batch.parts)
        .filter((part) => part.channel === "trades" && part.currency === currency && part.seq < first)
        .map(({ seq, json }) => ({ seq, json }));
      book.trades = [...older, ...book.trades].slice(-TRADE_BATCHES);
      this.#cached.delete(`trades ${currency}`);
    }
  }

  /** Returns the book, or a part of it, by outcome index: best price first, then queue order. */
  book(currency: Currency, part: BookPart = {}): MarketBook {
    const { ladders, seqs } = this.#books[currency];
    return { seq: seqs.book, ...partOf(ladders, part) };
  }

  /**
   * Returns the first orders of each outcome (default all) in the order of `book`, with the original quantity and the
   * acceptance time of each.
   */
  ladders(currency: Currency, limit = Infinity): readonly (readonly LadderOrder[])[] {
    const { ladders, places } = this.#books[currency];
    return ladders.map((ladder) =>
      partOf([ladder], { limit })
        .orders.flat()
        .map((order) => {
          const place = places.get(order.orderId);
          assert(place !== undefined, `order ${order.orderId} is not in the book`);
          return { ...order, originalQty: place.originalQty, acceptedTs: place.acceptedTs };
        }),
    );
  }

  /** Returns the number of orders in the book. */
  orderCount(currency: Currency): number {
    return this.#books[currency].places.size;
  }

  /** Returns the price of the last execution of each outcome. */
  last(currency: Currency): readonly (Ticks | undefined)[] {
    return this.#books[currency].last;
  }

  /** Returns the number of contracts minted. */
  volume(currency: Currency): Contracts {
    return this.#books[currency].volume;
  }

  /** Returns the best bid level of each outcome. */
  bbo(currency: Currency): readonly (Level | null)[] {
    return this.#books[currency].bbo;
  }

  /** Returns the snapshot of the channels of `mask` in one currency, as JSON. Each channel is serialized once per seq. */
  snapshot(mask: Mask, currency: Currency): string {
    const channels = channelsOf(mask, currency).map(
      (channel) => `"${channel}":${this.#fragment(channel, currency)}`,
    );
    return `{"eventId":"${this.identity.eventId}",${channels.join(",")}}`;
  }

  /** Returns the last seqs of the channels of `mask` in one currency, and the checksum of the book if it is in `mask`. */
  heartbeat(mask: Mask, currency: Currency): string {
    const channels = channelsOf(mask, currency);
    const seqs = channels.map((channel) => `"${channel}":${this.seq(channel, currency)}`);
    if (channels.includes("book")) seqs.push(`"checksum":${this.#checksum(currency)}`);
    return `{${seqs.join(",")}}`;
  }

  /** Returns the CRC-32 of `orderId:price:qty` joined by `|`: outcomes in market order, best first, queue order. */
  #checksum(currency: Currency): string {
    return this.#cache(`checksum ${currency}`, this.#books[currency].seqs.book, () => {
      const orders = this.book(currency).orders.flat();
      const text = orders
        .map(({ orderId, price, qty }) => `${orderId}:${formatPrice(price)}:${qty}`)
        .join("|");
      return String(crc32(text));
    });
  }

  /** Returns the snapshot of one channel as JSON. */
  #fragment(channel: Channel, currency: Currency): string {
    const seq = this.seq(channel, currency);
    return this.#cache(`${channel} ${currency}`, seq, () => {
      const coin = currencyTag(currency);
      switch (channel) {
        case "lifecycle":
          return JSON.stringify({ seq, status: this.#status });
        case "trades": {
          const batches = this.#books[currency].trades.map((batch) => batch.json).join(",");
          return `{"seq":${seq}${currency === "COIN" ? `,"currency":"COIN"` : ""},"trades":[${batches}]}`;
        }
        case "bbo":
          return JSON.stringify({
            seq,
            ...coin,
            bbo: this.#byOutcome(
              this.bbo(currency).map((level) => (level === null ? null : levelOnWire(level, currency))),
            ),
          });
        case "book":
          return JSON.stringify({
            seq,
            ...coin,
            orders: this.#byOutcome(
              this.book(currency).orders.map((orders) =>
                orders.map(({ orderId, price, qty }) => ({
                  orderId,
                  price: formatPrice(price),
                  qty,
                  ...coin,
                })),
              ),
            ),
          });
        default:
          return unreachable(channel);
      }
    });
  }

  #byOutcome(values: readonly unknown[]): object {
    return Object.fromEntries(values.map((value, outcome) => [outcomeId(this.identity, outcome), value]));
  }

  #cache(name: string, seq: number, make: () => string): string {
    const found = this.#cached.get(name);
    if (found?.seq === seq) return found.value;
    const value = make();
    this.#cached.set(name, { seq, value });
    return value;
  }
}

function bookOf(state: MarketState, currency: Currency): PublicBook {
  const { bbo, seqs, last, volume } = state.books[currency];
  const ladders = state.resting.ladders[currency];
  const book: PublicBook = {
    ladders: ladders.map(() => new Map<Ticks, Map<string, Contracts>>()),
    places: new Map(),
    bbo: [...bbo],
    seqs: { ...seqs },
    last: [...last],
    volume,
    trades: [],
  };
  for (const ladder of ladders) {
    for (const { order, remaining } of ladder.orders()) append(book, order, remaining);
  }
  return book;
}

/** Returns the order that rests because of the delta, if one does. */
function openedBy(delta: OrderDelta): Order | undefined {
  switch (delta.kind) {
    case "open":
      return delta.order;
    case "hold":
    case "fill":
    case "reduce":
    case "cancel":
    case "reject":
      return undefined;
    default:
      return unreachable(delta);
  }
}

/** Folds a book delta. An `add` follows the `open` of the same order, so `opened` is the order that is added. */
function applyToBook(book: PublicBook, delta: BookDelta, opened: Order | undefined): void {
  switch (delta.kind) {
    case "add":
      assert(opened?.orderId === delta.orderId, `order ${delta.orderId} is added but did not open`);
      append(book, opened, delta.qty);
      return;
    case "update":
      levelOf(book, delta.orderId).orders.set(delta.orderId, delta.remaining);
      return;
    case "remove": {
      const { orders, ladder, price } = levelOf(book, delta.orderId);
      orders.delete(delta.orderId);
      if (orders.size === 0) ladder.delete(price);
      book.places.delete(delta.orderId);
      return;
    }
    default:
      return unreachable(delta);
  }
}

function append(
  book: PublicBook,
  { orderId, outcome, price, qty, acceptedTs }: Order,
  remaining: Contracts,
): void {
  const ladder = book.ladders[outcome];
  assert(ladder !== undefined, `the book has no outcome ${outcome}`);
  const orders = ladder.get(price) ?? new Map<string, Contracts>();
  ladder.set(price, orders);
  orders.set(orderId, contracts(remaining));
  book.places.set(orderId, { outcome, price, originalQty: qty, acceptedTs });
}

function levelOf(
  book: PublicBook,
  orderId: string,
): { orders: Map<string, Contracts>; ladder: Map<Ticks, Map<string, Contracts>>; price: Ticks } {
  const place = book.places.get(orderId);
  const ladder = place === undefined ? undefined : book.ladders[place.outcome];
  const orders = place === undefined ? undefined : ladder?.get(place.price);
  assert(
    place !== undefined && ladder !== undefined && orders !== undefined,
    `order ${orderId} is not in the book`,
  );
  return { orders, ladder, price: place.price };
}

type Ladders = PublicBook["ladders"];

function partOf(
  ladders: Ladders,
  { depth, offset = 0, limit = Infinity }: BookPart,
): Omit<MarketBook, "seq"> {
  let hasMore = false;
  const orders = ladders.map((ladder) => {
    let [skip, left] = [offset, limit];
    const taken: RestingOrder[] = [];
    for (const price of [...ladder.keys()].sort((a, b) => b - a).slice(0, depth)) {
      for (const [orderId, qty] of ladder.get(price) ?? []) {
        if (skip > 0) skip -= 1;
        else if (left === 0) {
          hasMore = true;
          return taken;
        } else {
          taken.push({ orderId, price, qty });
          left -= 1;
        }
      }
    }
    return taken;
  });
  return { orders, hasMore };
}

/** Reads batches of private channels from before this process followed the wallet, from the log of its ledger. */

import { ledgerActor, type Batch } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { OpenOrder } from "../../../actors/ledger/types.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Entry, Tail } from "../../log/ports.js";
import { inTurn, lookBack, RESUME_MS } from "../look-back.js";
import { PRIVATE_CHANNELS, type PrivateChannel } from "../channels.js";
import type { Catalog, MarketIdentity } from "../ports.js";
import { joinFrames, textFrame } from "../socket/outbox.js";
import { type PrivateBatch, type WalletDelta, walletDeltas, WalletFold } from "./fold.js";

/** Batches that are folded at once, which takes about 1 ms. */
const FOLDED_AT_ONCE = 100;

/** Last seqs that a watcher has; an absent channel is not requested. */
export type PrivateSince = Partial<Readonly<Record<PrivateChannel, number | undefined>>>;

/** The batches of one channel after the seq of the watcher. */
export interface ReadBatches {
  readonly lastSeq: number;
  /** Frames from the first to the last; each buffer holds whole frames. */
  readonly frames: readonly Buffer[];
}

/** Sources of the log and of the names of outcomes. */
export interface HistorySource {
  readonly tail: Tail;
  readonly catalog: Pick<Catalog, "market">;
}

/**
 * Returns every batch after the seqs of `since`, by channel; a channel is absent when some of its batches were trimmed, or
 * could not be read within 10 s. `open` are the open orders of the wallet, because the wire form of a delta includes fields
 * of its order. Throws `Unavailable`.
 */
export async function readMissed(
  { tail, catalog }: HistorySource,
  {
    shard,
    wallet,
    open,
  }: { readonly shard: number; readonly wallet: string; readonly open: readonly OpenOrder[] },
  since: PrivateSince,
): Promise<ReadonlyMap<PrivateChannel, ReadBatches>> {
  const actor = ledgerActor(shard);
  /** Slices of batches as JSON, outside the heap: they are needed again when the first one is found. */
  const slices: Buffer[] = [];
  const found = new Found(since, open);
  const head = await tail.head(actor);
  for await (const entries of lookBack<LedgerDelta>(tail, actor, head, { mostMs: RESUME_MS })) {
    const window = ownBatches(entries, wallet);
    for (let end = window.length; end > 0; end -= FOLDED_AT_ONCE)
      slices.push(Buffer.from(JSON.stringify(window.slice(Math.max(0, end - FOLDED_AT_ONCE), end))));
    found.add(window);
    if (found.isComplete) break;
  }
  const markets = new Map<string, MarketIdentity>();
  for (const marketId of found.marketIds) {
    const market = await catalog.market(marketId);
    if (market !== undefined) markets.set(marketId, market);
  }
  const missed = new MissedFrames(since, found.complete);
  const fold = new WalletFold(markets, {
    orders: { seq: missed.afterSeq("orders"), open },
    positions: { seq: missed.afterSeq("positions"), positions: [] },
  });
  for (const slice of slices.toReversed()) {
    await inTurn(() => {
      const batches = JSON.parse(slice.toString()) as readonly Batch<WalletDelta>[];
      missed.add(batches.flatMap((batch) => fold.apply(batch)));
    });
  }
  return missed.whole;
}

/** The frames of the missed batches of the channels that are complete. */
class MissedFrames {
  readonly #read: ReadonlyMap<
    PrivateChannel,
    { readonly since: number; lastSeq: number; count: number; frames: Buffer[] }
  >;

  constructor(since: PrivateSince, complete: readonly PrivateChannel[]) {
    this.#read = new Map(
      complete.map((channel) => {
        const seq = since[channel] ?? 0;
        return [channel, { since: seq, lastSeq: seq, count: 0, frames: [] }];
      }),
    );
  }

  /** Returns the seq after which the batches of a channel are missed, `Infinity` when it is not complete. */
  afterSeq(channel: PrivateChannel): number {
    return this.#read.get(channel)?.since ?? Infinity;
  }

  add(batches: readonly PrivateBatch[]): void {
    for (const [channel, read] of this.#read) {
      const own = batches.filter((batch) => batch.channel === channel);
      read.count += own.length;
      read.lastSeq = own.at(-1)?.seq ?? read.lastSeq;
      read.frames.push(...joinFrames(own.map(({ frame }) => textFrame(frame))));
    }
  }

  /** The channels without a gap. */
  get whole(): ReadonlyMap<PrivateChannel, ReadBatches> {
    return new Map([...this.#read].filter(([, { since, lastSeq, count }]) => count === lastSeq - since));
  }
}

/** Returns the parts of the entries that concern the wallet. */
function ownBatches(entries: readonly Entry<LedgerDelta>[], wallet: string): readonly Batch<WalletDelta>[] {
  return entries.flatMap(({ batches }) =>
    batches.flatMap(({ ts, deltas }) => {
      const own = walletDeltas(deltas, (id) => id === wallet).get(wallet);
      return own === undefined ? [] : [{ ts, deltas: own }];
    }),
  );
}

/** Progress of the search for the requested channels, from the latest window to earlier ones. */
class Found {
  readonly #since: PrivateSince;
  readonly #wanted: readonly PrivateChannel[];
  /** Lowest seq of each channel. */
  readonly #first: Record<PrivateChannel, number> = { orders: Infinity, positions: Infinity };
  readonly #described: Set<string>;
  /** Orders with a missed delta whose wire form includes fields of the order, and whose acceptance is not found. */
  readonly #undescribed = new Set<string>();
  /** Markets of the batches that were added. */
  readonly marketIds = new Set<string>();

  constructor(since: PrivateSince, open: readonly OpenOrder[]) {
    this.#since = since;
    this.#wanted = PRIVATE_CHANNELS.filter((channel) => since[channel] !== undefined);
    this.#described = new Set(open.map(({ orderId }) => orderId));
  }

  /** The channels of which nothing is missing. */
  get complete(): readonly PrivateChannel[] {
    return this.#wanted.filter(
      (channel) =>
        this.#first[channel] <= (this.#since[channel] ?? 0) + 1 &&
        (channel !== "orders" || this.#undescribed.size === 0),
    );
  }

  get isComplete(): boolean {
    return this.complete.length === this.#wanted.length;
  }

  /** Adds the batches before those that were added. */
  add(batches: readonly Batch<WalletDelta>[]): void {
    for (const delta of batches.flatMap(({ deltas }) => deltas)) {
      this.marketIds.add(delta.marketId);
      switch (delta.type) {
        case "accepted":
          this.#described.add(delta.order.orderId);
          this.#undescribed.delete(delta.order.orderId);
          break;
        case "order": {
          this.#first.orders = Math.min(this.#first.orders, delta.seq);
          const isDescribed = delta.kind === "cancel" || delta.kind === "reject";
          const isMissed = delta.seq > (this.#since.orders ?? Infinity);
          if (isMissed && !isDescribed && !this.#described.has(delta.orderId))
            this.#undescribed.add(delta.orderId);
          break;
        }
        case "position":
          this.#first.positions = Math.min(this.#first.positions, delta.seq);
          break;
        default:
          unreachable(delta);
      }
    }
  }
}

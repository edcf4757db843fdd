/** Reads batches of private channels from before this process followed the wallet, from the log of its ledger. */

import { ledgerActor, type Batch } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { OpenOrder } from "../../../actors/ledger/types.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Entry, Tail } from "../../log/ports.js";
import { inTurn, lookBack, RESUME_MS } from "../look-back.js";
import { PRIVATE_CHANNELS, type PrivateChannel } from "../channels.js";
import type { Catalog, MarketIdentity } from "../ports.js";
import { type PrivateBatch, type WalletDelta, walletDeltas, WalletFold } from "./fold.js";

/** Batches that are folded at once, which takes about 1 ms. */
const FOLDED_AT_ONCE = 250;

/** Last seqs that a watcher has; an absent channel is not requested. */
export type PrivateSince = Partial<Readonly<Record<PrivateChannel, number | undefined>>>;
/** Missed batches by channel; a channel is absent when some of its batches were trimmed. */
export type MissedBatches = ReadonlyMap<PrivateChannel, readonly PrivateBatch[]>;

/** Sources of the log and of the names of outcomes. */
export interface HistorySource {
  readonly tail: Tail;
  readonly catalog: Pick<Catalog, "market">;
}

/**
 * Returns every batch after the seqs of `since`, by channel; a channel is absent when some of its batches were trimmed, or
 * could not be read within 10 s. `open` are the open orders of the wallet, because the wire form of a delta includes fields of its order. Throws
 * `Unavailable`.
 */
export async function readMissed(
  { tail, catalog }: HistorySource,
  {
    shard,
    wallet,
    open,
  }: { readonly shard: number; readonly wallet: string; readonly open: readonly OpenOrder[] },
  since: PrivateSince,
): Promise<MissedBatches> {
  const actor = ledgerActor(shard);
  const windows: (readonly Batch<WalletDelta>[])[] = [];
  const found = new Found(since, open);
  const head = await tail.head(actor);
  for await (const entries of lookBack<LedgerDelta>(tail, actor, head, { mostMs: RESUME_MS })) {
    const window = ownBatches(entries, wallet);
    windows.push(window);
    found.add(window);
    if (found.isComplete) break;
  }
  const own = windows.toReversed().flat();
  const complete = found.complete;
  const markets = new Map<string, MarketIdentity>();
  for (const marketId of new Set(own.flatMap(({ deltas }) => deltas.map((delta) => delta.marketId)))) {
    const market = await catalog.market(marketId);
    if (market !== undefined) markets.set(marketId, market);
  }
  const from = (channel: PrivateChannel): number =>
    complete.includes(channel) ? (since[channel] ?? Infinity) : Infinity;
  const fold = new WalletFold(markets, {
    orders: { seq: from("orders"), open },
    positions: { seq: from("positions"), positions: [] },
  });
  const missed = new Map<PrivateChannel, PrivateBatch[]>(complete.map((channel) => [channel, []]));
  for (let from = 0; from < own.length; from += FOLDED_AT_ONCE) {
    const slice = own.slice(from, from + FOLDED_AT_ONCE);
    await inTurn(() => {
      for (const batch of slice) for (const out of fold.apply(batch)) missed.get(out.channel)?.push(out);
    });
  }
  return missed;
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

/** Reads batches of private channels from before this process followed the wallet, from the log of its ledger. */

import { ledgerActor, type Batch } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { OpenOrder } from "../../../actors/ledger/types.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Entry, Tail } from "../../log/ports.js";
import { lookBack } from "../look-back.js";
import { PRIVATE_CHANNELS, type PrivateChannel } from "../channels.js";
import type { Catalog, MarketIdentity } from "../ports.js";
import { type PrivateBatch, type WalletDelta, walletDeltas, WalletFold } from "./fold.js";

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
 * Returns every batch after the seqs of `since`, by channel; a channel is absent when some of its batches were trimmed.
 * `open` are the open orders of the wallet, because the wire form of a delta includes fields of its order. Throws
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
  let own: readonly Batch<WalletDelta>[] = [];
  let complete: readonly PrivateChannel[] = [];
  const wanted = PRIVATE_CHANNELS.filter((channel) => since[channel] !== undefined);
  for await (const entries of lookBack<LedgerDelta>(tail, actor, await tail.head(actor))) {
    own = [...ownBatches(entries, wallet), ...own];
    complete = wanted.filter((channel) => isComplete(channel, own, since[channel] ?? 0, open));
    if (complete.length === wanted.length) break;
  }
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
  for (const batch of own) for (const out of fold.apply(batch)) missed.get(out.channel)?.push(out);
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

/** Returns true when the first missed batch and the acceptance of every order that must be described are present. */
function isComplete(
  channel: PrivateChannel,
  own: readonly Batch<WalletDelta>[],
  since: number,
  open: readonly OpenOrder[],
): boolean {
  const known = new Set(open.map(({ orderId }) => orderId));
  let first = Infinity;
  for (const delta of own.flatMap(({ deltas }) => deltas)) {
    switch (delta.type) {
      case "accepted":
        known.add(delta.order.orderId);
        break;
      case "order": {
        if (channel !== "orders") break;
        first = Math.min(first, delta.seq);
        const describesOrder = delta.kind !== "cancel" && delta.kind !== "reject";
        if (delta.seq > since && describesOrder && !known.has(delta.orderId)) return false;
        break;
      }
      case "position":
        if (channel === "positions") first = Math.min(first, delta.seq);
        break;
      default:
        unreachable(delta);
    }
  }
  return first <= since + 1;
}

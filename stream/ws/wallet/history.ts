/** What a wallet's private channels said before this process began to listen, from its ledger's own log. */

import { ledgerActor, type Batch } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { OpenOrder } from "../../../actors/ledger/types.js";
import type { Entry, Tail } from "../../log/ports.js";
import { lookBack } from "../look-back.js";
import type { Catalog, MarketIdentity } from "../ports.js";
import {
  PRIVATE_CHANNELS,
  type PrivateBatch,
  type PrivateChannel,
  type WalletDelta,
  walletDeltas,
  WalletFold,
} from "./fold.js";

/** Where a watcher left off; a channel that is absent is not asked for. */
export type PrivateSince = Partial<Readonly<Record<PrivateChannel, number | undefined>>>;
export type MissedBatches = ReadonlyMap<PrivateChannel, readonly PrivateBatch[]>;

export interface HistorySource {
  readonly tail: Tail;
  readonly catalog: Pick<Catalog, "market">;
}

/**
 * Every batch after the seqs of `since`, by channel; a channel of which some batch is gone is absent. `open` are orders
 * known to rest: what is told of an order needs to know what it was. Throws `Unavailable`.
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
  let published: readonly PrivateChannel[] = [];
  const wanted = PRIVATE_CHANNELS.filter((channel) => since[channel] !== undefined);
  await lookBack<LedgerDelta>(tail, actor, await tail.head(actor), (entries) => {
    own = ownBatches(entries, wallet);
    published = wanted.filter((channel) => isComplete(channel, own, since[channel] ?? 0, open));
    return published.length === wanted.length;
  });
  const markets = new Map<string, MarketIdentity>();
  for (const marketId of new Set(own.flatMap(({ deltas }) => deltas.map((delta) => delta.marketId)))) {
    const market = await catalog.market(marketId);
    if (market !== undefined) markets.set(marketId, market);
  }
  const from = (channel: PrivateChannel): number =>
    published.includes(channel) ? (since[channel] ?? Infinity) : Infinity;
  const fold = new WalletFold(markets, {
    orders: { seq: from("orders"), open },
    positions: { seq: from("positions"), positions: [] },
  });
  const recalled = new Map<PrivateChannel, PrivateBatch[]>(published.map((channel) => [channel, []]));
  for (const batch of own) for (const out of fold.apply(batch)) recalled.get(out.channel)?.push(out);
  return recalled;
}

function ownBatches(entries: readonly Entry<LedgerDelta>[], wallet: string): readonly Batch<WalletDelta>[] {
  return entries.flatMap(({ batches }) =>
    batches.flatMap(({ ts, deltas }) => {
      const own = walletDeltas(deltas, (id) => id === wallet).get(wallet);
      return own === undefined ? [] : [{ ts, deltas: own }];
    }),
  );
}

/** Whether the first missed batch is there, and the acceptance of every order that has to be described since. */
function isComplete(
  channel: PrivateChannel,
  own: readonly Batch<WalletDelta>[],
  since: number,
  open: readonly OpenOrder[],
): boolean {
  const known = new Set(open.map(({ orderId }) => orderId));
  let first = Infinity;
  for (const { deltas } of own) {
    for (const delta of deltas) {
      if (delta.type === "accepted") known.add(delta.order.orderId);
      else if (delta.type === "order" && channel === "orders") {
        first = Math.min(first, delta.seq);
        const described = delta.kind !== "cancel" && delta.kind !== "reject";
        if (delta.seq > since && described && !known.has(delta.orderId)) return false;
      } else if (delta.type === "position" && channel === "positions") first = Math.min(first, delta.seq);
    }
  }
  return first <= since + 1;
}

/** The text of answers to subscribe and snapshot (contract section 6), put together from prepared fragments. */

import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import { bitOf, type Channel, CHANNELS, channelsOf, type Mask, watches } from "./channels.js";
import type { Since } from "./protocol.js";
import type { Replica, Resumed } from "../market/replica.js";
import type { WalletFeed } from "../wallet/feed.js";
import type { PrivateBatch, PrivateChannel } from "../wallet/fold.js";
import type { WatchedWallet } from "../wallet/wallets.js";

/** A field of an answer and its JSON. */
export type Field = readonly [name: string, json: string];

/** An answer to `nonce` with the time it was made. */
export function reply(nonce: number, fields: readonly Field[]): string {
  const body = fields.map(([name, json]) => `,"${name}":${json}`).join("");
  return `{"ts":${Date.now()},"nonce":${nonce}${body}}`;
}

/** The markets' snapshots by id, less the channels that are resumed. */
export function snapshotField(
  markets: readonly { readonly replica: Replica; readonly mask: Mask; readonly resumed: Mask }[],
  currency: Currency,
): Field {
  const shown = markets
    .map(({ replica, mask, resumed }) => ({ replica, mask: mask & ~resumed }))
    .filter(({ mask }) => mask !== 0)
    .map(({ replica, mask }) => `"${replica.marketId}":${replica.market.snapshot(mask, currency)}`);
  return ["snapshot", `{${shown.join(",")}}`];
}

export function privateSnapshotFields(
  feed: WalletFeed | undefined,
  channels: readonly PrivateChannel[],
): Field[] {
  if (feed === undefined) return [];
  return channels.map((channel) => [channel, JSON.stringify(feed.snapshot(channel))]);
}

/** By channel, the batches that a watcher missed; a channel that cannot be resumed, or was not to be, is absent. */
export function missedPrivateBatches(
  wallet: WatchedWallet | undefined,
  channels: readonly PrivateChannel[],
  since: Since | undefined,
): ReadonlyMap<PrivateChannel, readonly PrivateBatch[]> {
  const replayed = new Map<PrivateChannel, readonly PrivateBatch[]>();
  for (const channel of channels) {
    const seq = since?.[channel];
    const missed = seq === undefined ? undefined : wallet?.missed(channel, seq);
    if (missed !== undefined) replayed.set(channel, missed);
  }
  return replayed;
}

/** Every channel of a set, whichever the currency. */
export function channelNames(mask: Mask): Channel[] {
  return CHANNELS.filter((channel) => CURRENCIES.some((currency) => (mask & bitOf(channel, currency)) !== 0));
}

/** `{ "market:<id>": [channels], "event:<id>": [channels], "PRIVATE": [channels] }`. */
export function subscribedField(
  markets: ReadonlyMap<string, Mask>,
  events: ReadonlyMap<string, Mask>,
  channels: readonly PrivateChannel[],
): Field {
  const subjects = {
    ...Object.fromEntries([...markets].map(([id, mask]) => [`market:${id}`, channelNames(mask)])),
    ...Object.fromEntries([...events].map(([id, mask]) => [`event:${id}`, channelNames(mask)])),
    ...(channels.length > 0 ? { PRIVATE: channels } : {}),
  };
  return ["subscribed", JSON.stringify(subjects)];
}

/** For each seq that was asked to resume from, whether it was; a channel that was not is in the snapshot. */
export function resumedField(
  since: Since,
  currency: Currency,
  markets: readonly { readonly replica: Replica; readonly resumed: Resumed | undefined }[],
  replayed: ReadonlySet<PrivateChannel>,
): Field {
  const outcome: Record<string, unknown> = {};
  for (const { replica, resumed } of markets) {
    const asked = since.markets.get(replica.marketId);
    if (asked === undefined) continue;
    const channels = CHANNELS.filter((channel) => asked[channel] !== undefined);
    outcome[`market:${replica.marketId}`] = Object.fromEntries(
      channels.map((channel) => [channel, ((resumed?.resumed ?? 0) & bitOf(channel, currency)) !== 0]),
    );
  }
  for (const channel of ["orders", "positions"] as const) {
    if (since[channel] !== undefined) outcome[channel] = replayed.has(channel);
  }
  return ["resumed", JSON.stringify(outcome)];
}

/** The subjects of one currency in the form of a selection. */
export function selectionOf(
  subjects: ReadonlyMap<string, Mask>,
  currency: Currency,
): Record<string, readonly Channel[]> {
  const belongs = (mask: Mask): boolean =>
    watches(mask, currency) || (currency === "CASH" && !watches(mask, "COIN"));
  return Object.fromEntries(
    [...subjects].filter(([, mask]) => belongs(mask)).map(([id, mask]) => [id, channelsOf(mask, currency)]),
  );
}

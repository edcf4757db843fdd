/**
 * Text of the answers to `subscribe` and `snapshot`, assembled from cached fragments (contract sections 6.3 and 6.6).
 */

import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import {
  bitOf,
  type Channel,
  CHANNELS,
  channelsOf,
  type Mask,
  PRIVATE_CHANNELS,
  type PrivateChannel,
  watches,
} from "../channels.js";
import { textFrame } from "./outbox.js";
import type { Since } from "./protocol.js";
import type { Pieces } from "../../services/long-work.js";
import type { Replica } from "../market/replica.js";
import type { Resumed } from "../market/resume.js";
import type { WalletFeed } from "../wallet/feed.js";
import type { PrivateBatch } from "../wallet/fold.js";
import type { MissedBatches, WatchedWallet } from "../wallet/wallets.js";

/** Name of a field of an answer, and its JSON. */
export type Field = readonly [name: string, json: string];

/** Returns the answer to `nonce`, with the current time. */
export function reply(nonce: number, fields: readonly Field[]): string {
  const body = fields.map(([name, json]) => `,"${name}":${json}`).join("");
  return `{"ts":${Date.now()},"nonce":${nonce}${body}}`;
}

/** Returns the snapshots by market id, without the channels that are resumed. */
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

/** Returns the snapshots of private channels. */
export function privateSnapshotFields(
  feed: WalletFeed | undefined,
  channels: readonly PrivateChannel[],
): Field[] {
  if (feed === undefined) return [];
  return channels.map((channel) => [channel, feed.snapshot(channel)]);
}

/** Returns the missed batches by channel, without the channels that cannot be resumed or were not requested. */
export function missedPrivateBatches(
  wallet: WatchedWallet | undefined,
  channels: readonly PrivateChannel[],
): ReadonlyMap<PrivateChannel, MissedBatches> {
  const replayed = new Map<PrivateChannel, MissedBatches>();
  for (const channel of channels) {
    const missed = wallet?.missed(channel);
    if (missed !== undefined) replayed.set(channel, missed);
  }
  return replayed;
}

/** Frames of private batches that some socket has resumed, as long as the batches are kept. */
const FRAMES = new WeakMap<PrivateBatch, Buffer>();
/** Frames that are encoded at once, which takes about 1 ms. */
const SLICE_FRAMES = 500;

/** Returns the frame of a private batch. */
export function privateFrame(batch: PrivateBatch): Buffer {
  const known = FRAMES.get(batch);
  if (known !== undefined) return known;
  const frame = textFrame(batch.frame);
  FRAMES.set(batch, frame);
  return frame;
}

/** Encodes the frames of private batches in pieces, so that `privateFrame` has them. */
export async function encodeInPieces(batches: readonly PrivateBatch[], pieces: Pieces): Promise<void> {
  for (let from = 0; from < batches.length; from += SLICE_FRAMES) {
    const slice = batches.slice(from, from + SLICE_FRAMES);
    await pieces.piece(() => {
      for (const batch of slice) privateFrame(batch);
    });
  }
}

/** Returns the channels of a mask in any currency. */
export function channelNames(mask: Mask): Channel[] {
  return CHANNELS.filter((channel) => CURRENCIES.some((currency) => (mask & bitOf(channel, currency)) !== 0));
}

/** Returns `{ "market:<id>": [channels], "event:<id>": [channels], "PRIVATE": [channels] }`. */
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

/** Returns for each seq of `since` whether its channel resumes from it; the snapshot has the other channels. */
export function resumedField(
  since: Since,
  currency: Currency,
  markets: readonly { readonly replica: Replica; readonly resumed: Resumed | undefined }[],
  replayed: ReadonlySet<PrivateChannel>,
): Field {
  const outcome: Record<string, unknown> = {};
  for (const { replica, resumed } of markets) {
    const seqs = since.markets.get(replica.marketId);
    if (seqs === undefined) continue;
    const channels = CHANNELS.filter((channel) => seqs[channel] !== undefined);
    outcome[`market:${replica.marketId}`] = Object.fromEntries(
      channels.map((channel) => [channel, ((resumed?.resumed ?? 0) & bitOf(channel, currency)) !== 0]),
    );
  }
  for (const channel of PRIVATE_CHANNELS) {
    if (since[channel] !== undefined) outcome[channel] = replayed.has(channel);
  }
  return ["resumed", JSON.stringify(outcome)];
}

/** Returns the subjects of one currency in the form of a selection. */
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

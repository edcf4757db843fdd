/**
 * Wire form of deltas on the stream (contract sections 6.7 to 6.9; specification, Websocket messages): outcomes by
 * uuid, prices and costs as decimal strings, and `currency` only on objects of the COIN book.
 */

import type { Batch } from "../../actors/actor.js";
import type { WalletOrderDelta, WalletPositionDelta } from "../../actors/ledger/deltas.js";
import type { OpenOrder, WalletPosition } from "../../actors/ledger/types.js";
import { channelOf, isPublic, type MarketDelta } from "../../actors/market/deltas.js";
import type { Currency } from "../../actors/market/types.js";
import { assert, formatMoney, formatPrice } from "../../actors/units.js";
import { bitOf, type Channel, LIFECYCLE, type Mask } from "./channels.js";
import { publicOnWire } from "./market/public-deltas.js";
import type { MarketIdentity } from "./ports.js";
import { unreachable } from "../../actors/unreachable.js";
import { currencyTag, outcomeId } from "./values.js";

/** One batch of one public channel, serialized once for all of its watchers. */
export interface ChannelBatch {
  readonly bit: Mask;
  readonly channel: Channel;
  readonly currency: Currency;
  readonly seq: number;
  /** `{ seq, deltas }`. */
  readonly json: string;
}

/** Public parts of the deltas of one command, one per channel and currency, with the engine time they share. */
export interface PublicBatch {
  readonly ts: number;
  readonly parts: readonly ChannelBatch[];
}

/** Serializes the public deltas of a batch of a market, one part per channel and currency that the batch touches. */
export function publicBatch(market: MarketIdentity, batch: Batch<MarketDelta>): PublicBatch {
  const byKey = new Map<string, { channel: Channel; currency: Currency; seq: number; deltas: string[] }>();
  for (const delta of batch.deltas) {
    if (!isPublic(delta)) continue;
    const { seq } = delta;
    const channel = channelOf(delta);
    const currency = "currency" in delta ? delta.currency : "CASH";
    const body = JSON.stringify(publicOnWire(market, delta, batch.ts));
    const key = `${channel} ${currency} ${seq}`;
    const part = byKey.get(key);
    if (part === undefined) byKey.set(key, { channel, currency, seq, deltas: [body] });
    else part.deltas.push(body);
  }
  const parts = [...byKey.values()].map(({ channel, currency, seq, deltas }) => {
    const coin = currency === "COIN" ? `,"currency":"COIN"` : "";
    const json = `{"seq":${seq}${coin},"deltas":[${deltas.join(",")}]}`;
    return {
      bit: channel === "lifecycle" ? LIFECYCLE : bitOf(channel, currency),
      channel,
      currency,
      seq,
      json,
    };
  });
  return { ts: batch.ts, parts };
}

/**
 * Returns the delta frames of a batch for watchers of `mask`, in most cases one. A frame carries one batch per channel,
 * so each currency gets its own frame, and so does the second of two lifecycle steps of one command.
 */
export function marketFrames(market: MarketIdentity, batch: PublicBatch, mask: Mask): string[] {
  const frames: ChannelBatch[][] = [];
  for (const part of batch.parts) {
    if ((part.bit & mask) === 0) continue;
    const excludes = (frame: readonly ChannelBatch[]): boolean =>
      frame.some(({ channel, currency }) => channel === part.channel || currency !== part.currency);
    const last = frames.findLastIndex(excludes);
    const frame = frames[last + 1] ?? [];
    if (frame.length === 0) frames.push(frame);
    frame.push(part);
  }
  return frames.map((parts) => {
    const channels = parts.map((part) => `"${part.channel}":${part.json}`).join(",");
    const body = `{"eventId":"${market.eventId}",${channels}}`;
    return `{"ts":${batch.ts},"delta":{"${market.marketId}":${body}}}`;
  });
}

/** Returns the wire form of an OpenOrder; its `qty` is the resting quantity. */
export function openOrderOnWire(market: MarketIdentity, order: OpenOrder): object {
  return {
    orderId: order.orderId,
    ...(order.clientId === undefined ? {} : { clientId: order.clientId }),
    marketId: order.marketId,
    outcomeId: outcomeId(market, order.outcome),
    price: formatPrice(order.price),
    qty: order.qty,
    tif: order.tif,
    ...(order.expiresAt === undefined ? {} : { expiresAt: order.expiresAt }),
    ...currencyTag(order.currency),
  };
}

/** Returns the wire form of a position: contracts held and their cost. Average entry price = 100 x cost / qty. */
export function positionOnWire(
  market: MarketIdentity,
  position: WalletPosition | WalletPositionDelta,
): object {
  return {
    marketId: position.marketId,
    outcomeId: outcomeId(market, position.outcome),
    qty: position.qty,
    cost: formatMoney(position.cost),
    ...currencyTag(position.currency),
  };
}

/**
 * Returns the wire form of a delta of the private orders channel; `order` is the order before the delta. An amendment
 * to a lower quantity is sent as `open` with the new quantity, because the specification has no kind for amendments
 * and `open` describes the order as it rests.
 */
export function orderOnWire(
  market: MarketIdentity,
  delta: WalletOrderDelta,
  order: OpenOrder | undefined,
): object {
  const { kind, orderId, marketId } = delta;
  switch (delta.kind) {
    case "open":
      assert(order !== undefined, `order ${orderId} opened but was never accepted`);
      return { kind: "open", ...openOrderOnWire(market, { ...order, qty: delta.qty }) };
    case "reduce":
      assert(order !== undefined, `order ${orderId} was amended but was never accepted`);
      return { kind: "open", ...openOrderOnWire(market, { ...order, qty: delta.remaining }) };
    case "fill":
      return {
        kind,
        orderId,
        ...(order?.clientId === undefined ? {} : { clientId: order.clientId }),
        marketId,
        outcomeId: outcomeId(market, delta.outcome),
        price: formatPrice(delta.price),
        qty: delta.qty,
        remaining: delta.remaining,
        fillId: delta.fillId,
        ...(delta.wash ? { wash: true } : {}),
        ...(order === undefined ? {} : currencyTag(order.currency)),
      };
    case "cancel":
      return { kind, orderId, marketId, ...(delta.reason === undefined ? {} : { reason: delta.reason }) };
    case "reject":
      return { kind, orderId, marketId, reason: delta.reason };
    default:
      return unreachable(delta);
  }
}

/** Frames of a trading market, prepared before the bench. */

import { marketActor } from "../../../actors/actor.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import { CHANNELS } from "../../../stream/ws/channels.js";
import { maskOf } from "../../../stream/ws/channels.js";
import type { MarketIdentity } from "../../../stream/ws/ports.js";
import { marketFrames, publicBatch } from "../../../stream/ws/wire.js";
import { MARKET_ID } from "../core/actor.js";
import { TradingMarket } from "./market.js";

/** Returns the frames of all channels for `count` commands, as JSON. */
export function recordFrames(identity: MarketIdentity, count: number): Buffer[] {
  const traded = new TradingMarket();
  const frames: Buffer[] = [];
  const mask = maskOf(CHANNELS, "CASH");
  traded.tail.follow<MarketDelta>(
    marketActor(MARKET_ID),
    0,
    (entries) => {
      for (const batch of entries.flatMap(({ batches }) => batches)) {
        const wire = publicBatch(identity, batch);
        frames.push(...marketFrames(identity, wire, mask).map((frame) => Buffer.from(frame)));
      }
    },
    () => undefined,
  );
  traded.trade(count, Date.now());
  return frames;
}

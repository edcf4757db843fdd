/** Faults that a client of a sandbox injects into its own socket to test itself (contract section 6.15). */

import type { BboDelta, BookDelta, MarketDelta } from "../../../actors/market/deltas.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import type { Mask } from "../channels.js";
import type { Outbox } from "./outbox.js";
import type { Fault } from "./protocol.js";
import type { PublicMarket } from "../market/public-market.js";
import { marketFrames, publicBatch } from "../wire.js";

/** A market that a socket watches, with the channels it watches. */
export interface WatchedChannels {
  readonly market: PublicMarket;
  readonly mask: Mask;
}

/**
 * Makes a socket lose frames, receive nothing for a time, or receive a storm of lifecycle changes. The seqs of a storm
 * are invented. The socket is therefore closed with 1012 after it, and a resume from such a seq gets a snapshot.
 */
export function injectFault(fault: Fault, outbox: Outbox, watched: Iterable<WatchedChannels>): void {
  if ("dropFrames" in fault) outbox.loseFrames(fault.dropFrames);
  else if ("stall" in fault) outbox.stall(fault.stall);
  else {
    for (const { market, mask } of watched) {
      for (const frame of stormFrames(market, mask, fault.goLiveStorm, Date.now())) outbox.send(frame);
    }
    outbox.close(1012, "the storm is over; reconnect for a snapshot");
  }
}

/** Returns frames of a market that goes live and back `times` times: its books empty and are restored each time. */
function stormFrames(market: PublicMarket, mask: Mask, times: number, ts: number): string[] {
  const frames: string[] = [];
  const addFrames = (deltas: readonly MarketDelta[]): void => {
    frames.push(...marketFrames(market.identity, publicBatch(market.identity, { ts, deltas }), mask));
  };
  for (let step = 1; step <= 2 * times; step += 1) {
    const live = step % 2 === 1;
    const seq = market.seq("lifecycle", "CASH") + step;
    const kind = live ? "GOLIVE" : "UNLIVE";
    const lifecycle: MarketDelta = { type: "lifecycle", seq, kind, status: market.status };
    addFrames([...CURRENCIES.flatMap((currency) => clearOrRestore(market, currency, step, live)), lifecycle]);
  }
  return frames;
}

/** Returns deltas that remove every order and best bid of a book, or add all of them, `step` batches from now. */
function clearOrRestore(
  market: PublicMarket,
  currency: (typeof CURRENCIES)[number],
  step: number,
  remove: boolean,
): MarketDelta[] {
  const { seq: last, orders } = market.book(currency);
  const book = orders.flatMap((ladder, outcome) =>
    ladder.map(({ orderId, price, qty }): BookDelta => {
      const head = { type: "book", seq: last + step, currency, orderId } as const;
      return remove
        ? { ...head, kind: "remove", reason: "cancel" }
        : { ...head, kind: "add", outcome, price, qty };
    }),
  );
  const seq = market.seq("bbo", currency) + step;
  const best = market
    .bbo(currency)
    .flatMap((bbo, outcome): BboDelta[] =>
      bbo === null ? [] : [{ type: "bbo", seq, currency, outcome, bbo: remove ? null : bbo }],
    );
  return [...book, ...best];
}

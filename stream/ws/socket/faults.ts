/** Faults that a client of a sandbox can order for its own socket, to see what it makes of them (contract section 6). */

import type { BboDelta, BookDelta, MarketDelta } from "../../../actors/market/deltas.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import type { Mask } from "./channels.js";
import type { Outbox } from "./outbox.js";
import type { Fault } from "./protocol.js";
import type { PublicMarket } from "../market/public-market.js";
import { marketFrames, publicBatch } from "../wire.js";

/** A market that a socket watches, by what it watches of it. */
export interface WatchedChannels {
  readonly market: PublicMarket;
  readonly mask: Mask;
}

/**
 * Lets a socket lose frames, hear nothing for a while, or go through a storm. A storm's seqs are made up: when it is
 * over the socket is closed with 1012, and what a client brings from it is not resumed from but answered by a snapshot.
 */
export function injectFault(fault: Fault, outbox: Outbox, watched: Iterable<WatchedChannels>): void {
  if ("dropFrames" in fault) outbox.loseFrames(fault.dropFrames);
  else if ("stall" in fault) outbox.stall(fault.stall);
  else {
    for (const { market, mask } of watched) {
      for (const frame of stormFrames(market, mask, fault.goLiveStorm, Date.now())) outbox.send(frame);
    }
    outbox.close(1012, "the storm is over; begin again");
  }
}

/** A market that goes in play and out of it again `times` over: books are emptied, and as they were. */
function stormFrames(market: PublicMarket, mask: Mask, times: number, ts: number): string[] {
  const frames: string[] = [];
  const say = (deltas: readonly MarketDelta[]): void => {
    frames.push(...marketFrames(market.identity, publicBatch(market.identity, { ts, deltas }), mask));
  };
  for (let step = 1; step <= 2 * times; step += 1) {
    const live = step % 2 === 1;
    const seq = market.seq("lifecycle", "CASH") + step;
    const kind = live ? "GOLIVE" : "UNLIVE";
    const turn: MarketDelta = { type: "lifecycle", seq, kind, status: market.status };
    say([...CURRENCIES.flatMap((currency) => clearOrRestore(market, currency, step, live)), turn]);
  }
  return frames;
}

/** Every order and best bid of a book taken away, or all of them put back, as a batch `step` batches from now. */
function clearOrRestore(
  market: PublicMarket,
  currency: (typeof CURRENCIES)[number],
  step: number,
  away: boolean,
): MarketDelta[] {
  const { seq: last, orders } = market.book(currency);
  const book = orders.flatMap((ladder, outcome) =>
    ladder.map(({ orderId, price, qty }): BookDelta => {
      const head = { type: "book", seq: last + step, currency, orderId } as const;
      return away
        ? { ...head, kind: "remove", reason: "cancel" }
        : { ...head, kind: "add", outcome, price, qty };
    }),
  );
  const seq = market.seq("bbo", currency) + step;
  const best = market
    .bbo(currency)
    .flatMap((bbo, outcome): BboDelta[] =>
      bbo === null ? [] : [{ type: "bbo", seq, currency, outcome, bbo: away ? null : bbo }],
    );
  return [...book, ...best];
}

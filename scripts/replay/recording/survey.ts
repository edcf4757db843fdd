/** Reads a whole recording before the first order: checks that it can be replayed, and adds up what that costs. */

import type { MarketDefinition } from "./recording.js";
import { UnusableRecording } from "./ladder.js";
import type { Segment } from "./waves.js";

export interface Survey {
  readonly definition: MarketDefinition;
  readonly messages: number;
  readonly waves: number;
  /** Largest quantity at one price. */
  readonly largestLevel: number;
  /** Highest cost of the resting bids of one outcome at any one time, in $0.00001. */
  readonly restingCost: number;
  /** Cost of all takes at their limit prices, in $0.00001. */
  readonly takenCost: number;
  /** Contracts of all takes. */
  readonly taken: number;
}

const INT32_MAX = 2_147_483_647;

/** Throws `UnusableRecording` for a file without a market, and for quantities that do not fit. */
export async function survey(segments: AsyncIterable<Segment>, scale: number): Promise<Survey> {
  let definition: MarketDefinition | undefined;
  let messages = 0;
  let waves = 0;
  let largestLevel = 0;
  let restingCost = 0;
  let takenCost = 0;
  let taken = 0;
  for await (const segment of segments) {
    if (segment.kind === "define") definition = segment.definition;
    if (segment.kind !== "wave") continue;
    messages += segment.messages;
    waves += 1;
    for (const bids of segment.target) {
      let cost = 0;
      for (const [tick, qty] of bids) {
        largestLevel = Math.max(largestLevel, qty);
        cost += tick * qty;
      }
      restingCost = Math.max(restingCost, cost);
    }
    for (const { tick, qty } of segment.takes) {
      takenCost += tick * qty;
      taken += qty;
    }
  }
  if (definition === undefined) throw new UnusableRecording("the file has no market definition");
  const largest = Math.max(largestLevel, taken);
  if (largest > INT32_MAX) {
    const fittingScale = (scale * INT32_MAX) / largest;
    throw new UnusableRecording(
      `${largest} contracts do not fit in int32; run it with --scale ${fittingScale.toPrecision(2)} or less`,
    );
  }
  return { definition, messages, waves, largestLevel, restingCost, takenCost, taken };
}

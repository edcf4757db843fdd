/** Reads a recording once through before anything is placed: whether it can be replayed, and what it will take. */

import type { MarketDefinition } from "./recording.js";
import { UnusableRecording } from "./ladder.js";
import type { Scene } from "./waves.js";

export interface Survey {
  readonly definition: MarketDefinition;
  readonly messages: number;
  readonly waves: number;
  /** The largest quantity at one price. */
  readonly largestLevel: number;
  /** The most that resting bids of one outcome cost at any one time, in $0.00001. */
  readonly restingCost: number;
  /** What all takes together cost at their limits, in $0.00001. */
  readonly takenCost: number;
  /** All contracts that takers take. */
  readonly taken: number;
}

const INT32_MAX = 2_147_483_647;

/** Throws `UnusableRecording` for a file without a market, and for quantities that do not fit. */
export async function survey(scenes: AsyncIterable<Scene>, scale: number): Promise<Survey> {
  let definition: MarketDefinition | undefined;
  let messages = 0;
  let waves = 0;
  let largestLevel = 0;
  let restingCost = 0;
  let takenCost = 0;
  let taken = 0;
  for await (const scene of scenes) {
    if (scene.kind === "define") definition = scene.definition;
    if (scene.kind !== "wave") continue;
    messages += scene.messages;
    waves += 1;
    for (const bids of scene.target) {
      let cost = 0;
      for (const [tick, qty] of bids) {
        largestLevel = Math.max(largestLevel, qty);
        cost += tick * qty;
      }
      restingCost = Math.max(restingCost, cost);
    }
    for (const { tick, qty } of scene.takes) {
      takenCost += tick * qty;
      taken += qty;
    }
  }
  if (definition === undefined) throw new UnusableRecording("the file has no market definition");
  const largest = Math.max(largestLevel, taken);
  if (largest > INT32_MAX) {
    const fitting = (scale * INT32_MAX) / largest;
    throw new UnusableRecording(
      `${largest} contracts do not fit in int32; run it with --scale ${fitting.toPrecision(2)} or less`,
    );
  }
  return { definition, messages, waves, largestLevel, restingCost, takenCost, taken };
}

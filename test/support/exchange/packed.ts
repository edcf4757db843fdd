/** Batches in the form of the log. */

import { isDeepStrictEqual } from "node:util";
import type { ActorId, Batch } from "../../../actors/actor.js";
import { packBatches, unpackBatches } from "../../../actors/packed/packed.js";
import { throughJson } from "./network.js";

type PackedBatches = ReturnType<typeof packBatches>;

/** Returns batches as a reader of one entry gets them. Checks that they are the same. */
export function allThroughLog(actor: ActorId, batches: readonly Batch<unknown>[]): Batch<unknown>[] {
  const packed = throughJson(packBatches(actor, batches)) as PackedBatches;
  const read = unpackBatches(actor, packed);
  if (!isDeepStrictEqual(throughJson(read), throughJson(batches)))
    throw new Error(`the packed batches of ${actor} differ: ${JSON.stringify({ batches, packed, read })}`);
  return read;
}

/** Returns a batch as a reader of an entry gets it. */
export function throughLog<Delta>(actor: ActorId, batch: Batch<Delta>): Batch<Delta> {
  const [read] = allThroughLog(actor, [batch]) as Batch<Delta>[];
  if (read === undefined) throw new Error("the batch is lost");
  return read;
}

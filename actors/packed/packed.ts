/** The packed form of the batches and answers of an actor, since format 3. */

import type { ActorId, Batch } from "../actor.js";
import type { LedgerReply } from "../ledger/commands.js";
import type { LedgerDelta } from "../ledger/deltas.js";
import type { MarketDelta } from "../market/deltas.js";
import { Fields } from "./fields.js";
import {
  packLedgerDelta,
  packLedgerReply,
  type PackedLedgerReply,
  type PackedLedgerDelta,
  unpackLedgerDelta,
  unpackLedgerReply,
} from "./ledger.js";
import { packMarketDelta, type PackedMarketDelta, unpackMarketDelta } from "./market.js";

/** A batch: its time after the batch before it, and its deltas. */
type PackedBatch = [afterMs: number, deltas: unknown[]];

const isLedger = (actor: ActorId): boolean => actor.startsWith("ledger:");

/** Packs the batches of one entry. */
export function packBatches(actor: ActorId, batches: readonly Batch<unknown>[]): PackedBatch[] {
  const fields = new Fields();
  const pack: (delta: unknown, ts: number) => unknown = isLedger(actor)
    ? (delta, ts) => packLedgerDelta(fields, delta as LedgerDelta, ts)
    : (delta, ts) => packMarketDelta(fields, delta as MarketDelta, ts);
  let last = 0;
  return batches.map(({ ts, deltas }) => {
    const afterMs = ts - last;
    last = ts;
    return [afterMs, deltas.map((delta) => pack(delta, ts))];
  });
}

export function unpackBatches(actor: ActorId, packed: readonly PackedBatch[]): Batch<unknown>[] {
  const fields = new Fields();
  const unpack: (delta: unknown, ts: number) => unknown = isLedger(actor)
    ? (delta, ts) => unpackLedgerDelta(fields, delta as PackedLedgerDelta, ts)
    : (delta, ts) => unpackMarketDelta(fields, delta as PackedMarketDelta, ts);
  let ts = 0;
  return packed.map(([afterMs, deltas]) => {
    ts += afterMs;
    return { ts, deltas: deltas.map((delta) => unpack(delta, ts)) };
  });
}

/** Packs an answer of an actor. */
export function packReply(actor: ActorId, reply: unknown): unknown {
  return isLedger(actor) && isReply(reply) ? packLedgerReply(reply as LedgerReply) : reply;
}

export function unpackReply(actor: ActorId, packed: unknown): unknown {
  return isLedger(actor) ? unpackLedgerReply(packed as PackedLedgerReply) : packed;
}

function isReply(reply: unknown): reply is object {
  return typeof reply === "object" && reply !== null;
}

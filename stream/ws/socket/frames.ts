/**
 * Shapes of all frames that the bridge sends (contract sections 6.6 to 6.11; specification, Websocket messages). The
 * bridge writes its frames as text, for speed. Tests check every frame against these shapes, and the AsyncAPI document
 * is built from them.
 */

import { z } from "zod";
import { PRIVATE_CHANNELS } from "../channels.js";
import { CHANNEL_DELTAS } from "../market/public-deltas.js";
import { channel, currency, id, level, nonce, price, qty, seq, status, ts } from "../values.js";
import { TIMES_IN_FORCE } from "../../../actors/market/time-in-force.js";
import { MONEY_TEXT } from "../../../actors/units.js";

/** A resting order (contract section 5.17). */
export const OpenOrder = z.strictObject({
  orderId: id,
  clientId: id.optional(),
  marketId: id,
  outcomeId: id,
  price,
  qty: qty.describe("Resting contracts."),
  tif: z.enum(TIMES_IN_FORCE),
  expiresAt: ts.optional(),
  currency,
});

const reason = z.string().regex(/^[A-Z_]+$/);
/** One delta of the private orders channel (contract section 6.9). */
export const OrdersDelta = z.discriminatedUnion("kind", [
  OpenOrder.extend({ kind: z.literal("open") }),
  z.strictObject({
    kind: z.literal("fill"),
    orderId: id,
    clientId: id.optional(),
    marketId: id,
    outcomeId: id,
    price: z
      .string()
      .regex(/^(0\.\d{3}|1\.000)$/)
      .describe("Price that this side pays for a contract, without fees."),
    qty,
    remaining: qty,
    fillId: id,
    wash: z.literal(true).optional(),
    currency,
  }),
  z.strictObject({
    kind: z.literal("cancel"),
    orderId: id,
    marketId: id,
    reason: reason
      .optional()
      .describe("Absent when the owner or an operator canceled the order, or when it expired."),
  }),
  z.strictObject({ kind: z.literal("reject"), orderId: id, marketId: id, reason }),
]);

/** A position, which is also the delta of the private positions channel (contract section 6.9). */
export const Position = z.strictObject({
  marketId: id,
  outcomeId: id,
  qty,
  cost: z
    .string()
    .regex(MONEY_TEXT)
    .describe("Net dollars paid. The average entry price is 100 x cost / qty."),
  currency,
});

function batchOf<Delta extends z.ZodType>(delta: Delta) {
  return z.strictObject({ seq: seq.min(1), currency, deltas: z.array(delta).min(1) });
}

/** One batch of the private orders channel. */
export const OrdersBatch = batchOf(OrdersDelta);
/** One batch of the private positions channel. */
export const PositionsBatch = batchOf(Position);
/** Public batches of one market, at most one per channel. */
export const MarketBatches = z.strictObject({
  eventId: id,
  lifecycle: batchOf(CHANNEL_DELTAS.lifecycle).optional(),
  trades: batchOf(CHANNEL_DELTAS.trades).optional(),
  bbo: batchOf(CHANNEL_DELTAS.bbo).optional(),
  book: batchOf(CHANNEL_DELTAS.book).optional(),
});

/** A frame with deltas of markets or of private channels (contract section 6.7). */
export const Delta = z.strictObject({
  ts,
  delta: z.record(id, MarketBatches).describe("Batches by market id."),
  orders: OrdersBatch.optional(),
  positions: PositionsBatch.optional(),
});

/** Snapshot of a market, by watched channels (contract section 6.6). */
export const MarketSnapshot = z.strictObject({
  eventId: id,
  lifecycle: z.strictObject({ seq, status }).optional(),
  trades: z
    .strictObject({
      seq,
      currency,
      trades: z.array(batchOf(CHANNEL_DELTAS.trades)).max(50).describe("The last batches of trades."),
    })
    .optional(),
  bbo: z
    .strictObject({
      seq,
      currency,
      bbo: z.record(id, level.nullable()).describe("Best resting bid by outcome id."),
    })
    .optional(),
  book: z
    .strictObject({
      seq,
      currency,
      orders: z
        .record(id, z.array(z.strictObject({ orderId: id, price, qty, currency })))
        .describe(
          "Resting orders by outcome id, outcomes in market order; best price first, then queue order.",
        ),
    })
    .optional(),
});

const state = {
  snapshot: z
    .record(id, MarketSnapshot)
    .describe("Snapshots by market id, without the channels that are resumed."),
  orders: z.strictObject({ seq, open: z.array(OpenOrder) }).optional(),
  positions: z.strictObject({ seq, positions: z.array(Position) }).optional(),
};
const subjects = z.record(z.string().regex(/^(?:(?:market|event):.+|PRIVATE)$/), z.array(z.string()));

/** Answer to `snapshot`. */
export const Snapshot = z.strictObject({ ts, nonce, ...state });
/** Answer to `subscribe` (contract section 6.10 for `resumed`). */
export const Subscribed = z.strictObject({
  ts,
  nonce,
  subscribed: subjects.describe("Channels by subject."),
  ...state,
  resumed: z
    .record(z.string(), z.union([z.boolean(), z.partialRecord(channel, z.boolean())]))
    .optional()
    .describe(
      "For each seq of `since`: true when the channel resumes from it, false when the snapshot has it.",
    ),
});
/** Snapshot of a market that opened in a watched event and whose first deltas are no longer available. */
export const Appeared = z.strictObject({ ts, snapshot: state.snapshot });

const seqs = z.strictObject({
  lifecycle: seq.optional(),
  trades: seq.optional(),
  bbo: seq.optional(),
  book: seq.optional(),
  checksum: z
    .int()
    .min(0)
    .optional()
    .describe("CRC-32 of `orderId:price:qty` joined by `|`: outcomes in market order, then queue order."),
});
/** A heartbeat (contract section 6.11). */
export const Heartbeat = z.strictObject({
  heartbeat: z.strictObject({
    ts,
    currency,
    orders: seq.optional(),
    positions: seq.optional(),
    markets: z.record(id, seqs).describe("Last seq of every watched channel, by market id."),
  }),
});

const watched = z.record(id, z.array(channel));
/** Answer to `unsubscribe`. */
export const Unsubscribed = z.strictObject({ nonce, unsubscribed: subjects });
/** Answer to `status`. */
export const Status = z.strictObject({
  nonce,
  status: z.strictObject({
    selection: z.strictObject({
      markets: watched,
      events: watched,
      private: z.array(z.enum(PRIVATE_CHANNELS)),
    }),
    coin: z.strictObject({ markets: watched, events: watched, currency: z.literal("COIN") }).optional(),
    watchedMarkets: z.int().min(0),
    maxWatchedMarkets: z.int(),
    tokens: z.int().describe("Tokens left in the stream bucket of the key."),
  }),
});
const page = z.strictObject({
  items: z.array(z.unknown()),
  next: z.string().optional(),
  asOf: z.int().nullable().describe("Time up to which the page is complete, in Unix ms; null while unknown."),
});
/** Answer to `query_markets`. */
export const Markets = z.strictObject({
  nonce,
  markets: page.describe("A page as of GET /v3/catalog/markets."),
});
/** Answer to `query_events`. */
export const Events = z.strictObject({
  nonce,
  events: page.describe("A page as of GET /v3/catalog/events."),
});

const accepted = z.strictObject({ orderId: id, clientId: id.optional() });
const rejected = z.strictObject({
  index: z.int().min(0).describe("Zero-based position of the order in the request."),
  outcomeId: z.string(),
  reason: z.string().describe("Text for people; it may change."),
});
/** Answer to `place` when every order was accepted. */
export const Placed = z.strictObject({ nonce, placed: z.array(accepted) });
/** Answer to `cancel`. */
export const Canceled = z.strictObject({
  nonce,
  canceled: z.strictObject({
    canceled: z.array(id),
    notCanceled: z.array(
      z.strictObject({ orderId: id, reason: z.enum(["FILLED", "CANCELED", "NOT_FOUND"]) }),
    ),
  }),
});
/** Answer to `cancel_all`. */
export const CanceledAll = z.strictObject({
  nonce,
  canceled_all: z.int().min(0).describe("Number of cancels that were queued."),
});
/** Answer to `safety`. */
export const SafetySet = z.strictObject({
  nonce,
  safety: z.strictObject({ cancelOnDisconnect: z.boolean() }),
});
/** Answer to `fault`. */
export const FaultSet = z.strictObject({ nonce, fault: z.record(z.string(), z.number()) });

/** A refusal. It has no nonce when none could be read, and `accepted` and `rejected` for a refused batch. */
export const ErrorFrame = z.strictObject({
  nonce: nonce.optional(),
  code: z.string().regex(/^[A-Z_]+$/),
  message: z.string(),
  accepted: z.array(accepted).optional(),
  rejected: z.array(rejected).optional(),
});

/** Any frame that the bridge sends. */
export const Frame = z.union([
  Delta,
  Heartbeat,
  Subscribed,
  Snapshot,
  Appeared,
  Unsubscribed,
  Status,
  Markets,
  Events,
  Placed,
  Canceled,
  CanceledAll,
  SafetySet,
  FaultSet,
  ErrorFrame,
]);

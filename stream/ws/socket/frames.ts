/**
 * Everything a socket is sent, as shapes (contract section 6; the delta table of the specification). The bridge writes
 * its frames by hand, for speed; tests hold each one against these, and the AsyncAPI document is made of them.
 */

import { z } from "zod";
import type { CHANNELS } from "./channels.js";

const id = z.uuid();
const seq = z
  .int()
  .min(0)
  .describe("Place of the batch in its stream: one more than that of the batch before.");
const ts = z.int().min(0).describe("Unix ms.");
const price = z
  .string()
  .regex(/^0\.\d{3}$/)
  .describe("Probability, three decimals.");
const qty = z.int().min(0).describe("Contracts.");
const nonce = z.int().min(1).describe("That of the request which this answers.");
const currency = z.literal("COIN").optional().describe("Absent in the CASH book.");
const level = z.strictObject({ price, qty, currency });
const channel = z.enum(["lifecycle", "trades", "bbo", "book"] satisfies typeof CHANNELS);
const status = z.enum(["OPEN", "CLOSED", "SETTLED"]);

export const LifecycleDelta = z.strictObject({
  kind: z.enum([
    "OPEN",
    "CLOSE",
    "GRADE",
    "REMEDIATE",
    "START",
    "END",
    "GOLIVE",
    "UNLIVE",
    "PAUSE",
    "RESUME",
  ]),
  status: status.describe("After it."),
});

export const TradeDelta = z.strictObject({
  tradeId: id,
  matchId: id.describe("The prints of one match share it."),
  outcomeId: id,
  price,
  qty,
  ts,
  currency,
});

export const BboDelta = z.strictObject({
  outcomeId: id,
  bbo: z.strictObject({ price, qty }).nullable().describe("The best resting bid; null: there is none."),
  currency,
});

export const BookDelta = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("add"), orderId: id, outcomeId: id, price, qty, currency }),
  z.strictObject({ kind: z.literal("update"), orderId: id, remaining: qty, currency }),
  z.strictObject({ kind: z.literal("remove"), orderId: id, reason: z.enum(["fill", "cancel"]), currency }),
]);

export const OpenOrder = z.strictObject({
  orderId: id,
  clientId: id.optional(),
  marketId: id,
  outcomeId: id,
  price,
  qty: qty.describe("What rests."),
  tif: z.enum(["GTC", "GTT", "IOC", "FOK", "PO"]),
  expiresAt: ts.optional(),
  currency,
});

const reason = z.string().regex(/^[A-Z_]+$/);
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
      .describe("What this side pays, fees aside."),
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
    reason: reason.optional().describe("Absent for the owner's cancel, an expiry, an operator's cancel."),
  }),
  z.strictObject({ kind: z.literal("reject"), orderId: id, marketId: id, reason }),
]);

export const Position = z.strictObject({
  marketId: id,
  outcomeId: id,
  qty,
  cost: z
    .string()
    .regex(/^-?\d+\.\d{5}$/)
    .describe("Net dollars paid; the average entry price is 100 x cost / qty."),
  currency,
});

function batchOf<Delta extends z.ZodType>(delta: Delta) {
  return z.strictObject({ seq: seq.min(1), currency, deltas: z.array(delta).min(1) });
}

export const OrdersBatch = batchOf(OrdersDelta);
export const PositionsBatch = batchOf(Position);
export const MarketBatches = z.strictObject({
  eventId: id,
  lifecycle: batchOf(LifecycleDelta).optional(),
  trades: batchOf(TradeDelta).optional(),
  bbo: batchOf(BboDelta).optional(),
  book: batchOf(BookDelta).optional(),
});

export const Delta = z.strictObject({
  ts,
  delta: z.record(id, MarketBatches).describe("By market."),
  orders: OrdersBatch.optional(),
  positions: PositionsBatch.optional(),
});

export const MarketSnapshot = z.strictObject({
  eventId: id,
  lifecycle: z.strictObject({ seq, status }).optional(),
  trades: z
    .strictObject({
      seq,
      currency,
      trades: z.array(batchOf(TradeDelta)).max(50).describe("The last batches."),
    })
    .optional(),
  bbo: z
    .strictObject({ seq, currency, bbo: z.record(id, level.nullable()).describe("By outcome.") })
    .optional(),
  book: z
    .strictObject({
      seq,
      currency,
      orders: z
        .record(id, z.array(z.strictObject({ orderId: id, price, qty, currency })))
        .describe("By outcome, in market order: best first, then queue order."),
    })
    .optional(),
});

const state = {
  snapshot: z.record(id, MarketSnapshot).describe("By market, less what is resumed."),
  orders: z.strictObject({ seq, open: z.array(OpenOrder) }).optional(),
  positions: z.strictObject({ seq, positions: z.array(Position) }).optional(),
};
const subjects = z.record(z.string().regex(/^(?:(?:market|event):.+|PRIVATE)$/), z.array(z.string()));

export const Snapshot = z.strictObject({ ts, nonce, ...state });
export const Subscribed = z.strictObject({
  ts,
  nonce,
  subscribed: subjects.describe("Subjects and their channels."),
  ...state,
  resumed: z
    .record(z.string(), z.union([z.boolean(), z.partialRecord(channel, z.boolean())]))
    .optional()
    .describe("For each seq of `since`: whether it goes on from there; else it is in the snapshot."),
});
/** A market of a watched event that opened and could not be told from its first delta on. */
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
    .describe("CRC-32 of `orderId:price:qty` joined by `|`, outcomes in market order, queue order."),
});
export const Heartbeat = z.strictObject({
  heartbeat: z.strictObject({
    ts,
    currency,
    orders: seq.optional(),
    positions: seq.optional(),
    markets: z.record(id, seqs).describe("The last seq of everything watched."),
  }),
});

const watched = z.record(id, z.array(channel));
export const Unsubscribed = z.strictObject({ nonce, unsubscribed: subjects });
export const Status = z.strictObject({
  nonce,
  status: z.strictObject({
    selection: z.strictObject({
      markets: watched,
      events: watched,
      private: z.array(z.enum(["orders", "positions"])),
    }),
    coin: z.strictObject({ markets: watched, events: watched, currency: z.literal("COIN") }).optional(),
    watchedMarkets: z.int().min(0),
    maxWatchedMarkets: z.int(),
    tokens: z.int().describe("Left in the stream bucket of the key."),
  }),
});
const page = z.strictObject({ items: z.array(z.unknown()), next: z.string().optional() });
export const Markets = z.strictObject({ nonce, markets: page.describe("As GET /v3/catalog/markets.") });
export const Events = z.strictObject({ nonce, events: page.describe("As GET /v3/catalog/events.") });

const accepted = z.strictObject({ orderId: id, clientId: id.optional() });
const rejected = z.strictObject({
  index: z.int().min(0).describe("Place in the request."),
  outcomeId: z.string(),
  reason: z.string().describe("For people."),
});
export const Placed = z.strictObject({ nonce, placed: z.array(accepted) });
export const Canceled = z.strictObject({
  nonce,
  canceled: z.strictObject({
    canceled: z.array(id),
    notCanceled: z.array(
      z.strictObject({ orderId: id, reason: z.enum(["FILLED", "CANCELED", "NOT_FOUND"]) }),
    ),
  }),
});
export const CanceledAll = z.strictObject({
  nonce,
  canceled_all: z.int().min(0).describe("Cancels queued."),
});
export const SafetySet = z.strictObject({
  nonce,
  safety: z.strictObject({ cancelOnDisconnect: z.boolean() }),
});
export const FaultSet = z.strictObject({ nonce, fault: z.record(z.string(), z.number()) });

export const ErrorFrame = z.strictObject({
  nonce: nonce.optional(),
  code: z.string().regex(/^[A-Z_]+$/),
  message: z.string(),
  accepted: z.array(accepted).optional(),
  rejected: z.array(rejected).optional(),
});

/** Any frame. */
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

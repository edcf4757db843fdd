/** The packed form of the deltas of a market: the frequent kinds as tuples, and all others as they are. */

import type { BookDelta, MarketDelta, OrderDelta } from "../market/deltas.js";
import type { CancelReason, Currency, RejectReason } from "../market/types.js";
import type { Contracts, Millicents, Ticks } from "../units.js";
import { unreachable } from "../unreachable.js";
import {
  type AllOf,
  type Fields,
  packFill,
  type PackedFill,
  type PackedOrder,
  type PackedText,
  packOptional,
  packOrder,
  unpackFill,
  unpackOptional,
  unpackOrder,
} from "./fields.js";

type Of<Type extends MarketDelta["type"]> = Extract<MarketDelta, { type: Type }>;
type OrderOf<Kind extends OrderDelta["kind"]> = Extract<OrderDelta, { kind: Kind }>;
type BookOf<Kind extends BookDelta["kind"]> = Extract<BookDelta, { kind: Kind }>;

type Channel = [seq: number, currency: PackedText<Currency>];
type Owner = [wallet: PackedText, ledger: number];

type Tuple =
  | ["hold", order: PackedOrder, holdMs: number]
  | ["open", order: PackedOrder, qty: Contracts]
  | ["fill", orderId: PackedText, ...Owner, currency: PackedText<Currency>, facts: PackedFill]
  | ["cancel", orderId: PackedText, ...Owner, remaining: Contracts, reason: PackedText<CancelReason>]
  | ["reject", orderId: PackedText, ...Owner, reason: RejectReason]
  | ["add", ...Channel, orderId: PackedText, outcome: number, price: Ticks, qty: Contracts]
  | ["update", ...Channel, orderId: PackedText, remaining: Contracts]
  | ["remove", ...Channel, orderId: PackedText, reason: BookOf<"remove">["reason"]]
  | ["bbo", ...Channel, outcome: number, price: Ticks, qty: Contracts]
  | ["nobbo", ...Channel, outcome: number]
  | ["trade", ...Channel, tradeId: string, matchId: PackedText, outcome: number, price: Ticks, qty: Contracts]
  | ["match", currency: PackedText<Currency>, outcome: number, price: Ticks, qty: Contracts]
  | ["position", ...Owner, currency: PackedText<Currency>, outcome: number, qty: Contracts, cost: Millicents]
  | ["locked", ...Owner, currency: PackedText<Currency>, win: Millicents, push: Millicents];

export type PackedMarketDelta = Tuple | MarketDelta;

/** Packs a delta of a batch at `ts`. */
export function packMarketDelta(fields: Fields, delta: MarketDelta, ts: number): PackedMarketDelta {
  switch (delta.type) {
    case "order":
      return packOrderDelta(fields, delta, ts);
    case "book":
      return packBookDelta(fields, delta);
    case "bbo": {
      const { seq, outcome, bbo } = delta;
      const currency = fields.currency.pack(delta.currency);
      if (bbo === null) return ["nobbo", seq, currency, outcome];
      return ["bbo", seq, currency, outcome, bbo.price, bbo.qty];
    }
    case "trade": {
      const { seq, tradeId, outcome, price, qty } = delta;
      const [currency, matchId] = [fields.currency.pack(delta.currency), fields.match.pack(delta.matchId)];
      return ["trade", seq, currency, tradeId, matchId, outcome, price, qty];
    }
    case "match":
      return ["match", fields.currency.pack(delta.currency), delta.outcome, delta.price, delta.qty];
    case "position": {
      const { ledger, outcome, qty, cost } = delta;
      const [wallet, currency] = [fields.wallet.pack(delta.wallet), fields.currency.pack(delta.currency)];
      return ["position", wallet, ledger, currency, outcome, qty, cost];
    }
    case "locked": {
      const { ledger, win, push } = delta;
      const [wallet, currency] = [fields.wallet.pack(delta.wallet), fields.currency.pack(delta.currency)];
      return ["locked", wallet, ledger, currency, win, push];
    }
    default:
      return delta;
  }
}

function packOrderDelta(fields: Fields, delta: OrderDelta, ts: number): PackedMarketDelta {
  switch (delta.kind) {
    case "hold":
      return ["hold", packOrder(fields, delta.order, ts), delta.untilMs - ts];
    case "open":
      return ["open", packOrder(fields, delta.order, ts), delta.qty];
    case "fill": {
      const [orderId, wallet] = [fields.order.pack(delta.orderId), fields.wallet.pack(delta.wallet)];
      const currency = fields.currency.pack(delta.currency);
      return ["fill", orderId, wallet, delta.ledger, currency, packFill(fields, delta)];
    }
    case "cancel": {
      const [orderId, wallet] = [fields.order.pack(delta.orderId), fields.wallet.pack(delta.wallet)];
      return ["cancel", orderId, wallet, delta.ledger, delta.remaining, packOptional(delta.reason)];
    }
    case "reject": {
      const [orderId, wallet] = [fields.order.pack(delta.orderId), fields.wallet.pack(delta.wallet)];
      return ["reject", orderId, wallet, delta.ledger, delta.reason];
    }
    case "reduce":
      return delta;
    default:
      return unreachable(delta);
  }
}

function packBookDelta(fields: Fields, delta: BookDelta): PackedMarketDelta {
  const { seq } = delta;
  const [currency, orderId] = [fields.currency.pack(delta.currency), fields.order.pack(delta.orderId)];
  switch (delta.kind) {
    case "add":
      return ["add", seq, currency, orderId, delta.outcome, delta.price, delta.qty];
    case "update":
      return ["update", seq, currency, orderId, delta.remaining];
    case "remove":
      return ["remove", seq, currency, orderId, delta.reason];
    default:
      return unreachable(delta);
  }
}

export function unpackMarketDelta(fields: Fields, packed: PackedMarketDelta, ts: number): MarketDelta {
  return Array.isArray(packed) ? unpackTuple(fields, packed, ts) : packed;
}

function unpackTuple(fields: Fields, packed: Tuple, ts: number): MarketDelta {
  switch (packed[0]) {
    case "hold": {
      const order = unpackOrder(fields, packed[1], ts);
      return { type: "order", kind: "hold", order, untilMs: ts + packed[2] } satisfies AllOf<OrderOf<"hold">>;
    }
    case "open": {
      const order = unpackOrder(fields, packed[1], ts);
      return { type: "order", kind: "open", order, qty: packed[2] } satisfies AllOf<OrderOf<"open">>;
    }
    case "fill": {
      const [, orderId, wallet, ledger, currency, facts] = packed;
      return {
        type: "order",
        kind: "fill",
        orderId: fields.order.unpack(orderId),
        wallet: fields.wallet.unpack(wallet),
        ledger,
        currency: fields.currency.unpack(currency),
        ...unpackFill(fields, facts),
      } satisfies AllOf<OrderOf<"fill">>;
    }
    case "cancel": {
      const [, orderId, wallet, ledger, remaining, reason] = packed;
      return {
        type: "order",
        kind: "cancel",
        orderId: fields.order.unpack(orderId),
        wallet: fields.wallet.unpack(wallet),
        ledger,
        remaining,
        reason: unpackOptional(reason),
      } satisfies AllOf<OrderOf<"cancel">>;
    }
    case "reject": {
      const [, orderId, wallet, ledger, reason] = packed;
      return {
        type: "order",
        kind: "reject",
        orderId: fields.order.unpack(orderId),
        wallet: fields.wallet.unpack(wallet),
        ledger,
        reason,
      } satisfies AllOf<OrderOf<"reject">>;
    }
    case "add": {
      const [, seq, currency, orderId, outcome, price, qty] = packed;
      return {
        type: "book",
        seq,
        currency: fields.currency.unpack(currency),
        kind: "add",
        orderId: fields.order.unpack(orderId),
        outcome,
        price,
        qty,
      } satisfies AllOf<BookOf<"add">>;
    }
    case "update": {
      const [, seq, currency, orderId, remaining] = packed;
      return {
        type: "book",
        seq,
        currency: fields.currency.unpack(currency),
        kind: "update",
        orderId: fields.order.unpack(orderId),
        remaining,
      } satisfies AllOf<BookOf<"update">>;
    }
    case "remove": {
      const [, seq, currency, orderId, reason] = packed;
      return {
        type: "book",
        seq,
        currency: fields.currency.unpack(currency),
        kind: "remove",
        orderId: fields.order.unpack(orderId),
        reason,
      } satisfies AllOf<BookOf<"remove">>;
    }
    case "bbo": {
      const [, seq, currency, outcome, price, qty] = packed;
      const bbo = { price, qty };
      return {
        type: "bbo",
        seq,
        currency: fields.currency.unpack(currency),
        outcome,
        bbo,
      } satisfies AllOf<Of<"bbo">>;
    }
    case "nobbo": {
      const [, seq, currency, outcome] = packed;
      return {
        type: "bbo",
        seq,
        currency: fields.currency.unpack(currency),
        outcome,
        bbo: null,
      } satisfies AllOf<Of<"bbo">>;
    }
    case "trade": {
      const [, seq, currency, tradeId, matchId, outcome, price, qty] = packed;
      return {
        type: "trade",
        seq,
        currency: fields.currency.unpack(currency),
        tradeId,
        matchId: fields.match.unpack(matchId),
        outcome,
        price,
        qty,
      } satisfies AllOf<Of<"trade">>;
    }
    case "match": {
      const [, currency, outcome, price, qty] = packed;
      return {
        type: "match",
        currency: fields.currency.unpack(currency),
        outcome,
        price,
        qty,
      } satisfies AllOf<Of<"match">>;
    }
    case "position": {
      const [, wallet, ledger, currency, outcome, qty, cost] = packed;
      return {
        type: "position",
        wallet: fields.wallet.unpack(wallet),
        ledger,
        currency: fields.currency.unpack(currency),
        outcome,
        qty,
        cost,
      } satisfies AllOf<Of<"position">>;
    }
    case "locked": {
      const [, wallet, ledger, currency, win, push] = packed;
      return {
        type: "locked",
        wallet: fields.wallet.unpack(wallet),
        ledger,
        currency: fields.currency.unpack(currency),
        win,
        push,
      } satisfies AllOf<Of<"locked">>;
    }
    default:
      return unreachable(packed);
  }
}

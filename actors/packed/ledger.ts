/** The packed form of the deltas of a ledger: the frequent kinds as tuples, and all others as they are. */

import type { LedgerReply, OwnAnswers, PlaceResult } from "../ledger/commands.js";
import type { AcceptedDelta, CancelingDelta, Counterparty, LedgerDelta } from "../ledger/deltas.js";
import type { WalletOrderDelta, WalletPositionDelta } from "../ledger/deltas.js";
import type { TransactionKind } from "../ledger/types.js";
import type { CancelReason, Currency, RejectReason, Voids } from "../market/types.js";
import type { Contracts, Millicents } from "../units.js";
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

type Of<Type extends LedgerDelta["type"]> = Extract<LedgerDelta, { type: Type }>;
type OrderOf<Kind extends WalletOrderDelta["kind"]> = Extract<WalletOrderDelta, { kind: Kind }>;

/** An order on the private channel of its wallet. */
type Place = [wallet: PackedText, seq: number, marketId: PackedText, orderId: PackedText];

type Tuple =
  | [
      "accepted",
      wallet: PackedText,
      marketId: PackedText,
      order: PackedOrder,
      outcomes: number,
      voids: PackedText<Voids>,
      clientId: PackedText,
      digest: PackedText,
      groupId: PackedText,
      replaces: [orderId: string, remaining: Contracts] | 0,
    ]
  | [
      "canceling",
      wallet: PackedText,
      marketId: PackedText,
      orderIds: readonly string[],
      reason: PackedText<NonNullable<CancelingDelta["reason"]>>,
    ]
  | ["open", ...Place, qty: Contracts]
  | ["fill", ...Place, facts: PackedFill]
  | ["cancel", ...Place, remaining: Contracts, reason: PackedText<CancelReason>]
  | ["reject", ...Place, reason: RejectReason]
  | [
      "position",
      wallet: PackedText,
      seq: number,
      marketId: PackedText,
      currency: PackedText<Currency>,
      outcome: number,
      qty: Contracts,
      cost: Millicents,
    ]
  | [
      "entry",
      transactionId: string,
      wallet: PackedText,
      counterparty: PackedText<Counterparty>,
      kind: PackedText<TransactionKind>,
      currency: PackedText<Currency>,
      amount: Millicents,
      ref: PackedText,
      clientRef: PackedText,
    ]
  | ["balance", wallet: PackedText, currency: PackedText<Currency>, total: Millicents, reserved: Millicents];

export type PackedLedgerDelta = Tuple | LedgerDelta;

/** Packs a delta of a batch at `ts`. */
export function packLedgerDelta(fields: Fields, delta: LedgerDelta, ts: number): PackedLedgerDelta {
  switch (delta.type) {
    case "accepted":
      return packAccepted(fields, delta, ts);
    case "canceling": {
      const [wallet, marketId] = [fields.wallet.pack(delta.wallet), fields.market.pack(delta.marketId)];
      return ["canceling", wallet, marketId, delta.orderIds, packOptional(delta.reason)];
    }
    case "order":
      return packOrderDelta(fields, delta);
    case "position":
      return packPosition(fields, delta);
    case "entry": {
      const { transactionId, amount, ref, clientRef } = delta;
      return [
        "entry",
        transactionId,
        fields.wallet.pack(delta.wallet),
        fields.counterparty.pack(delta.counterparty),
        fields.kind.pack(delta.kind),
        fields.currency.pack(delta.currency),
        amount,
        fields.fill.pack(ref),
        packOptional(clientRef),
      ];
    }
    case "balance": {
      const { total, reserved } = delta;
      const [wallet, currency] = [fields.wallet.pack(delta.wallet), fields.currency.pack(delta.currency)];
      return ["balance", wallet, currency, total, reserved];
    }
    default:
      return delta;
  }
}

function packAccepted(fields: Fields, delta: AcceptedDelta, ts: number): PackedLedgerDelta {
  const { order, outcomes, clientId, digest, groupId, replaces } = delta;
  return [
    "accepted",
    fields.wallet.pack(delta.wallet),
    fields.market.pack(delta.marketId),
    packOrder(fields, order, ts),
    outcomes,
    fields.voids.pack(delta.voids),
    packOptional(clientId),
    packOptional(digest),
    packOptional(groupId),
    replaces === undefined ? 0 : [replaces.orderId, replaces.remaining],
  ];
}

function packOrderDelta(fields: Fields, delta: WalletOrderDelta): PackedLedgerDelta {
  if (delta.kind === "reduce") return delta;
  const { seq } = delta;
  const wallet = fields.wallet.pack(delta.wallet);
  const marketId = fields.market.pack(delta.marketId);
  const orderId = fields.order.pack(delta.orderId);
  switch (delta.kind) {
    case "open":
      return ["open", wallet, seq, marketId, orderId, delta.qty];
    case "fill":
      return ["fill", wallet, seq, marketId, orderId, packFill(fields, delta)];
    case "cancel":
      return ["cancel", wallet, seq, marketId, orderId, delta.remaining, packOptional(delta.reason)];
    case "reject":
      return ["reject", wallet, seq, marketId, orderId, delta.reason];
    default:
      return unreachable(delta);
  }
}

/** Packs a position. One that a settlement closes or a remediation restores stays as it is. */
function packPosition(fields: Fields, delta: WalletPositionDelta): PackedLedgerDelta {
  const { seq, outcome, qty, cost, settled, terms } = delta;
  if (settled !== undefined || terms !== undefined) return delta;
  const wallet = fields.wallet.pack(delta.wallet);
  const marketId = fields.market.pack(delta.marketId);
  const currency = fields.currency.pack(delta.currency);
  return ["position", wallet, seq, marketId, currency, outcome, qty, cost];
}

export function unpackLedgerDelta(fields: Fields, packed: PackedLedgerDelta, ts: number): LedgerDelta {
  return Array.isArray(packed) ? unpackTuple(fields, packed, ts) : packed;
}

function unpackTuple(fields: Fields, packed: Tuple, ts: number): LedgerDelta {
  switch (packed[0]) {
    case "accepted": {
      const [, wallet, marketId, order, outcomes, voids, clientId, digest, groupId, replaces] = packed;
      return {
        type: "accepted",
        wallet: fields.wallet.unpack(wallet),
        marketId: fields.market.unpack(marketId),
        order: unpackOrder(fields, order, ts),
        outcomes,
        voids: fields.voids.unpack(voids),
        clientId: unpackOptional(clientId),
        digest: unpackOptional(digest),
        groupId: unpackOptional(groupId),
        replaces: replaces === 0 ? undefined : { orderId: replaces[0], remaining: replaces[1] },
      } satisfies AllOf<AcceptedDelta>;
    }
    case "canceling": {
      const [, wallet, marketId, orderIds, reason] = packed;
      return {
        type: "canceling",
        wallet: fields.wallet.unpack(wallet),
        marketId: fields.market.unpack(marketId),
        orderIds,
        reason: unpackOptional(reason),
      } satisfies AllOf<CancelingDelta>;
    }
    case "open": {
      const [, wallet, seq, marketId, orderId, qty] = packed;
      return {
        type: "order",
        kind: "open",
        ...unpackPlace(fields, wallet, seq, marketId, orderId),
        qty,
      } satisfies AllOf<OrderOf<"open">>;
    }
    case "fill": {
      const [, wallet, seq, marketId, orderId, facts] = packed;
      return {
        type: "order",
        kind: "fill",
        ...unpackPlace(fields, wallet, seq, marketId, orderId),
        ...unpackFill(fields, facts),
      } satisfies AllOf<OrderOf<"fill">>;
    }
    case "cancel": {
      const [, wallet, seq, marketId, orderId, remaining, reason] = packed;
      return {
        type: "order",
        kind: "cancel",
        ...unpackPlace(fields, wallet, seq, marketId, orderId),
        remaining,
        reason: unpackOptional(reason),
      } satisfies AllOf<OrderOf<"cancel">>;
    }
    case "reject": {
      const [, wallet, seq, marketId, orderId, reason] = packed;
      return {
        type: "order",
        kind: "reject",
        ...unpackPlace(fields, wallet, seq, marketId, orderId),
        reason,
      } satisfies AllOf<OrderOf<"reject">>;
    }
    case "position": {
      const [, wallet, seq, marketId, currency, outcome, qty, cost] = packed;
      return {
        type: "position",
        wallet: fields.wallet.unpack(wallet),
        seq,
        marketId: fields.market.unpack(marketId),
        currency: fields.currency.unpack(currency),
        outcome,
        qty,
        cost,
        settled: undefined,
        terms: undefined,
      } satisfies AllOf<WalletPositionDelta>;
    }
    case "entry": {
      const [, transactionId, wallet, counterparty, kind, currency, amount, ref, clientRef] = packed;
      return {
        type: "entry",
        transactionId,
        wallet: fields.wallet.unpack(wallet),
        counterparty: fields.counterparty.unpack(counterparty),
        kind: fields.kind.unpack(kind),
        currency: fields.currency.unpack(currency),
        amount,
        ref: fields.fill.unpack(ref),
        clientRef: unpackOptional(clientRef),
      } satisfies AllOf<Of<"entry">>;
    }
    case "balance": {
      const [, wallet, currency, total, reserved] = packed;
      return {
        type: "balance",
        wallet: fields.wallet.unpack(wallet),
        currency: fields.currency.unpack(currency),
        total,
        reserved,
      } satisfies AllOf<Of<"balance">>;
    }
    default:
      return unreachable(packed);
  }
}

function unpackPlace(fields: Fields, ...[wallet, seq, marketId, orderId]: Place) {
  return {
    wallet: fields.wallet.unpack(wallet),
    seq,
    marketId: fields.market.unpack(marketId),
    orderId: fields.order.unpack(orderId),
  };
}

/** Answer to a placement: per order its id, its id and client id, or a result of another form. */
type PackedPlaced = [
  "placed",
  results: (string | [orderId: string, clientId: string] | PlaceResult)[],
  own?: OwnAnswers,
];

type Placed = Extract<LedgerReply, { kind: "placed" }>;

export type PackedLedgerReply = PackedPlaced | LedgerReply;

/** Packs an answer. Replies of other kinds stay as they are. */
export function packLedgerReply(reply: LedgerReply): PackedLedgerReply {
  if (!reply.ok || reply.kind !== "placed") return reply;
  const results = reply.results.map(packResult);
  return reply.own === undefined ? ["placed", results] : ["placed", results, reply.own];
}

function packResult(result: PlaceResult): PackedPlaced[1][0] {
  if (!result.ok || result.repeated) return result;
  const { orderId, clientId } = result;
  return clientId === undefined ? orderId : [orderId, clientId];
}

export function unpackLedgerReply(packed: PackedLedgerReply): LedgerReply {
  if (!Array.isArray(packed)) return packed;
  const [kind, results, own] = packed;
  return { ok: true, kind, results: results.map(unpackResult), own } satisfies AllOf<Placed>;
}

function unpackResult(packed: PackedPlaced[1][0]): PlaceResult {
  if (typeof packed !== "string" && !Array.isArray(packed)) return packed;
  const [orderId, clientId] = typeof packed === "string" ? [packed, undefined] : packed;
  return { ok: true, orderId, clientId, repeated: false };
}

/**
 * Fields of packed deltas. Deltas that follow each other are mostly of the same wallet, market or order. A text that is
 * the same as in the last delta with that field is therefore packed as 0, and an absent field as 0 too.
 */

import type { Counterparty } from "../ledger/deltas.js";
import type { TransactionKind } from "../ledger/types.js";
import type { FillFacts } from "../market/deltas.js";
import type { TimeInForce } from "../market/time-in-force.js";
import type { Currency, FeeSchedule, Order, SelfTrade, Voids } from "../market/types.js";
import { assert } from "../units.js";

/** All fields of a type, the optional ones too, so that no field of a delta is forgotten where it is unpacked. */
export type AllOf<Type> = { [Field in keyof Required<Type>]: Type[Field] };

/** A field that often repeats its last value. */
class Repeated<Text extends string = string> {
  #last: Text | undefined;

  pack(value: Text): Text | 0 {
    if (value === this.#last) return 0;
    this.#last = value;
    return value;
  }

  unpack(packed: Text | 0): Text {
    if (packed !== 0) this.#last = packed;
    assert(this.#last !== undefined, "a packed field repeats no value");
    return this.#last;
  }
}

/** The last values of the fields of one entry. */
export class Fields {
  readonly wallet = new Repeated();
  readonly trader = new Repeated();
  readonly market = new Repeated();
  readonly order = new Repeated();
  readonly fill = new Repeated();
  readonly match = new Repeated();
  readonly counterparty = new Repeated<Counterparty>();
  readonly kind = new Repeated<TransactionKind>();
  readonly currency = new Repeated<Currency>();
  readonly tif = new Repeated<TimeInForce>();
  readonly selfTrade = new Repeated<SelfTrade>();
  readonly voids = new Repeated<Voids>();
  #fee: FeeSchedule | undefined;

  packFee(fee: FeeSchedule): PackedFee | 0 {
    const { coefficientPpm, makerCreditPpm, charged } = fee;
    const last = this.#fee;
    if (
      last?.coefficientPpm === coefficientPpm &&
      last.makerCreditPpm === makerCreditPpm &&
      last.charged === charged
    )
      return 0;
    this.#fee = fee;
    return [coefficientPpm, makerCreditPpm, charged];
  }

  unpackFee(packed: PackedFee | 0): FeeSchedule {
    if (packed !== 0) {
      const [coefficientPpm, makerCreditPpm, charged] = packed;
      this.#fee = { coefficientPpm, makerCreditPpm, charged } satisfies AllOf<FeeSchedule>;
    }
    assert(this.#fee !== undefined, "a packed fee repeats no fee");
    return this.#fee;
  }
}

type PackedFee = [coefficientPpm: number, makerCreditPpm: number, charged: FeeSchedule["charged"]];

export type PackedText<Text extends string = string> = Text | 0;

/** Packs a field that may be absent. */
export function packOptional<Text extends string>(value: Text | undefined): PackedText<Text> {
  return value ?? 0;
}

export function unpackOptional<Text extends string>(packed: PackedText<Text>): Text | undefined {
  return packed === 0 ? undefined : packed;
}

/** An order. Its times are relative: that of its acceptance to the batch, and the others to its acceptance. */
export type PackedOrder = [
  orderId: PackedText,
  wallet: PackedText,
  trader: PackedText,
  ledger: number,
  currency: PackedText<Currency>,
  outcome: number,
  price: Order["price"],
  qty: Order["qty"],
  tif: PackedText<TimeInForce>,
  selfTrade: PackedText<SelfTrade>,
  accepted: number,
  expires: number | null,
  notAfter: number | null,
  fee: PackedFee | 0,
  feeReserved: 0 | 1,
];

export function packOrder(fields: Fields, order: Order, ts: number): PackedOrder {
  const { acceptedTs, expiresAt, notAfter } = order;
  return [
    fields.order.pack(order.orderId),
    fields.wallet.pack(order.wallet),
    fields.trader.pack(order.trader),
    order.ledger,
    fields.currency.pack(order.currency),
    order.outcome,
    order.price,
    order.qty,
    fields.tif.pack(order.tif),
    fields.selfTrade.pack(order.selfTrade),
    ts - acceptedTs,
    expiresAt === undefined ? null : expiresAt - acceptedTs,
    notAfter === undefined ? null : notAfter - acceptedTs,
    fields.packFee(order.fee),
    order.feeReserved ? 1 : 0,
  ];
}

export function unpackOrder(fields: Fields, packed: PackedOrder, ts: number): Order {
  const acceptedTs = ts - packed[10];
  const [, , , , , , , , , , , expires, notAfter] = packed;
  return {
    orderId: fields.order.unpack(packed[0]),
    wallet: fields.wallet.unpack(packed[1]),
    trader: fields.trader.unpack(packed[2]),
    ledger: packed[3],
    currency: fields.currency.unpack(packed[4]),
    outcome: packed[5],
    price: packed[6],
    qty: packed[7],
    tif: fields.tif.unpack(packed[8]),
    selfTrade: fields.selfTrade.unpack(packed[9]),
    acceptedTs,
    expiresAt: expires === null ? undefined : acceptedTs + expires,
    notAfter: notAfter === null ? undefined : acceptedTs + notAfter,
    fee: fields.unpackFee(packed[13]),
    feeReserved: packed[14] === 1,
  } satisfies AllOf<Order>;
}

/** The facts of one side of an execution. `flags` has 1 for the taker and 2 for a wash. */
export type PackedFill = [
  outcome: number,
  fillId: PackedText,
  matchId: PackedText,
  price: FillFacts["price"],
  qty: FillFacts["qty"],
  remaining: FillFacts["remaining"],
  cost: FillFacts["cost"],
  payout: FillFacts["payout"],
  fee: FillFacts["fee"],
  credit: FillFacts["credit"],
  flags: number,
];

export function packFill(fields: Fields, fill: FillFacts): PackedFill {
  return [
    fill.outcome,
    fields.fill.pack(fill.fillId),
    fields.match.pack(fill.matchId),
    fill.price,
    fill.qty,
    fill.remaining,
    fill.cost,
    fill.payout,
    fill.fee,
    fill.credit,
    (fill.taker ? 1 : 0) + (fill.wash ? 2 : 0),
  ];
}

export function unpackFill(fields: Fields, packed: PackedFill): FillFacts {
  const [outcome, fillId, matchId, price, qty, remaining, cost, payout, fee, credit, flags] = packed;
  return {
    outcome,
    fillId: fields.fill.unpack(fillId),
    matchId: fields.match.unpack(matchId),
    price,
    qty,
    remaining,
    cost,
    payout,
    fee,
    credit,
    taker: flags % 2 === 1,
    wash: flags >= 2,
  } satisfies AllOf<FillFacts>;
}

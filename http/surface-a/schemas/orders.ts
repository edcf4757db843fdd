/** Bodies, queries and answers about orders, cancels, positions and fills (contract sections 5.15 to 5.17). */

import { z } from "zod";
import { ORDER_STATUSES } from "../../../actors/ledger/types.js";
import { TIMES_IN_FORCE } from "../../../actors/market/time-in-force.js";
import { SELF_TRADE_MODES } from "../../../actors/market/types.js";
import {
  BoundsQuery,
  commaList,
  Currency,
  MoneyText,
  Ms,
  oneOf,
  pageOf,
  PageQuery,
  Uuid,
  WirePrice,
} from "../../request/fields.js";

const TimeInForce = oneOf(TIMES_IN_FORCE);

/**
 * Shape of an order. The rules of trading judge price, quantity and `ttl` of each order, so that one bad price does not
 * make a whole batch malformed.
 */
export const PlaceOrder = z.strictObject({
  outcomeId: Uuid,
  price: z.string("must be a decimal string, such as 0.665"),
  qty: z.number("must be a number of contracts"),
  tif: TimeInForce,
  ttl: z.number("must be a number of ms").optional(),
  clientId: Uuid.optional(),
  currency: Currency.default("CASH"),
  selfTrade: oneOf(SELF_TRADE_MODES).default("wash"),
  notAfter: z.int("must be a time in Unix ms").nonnegative().optional(),
  groupId: Uuid.optional(),
});
export type PlaceOrder = z.output<typeof PlaceOrder>;

export const BatchPlace = z.strictObject({
  orders: z.array(PlaceOrder, "must be a list of orders"),
  atomic: z.boolean("must be true or false").default(false),
});

export const AmendBody = z
  .strictObject({
    qty: z.number("must be a number of contracts").optional(),
    price: z.string("must be a decimal string, such as 0.665").optional(),
    notAfter: z.int("must be a time in Unix ms").nonnegative().optional(),
  })
  .refine(({ qty, price }) => qty !== undefined || price !== undefined, "must change qty, price or both");

export const OrderPreview = z.strictObject({
  reserve: MoneyText,
  fee: MoneyText,
  fills: z.array(z.strictObject({ price: WirePrice, qty: z.int() })),
  rests: z.int(),
  queueAhead: z.int(),
  reject: z.string().optional(),
  partial: z.literal(true).optional(),
});

export const BatchCancel = z.strictObject({ orderIds: z.array(Uuid, "must be a list of order ids") });

export const Amended = z.strictObject({ orderId: z.uuid() });
export const OrderAccepted = z.strictObject({ orderId: z.uuid(), clientId: z.uuid().optional() });
export const BatchOrderError = z.strictObject({ index: z.int(), outcomeId: z.string(), reason: z.string() });

/** Answer to a full or a partial acceptance; a partial one has `code`, `message` and `rejected`. */
export const BatchPlaced = z.strictObject({
  code: z.literal("BATCH_PARTIALLY_REJECTED").optional(),
  message: z.string().optional(),
  accepted: z.array(OrderAccepted),
  rejected: z.array(BatchOrderError).optional(),
});

export const NotCanceled = z.strictObject({
  orderId: z.uuid(),
  reason: z.enum(["FILLED", "CANCELED", "NOT_FOUND"]),
});
export const BatchCancelResult = z.strictObject({
  canceled: z.array(z.uuid()),
  notCanceled: z.array(NotCanceled),
});
export const CancelAllResult = z.strictObject({ canceled: z.int() });
export const CancelResult = z.strictObject({ orderId: z.uuid(), status: z.enum(ORDER_STATUSES) });

/** Parameter by which a web session names the wallet that it reads: any key of the subaccount. */
const OfWallet = { subaccount: Uuid.optional() };
export const WalletQuery = z.strictObject(OfWallet);

/** Filters `event`, `market` and `outcome` of lists and of the cancel of all orders. */
const ScopeQuery = {
  event: Uuid.optional(),
  market: Uuid.optional(),
  outcome: Uuid.optional(),
};

/** Body of a cancel of everything, which some clients send with each DELETE. */
export const Nothing = z.strictObject({});

export const CancelAllQuery = z.strictObject({ ...ScopeQuery, currency: Currency.optional() });

export const OrdersQuery = z.strictObject({
  ...OfWallet,
  ...ScopeQuery,
  ...PageQuery,
  ...BoundsQuery,
  currency: Currency.optional(),
  clientId: Uuid.optional(),
  status: commaList(oneOf(ORDER_STATUSES)).optional(),
});

const Coin = { currency: z.literal("COIN").optional() };

export const Order = z.strictObject({
  orderId: z.uuid(),
  clientId: z.uuid().optional(),
  replaces: z.uuid().optional(),
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  price: WirePrice,
  qty: z.int(),
  remaining: z.int(),
  tif: TimeInForce,
  status: z.enum(ORDER_STATUSES),
  reason: z.string().optional(),
  createdTs: Ms,
  expiresTs: Ms.optional(),
  ...Coin,
});
export type Order = z.output<typeof Order>;
export const OrderOrPage = z.union([Order, pageOf(Order)]);

export const OpenOrder = z.strictObject({
  orderId: z.uuid(),
  clientId: z.uuid().optional(),
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  price: WirePrice,
  qty: z.int(),
  tif: TimeInForce,
  expiresAt: Ms.optional(),
  ...Coin,
});
export const AccountOrders = z.strictObject({ seq: z.int(), open: z.array(OpenOrder) });

export const Position = z.strictObject({
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  qty: z.int(),
  cost: MoneyText,
  ...Coin,
});
export const AccountPositions = z.strictObject({ seq: z.int(), positions: z.array(Position) });
export const PositionsQuery = z.strictObject({ ...OfWallet, ...ScopeQuery, currency: Currency.optional() });

export const FillsQuery = z.strictObject({
  ...OfWallet,
  ...ScopeQuery,
  ...PageQuery,
  ...BoundsQuery,
  order: Uuid.optional(),
  currency: Currency.optional(),
});

export const Fill = z.strictObject({
  fillId: z.uuid(),
  orderId: z.uuid(),
  clientId: z.uuid().optional(),
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  qty: z.int(),
  cost: MoneyText,
  taker: z.boolean(),
  fee: MoneyText.optional(),
  wash: z.literal(true).optional(),
  ts: Ms,
  ...Coin,
});
export type Fill = z.output<typeof Fill>;

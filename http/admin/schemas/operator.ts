/** Bodies, queries and answers of the operator's routes (contract section 8). */

import { z } from "zod";
import { COLLATERAL_POLICIES, OPERATOR_TRANSACTION_KINDS } from "../../../actors/ledger/types.js";
import { MAX_LIVE_DELAY_MS, MAX_OUTCOMES } from "../../../actors/limits.js";
import { OPERATOR_ACTIONS } from "../../../actors/market/commands.js";
import { FEE_PERIODS, MARKET_STATUSES, VOID_KINDS } from "../../../actors/market/types.js";
import { KYC_STATUSES, ROLES, TRADER_STATES } from "../../../db/schema/accounts.js";
import { EVENT_STATUSES, EVENT_TYPES } from "../../../db/schema/catalog.js";
import { STRIKE_REQUEST_STATUSES } from "../../../db/schema/emm.js";
import { EVENT_ACTIONS } from "../../../stream/jobs/event-actions.js";
import {
  Amount,
  BoundsQuery,
  commaList,
  Currency,
  MoneyText,
  Ms,
  oneOf,
  PageQuery,
  PriceText,
  Text,
  Uuid,
} from "../../request/fields.js";
import { Key, TransactionsQuery } from "../../surface-a/schemas/account.js";
import { CatalogEvent, Market, MarketOutcome } from "../../surface-a/schemas/catalog.js";
import { Order, OrdersQuery } from "../../surface-a/schemas/orders.js";
import { GradeOnWire } from "./day.js";
import { Approval } from "./operators.js";

const Team = z.strictObject({
  name: Text(100),
  shortName: Text(100).optional(),
  symbol: Text(20).optional(),
  mascot: Text(100).optional(),
});

/** Scheduled start. The route checks that it lies ahead. */
const Start = z.int("must be a time in Unix ms").nonnegative("must be a time in Unix ms");

export const NewEventBody = z.strictObject({
  sport: Text(50),
  league: Text(100),
  type: oneOf(EVENT_TYPES),
  description: Text(500),
  startsTs: Start,
  visible: z.boolean("must be true or false").default(true),
  game: z.strictObject({ homeTeam: Team, awayTeam: Team }).optional(),
});

export const EventPatchBody = z
  .strictObject({
    visible: z.boolean("must be true or false").optional(),
    startsTs: Start.optional(),
    description: Text(500).optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, "must have at least one field");

const ShownTeam = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  shortName: z.string().nullable(),
  symbol: z.string().nullable(),
  mascot: z.string().nullable(),
});

export const AdminEvent = CatalogEvent.extend({
  type: z.enum(EVENT_TYPES),
  visible: z.boolean(),
  game: z.strictObject({ gameId: z.uuid(), homeTeam: ShownTeam, awayTeam: ShownTeam }).nullable(),
  createdTs: Ms,
});
export const AdminEventOrApproval = z.union([AdminEvent, Approval]);
export const AdminEventWithMarkets = AdminEvent.extend({ marketIds: z.array(z.uuid()) });

export const AdminEventsQuery = z.strictObject({
  ...PageQuery,
  league: commaList(z.string()).optional(),
  status: commaList(oneOf(EVENT_STATUSES)).optional(),
});
/** Reason of an action, for the audit log. */
const Reason = Text(500).optional();
export const EventStatusBody = z.strictObject({ action: oneOf(EVENT_ACTIONS), reason: Reason });

/** Share from 0 to 1: a decimal string on the wire, millionths inside. */
const Share = z
  .string("must be a decimal string")
  .regex(
    /^(?:0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?)$/,
    "must be a decimal string from 0 to 1 with at most six decimals",
  )
  .transform((text) => Math.round(Number(text) * 1_000_000));

const FeeBody = z.strictObject({
  coefficient: Share,
  makerCredit: Share,
  charged: oneOf(FEE_PERIODS),
});
export type FeeBody = z.output<typeof FeeBody>;

const LiveDelay = z
  .int("must be a whole number of ms")
  .min(0, "must not be negative")
  .max(MAX_LIVE_DELAY_MS, `must be at most ${MAX_LIVE_DELAY_MS} ms`);

/** Returns true for a type of which each market has a strike, such as `SPREAD_1H`. */
function isSpread(marketType: string): boolean {
  return marketType.split("_").includes("SPREAD");
}

export const NewMarketBody = z
  .strictObject({
    eventId: Uuid,
    marketType: Text(100),
    description: Text(500),
    strike: z
      .string("must be a decimal string")
      .regex(/^-?\d{1,9}(\.\d{1,3})?$/, "must be a decimal string, such as -3.5")
      .optional(),
    voids: oneOf(VOID_KINDS),
    fee: FeeBody.optional(),
    liveDelayMs: LiveDelay.default(0),
    playerId: Uuid.optional(),
    outcomes: z
      .array(
        z.strictObject({ name: Text(200), competitor: Text(100).optional() }),
        "must be a list of outcomes",
      )
      .min(2, "must have at least two outcomes")
      .max(MAX_OUTCOMES, `must have at most ${MAX_OUTCOMES} outcomes`)
      .refine(
        (outcomes) => new Set(outcomes.map(({ name }) => name.toLowerCase())).size === outcomes.length,
        "must have different names",
      ),
    open: z.boolean("must be true or false").default(true),
  })
  .refine(({ marketType, strike }) => strike !== undefined || !isSpread(marketType), {
    path: ["strike"],
    message: "is missing, and a spread has no meaning without it; add it",
  });
export type NewMarketBody = z.output<typeof NewMarketBody>;
export const MarketPatchBody = z
  .strictObject({
    fee: FeeBody.optional(),
    liveDelayMs: LiveDelay.optional(),
    description: Text(500).optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, "must have at least one field");
export const MarketStatusBody = z.strictObject({ action: oneOf(OPERATOR_ACTIONS), reason: Reason });

export const AdminMarket = Market.extend({
  outcomes: z.array(MarketOutcome.extend({ competitorId: z.uuid().nullable() })),
  playerId: z.uuid().nullable(),
  liveDelayMs: z.int(),
  live: z.boolean(),
  paused: z.boolean(),
  settledTs: Ms.nullable(),
  createdTs: Ms,
});
export const AdminMarketsQuery = z.strictObject({
  ...PageQuery,
  event: Uuid.optional(),
  league: commaList(z.string()).optional(),
  status: commaList(oneOf(MARKET_STATUSES)).optional(),
});

/** Settlement price from 0 to 1: a decimal string on the wire, thousandths inside. */
const SettlementPrice = z
  .string("must be a decimal string")
  .regex(/^(?:0(?:\.[0-9]{1,3})?|1(?:\.0{1,3})?)$/, "must be a price from 0 to 1 with at most three decimals")
  .transform((text) => Math.round(Number(text) * 1_000));

export const GradeBody = z.union(
  [
    z.strictObject({ winner: Uuid }),
    z.strictObject({ push: z.literal(true) }),
    z.strictObject({ prices: z.record(z.string(), SettlementPrice) }),
  ],
  "must be { winner }, { push: true } or { prices }",
);
export const RemediateBody = z.strictObject({ reason: Text(500) });
const SettlementStatus = z.enum(["PENDING_APPROVAL", "SETTLING", "SETTLED", "REVERSING"]);
export const SettlementStarted = z.strictObject({
  settlementId: z.uuid(),
  marketId: z.uuid(),
  status: SettlementStatus,
});
/** Amounts that would be paid, or with a minus sign taken back. A `keyId` of `null` is the trader's own wallet. */
export const PayoutPreview = z.strictObject({
  payouts: z.array(
    z.strictObject({
      traderId: z.uuid().nullable(),
      keyId: z.uuid().nullable(),
      currency: Currency,
      amount: MoneyText,
    }),
  ),
  totals: z.strictObject({ CASH: MoneyText, COIN: MoneyText }),
});
/** Payouts with `preview=true`, else the settlement that was started. */
export const GradeAnswer = z.union([SettlementStarted, PayoutPreview]);
/** The same, or the remediation that waits for a second operator. */
export const RemediateAnswer = z.union([SettlementStarted, PayoutPreview, Approval]);
export const PreviewQuery = z.strictObject({
  preview: oneOf(["true", "false"])
    .default("false")
    .transform((text) => text === "true"),
});
/**
 * Progress: `paid` of `wallets` are paid, or reversed while the status is `REVERSING`. `requestedBy` is null for a grade
 * that took one operator.
 */
export const SettlementProgress = SettlementStarted.extend({
  paid: z.int(),
  wallets: z.int(),
  grade: GradeOnWire.nullable(),
  requestedBy: z.uuid().nullable(),
  requestedTs: Ms.nullable(),
});

export const TradersQuery = z.strictObject({
  ...PageQuery,
  email: z.string().max(254, "must have at most 254 characters").optional(),
  search: z
    .string()
    .min(3, "must have at least 3 characters")
    .max(254, "must have at most 254 characters")
    .optional(),
});
export const AdminTrader = z.strictObject({
  traderId: z.uuid(),
  email: z.string(),
  role: z.enum(ROLES),
  kyc: z.enum(KYC_STATUSES),
  state: z.enum(TRADER_STATES),
  stateReason: z.string().nullable(),
  selfExcludedUntilTs: Ms.nullable(),
  createdTs: Ms,
});
export const AdminTraderWithWallets = AdminTrader.extend({
  cash: z.strictObject({ CASH: MoneyText, COIN: MoneyText }),
  subaccounts: z.array(
    z.strictObject({
      keyId: z.uuid(),
      label: z.string(),
      balance: MoneyText,
      collateral: z.enum(COLLATERAL_POLICIES),
    }),
  ),
});
export const KycBody = z.strictObject({
  status: oneOf(["VERIFIED", "REJECTED", "PENDING"]),
  reason: Reason,
});
/** Reason of an action without other fields. */
export const ReasonBody = z.strictObject({ reason: Reason });
export const StateBody = z.strictObject({
  state: oneOf(TRADER_STATES),
  reason: Text(500),
});
export const CollateralBody = z.strictObject({
  policy: oneOf(COLLATERAL_POLICIES),
  subaccountKeyId: Uuid,
});
export const Collateral = z.strictObject({ policy: z.enum(COLLATERAL_POLICIES) });
export const TransactionBody = z.strictObject({
  kind: oneOf(OPERATOR_TRANSACTION_KINDS),
  amount: Amount.refine((amount) => amount !== 0, "must not be zero"),
  currency: Currency,
  reason: Text(500),
  subaccountKeyId: Uuid.optional(),
  clientRef: Text(100).optional(),
});
export const Transacted = z.strictObject({ transactionId: z.uuid(), balance: MoneyText });
export const TransactedOrApproval = z.union([Transacted, Approval]);

export const TicksBody = z.strictObject({
  prices: z.array(PriceText, "must be a list of prices").min(2, "must have at least two prices").max(999),
});
export const Ticks = z.strictObject({ prices: z.array(z.string()) });

export const LeagueBody = z.strictObject({ name: Text(100), sport: Text(50).optional() });
export const League = z.strictObject({ name: z.string(), sport: z.string() });
export const Leagues = z.strictObject({ items: z.array(League) });
export const MarketTypeBody = z.strictObject({
  // A name is a segment of a path, and an item of lists that are separated by commas.
  name: Text(100).regex(/^[A-Za-z0-9._~-]*$/, "must have letters, digits and the characters . _ ~ - only"),
  qaOnly: z.boolean("must be true or false").default(false),
});
export const MarketTypePatchBody = z.strictObject({ qaOnly: z.literal(false, "must be false") });
export const MarketType = z.strictObject({ name: z.string(), qaOnly: z.boolean() });
export const MarketTypes = z.strictObject({ items: z.array(MarketType) });

export const EmmClientBody = z.strictObject({ subaccountKeyId: Uuid, name: Text(100) });
/** Credentials of a client. The secret is shown in this answer only. */
export const EmmClientSecret = z.strictObject({ clientId: z.uuid(), clientSecret: z.string() });
export const EmmClient = z.strictObject({
  clientId: z.uuid(),
  name: z.string(),
  traderId: z.uuid(),
  subaccountKeyId: z.uuid(),
  label: z.string(),
  createdTs: Ms,
  rotatedTs: Ms.nullable(),
});

export const StrikeRequestsQuery = z.strictObject({
  ...PageQuery,
  status: commaList(oneOf(STRIKE_REQUEST_STATUSES)).optional(),
});
export const StrikeDecisionBody = z.strictObject({ approve: z.boolean("must be true or false") });
export const StrikeRequest = z.strictObject({
  requestId: z.uuid(),
  clientId: z.uuid(),
  marketId: z.uuid(),
  strike: z.string(),
  status: z.enum(STRIKE_REQUEST_STATUSES),
  requestedTs: Ms,
  decidedTs: Ms.nullable(),
  decidedBy: z.uuid().nullable(),
  createdMarketId: z.uuid().nullable(),
});

export const PlayersQuery = z.strictObject(PageQuery);
export const PlayerBody = z.strictObject({
  name: Text(100),
  fullName: Text(200).optional(),
  position: Text(50).optional(),
  team: z.strictObject({ league: Text(100), name: Text(100) }).optional(),
});
export const Player = z.strictObject({
  playerId: z.uuid(),
  name: z.string(),
  fullName: z.string(),
  position: z.string().nullable(),
  competitorId: z.uuid().nullable(),
});

/** Order of any wallet; `subaccount` is a key of the subaccount, and null for the trader's own wallet. */
export const TraderOrder = Order.extend({
  traderId: z.uuid(),
  subaccount: z.uuid().nullable(),
  filled: z.int(),
  updatedTs: Ms,
});
/** Queries of the records of one wallet: of the trader's own, or of the subaccount that `subaccount` names. */
export const TraderOrdersQuery = OrdersQuery.omit({ clientId: true });
export const TraderTransactionsQuery = TransactionsQuery.extend({ subaccount: Uuid.optional() });
export const TraderKey = Key.extend({ revokedAt: Ms.nullable() });

export const AuditQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  operator: Uuid.optional(),
  action: z.string().max(100, "must have at most 100 characters").optional(),
  subject: z.string().max(200, "must have at most 200 characters").optional(),
});
export const AuditRecord = z.strictObject({
  auditId: z.int(),
  ts: Ms,
  operatorId: z.uuid(),
  action: z.string(),
  subject: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  requestId: z.string().nullable(),
});

const MoneyTerms = z.strictObject({
  deposits: MoneyText,
  withdrawals: MoneyText,
  adjustments: MoneyText,
  wallets: MoneyText,
  reserved: MoneyText,
  escrow: MoneyText,
  house: MoneyText,
  inFlight: MoneyText,
  difference: MoneyText,
});
const MoneySide = z.strictObject({ CASH: MoneyTerms, COIN: MoneyTerms });
export const MoneyReport = z.strictObject({ agree: z.boolean(), actors: MoneySide, postgres: MoneySide });

/**
 * Table of every refusal that the service answers over HTTP: its status, its meaning and its remedy. Only this file maps
 * a domain code to a status; the OpenAPI document prints the table (specification, Errors; contract section 5.19).
 */

import type { LedgerRefusal } from "../../actors/ledger/types.js";
import type { MarketRefusal } from "../../actors/market/commands.js";
import { CLIENT_ID_MS, MAX_BATCH, MAX_GROUPS, MAX_TTL_MS, MIN_TTL_MS } from "../../actors/limits.js";
import { rulesOf, TIMES_IN_FORCE } from "../../actors/market/time-in-force.js";
import { MAX_CONTRACTS } from "../../actors/units.js";
import { MAX_BODY_KIB, MAX_CHECK_IN_DAYS } from "./limits.js";

const HOUR_MS = 60 * 60 * 1_000;
const CLIENT_ID_HOURS = CLIENT_ID_MS / HOUR_MS;
const MAX_TTL_DAYS = MAX_TTL_MS / (24 * HOUR_MS);
/** Times in force that take a `ttl`. */
const WITH_TTL = TIMES_IN_FORCE.filter((tif) => rulesOf(tif).ttl !== "refused");

const TABLE = {
  INVALID_REQUEST: [400, "the request is malformed", "fix the part that the message names"],
  INVALID_BODY: [
    400,
    "a field of the body is missing, unknown or malformed",
    "fix the field that the message names",
  ],
  INVALID_QUERY: [
    400,
    "a query parameter is unknown, repeated or malformed",
    "fix the parameter that the message names",
  ],
  INVALID_PRICE: [
    400,
    "price is not on the tick table",
    "send a price of the tick table, which GET /v3/public/ticks shows",
  ],
  QTY_OUT_OF_RANGE: [
    400,
    `qty is not a whole number from 1 to ${MAX_CONTRACTS}`,
    "send a number of contracts in that range",
  ],
  TTL_NOT_ALLOWED: [
    400,
    "ttl is not allowed with this tif",
    `leave ttl out, or send the tif ${WITH_TTL.join(" or ")}`,
  ],
  TTL_REQUIRED: [400, "ttl is missing, and this tif needs one", "send a ttl in ms, or the tif GTC"],
  TTL_OUT_OF_RANGE: [
    400,
    `ttl is not from ${MIN_TTL_MS} ms to ${MAX_TTL_DAYS} days`,
    "send a ttl in that range, in ms",
  ],
  EVENT_NOT_TRADABLE: [
    400,
    "outcomeId belongs to an event that takes no orders in its present status",
    "place the order again after the market's next OPEN transition",
  ],
  EMPTY_BATCH: [400, "the batch is empty", "send at least one item"],
  BATCH_TOO_LARGE: [400, `the batch has more than ${MAX_BATCH} items`, "split it into several batches"],
  NOT_A_SUBACCOUNT_KEY: [
    400,
    "the keyId does not belong to a subaccount",
    "send the keyId of one of the subaccount's keys",
  ],
  TRANSFER_ID_REUSED: [
    400,
    "clientTransferId belongs to a transfer of another subaccount",
    "send another clientTransferId",
  ],
  INVALID_PRICES: [
    400,
    "prices do not name every outcome once, or do not sum to 1.000",
    "send one price for each outcome, with a sum of 1.000",
  ],
  UNAUTHENTICATED: [
    401,
    "the bearer token is missing, malformed or expired",
    "get a new token and send it in the header Authorization: Bearer",
  ],
  INVALID_CREDENTIALS: [401, "email, password or code is wrong", "correct them and try again"],
  TOTP_REQUIRED: [
    401,
    "the account has a second factor and code is missing",
    "send code: the one-time password of the device, or a recovery code",
  ],
  SIGNATURE_REJECTED: [
    401,
    "the signature is not accepted",
    "fix the header that the message names; POST /v3/echo shows the text to sign",
  ],
  SCOPE_REJECTED: [
    403,
    "the scope of the key does not allow this route",
    "use a key with a scope that this route accepts",
  ],
  FORBIDDEN: [
    403,
    "the role of the session does not allow this route",
    "sign in with an account of another role",
  ],
  TOTP_NOT_ENROLLED: [
    403,
    "operators of this service need a second factor and the account has none",
    "enroll one-time passwords with POST /v3/session/totp",
  ],
  KYC_REQUIRED: [
    403,
    "the identity of the account holder is not verified",
    "complete the verification with the operator",
  ],
  ROUTE_NOT_FOUND: [
    404,
    "no route has this method and path",
    "check the method and the path; paths match byte for byte",
  ],
  OUTCOME_NOT_FOUND: [
    404,
    "no outcome has this outcomeId",
    "send the outcomeId of one of the market's outcomes",
  ],
  MARKET_NOT_FOUND: [404, "no market has this marketId", "send a marketId from the catalog"],
  EVENT_NOT_FOUND: [404, "no event has this eventId", "send an eventId from the catalog"],
  ORDER_NOT_FOUND: [
    404,
    "no order of this subaccount has this orderId",
    "send an orderId that a placement of this subaccount answered",
  ],
  KEY_NOT_FOUND: [404, "no live key has this keyId", "send the keyId of a live key from the list of keys"],
  SUBACCOUNT_NOT_FOUND: [
    404,
    "no subaccount has a key with this keyId",
    "send a keyId from the list of subaccounts",
  ],
  TRANSFER_NOT_FOUND: [
    404,
    "no transfer of this subaccount has this transferId",
    "send the transferId that the transfer answered",
  ],
  GROUP_NOT_FOUND: [
    404,
    "no order group has this groupId",
    "create the group, or send the groupId of another",
  ],
  CLIENT_NOT_FOUND: [404, "no live client has this clientId", "send a clientId from the list of clients"],
  MESSAGE_NOT_FOUND: [
    404,
    "no message in the quarantine has this messageId",
    "send a messageId from the list of the quarantine",
  ],
  STRIKE_REQUEST_NOT_FOUND: [
    404,
    "no strike request has this requestId",
    "send a requestId from the list of strike requests",
  ],
  MARKET_TYPE_NOT_FOUND: [
    404,
    "no market type has this name",
    "send a name from the list of market types, or create the type",
  ],
  TRADER_NOT_FOUND: [404, "no trader has this traderId", "send a traderId from the list of traders"],
  OPERATOR_NOT_FOUND: [
    404,
    "no operator has this operatorId",
    "send the traderId of one of the operators in the list of operators",
  ],
  APPROVAL_NOT_FOUND: [
    404,
    "no approval has this approvalId",
    "send an approvalId from the list of approvals",
  ],
  EMAIL_TAKEN: [409, "email belongs to an account that exists", "sign in, or register another address"],
  KEY_EXISTS: [409, "publicKey belongs to a live key", "generate a new key pair"],
  MANAGEMENT_KEY_EXISTS: [409, "the trader has a live management key", "revoke that key first"],
  TRADING_KEY_EXISTS: [409, "the subaccount has a live trading key", "revoke that key first"],
  CLIENT_ID_REUSED: [
    409,
    `clientId belongs to another order of the last ${CLIENT_ID_HOURS} hours`,
    "send another clientId, or exactly the same order",
  ],
  REQUEST_IN_PROGRESS: [
    409,
    "the first request with these signed bytes is still running",
    "send the same bytes again a moment later",
  ],
  SUBACCOUNT_NOT_EMPTY: [
    409,
    "the subaccount has money, positions or open orders",
    "cancel the orders, close the positions and move the money out first",
  ],
  GROUP_LIMIT: [409, "the order group has reached its limit", "reset the group first"],
  MARKET_CLOSED: [409, "the market is not open", "wait for the market's next OPEN transition"],
  MARKET_PAUSED: [409, "the market is paused", "wait for the market's next RESUME transition"],
  MARKET_EXISTS: [409, "the market exists already", "use the market that exists"],
  INVALID_TRANSITION: [
    409,
    "the present status does not allow this action",
    "read the status and send an action that it allows",
  ],
  NO_CHANGE: [
    409,
    "everything that the request asks for is so already, and nothing was changed",
    "read the present values and send others",
  ],
  VOID_KIND: [
    409,
    "the grade does not fit the way in which the market voids",
    "send push for a PUSH market, and prices for an FMV market",
  ],
  ALREADY_GRADED: [409, "the market has another grade", "remediate the market first"],
  NOT_GRADED: [409, "the market has no grade", "grade the market first"],
  NOT_SETTLED: [409, "the market is not settled", "wait until its settlement is complete"],
  ACTION_PENDING: [
    409,
    "the event's last action is still being applied to its markets",
    "try again a moment later",
  ],
  ALREADY_EXISTS: [409, "name belongs to an entry that exists", "send another name"],
  PAYLOAD_TOO_LARGE: [413, `the body is larger than ${MAX_BODY_KIB} KiB`, "split it into several requests"],
  INSUFFICIENT_BALANCE: [
    422,
    "the available balance of the wallet is too small",
    "fund the wallet, cancel orders, or send a smaller amount",
  ],
  AMOUNT_OUT_OF_RANGE: [
    422,
    "amount would take the sum of all such transactions beyond the range of money",
    "send a smaller amount",
  ],
  GROUP_COUNT_EXCEEDED: [
    422,
    `the wallet has ${MAX_GROUPS} order groups, which is the maximum`,
    "remove a group first",
  ],
  OPEN_ORDER_LIMIT_EXCEEDED: [
    422,
    "the wallet has too many open orders, over all markets or in this one",
    "cancel some orders first",
  ],
  POSITION_LIMIT_EXCEEDED: [422, "qty would take the position over its limit", "send a smaller qty"],
  ACCOUNT_LOCKED: [423, "the account is locked", "contact the operator"],
  SYSTEM_LOCKED: [
    423,
    "the exchange is in maintenance",
    "wait until the maintenance ends; the changelog announces the time",
  ],
  SELF_EXCLUDED: [
    423,
    "the account holder has excluded themself",
    "reads and cancels still work; trading is possible again when the exclusion ends",
  ],
  RATE_LIMIT_EXCEEDED: [
    429,
    "the bucket holds fewer tokens than this request costs",
    "wait for the number of seconds in the header Retry-After",
  ],
  ANONYMIZED_NETWORK: [
    451,
    "the request came through a VPN, a proxy or Tor",
    "connect without it and send the request again",
  ],
  RESTRICTED_NETWORK_REGION: [
    451,
    "the request came from a network in a restricted region",
    "send the request from a region that is not restricted",
  ],
  GEOLOCATION_FAILED: [451, "the last device check-in found no location", "check in again"],
  INVALID_GEOLOCATION_REGION: [
    451,
    "the last device check-in named no region",
    "check in again with a region",
  ],
  RESTRICTED_GEOLOCATION_REGION: [
    451,
    "the last device check-in was in a restricted region",
    "check in again from a region that is not restricted",
  ],
  GEOLOCATION_EXPIRED: [
    451,
    `the device has not checked in within the ${MAX_CHECK_IN_DAYS}-day window`,
    "check in with the device",
  ],
  INTERNAL: [500, "the service failed unexpectedly", "report the header X-Request-Id of this answer"],
  UNAVAILABLE: [
    503,
    "a part of the exchange cannot be reached",
    "wait for the number of seconds in the header Retry-After and try again; a signed request may be sent unchanged",
  ],
} as const satisfies Record<string, readonly [number, string, string]>;

/** Code of the table. `SCOPE_REJECTED` is `SIGNATURE_REJECTED` on the wire, where one code has two statuses. */
export type Code = keyof typeof TABLE;

/** Returns a code that another gateway has used; one of another build may use a code that this build does not know. */
export function codeOf(code: string): Code {
  return Object.hasOwn(TABLE, code) ? (code as Code) : "INVALID_REQUEST";
}

/** Returns the status of a code on surface A. */
export function statusOf(code: Code): number {
  return TABLE[code][0];
}

/**
 * Returns the status of a code on surface B, which answers 403 for all that keeps an account from trading (contract
 * section 7.3).
 */
export function statusOnB(code: Code): number {
  const status = statusOf(code);
  return status === 423 || status === 451 ? 403 : status;
}

/** Returns the meaning and the remedy of a code: the message of a refusal that has none of its own. */
export function meaningOf(code: Code): string {
  const [, meaning, remedy] = TABLE[code];
  return `${meaning}; ${remedy}`;
}

/** Line of the table, with the status on surface A. */
export interface ErrorLine {
  readonly code: Code;
  readonly status: number;
  readonly meaning: string;
  readonly remedy: string;
}

/** All lines of the table, by status. */
export const ERRORS: readonly ErrorLine[] = Object.entries(TABLE).map(
  ([code, [status, meaning, remedy]]) => ({
    code: code as Code,
    status,
    meaning,
    remedy,
  }),
);

/** Returns the code that clients receive. */
export function wireCode(code: Code): string {
  return code === "SCOPE_REJECTED" ? "SIGNATURE_REJECTED" : code;
}

/** Refusal of a request. The answer carries `headers`, and its body has `more` beside `code` and `message`. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    readonly code: Code,
    message: string = meaningOf(code),
    readonly more: Readonly<Record<string, unknown>> = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Refusal of a request that was not begun for want of capacity. The request costs nothing. */
export class NotStarted extends Refused {}

/** Refusal that is remembered as the first answer to its request. `repeated`: an earlier run of the request got it. */
export class FirstRefusal extends Refused {
  constructor(
    readonly repeated: boolean,
    ...refusal: ConstructorParameters<typeof Refused>
  ) {
    super(...refusal);
  }
}

/** Returns the refusal of an actor as that of a request. The types ensure that every code of an actor is in the table. */
export function refusedBy(refusal: LedgerRefusal | MarketRefusal, message?: string): Refused {
  return new Refused(refusal, message);
}

/**
 * Every refusal that can leave the service over HTTP, with its status, what it means and what to do about it: the only
 * place where a domain code meets a number, and what the OpenAPI document prints (specification, Errors; contract
 * section 5). Surface A's body is `{ code, message }`.
 */

import type { LedgerRefusal } from "../../actors/ledger/types.js";
import type { MarketRefusal } from "../../actors/market/commands.js";
import { MAX_BATCH } from "../../actors/limits.js";
import { MAX_CONTRACTS } from "../../actors/units.js";
import { rulesOf, TIMES_IN_FORCE } from "../../actors/market/time-in-force.js";

/** The times in force that take a `ttl`. */
const WITH_TTL = TIMES_IN_FORCE.filter((tif) => rulesOf(tif).ttl !== "refused");

const TABLE = {
  INVALID_REQUEST: [400, "the request is malformed", "mend what the message names"],
  INVALID_BODY: [
    400,
    "a field of the body is missing, unknown or malformed",
    "mend the field that the message names",
  ],
  INVALID_QUERY: [
    400,
    "a query parameter is unknown, repeated or malformed",
    "mend the parameter that the message names",
  ],
  INVALID_PRICE: [
    400,
    "price: is not on the tick table",
    "take one of the table that GET ticks of surface B gives",
  ],
  QTY_OUT_OF_RANGE: [
    400,
    `qty: is not a whole number from 1 to ${MAX_CONTRACTS}`,
    "send such a number of contracts",
  ],
  TTL_NOT_ALLOWED: [
    400,
    "ttl: this time in force takes none",
    `leave it out, or use ${WITH_TTL.join(" or ")}`,
  ],
  TTL_REQUIRED: [400, "ttl: this time in force needs one", "send a ttl in ms, or use GTC"],
  TTL_OUT_OF_RANGE: [400, "ttl: must be from 1,000 ms to 30 days", "send a ttl in that range"],
  EVENT_NOT_TRADABLE: [
    400,
    "outcomeId: the event of the outcome takes no orders in its present status",
    "watch the market's lifecycle and place again when it opens",
  ],
  EMPTY_BATCH: [400, "a batch needs at least one item", "send one"],
  BATCH_TOO_LARGE: [400, `a batch holds at most ${MAX_BATCH} items`, "split it"],
  NOT_A_SUBACCOUNT_KEY: [
    400,
    "the key named does not reach a subaccount",
    "name one of the subaccount's keys",
  ],
  TRANSFER_ID_REUSED: [
    400,
    "clientTransferId: belongs to a transfer of another subaccount",
    "choose another one",
  ],
  INVALID_PRICES: [
    400,
    "prices: do not name every outcome once or do not sum to 1.000",
    "send one price per outcome that sum to 1.000",
  ],
  UNAUTHENTICATED: [
    401,
    "the bearer token is missing, malformed or expired",
    "get a new one and send it as Authorization: Bearer",
  ],
  INVALID_CREDENTIALS: [401, "the e-mail address or the password is wrong", "try again with the right ones"],
  SIGNATURE_REJECTED: [
    401,
    "the signature was not accepted",
    "mend the header that the message names; POST /v3/echo shows what is signed",
  ],
  SCOPE_REJECTED: [
    403,
    "the key's scope does not reach this route",
    "use a key of a scope that the message names",
  ],
  FORBIDDEN: [403, "the session's role does not reach this route", "sign in with an account of the role"],
  KYC_REQUIRED: [403, "identity verification is required first", "complete it with the operator"],
  ROUTE_NOT_FOUND: [404, "there is no such route", "check method and path; paths match byte for byte"],
  OUTCOME_NOT_FOUND: [404, "there is no such outcome", "take the ids of the market's outcomes"],
  MARKET_NOT_FOUND: [404, "there is no such market", "take an id of the catalog"],
  EVENT_NOT_FOUND: [404, "there is no such event", "take an id of the catalog"],
  ORDER_NOT_FOUND: [404, "there is no such order", "take an id that a placement answered to this subaccount"],
  KEY_NOT_FOUND: [404, "there is no such live key", "list the live keys"],
  SUBACCOUNT_NOT_FOUND: [404, "there is no such subaccount", "list the subaccounts"],
  TRANSFER_NOT_FOUND: [404, "there is no such transfer", "take an id that a transfer answered"],
  GROUP_NOT_FOUND: [404, "there is no such order group", "list the groups, or create it"],
  CLIENT_NOT_FOUND: [404, "there is no such live client", "list the clients"],
  STRIKE_REQUEST_NOT_FOUND: [404, "there is no such strike request", "list the requests"],
  TRADER_NOT_FOUND: [404, "there is no such trader", "list the traders"],
  EMAIL_TAKEN: [409, "email: an account with this address exists", "sign in, or register another"],
  KEY_EXISTS: [409, "publicKey: a live key with it exists", "make a new pair of keys"],
  MANAGEMENT_KEY_EXISTS: [409, "the trader has a live management key", "revoke it first"],
  TRADING_KEY_EXISTS: [409, "the subaccount has a live trading key", "revoke it first"],
  CLIENT_ID_REUSED: [
    409,
    "clientId: belongs to another order of the last 24 hours",
    "choose another one, or send the same order",
  ],
  REQUEST_IN_PROGRESS: [
    409,
    "the first request with these signed bytes still runs",
    "send it again a moment later",
  ],
  GROUP_LIMIT: [409, "the order group has reached its limit", "reset it first"],
  MARKET_CLOSED: [409, "the market is not open", "wait until its lifecycle says OPEN"],
  MARKET_PAUSED: [409, "the market is paused", "wait until its lifecycle says RESUME"],
  MARKET_EXISTS: [409, "the market exists", "read it"],
  INVALID_TRANSITION: [
    409,
    "the present status does not allow this action",
    "read the status, and choose an action that it allows",
  ],
  VOID_KIND: [409, "the market voids the other way", "send push for a PUSH market and prices for an FMV one"],
  ALREADY_GRADED: [409, "the market has another grade", "remediate it first"],
  NOT_GRADED: [409, "the market has no grade", "grade it first"],
  NOT_SETTLED: [409, "the market is not settled", "wait until its settlement is done"],
  ACTION_PENDING: [409, "the markets still follow the event's last action", "try again a moment later"],
  ALREADY_EXISTS: [409, "it exists", "choose another name"],
  PAYLOAD_TOO_LARGE: [413, "the body is over 100 KiB", "split it"],
  INSUFFICIENT_BALANCE: [
    422,
    "the wallet has too little available",
    "fund it, cancel orders, or ask for less",
  ],
  OPEN_ORDER_LIMIT_EXCEEDED: [422, "the wallet has too many open orders", "cancel some first"],
  POSITION_LIMIT_EXCEEDED: [422, "qty: the position would be over its limit", "ask for less"],
  ACCOUNT_LOCKED: [423, "the account is locked", "ask the operator"],
  SYSTEM_LOCKED: [423, "the exchange is in maintenance", "wait for its end, which the changelog announces"],
  SELF_EXCLUDED: [
    423,
    "the account holder has excluded themself",
    "cancels still work; ask the operator about the rest",
  ],
  RATE_LIMIT_EXCEEDED: [429, "the bucket is empty", "wait for Retry-After seconds"],
  ANONYMIZED_NETWORK: [451, "the request came through a VPN, a proxy or Tor", "send it without"],
  RESTRICTED_NETWORK_REGION: [451, "the request came from a restricted region", "send it from elsewhere"],
  GEOLOCATION_NOT_FOUND: [
    451,
    "no device location is known, and a placement needs one of the last 3 days",
    "check in with the device",
  ],
  GEOLOCATION_FAILED: [451, "the last device location failed", "check in again"],
  INVALID_GEOLOCATION_REGION: [451, "the last device location has no region", "check in again"],
  RESTRICTED_GEOLOCATION_REGION: [
    451,
    "the last device location is in a restricted region",
    "check in from elsewhere",
  ],
  GEOLOCATION_EXPIRED: [451, "the last device location is older than the 3-day window", "check in again"],
  INTERNAL: [500, "something went wrong here", "report the X-Request-Id, which finds it"],
  UNAVAILABLE: [
    503,
    "a part of the exchange cannot be reached",
    "wait for Retry-After seconds and try again; a signed request may be sent as it is",
  ],
} as const satisfies Record<string, readonly [number, string, string]>;

/** A code of the table. `SCOPE_REJECTED` reads `SIGNATURE_REJECTED` on the wire, where the specification has one code for two statuses. */
export type Code = keyof typeof TABLE;

/** The status that goes with a code. */
export function statusOf(code: Code): number {
  return TABLE[code][0];
}

/** The status on surface B, which has one for everything that keeps an account from trading (contract section 7). */
export function statusOnB(code: Code): number {
  const status = statusOf(code);
  return status === 423 || status === 451 ? 403 : status;
}

/** What a code means and what to do about it, when nothing more particular can be said. */
export function meaningOf(code: Code): string {
  const [, meaning, remedy] = TABLE[code];
  return `${meaning}; ${remedy}`;
}

/** A line of the table, as it reads on surface A. */
export interface ErrorLine {
  readonly code: Code;
  readonly status: number;
  readonly meaning: string;
  readonly remedy: string;
}

/** The whole table, by status. */
export const ERRORS: readonly ErrorLine[] = Object.entries(TABLE).map(
  ([code, [status, meaning, remedy]]) => ({
    code: code as Code,
    status,
    meaning,
    remedy,
  }),
);

/** The code as clients see it. */
export function wireCode(code: Code): string {
  return code === "SCOPE_REJECTED" ? "SIGNATURE_REJECTED" : code;
}

/** A request that is refused. `more` joins `code` and `message` in the body, `headers` the answer. */
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

/** An actor's refusal as the answer to a request. The types see to it that each has its line in the table. */
export function refusedBy(refusal: LedgerRefusal | MarketRefusal, message?: string): Refused {
  return new Refused(refusal, message);
}

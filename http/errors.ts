/**
 * Every refusal that can leave the service over HTTP, with its status: the only place where a domain code meets a
 * number (specification, Errors; contract section 5). Surface A's body is `{ code, message }`.
 */

import type { LedgerRefusal } from "../actors/ledger/types.js";
import type { MarketRefusal } from "../actors/market/commands.js";

const TABLE = {
  INVALID_REQUEST: [400, "the request is malformed"],
  INVALID_BODY: [400, "a field of the body is missing, unknown or malformed"],
  INVALID_QUERY: [400, "a query parameter is unknown, repeated or malformed"],
  INVALID_PRICE: [400, "the price is not on the tick table"],
  QTY_OUT_OF_RANGE: [400, "the quantity is not a whole number from 1 to 2147483647"],
  TTL_NOT_ALLOWED: [400, "this time in force takes no ttl"],
  TTL_REQUIRED: [400, "GTT needs a ttl"],
  TTL_OUT_OF_RANGE: [400, "ttl must be from 1,000 ms to 30 days"],
  EVENT_NOT_TRADABLE: [400, "the event of the outcome takes no orders in its present status"],
  EMPTY_BATCH: [400, "a batch needs at least one item"],
  BATCH_TOO_LARGE: [400, "a batch holds at most 256 items; split it"],
  NOT_A_SUBACCOUNT_KEY: [400, "the key in the path does not reach a subaccount"],
  TRANSFER_ID_REUSED: [400, "the clientTransferId belongs to a transfer of another subaccount"],
  INVALID_PRICES: [400, "the prices do not name every outcome once or do not sum to 1.000"],
  UNAUTHENTICATED: [401, "the bearer token is missing, malformed or expired"],
  INVALID_CREDENTIALS: [401, "the e-mail address or the password is wrong"],
  SIGNATURE_REJECTED: [401, "the signature was not accepted"],
  SCOPE_REJECTED: [403, "the key's scope does not reach this route"],
  FORBIDDEN: [403, "the session's role does not reach this route"],
  KYC_REQUIRED: [403, "identity verification is required first"],
  ROUTE_NOT_FOUND: [404, "there is no such route; paths match byte for byte"],
  OUTCOME_NOT_FOUND: [404, "there is no such outcome"],
  MARKET_NOT_FOUND: [404, "there is no such market"],
  EVENT_NOT_FOUND: [404, "there is no such event"],
  ORDER_NOT_FOUND: [404, "there is no such order"],
  KEY_NOT_FOUND: [404, "there is no such live key"],
  SUBACCOUNT_NOT_FOUND: [404, "there is no such subaccount"],
  TRANSFER_NOT_FOUND: [404, "there is no such transfer"],
  GROUP_NOT_FOUND: [404, "there is no such order group"],
  CLIENT_NOT_FOUND: [404, "there is no such live client"],
  STRIKE_REQUEST_NOT_FOUND: [404, "there is no such strike request"],
  TRADER_NOT_FOUND: [404, "there is no such trader"],
  EMAIL_TAKEN: [409, "an account with this e-mail address exists"],
  KEY_EXISTS: [409, "a live key with this public key exists"],
  MANAGEMENT_KEY_EXISTS: [409, "the trader has a live management key; revoke it first"],
  TRADING_KEY_EXISTS: [409, "the subaccount has a live trading key; revoke it first"],
  CLIENT_ID_REUSED: [409, "the clientId belongs to another order of the last 24 hours"],
  REQUEST_IN_PROGRESS: [409, "the first request with these signed bytes still runs"],
  GROUP_LIMIT: [409, "the order group has reached its limit; reset it first"],
  MARKET_CLOSED: [409, "the market is not open"],
  MARKET_PAUSED: [409, "the market is paused"],
  MARKET_EXISTS: [409, "the market exists"],
  INVALID_TRANSITION: [409, "the present status does not allow this action"],
  VOID_KIND: [409, "the market voids the other way"],
  ALREADY_GRADED: [409, "the market has another grade; remediate it first"],
  NOT_GRADED: [409, "the market has no grade"],
  NOT_SETTLED: [409, "the market is not settled"],
  ACTION_PENDING: [409, "the markets still follow the event's last action; try again"],
  ALREADY_EXISTS: [409, "it exists"],
  PAYLOAD_TOO_LARGE: [413, "the body is over 100 KiB"],
  INSUFFICIENT_BALANCE: [422, "the wallet has too little available"],
  OPEN_ORDER_LIMIT_EXCEEDED: [422, "the wallet has too many open orders"],
  POSITION_LIMIT_EXCEEDED: [422, "the position would be over its limit"],
  ACCOUNT_LOCKED: [423, "the account is locked"],
  SYSTEM_LOCKED: [423, "the exchange is in maintenance"],
  SELF_EXCLUDED: [423, "the account holder has excluded themself"],
  RATE_LIMIT_EXCEEDED: [429, "the bucket is empty; wait for Retry-After seconds"],
  ANONYMIZED_NETWORK: [451, "the request came through a VPN, a proxy or Tor"],
  RESTRICTED_NETWORK_REGION: [451, "the request came from a restricted region"],
  GEOLOCATION_NOT_FOUND: [
    451,
    "no device location is known, and a placement needs one of the last 3 days; check in with the device",
  ],
  GEOLOCATION_FAILED: [451, "the last device location failed; check in again"],
  INVALID_GEOLOCATION_REGION: [451, "the last device location has no region; check in again"],
  RESTRICTED_GEOLOCATION_REGION: [451, "the last device location is in a restricted region"],
  GEOLOCATION_EXPIRED: [451, "the last device location is older than the 3-day window; check in again"],
  INTERNAL: [500, "something went wrong here; the request id finds it"],
  UNAVAILABLE: [503, "a part of the exchange cannot be reached; try again"],
} as const satisfies Record<string, readonly [number, string]>;

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

/** What a code means when nothing more particular can be said. */
export function meaningOf(code: Code): string {
  return TABLE[code][1];
}

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

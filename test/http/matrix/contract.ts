/**
 * The answer of each route to each caller, written from contract sections 5, 7 and 8 and not from the code. One line says
 * the route, who may call it, the bucket and the price of the sample, what the caller's own resource answers, and what
 * another's or a missing one does. A route that answers its own resource differently by credential says so after a
 * comma. A price of history has a token for its page of rows where the sample has any.
 *
 * M management, m management::read, T trading, t trading::read, W web session, O operator, E client of surface B,
 * * anybody.
 */

const LINES = `
POST /v3/echo                                              | M m T t | -         | 200
GET /v3/limits                                             | M m T t | -         | 200
GET /v3/keys                                               | M m W   | account 1 | 200
POST /v3/keys                                              | M W     | account 1 | 201, W 409 MANAGEMENT_KEY_EXISTS
GET /v3/keys/:keyId                                        | M m W   | account 1 | 200 | 404 KEY_NOT_FOUND
DELETE /v3/keys/:keyId                                     | M W     | account 1 | 204 | 404 KEY_NOT_FOUND
GET /v3/account/subaccounts                                | M m     | account 1 | 200
POST /v3/account/subaccounts                               | M       | account 1 | 201
PATCH /v3/account/subaccounts/:keyId                       | M       | account 1 | 200 | 404 SUBACCOUNT_NOT_FOUND
GET /v3/account/subaccounts/:keyId/balance                 | M m T t | account 1 | 200 | 404 SUBACCOUNT_NOT_FOUND
POST /v3/account/subaccounts/:keyId/keys                   | M       | account 1 | 201 | 404 SUBACCOUNT_NOT_FOUND
POST /v3/account/subaccounts/:keyId/transfer               | M       | account 1 | 202 | 404 SUBACCOUNT_NOT_FOUND
GET /v3/account/subaccounts/:keyId/transactions            | M m T t | history 7 | 200 | 404 SUBACCOUNT_NOT_FOUND
GET /v3/account/subaccounts/:keyId/transfers/:transferId   | M m     | account 1 | 200 | 404 TRANSFER_NOT_FOUND
GET /v3/account/orders                                     | T t     | account 1 | 200
GET /v3/account/positions                                  | T t     | account 1 | 200

GET /v3/catalog/events                                     | T t     | read 1    | 200
GET /v3/catalog/events/:eventId                            | T t     | read 1    | 200 | 404 EVENT_NOT_FOUND
GET /v3/catalog/markets                                    | T t     | read 1    | 200
GET /v3/catalog/markets/:marketId                          | T t     | read 1    | 200 | 404 MARKET_NOT_FOUND
GET /v3/catalog/markets/:marketId/book                     | T t     | read 1    | 200 | 404 MARKET_NOT_FOUND
GET /v3/catalog/markets/:marketId/trades                   | T t     | read 1    | 200 | 404 MARKET_NOT_FOUND
GET /v3/catalog/markets/:marketId/candles                  | T t     | read 1    | 200 | 404 MARKET_NOT_FOUND
GET /v3/types/sports                                       | M m T t | read 1    | 200
GET /v3/types/leagues                                      | M m T t | read 1    | 200
GET /v3/types/markets                                      | M m T t | read 1    | 200
GET /v3/types/event-statuses                               | M m T t | read 1    | 200
GET /v3/public/catalog/events                              | *       | -         | 200
GET /v3/public/catalog/events/:eventId                     | *       | -         | 200 | 404 EVENT_NOT_FOUND
GET /v3/public/catalog/markets                             | *       | -         | 200
GET /v3/public/catalog/markets/:marketId                   | *       | -         | 200 | 404 MARKET_NOT_FOUND
GET /v3/public/catalog/markets/:marketId/book              | *       | -         | 200 | 404 MARKET_NOT_FOUND
GET /v3/public/catalog/markets/:marketId/trades            | *       | -         | 200 | 404 MARKET_NOT_FOUND
GET /v3/public/catalog/markets/:marketId/candles           | *       | -         | 200 | 404 MARKET_NOT_FOUND
GET /v3/public/types/sports                                | *       | -         | 200
GET /v3/public/types/leagues                               | *       | -         | 200
GET /v3/public/types/markets                               | *       | -         | 200
GET /v3/public/types/event-statuses                        | *       | -         | 200
GET /v3/public/changelog                                   | *       | -         | 200
GET /v3/history/markets                                    | T t     | history 5 | 200

POST /v3/orders                                            | T       | place 1   | 201
POST /v3/orders/preview                                    | T t     | read 1    | 200
POST /v3/orders/batch                                      | T       | place 1   | 201
DELETE /v3/orders/batch                                    | T       | cancel 1  | 200 | 404
DELETE /v3/orders                                          | T       | cancel 1  | 200
DELETE /v3/orders/:orderId                                 | T       | cancel 1  | 200 | 404 ORDER_NOT_FOUND
PATCH /v3/orders/:orderId                                  | T       | place 1   | 200 | 404 ORDER_NOT_FOUND
GET /v3/orders/:orderId                                    | T t     | read 1    | 200 | 404 ORDER_NOT_FOUND
GET /v3/orders                                             | T t     | read 1    | 200
GET /v3/portfolio/fills                                    | T t     | history 8 | 200
GET /v3/portfolio/positions                                | T t     | read 1    | 200
POST /v3/safety/heartbeat                                  | T       | -         | 200
POST /v3/safety/groups                                     | T       | account 1 | 201
GET /v3/safety/groups                                      | T       | account 1 | 200
GET /v3/safety/groups/:groupId                             | T       | account 1 | 200 | 404 GROUP_NOT_FOUND
POST /v3/safety/groups/:groupId/reset                      | T       | account 1 | 200 | 404 GROUP_NOT_FOUND
DELETE /v3/safety/groups/:groupId                          | T       | account 1 | 204 | 404 GROUP_NOT_FOUND
DELETE /v3/safety/groups                                   | T       | account 1 | 200
POST /v3/ws/tickets                                        | T W     | account 1 | 200

POST /v3/session/register                                  | *       | -         | 201
POST /v3/session                                           | *       | -         | 200
GET /v3/session                                            | W O     | -         | 200
DELETE /v3/session                                         | W O     | -         | 204
POST /v3/session/location                                  | W O     | -         | 200
GET /v3/session/location                                   | W O     | -         | 200

POST /admin/v1/events                                      | O       | -         | 201
GET /admin/v1/events                                       | O       | -         | 200
GET /admin/v1/events/:eventId                              | O       | -         | 200 | 404 EVENT_NOT_FOUND
POST /admin/v1/events/:eventId/status                      | O       | -         | 200 | 404 EVENT_NOT_FOUND
POST /admin/v1/markets                                     | O       | -         | 201
GET /admin/v1/markets                                      | O       | -         | 200
GET /admin/v1/markets/:marketId                            | O       | -         | 200 | 404 MARKET_NOT_FOUND
PATCH /admin/v1/markets/:marketId                          | O       | -         | 200 | 404 MARKET_NOT_FOUND
POST /admin/v1/markets/:marketId/status                    | O       | -         | 200 | 404 MARKET_NOT_FOUND
POST /admin/v1/markets/:marketId/grade                     | O       | -         | 202 | 404 MARKET_NOT_FOUND
GET /admin/v1/markets/:marketId/settlement                 | O       | -         | 200 | 404 MARKET_NOT_FOUND
POST /admin/v1/markets/:marketId/settlement/approve        | O       | -         | 409 NOT_GRADED | 404 MARKET_NOT_FOUND
DELETE /admin/v1/markets/:marketId/settlement              | O       | -         | 409 NOT_GRADED | 404 MARKET_NOT_FOUND
POST /admin/v1/markets/:marketId/remediate                 | O       | -         | 202 | 404 MARKET_NOT_FOUND
GET /admin/v1/traders                                      | O       | -         | 200
GET /admin/v1/traders/:traderId                            | O       | -         | 200 | 404 TRADER_NOT_FOUND
POST /admin/v1/traders/:traderId/kyc                       | O       | -         | 200 | 404 TRADER_NOT_FOUND
POST /admin/v1/traders/:traderId/state                     | O       | -         | 200 | 404 TRADER_NOT_FOUND
POST /admin/v1/traders/:traderId/transactions              | O       | -         | 201 | 404 TRADER_NOT_FOUND
POST /admin/v1/traders/:traderId/collateral                | O       | -         | 200 | 404 TRADER_NOT_FOUND
GET /admin/v1/ticks                                        | O       | -         | 200
PUT /admin/v1/ticks                                        | O       | -         | 200
GET /admin/v1/geo                                          | O       | -         | 200
PUT /admin/v1/geo                                          | O       | -         | 200
GET /admin/v1/maintenance                                  | O       | -         | 200
POST /admin/v1/maintenance                                 | O       | -         | 409 INVALID_TRANSITION
POST /admin/v1/changelog                                   | O       | -         | 201
POST /admin/v1/operators                                   | O       | -         | 201
GET /admin/v1/emm-clients                                  | O       | -         | 200
POST /admin/v1/emm-clients                                 | O       | -         | 201
POST /admin/v1/emm-clients/:clientId/rotate                | O       | -         | 200 | 404 CLIENT_NOT_FOUND
DELETE /admin/v1/emm-clients/:clientId                     | O       | -         | 204 | 404 CLIENT_NOT_FOUND
GET /admin/v1/strike-requests                              | O       | -         | 200
POST /admin/v1/strike-requests/:requestId                  | O       | -         | 200 | 404 STRIKE_REQUEST_NOT_FOUND
GET /admin/v1/players                                      | O       | -         | 200
POST /admin/v1/players                                     | O       | -         | 201
POST /admin/v1/leagues                                     | O       | -         | 201
POST /admin/v1/market-types                                | O       | -         | 201
GET /admin/v1/audit-log                                    | O       | -         | 200
GET /admin/v1/money                                        | O       | -         | 200

GET /svc/v2/emm/events/getMarketsByEvent/:eventId          | E       | -         | 200 | 404 EVENT_NOT_FOUND
GET /svc/v2/emm/markets/open                               | E       | -         | 200
GET /svc/v2/emm/markets/:marketId                          | E       | -         | 200 | 404 MARKET_NOT_FOUND
GET /svc/v2/emm/positions/all                              | E       | -         | 200
GET /svc/v2/emm/ticks                                      | E       | -         | 200
GET /svc/v2/emm/events                                     | E       | -         | 200
GET /svc/v2/emm/events/:eventId                            | E       | -         | 200 | 404 EVENT_NOT_FOUND
GET /svc/v2/emm/event-metadata/leagues                     | E       | -         | 200
GET /svc/v2/emm/event-metadata/types                       | E       | -         | 200
GET /svc/v2/emm/event-metadata/statuses                    | E       | -         | 200
POST /svc/v2/emm/strike-requests                           | E       | -         | 202
GET /svc/v2/emm/fills/all                                  | E       | -         | 200
GET /svc/v2/emm/orders/all                                 | E       | -         | 200
GET /svc/v2/emm/transactions                               | E       | -         | 200
POST /svc/v2/emm/orders/place                              | E       | -         | 201
POST /svc/v2/emm/orders/cancel                             | E       | -         | 200 | 207
DELETE /svc/v2/emm/orders                                  | E       | -         | 200
`;

/** Everybody who calls: each kind of credential, and those that are none (any more, or here). */
export const CREDENTIALS = [
  "M",
  "m",
  "T",
  "t",
  "W",
  "O",
  "E",
  "none",
  "revoked key",
  "expired key",
  "key of another environment",
  "key of another brand",
  "signature by another's key",
  "ended session",
  "session of another environment",
  "deleted client",
  "client token of another environment",
  "operator token of another environment",
] as const;
export type Credential = (typeof CREDENTIALS)[number];

/** Whose the resource of a path or body is. `sibling`: of another subaccount of the same trader. */
export type Whose = "own" | "sibling" | "foreign" | "missing";

export interface Rule {
  readonly line: string;
  readonly callers: readonly string[];
  /** The bucket and what it is charged, or `-`: free, or counted elsewhere. */
  readonly price: string;
  readonly own: string;
  readonly ownBy: ReadonlyMap<string, string>;
  readonly elsewhere: string | undefined;
}

function ruleOf(text: string): Rule {
  const [line = "", callers = "", price = "", answers = "", elsewhere] = text
    .split("|")
    .map((part) => part.trim());
  const [own = "", ...others] = answers.split(",").map((part) => part.trim());
  const ownBy = others.map((other): [string, string] => [other.slice(0, 1), other.slice(2)]);
  return { line, callers: callers.split(" "), price, own, ownBy: new Map(ownBy), elsewhere };
}

/** The lines of the contract by route, such as `GET /v3/keys`. */
export const RULES: ReadonlyMap<string, Rule> = new Map(
  LINES.split("\n")
    .filter((line) => line !== "")
    .map((line) => [ruleOf(line).line, ruleOf(line)]),
);

/** The rule of the upgrade to a websocket, which is no route (contract section 6.1). */
export const UPGRADE = ruleOf("GET /v3/ws | T t | stream 32 | 101");

export function isPublic({ callers }: Rule): boolean {
  return callers.includes("*");
}

const KEYS: readonly Credential[] = ["M", "m", "T", "t"];
const BAD_KEYS: readonly Credential[] = [
  "revoked key",
  "expired key",
  "key of another environment",
  "key of another brand",
  "signature by another's key",
];

/** How somebody is refused whom a route does not let in; `undefined` for those that it does. */
export function refusalOf(rule: Rule, credential: Credential): string | undefined {
  const { callers } = rule;
  if (isPublic(rule) || callers.includes(credential)) return undefined;
  const takesKeys = KEYS.some((scope) => callers.includes(scope));
  if (takesKeys) {
    if (KEYS.includes(credential)) return "403 SIGNATURE_REJECTED";
    if (credential === "none" || BAD_KEYS.includes(credential)) return "401 SIGNATURE_REJECTED";
    if (!callers.includes("W")) return "401 SIGNATURE_REJECTED";
    return credential === "O" ? "403 FORBIDDEN" : "401 UNAUTHENTICATED";
  }
  return callers.includes("O") && credential === "W" ? "403 FORBIDDEN" : "401 UNAUTHENTICATED";
}

/** What somebody gets whom a route lets in. */
export function answerOf(rule: Rule, credential: Credential, whose: Whose): string {
  if (whose === "own") return rule.ownBy.get(credential) ?? rule.own;
  // A trading key reaches only its own subaccount, a management key all of its trader's (contract section 5).
  if (whose === "sibling" && rule.elsewhere === "404 SUBACCOUNT_NOT_FOUND") {
    return credential === "T" || credential === "t" ? "403 SIGNATURE_REJECTED" : rule.own;
  }
  return rule.elsewhere ?? rule.own;
}

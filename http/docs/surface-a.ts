/** Notes on the routes of surface A and of sessions (contract sections 5 and 8). The public ones read as the signed. */

import { TicketBody } from "../surface-a/schemas/account.js";
import { BATCH_REFUSALS, IDS, ORDER_REFUSALS, PUBLIC_KEY, UNCHANGED, type Note } from "./notes.js";

const { eventId: event, marketId: market, outcomeId, orderId } = IDS;
const NEW_KEY = { name: "laptop", publicKey: PUBLIC_KEY, algorithm: "Ed25519" };
const ORDER = { outcomeId, price: "0.665", qty: 100, tif: "GTC" };
const SUBACCOUNT = ["SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"] as const;
const REPEATED = "The same clientId with the same body: the first acceptance again, and no second order.";

export const SURFACE_A: Readonly<Record<string, Note>> = {
  "POST /v3/echo": {
    summary: "Answers the body byte for byte",
    detail:
      "With the header `{brand}-Debug: canonical`, outside production, its 200 and its 401 carry the canonical text that the server built in `{brand}-Canonical` (base64), so that a signer can be mended by a diff.",
    bytes: true,
    headers: ["Canonical"],
    body: { hello: "world" },
  },
  "GET /v3/limits": {
    summary: "Every bucket's numbers and level, and how many markets may be watched at once",
  },

  "GET /v3/keys": { summary: "The trader's live keys" },
  "POST /v3/keys": {
    summary: "Create a key",
    detail:
      "A management key makes a `management::read` key; a web session makes the `management` key, of which one lives at a time and which never expires.",
    refuses: ["KEY_EXISTS", "MANAGEMENT_KEY_EXISTS", "KYC_REQUIRED"],
    body: NEW_KEY,
  },
  "GET /v3/keys/:keyId": { summary: "One live key", refuses: ["KEY_NOT_FOUND"] },
  "DELETE /v3/keys/:keyId": {
    summary: "Revoke a key, for good",
    detail:
      "In force everywhere within 5 s; its sockets close. Its resting orders stay on the book until canceled.",
    refuses: ["KEY_NOT_FOUND"],
  },

  "GET /v3/account/subaccounts": { summary: "The trader's subaccounts" },
  "POST /v3/account/subaccounts": {
    summary: "Open a subaccount with its trading key",
    refuses: ["KEY_EXISTS"],
    body: { label: "main", publicKey: PUBLIC_KEY, algorithm: "Ed25519" },
  },
  "PATCH /v3/account/subaccounts/:keyId": {
    summary: "Label a subaccount",
    refuses: SUBACCOUNT,
    body: { label: "spreads" },
  },
  "GET /v3/account/subaccounts/:keyId/balance": {
    summary: "What a subaccount holds",
    detail: "A trading key reaches its own subaccount only.",
    refuses: SUBACCOUNT,
  },
  "POST /v3/account/subaccounts/:keyId/keys": {
    summary: "Issue a key for a subaccount",
    detail: "While the trading key is live only `trading::read` keys are made.",
    refuses: [...SUBACCOUNT, "KEY_EXISTS", "TRADING_KEY_EXISTS"],
    body: { ...NEW_KEY, scope: "trading::read" },
  },
  "POST /v3/account/subaccounts/:keyId/transfer": {
    summary: "Move money between the trader's own wallet and a subaccount",
    detail:
      "Too much is not an error: the transfer then ends `Rejected`. At most 5 a second and 60 a minute.",
    refuses: [...SUBACCOUNT, "TRANSFER_ID_REUSED"],
    body: { direction: "fund", amount: "12.50", clientTransferId: "monday" },
  },
  "GET /v3/account/subaccounts/:keyId/transfers/:transferId": {
    summary: "One transfer",
    refuses: [...SUBACCOUNT, "TRANSFER_NOT_FOUND"],
  },
  "GET /v3/account/subaccounts/:keyId/transactions": {
    summary: "What moved a subaccount's money, newest first",
    refuses: SUBACCOUNT,
    query: { kind: "TRANSFER_IN", limit: "100" },
  },
  "GET /v3/account/orders": {
    summary: "The wallet's open orders, as the stream's snapshot has them",
    also: UNCHANGED,
  },
  "GET /v3/account/positions": {
    summary: "The wallet's positions, as the stream's snapshot has them",
    also: UNCHANGED,
  },

  "GET /v3/catalog/events": {
    summary: "Events, by their start",
    detail: "Visible ones that are not over, unless `status` asks for others.",
    query: { league: "NFL", status: "OPEN_PREGAME,OPEN_INGAME", limit: "100" },
  },
  "GET /v3/catalog/events/:eventId": {
    summary: "One event, with its markets' ids",
    refuses: ["EVENT_NOT_FOUND"],
  },
  "GET /v3/catalog/markets": {
    summary: "Markets of the events that are not over",
    query: { league: "NFL", marketType: "MONEY", event, limit: "100" },
  },
  "GET /v3/catalog/markets/:marketId": { summary: "One market", refuses: ["MARKET_NOT_FOUND"] },
  "GET /v3/catalog/markets/:marketId/book": {
    summary: "The resting orders of a market, best first, then in queue order",
    refuses: ["MARKET_NOT_FOUND"],
    also: UNCHANGED,
    query: { currency: "CASH" },
  },
  "GET /v3/catalog/markets/:marketId/trades": {
    summary: "The public trades of a market, newest first",
    refuses: ["MARKET_NOT_FOUND"],
    query: { limit: "100" },
  },
  "GET /v3/catalog/markets/:marketId/candles": {
    summary: "Prices and volume of an outcome over time",
    refuses: ["MARKET_NOT_FOUND", "OUTCOME_NOT_FOUND"],
    query: { outcome: outcomeId, interval: "5m", from: "1790000000000", to: "1790003600000" },
  },
  "GET /v3/types/sports": { summary: "The sports" },
  "GET /v3/types/leagues": { summary: "The leagues" },
  "GET /v3/types/markets": { summary: "The market types" },
  "GET /v3/types/event-statuses": { summary: "The statuses of events" },
  "GET /v3/public/changelog": { summary: "What changed and what will, newest first", query: { limit: "20" } },
  "GET /v3/history/markets": { summary: "Settled markets, newest first", query: { limit: "100" } },

  "POST /v3/orders": {
    summary: "Place an order",
    detail:
      "201 says that it is queued; the stream and the reads say what became of it. A `clientId` is unique per wallet for 24 hours.",
    refuses: ORDER_REFUSALS,
    also: { 200: REPEATED },
    body: ORDER,
  },
  "POST /v3/orders/batch": {
    summary: "Place up to 256 orders",
    detail:
      "Each is judged for itself. With `atomic` all are accepted or none. When none was accepted, the answer is the first refusal's, with `rejected`.",
    refuses: BATCH_REFUSALS,
    also: { 200: REPEATED, 207: "Some were accepted; `rejected` says which were not." },
    rejected: true,
    body: { orders: [ORDER, { ...ORDER, price: "0.660", tif: "PO" }], atomic: false },
  },
  "POST /v3/orders/preview": {
    summary: "What an order would do now; changes nothing",
    refuses: ORDER_REFUSALS,
    body: ORDER,
  },
  "PATCH /v3/orders/:orderId": {
    summary: "Change an open order",
    detail:
      "Less quantity keeps the place in the queue and the id; anything else is one atomic cancel-and-replace with a new id.",
    refuses: [...ORDER_REFUSALS, "ORDER_NOT_FOUND"],
    body: { qty: 50 },
  },
  "DELETE /v3/orders/batch": {
    summary: "Cancel up to 256 orders",
    detail: "An id that cannot be canceled does not stop the rest.",
    refuses: ["EMPTY_BATCH", "BATCH_TOO_LARGE"],
    also: { 207: "Some were canceled.", 404: "None was canceled." },
    body: { orderIds: [orderId] },
  },
  "DELETE /v3/orders": {
    summary: "Cancel all of the wallet's orders, or those of an event, a market or an outcome",
    query: { market },
  },
  "DELETE /v3/orders/:orderId": { summary: "Cancel one order", refuses: ["ORDER_NOT_FOUND"] },
  "GET /v3/orders/:orderId": { summary: "One order, for ever", refuses: ["ORDER_NOT_FOUND"] },
  "GET /v3/orders": {
    summary: "The wallet's orders, newest first; open ones unless `status` asks for others",
    detail: "With `clientId` the answer is that one order instead of a page.",
    refuses: ["ORDER_NOT_FOUND"],
    query: { market, status: "OPEN" },
  },
  "GET /v3/portfolio/fills": { summary: "The wallet's fills, newest first", query: { market, limit: "100" } },
  "GET /v3/portfolio/positions": { summary: "The wallet's positions", query: { event } },

  "POST /v3/safety/heartbeat": {
    summary: "Arm the dead-man switch: without another call in time all the wallet's orders are canceled",
    detail: "`timeoutMs` 0 disarms it.",
    body: { timeoutMs: 30_000 },
  },
  "POST /v3/safety/groups": {
    summary: "Create an order group, or change its bounds",
    detail:
      "More than `maxFilledQty` filled within `windowMs` cancels the group's orders and refuses new ones.",
    body: { groupId: IDS.groupId, maxFilledQty: 1_000, windowMs: 10_000 },
  },
  "GET /v3/safety/groups": { summary: "The wallet's order groups" },
  "GET /v3/safety/groups/:groupId": { summary: "One order group", refuses: ["GROUP_NOT_FOUND"] },
  "POST /v3/safety/groups/:groupId/reset": {
    summary: "Let a group that was breached place again",
    refuses: ["GROUP_NOT_FOUND"],
  },
  "DELETE /v3/safety/groups/:groupId": { summary: "Remove an order group", refuses: ["GROUP_NOT_FOUND"] },
  "DELETE /v3/safety/groups": { summary: "Remove all order groups", refuses: ["GROUP_NOT_FOUND"] },

  "POST /v3/ws/tickets": {
    summary: "A ticket for the stream, good once within 30 s: GET /v3/ws?ticket=",
    detail: "A web session names the key to stream by, unless the trader has one subaccount only.",
    refuses: ["KEY_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"],
    maybeBody: TicketBody,
    body: { keyId: IDS.keyId },
  },

  "POST /v3/session/register": {
    summary: "Open an account",
    refuses: ["EMAIL_TAKEN", "RATE_LIMIT_EXCEEDED"],
    body: { email: "trader@example.com", password: "a long password" },
  },
  "POST /v3/session": {
    summary: "Sign in: a bearer token for 12 hours",
    refuses: ["INVALID_CREDENTIALS", "RATE_LIMIT_EXCEEDED"],
    body: { email: "trader@example.com", password: "a long password" },
  },
  "GET /v3/session": { summary: "Who is signed in" },
  "DELETE /v3/session": { summary: "Sign out" },
  "POST /v3/session/location": {
    summary: "The device's check-in; placements need one of the last 3 days",
    detail: "`{ region }` in ISO 3166-2, `{ failed: true }`, or `{}` when the device knows no region.",
    body: { region: "US-NY" },
  },
  "GET /v3/session/location": { summary: "The last check-in" },
};

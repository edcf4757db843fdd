/** Notes on the routes of surface B, by their path below `/{prefix}/v2/emm` (contract section 7). */

import { BATCH_REFUSALS, IDS, UNCHANGED, type Note } from "./notes.js";

const { marketId, outcomeId, orderId } = IDS;
const NEXT_PAGE = ["Link", "X-Next-Cursor"] as const;

export const SURFACE_B: Readonly<Record<string, Note>> = {
  "GET /events/getMarketsByEvent/:eventId": {
    summary: "An event's markets with their books",
    detail:
      "`view=ladder` shows every resting order, `view=simple` levels with the asks that the other ladders imply. Sends gzip to those who take it.",
    refuses: ["EVENT_NOT_FOUND"],
    also: UNCHANGED,
    query: { currency: "CASH", view: "ladder" },
  },
  "GET /markets/open": {
    summary: "Open markets",
    also: UNCHANGED,
    query: { leagues: "NFL,NBA", marketTypes: "MONEY,SPREAD" },
  },
  "GET /markets/:marketId": {
    summary: "One market; once settled with settledAt, and WIN or LOSS",
    refuses: ["MARKET_NOT_FOUND"],
  },
  "GET /positions/all": {
    summary: "The client's positions",
    detail: "Without `outcomeIds` those of all open markets; with an empty one none.",
    query: { currency: "CASH", outcomeIds: outcomeId, limit: "100" },
  },
  "GET /ticks": { summary: "Every valid price" },
  "GET /events": {
    summary: "Events with their markets' ids, whether visible or not",
    query: { league: "NFL", type: "Game", status: "OPEN_PREGAME", limit: "100", offset: "0" },
  },
  "GET /events/:eventId": { summary: "One event with its markets' ids", refuses: ["EVENT_NOT_FOUND"] },
  "GET /event-metadata/leagues": { summary: "The leagues" },
  "GET /event-metadata/types": { summary: "The event types" },
  "GET /event-metadata/statuses": { summary: "The event statuses" },
  "POST /strike-requests": {
    summary: "Ask for a market with another strike",
    detail: "A whole strike becomes the half point above. That it was taken does not promise the market.",
    refuses: ["MARKET_NOT_FOUND"],
    body: { marketId, strike: 47 },
  },
  "GET /fills/all": {
    summary: "The client's fills, newest first",
    headers: NEXT_PAGE,
    query: { limit: "256" },
  },
  "GET /orders/all": {
    summary: "The client's orders, newest first",
    headers: NEXT_PAGE,
    query: { limit: "256" },
  },
  "GET /transactions": {
    summary: "What moved the client's money, newest first",
    headers: NEXT_PAGE,
    query: { kind: "TRANSFER_IN", limit: "256" },
  },
  "POST /orders/place": {
    summary: "Place up to 256 orders",
    detail: "When none was accepted, the answer is the first refusal's, with `rejected`.",
    refuses: [...BATCH_REFUSALS, "SYSTEM_LOCKED"],
    also: {
      200: "The same clientIds with the same orders: the first acceptance again, and no second order.",
      207: "Some were accepted; `rejected` says which were not.",
    },
    rejected: true,
    body: [{ outcomeId, price: 0.665, qty: 100, currency: "CASH" }],
  },
  "POST /orders/cancel": {
    summary: "Cancel up to 256 orders",
    refuses: ["EMPTY_BATCH", "BATCH_TOO_LARGE"],
    also: { 207: "Some were not canceled; `notCanceled` says why." },
    body: { orderIds: [orderId] },
  },
  "DELETE /orders": {
    summary: "The kill switch: cancel all of the client's orders",
    query: { currency: "CASH" },
  },
};

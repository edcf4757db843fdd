/** Notes on the operator's routes, by their path below `/admin/v1` (contract section 8). */

import { IDS, type Note } from "./notes.js";

const { eventId, marketId, outcomeId, keyId } = IDS;
const EVENT = ["EVENT_NOT_FOUND"] as const;
const MARKET = ["MARKET_NOT_FOUND"] as const;
const TRADER = ["TRADER_NOT_FOUND"] as const;
const STARTS = 1_900_000_000_000;

export const OPERATOR: Readonly<Record<string, Note>> = {
  "POST /events": {
    summary: "Create an event",
    body: {
      sport: "FOOTBALL",
      league: "NFL",
      type: "Game",
      description: "Ants at Bees",
      startsTs: STARTS,
      game: { homeTeam: { name: "Bees", symbol: "BEE" }, awayTeam: { name: "Ants", symbol: "ANT" } },
    },
  },
  "GET /events": { summary: "Events, visible or not", query: { league: "NFL", status: "OPEN_PREGAME" } },
  "GET /events/:eventId": { summary: "One event", refuses: EVENT },
  "POST /events/:eventId/status": {
    summary: "Open, close, start, delay, end or cancel an event, and all its markets with it",
    refuses: [...EVENT, "INVALID_TRANSITION", "ACTION_PENDING"],
    body: { action: "close" },
  },
  "POST /markets": {
    summary: "Create a market",
    refuses: [...EVENT, "INVALID_TRANSITION", "MARKET_EXISTS"],
    body: {
      eventId,
      marketType: "TOTAL",
      description: "Points over or under 47.5",
      strike: "47.5",
      voids: "PUSH",
      fee: { coefficient: "0.03", makerCredit: "0.5", charged: "WHEN_LIVE" },
      outcomes: [{ name: "Over 47.5" }, { name: "Under 47.5" }],
    },
  },
  "GET /markets": { summary: "Markets, newest first", query: { event: eventId, status: "OPEN" } },
  "GET /markets/:marketId": { summary: "One market", refuses: MARKET },
  "PATCH /markets/:marketId": {
    summary: "Change the fee, the placement delay or the description",
    refuses: MARKET,
    body: { liveDelayMs: 2_000 },
  },
  "POST /markets/:marketId/status": {
    summary: "Open, close, pause or resume a market",
    refuses: [...MARKET, "INVALID_TRANSITION"],
    body: { action: "pause" },
  },
  "POST /markets/:marketId/grade": {
    summary: "Grade a market and settle it; with `preview=true` only show the payouts",
    detail: "`{ winner }`, `{ push: true }` on a PUSH market, or `{ prices }` on an FMV one.",
    refuses: [
      ...MARKET,
      "OUTCOME_NOT_FOUND",
      "INVALID_PRICES",
      "VOID_KIND",
      "ALREADY_GRADED",
      "INVALID_TRANSITION",
    ],
    also: { 200: "With `preview=true`: what would be paid. Nothing has changed." },
    query: { preview: "true" },
    body: { winner: outcomeId },
  },
  "GET /markets/:marketId/settlement": {
    summary: "How far a settlement is",
    refuses: [...MARKET, "NOT_GRADED"],
  },
  "POST /markets/:marketId/settlement/approve": {
    summary: "Approve a grade as the second operator",
    refuses: [...MARKET, "NOT_GRADED", "ALREADY_GRADED", "VOID_KIND", "INVALID_TRANSITION"],
  },
  "DELETE /markets/:marketId/settlement": {
    summary: "Withdraw a grade that waits for its approval",
    refuses: [...MARKET, "NOT_GRADED"],
  },
  "POST /markets/:marketId/remediate": {
    summary: "Take a settlement back, so that the market can be graded again",
    refuses: [...MARKET, "NOT_SETTLED", "NOT_GRADED", "INVALID_TRANSITION"],
    also: { 200: "With `preview=true`: what would be taken back. Nothing has changed." },
    query: { preview: "true" },
    body: { reason: "the score was corrected" },
  },
  "GET /traders": { summary: "Traders", query: { email: "trader@example.com" } },
  "GET /traders/:traderId": { summary: "One trader, with what they hold", refuses: TRADER },
  "POST /traders/:traderId/kyc": {
    summary: "Tell what came of identity verification",
    refuses: TRADER,
    body: { status: "VERIFIED" },
  },
  "POST /traders/:traderId/state": {
    summary: "Lock, exclude or free a trader",
    refuses: TRADER,
    body: { state: "ACTIVE", reason: "all is well" },
  },
  "POST /traders/:traderId/transactions": {
    summary: "Credit or debit a wallet",
    detail: "Without `subaccountKeyId` the trader's own wallet. The same `clientRef` takes effect once.",
    refuses: [
      ...TRADER,
      "SUBACCOUNT_NOT_FOUND",
      "NOT_A_SUBACCOUNT_KEY",
      "INSUFFICIENT_BALANCE",
      "CLIENT_ID_REUSED",
    ],
    body: {
      kind: "DEPOSIT",
      amount: "100.00",
      currency: "CASH",
      reason: "a bank transfer",
      clientRef: "bank-1",
    },
  },
  "POST /traders/:traderId/collateral": {
    summary: "Choose how a subaccount's open orders hold money",
    detail:
      "`hold`: each by itself. `net`: in markets of two outcomes only the worst case of both sides. Refused while the " +
      "open orders would then hold more than is there.",
    refuses: [...TRADER, "SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY", "INSUFFICIENT_BALANCE"],
    body: { policy: "net", subaccountKeyId: keyId },
  },
  "GET /ticks": { summary: "The tick table" },
  "PUT /ticks": {
    summary: "Publish a tick table",
    detail: "Strictly rising, each price with its complement. Resting orders keep resting.",
    body: { prices: ["0.250", "0.500", "0.750"] },
  },
  "GET /geo": { summary: "From where the exchange may be used" },
  "PUT /geo": {
    summary: "Change from where the exchange may be used",
    body: { restrictedRegions: ["US-WA"], networks: [{ cidr: "192.0.2.0/24", kind: "VPN" }] },
  },
  "GET /maintenance": { summary: "Whether the exchange is in maintenance" },
  "POST /maintenance": {
    summary: "Begin maintenance, which cancels all open orders, or end it",
    refuses: ["INVALID_TRANSITION"],
    body: { action: "begin", message: "back at noon" },
  },
  "POST /changelog": {
    summary: "Announce a change",
    body: { title: "New leagues", body: "NCAABSB and WBC are listed.", effectiveTs: STARTS },
  },
  "POST /operators": {
    summary: "Create an operator",
    refuses: ["EMAIL_TAKEN"],
    body: { email: "second@example.com", password: "another long password" },
  },
  "GET /emm-clients": { summary: "The clients of surface B" },
  "POST /emm-clients": {
    summary: "Create a client for a subaccount; its secret is shown this once",
    refuses: ["SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"],
    body: { subaccountKeyId: keyId, name: "maker" },
  },
  "POST /emm-clients/:clientId/rotate": {
    summary: "Give a client a new secret; the old one and its tokens end",
    refuses: ["CLIENT_NOT_FOUND"],
  },
  "DELETE /emm-clients/:clientId": { summary: "End a client", refuses: ["CLIENT_NOT_FOUND"] },
  "GET /strike-requests": { summary: "Strike requests", query: { status: "PENDING" } },
  "POST /strike-requests/:requestId": {
    summary: "Approve a strike request, which creates the market, or reject it",
    refuses: [
      "STRIKE_REQUEST_NOT_FOUND",
      "MARKET_NOT_FOUND",
      "EVENT_NOT_FOUND",
      "INVALID_TRANSITION",
      "MARKET_EXISTS",
    ],
    body: { approve: false },
  },
  "GET /players": { summary: "Players" },
  "POST /players": {
    summary: "Create a player",
    body: { name: "A. Bee", fullName: "Ada Bee", position: "QB", team: { league: "NFL", name: "Bees" } },
  },
  "POST /leagues": {
    summary: "Create a league",
    refuses: ["ALREADY_EXISTS"],
    body: { name: "Insect League", sport: "FOOTBALL" },
  },
  "POST /market-types": {
    summary: "Create a market type; with `qaOnly` it exists where EXCHANGE_ENV is qa",
    refuses: ["ALREADY_EXISTS"],
    body: { name: "WINGSPAN", qaOnly: false },
  },
  "GET /audit-log": { summary: "Every write of an operator, newest first", query: { subject: marketId } },
  "GET /money": { summary: "The sums of all money, of the live actors and again of Postgres" },
};

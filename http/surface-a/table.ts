/** The table of the routes of surface A, of sessions and of the operator (contract sections 5 and 8). */

import type { Scope } from "../../db/schema/accounts.js";
import type { Endpoints } from "../endpoints.js";
import { byParameter, costs, free, perItem, perRows } from "../request/metering.js";
import { at, type Access, type Route } from "../request/route.js";

const ANY_SCOPE: readonly Scope[] = ["management", "management::read", "trading", "trading::read"];
const MANAGING: readonly Scope[] = ["management", "management::read"];
const TRADING: readonly Scope[] = ["trading", "trading::read"];

const signed = (scopes: readonly Scope[]) =>
  ({ kind: "key", scopes, location: "read", kyc: false, cancel: false }) as const;
const verified = (scopes: readonly Scope[]) => ({ ...signed(scopes), kyc: true }) as const;
const placing = { ...verified(["trading"]), location: "placing" } as const;
const canceling = { ...signed(["trading"]), location: "exempt", cancel: true } as const;
const orSession = (scopes: readonly Scope[]) => ({ ...signed(scopes), kind: "keyOrSession" }) as const;
const session = { kind: "session", role: undefined } as const satisfies Access;
const operator = { kind: "session", role: "operator" } as const satisfies Access;
const anybody = { kind: "public" } as const satisfies Access;

const account = costs("account", 1);
const read = costs("read", 1);
const settledOrders = perRows("history", 4, 100);
/** Transfers have rates of their own besides: 5 a second and 60 a minute. */
const transfer = costs("account", 1, [
  { name: "transfers a second", capacity: 5, refill: 5, periodMs: 1_000 },
  { name: "transfers a minute", capacity: 60, refill: 60, periodMs: 60_000 },
]);

/** Every route, how it is reached and what it costs (contract sections 5 and 8). */
export function routeTable({
  service,
  keys,
  subaccounts,
  transfers,
  catalog,
  orders,
  portfolio,
  safety,
  sessions,
  tickets,
  changelog,
  admin,
}: Endpoints): readonly Route[] {
  const { types } = catalog;
  const named = (base: string, access: typeof anybody | ReturnType<typeof signed>, metering: typeof free) => [
    at(`GET ${base}/catalog/events`, access, metering, catalog.events),
    at(`GET ${base}/catalog/events/:eventId`, access, metering, catalog.event),
    at(`GET ${base}/catalog/markets`, access, metering, catalog.markets),
    at(`GET ${base}/catalog/markets/:marketId`, access, metering, catalog.market),
    at(`GET ${base}/catalog/markets/:marketId/book`, access, metering, catalog.book),
    at(`GET ${base}/catalog/markets/:marketId/trades`, access, metering, catalog.trades),
    at(`GET ${base}/catalog/markets/:marketId/candles`, access, metering, catalog.candles),
  ];
  const lists = (base: string, access: typeof anybody | ReturnType<typeof signed>, metering: typeof free) => [
    at(`GET ${base}/types/sports`, access, metering, types.sports),
    at(`GET ${base}/types/leagues`, access, metering, types.leagues),
    at(`GET ${base}/types/markets`, access, metering, types.markets),
    at(`GET ${base}/types/event-statuses`, access, metering, types.eventStatuses),
  ];
  return [
    at("POST /v3/echo", signed(ANY_SCOPE), free, service.echo),
    at("GET /v3/limits", signed(ANY_SCOPE), free, service.limits),

    at("GET /v3/keys", orSession(MANAGING), account, keys.list),
    at("POST /v3/keys", orSession(["management"]), account, keys.create),
    at("GET /v3/keys/:keyId", orSession(MANAGING), account, keys.one),
    at("DELETE /v3/keys/:keyId", orSession(["management"]), account, keys.revoke),

    at("GET /v3/account/subaccounts", signed(MANAGING), account, subaccounts.list),
    at("POST /v3/account/subaccounts", verified(["management"]), account, subaccounts.open),
    at("PATCH /v3/account/subaccounts/:keyId", signed(["management"]), account, subaccounts.relabel),
    at("GET /v3/account/subaccounts/:keyId/balance", signed(ANY_SCOPE), account, subaccounts.balance),
    at("POST /v3/account/subaccounts/:keyId/keys", verified(["management"]), account, subaccounts.issueKey),
    at("POST /v3/account/subaccounts/:keyId/transfer", signed(["management"]), transfer, transfers.create),
    at("GET /v3/account/subaccounts/:keyId/transfers/:transferId", signed(MANAGING), account, transfers.one),
    at(
      "GET /v3/account/subaccounts/:keyId/transactions",
      signed(ANY_SCOPE),
      perRows("history", 6, 100),
      transfers.transactions,
    ),
    at("GET /v3/account/orders", signed(TRADING), account, portfolio.openOrders),
    at("GET /v3/account/positions", signed(TRADING), account, portfolio.openPositions),

    ...named("/v3", signed(TRADING), read),
    ...lists("/v3", signed(ANY_SCOPE), read),
    ...named("/v3/public", anybody, free),
    ...lists("/v3/public", anybody, free),
    at("GET /v3/public/changelog", anybody, free, changelog.list),
    at("GET /v3/history/markets", signed(TRADING), perRows("history", 4, 50), catalog.history),

    at("POST /v3/orders", placing, costs("place", 1), orders.place),
    at("POST /v3/orders/batch", placing, perItem("place", "orders"), orders.placeBatch),
    at("POST /v3/orders/preview", signed(TRADING), read, orders.preview),
    at("PATCH /v3/orders/:orderId", placing, costs("place", 1), orders.amend),
    at("DELETE /v3/orders/batch", canceling, perItem("cancel", "orderIds"), orders.cancelBatch),
    at("DELETE /v3/orders", canceling, costs("cancel", 1), orders.cancelAll),
    at("DELETE /v3/orders/:orderId", canceling, costs("cancel", 1), orders.cancel),
    at("GET /v3/orders/:orderId", signed(TRADING), read, orders.one),
    at("GET /v3/orders", signed(TRADING), byParameter("status", "OPEN", read, settledOrders), orders.list),
    at("GET /v3/portfolio/fills", signed(TRADING), perRows("history", 8, 50), portfolio.fills),
    at("GET /v3/portfolio/positions", signed(TRADING), read, portfolio.positions),

    at("POST /v3/safety/heartbeat", signed(["trading"]), free, safety.heartbeat),
    at("POST /v3/safety/groups", signed(["trading"]), account, safety.createGroup),
    at("GET /v3/safety/groups", signed(["trading"]), account, safety.listGroups),
    at("GET /v3/safety/groups/:groupId", signed(["trading"]), account, safety.oneGroup),
    at("POST /v3/safety/groups/:groupId/reset", signed(["trading"]), account, safety.resetGroup),
    at("DELETE /v3/safety/groups/:groupId", signed(["trading"]), account, safety.removeGroup),
    at("DELETE /v3/safety/groups", signed(["trading"]), account, safety.removeGroups),

    at("POST /v3/ws/tickets", orSession(["trading"]), account, tickets.create),

    at("POST /v3/session/register", anybody, free, sessions.register),
    at("POST /v3/session", anybody, free, sessions.login),
    at("GET /v3/session", session, free, sessions.show),
    at("DELETE /v3/session", session, free, sessions.logout),
    at("POST /v3/session/location", session, free, sessions.checkIn),
    at("GET /v3/session/location", session, free, sessions.location),

    at("POST /admin/v1/events", operator, free, admin.events.create),
    at("GET /admin/v1/events", operator, free, admin.events.list),
    at("GET /admin/v1/events/:eventId", operator, free, admin.events.one),
    at("POST /admin/v1/events/:eventId/status", operator, free, admin.events.setStatus),
    at("POST /admin/v1/markets", operator, free, admin.markets.create),
    at("GET /admin/v1/markets", operator, free, admin.markets.list),
    at("GET /admin/v1/markets/:marketId", operator, free, admin.markets.one),
    at("PATCH /admin/v1/markets/:marketId", operator, free, admin.markets.change),
    at("POST /admin/v1/markets/:marketId/status", operator, free, admin.markets.setStatus),
    at("POST /admin/v1/markets/:marketId/grade", operator, free, admin.settlement.grade),
    at("GET /admin/v1/markets/:marketId/settlement", operator, free, admin.settlement.progress),
    at("POST /admin/v1/markets/:marketId/settlement/approve", operator, free, admin.settlement.approve),
    at("DELETE /admin/v1/markets/:marketId/settlement", operator, free, admin.settlement.withdraw),
    at("POST /admin/v1/markets/:marketId/remediate", operator, free, admin.settlement.remediate),
    at("GET /admin/v1/traders", operator, free, admin.traders.list),
    at("GET /admin/v1/traders/:traderId", operator, free, admin.traders.one),
    at("POST /admin/v1/traders/:traderId/kyc", operator, free, admin.traders.kyc),
    at("POST /admin/v1/traders/:traderId/state", operator, free, admin.traders.state),
    at("POST /admin/v1/traders/:traderId/transactions", operator, free, admin.traders.transact),
    at("POST /admin/v1/traders/:traderId/collateral", operator, free, admin.traders.collateral),
    at("GET /admin/v1/ticks", operator, free, admin.referenceData.readTicks),
    at("PUT /admin/v1/ticks", operator, free, admin.referenceData.putTicks),
    at("GET /admin/v1/geo", operator, free, admin.geo.read),
    at("PUT /admin/v1/geo", operator, free, admin.geo.put),
    at("POST /admin/v1/maintenance", operator, free, admin.maintenance.change),
    at("GET /admin/v1/maintenance", operator, free, admin.maintenance.show),
    at("POST /admin/v1/changelog", operator, free, changelog.announce),
    at("POST /admin/v1/operators", operator, free, admin.operators.create),
    at("GET /admin/v1/emm-clients", operator, free, admin.emmClients.list),
    at("POST /admin/v1/emm-clients", operator, free, admin.emmClients.create),
    at("POST /admin/v1/emm-clients/:clientId/rotate", operator, free, admin.emmClients.rotate),
    at("DELETE /admin/v1/emm-clients/:clientId", operator, free, admin.emmClients.remove),
    at("GET /admin/v1/strike-requests", operator, free, admin.strikeRequests.list),
    at("POST /admin/v1/strike-requests/:requestId", operator, free, admin.strikeRequests.decide),
    at("GET /admin/v1/players", operator, free, admin.players.list),
    at("POST /admin/v1/players", operator, free, admin.players.create),
    at("POST /admin/v1/leagues", operator, free, admin.referenceData.createLeague),
    at("POST /admin/v1/market-types", operator, free, admin.referenceData.createMarketType),
    at("GET /admin/v1/audit-log", operator, free, admin.audit.list),
    at("GET /admin/v1/money", operator, free, admin.money.report),
  ];
}

/** Every route of surface A, of web sessions and of operators. `surface-b/surface.ts` lists the routes of surface B. */

import type { Formats } from "../actors/format.js";
import type { Limits } from "../actors/ledger/types.js";
import type { Millicents } from "../actors/units.js";
import type { Database } from "../db/database.js";
import type { Log } from "../stream/log/log.js";
import type { SettlementJob } from "../stream/jobs/settlement.js";
import type { GatewayExchange } from "../stream/log/ports.js";
import type { LongWork } from "../stream/services/long-work.js";
import type { ReadModelTime } from "../stream/services/read-model-time.js";
import type { Tickets } from "../stream/services/tickets.js";
import type { TokenBuckets } from "../stream/services/token-buckets.js";
import { auditRoutes } from "./admin/audit.js";
import { announcementRoutes } from "./admin/changelog.js";
import { exposureRoutes } from "./admin/day/exposure.js";
import { settlementListRoutes } from "./admin/day/settlements.js";
import { traderRecordRoutes } from "./admin/desk/trader-records.js";
import { emmClientRoutes } from "./admin/emm-clients.js";
import { adminEventRoutes } from "./admin/events.js";
import { geoRoutes } from "./admin/geo.js";
import { maintenanceRoutes } from "./admin/maintenance.js";
import type { EngineTime } from "./edge/incoming.js";
import { clockRoutes } from "./ops/clock.js";
import { healthRoutes } from "./ops/health-route.js";
import type { Readiness } from "./ops/health.js";
import type { Difference } from "./ops/difference.js";
import type { HealthHistory } from "./ops/history.js";
import { quarantineRoutes } from "./ops/quarantine.js";
import { adminMarketRoutes } from "./admin/markets.js";
import { moneyRoutes } from "./admin/money.js";
import { approvalRoutes, Approvals } from "./admin/operators/approvals.js";
import { operatorRoutes } from "./admin/operators/operators.js";
import { playerRoutes } from "./admin/players.js";
import { referenceDataRoutes } from "./admin/reference-data.js";
import { settlementRoutes } from "./admin/settlement.js";
import { strikeRequestRoutes } from "./admin/strike-requests.js";
import { adminTraderRoutes } from "./admin/traders.js";
import { walletRoutes } from "./admin/wallets.js";
import type { Passwords } from "./auth/passwords/passwords.js";
import type { SecondFactors } from "./auth/second-factors.js";
import type { SignIns } from "./auth/sign-ins.js";
import type { Signatures } from "./auth/signatures.js";
import type { WebTokens } from "./auth/web-tokens.js";
import type { ServiceStatus } from "./ops/status.js";
import type { Changes } from "./reference/changes.js";
import type { Reference } from "./reference/reference.js";
import type { Route } from "./request/route.js";
import type { Throttle } from "./request/throttle.js";
import { catalogRoutes, type Books } from "./surface-a/catalog.js";
import { changelogRoutes } from "./surface-a/changelog.js";
import { keyRoutes } from "./surface-a/keys.js";
import { orderRoutes } from "./surface-a/orders.js";
import { portfolioRoutes } from "./surface-a/portfolio.js";
import { priceRoutes } from "./surface-a/prices/prices.js";
import { safetyRoutes } from "./surface-a/safety.js";
import { serviceRoutes } from "./surface-a/service.js";
import { demoRoutes, type DemoLogin } from "./surface-a/sessions/demo.js";
import { sessionRoutes } from "./surface-a/sessions/session.js";
import { signInRoutes } from "./surface-a/sessions/sign-in.js";
import { subaccountRoutes } from "./surface-a/subaccounts.js";
import { ticketRoutes } from "./surface-a/tickets.js";
import { tickRoutes } from "./surface-a/ticks.js";
import { transferRoutes } from "./surface-a/transfers.js";
import { typeRoutes } from "./surface-a/types.js";
import type { Freshness, ReadModel } from "./trading/freshness.js";
import type { HaltedMarkets } from "./trading/halted-markets.js";
import type { OrderIds } from "./trading/order-ids.js";
import type { Trading } from "./trading/trading.js";

export interface RouteParts {
  readonly db: Database;
  readonly exchange: GatewayExchange;
  readonly reference: Reference;
  readonly freshness: Freshness;
  /** The tables of lists. */
  readonly reads: ReadModel;
  readonly changes: Changes;
  readonly trading: Trading;
  readonly orderIds: OrderIds;
  readonly haltedMarkets: HaltedMarkets;
  readonly time: Pick<EngineTime, "now">;
  readonly books: Books;
  readonly throttle: Throttle;
  readonly buckets: Pick<TokenBuckets, "spend">;
  readonly signatures: Signatures;
  readonly tokens: WebTokens;
  readonly tickets: Pick<Tickets, "issue">;
  readonly passwords: Passwords;
  readonly signIns: SignIns;
  readonly secondFactors: SecondFactors;
  readonly enqueueSettlement: (job: SettlementJob) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Limits of every wallet. */
  readonly limits: Limits;
  /** Number of operators that a settlement takes: 1 or 2. */
  readonly settlementApprovals: number;
  /** Largest transaction that one operator posts where a settlement takes two. */
  readonly approvalLimit: Millicents;
  /** Format that all processes read. */
  readonly formats: Formats;
  readonly tables: Pick<ReadModelTime, "completeMs">;
  readonly longWork: LongWork;
  readonly clocks: Pick<Log, "clockReport" | "confirmTime">;
  readonly log: Pick<Log, "quarantine" | "dismiss">;
  readonly status: () => Promise<ServiceStatus>;
  /** Login of the demo's trader; without it, the routes of the demo do not exist. */
  readonly demoLogin: DemoLogin | undefined;
  /** Returns the readiness of this gateway. */
  readonly readiness: () => Promise<Readiness>;
  /** Returns the difference of the money report at a time in Unix ms. */
  readonly difference: (nowMs: number) => Promise<Difference>;
  readonly healthHistory: Pick<HealthHistory, "read">;
  /** Offers market types flagged `qaOnly`. */
  readonly qa: boolean;
  /** Lets signers see the canonical text that the server built; off in production. */
  readonly debug: boolean;
}

/** Creates the routes in the order in which the OpenAPI document lists them. */
export function createRoutes(parts: RouteParts): readonly Route[] {
  const { demoLogin } = parts;
  const approvals = new Approvals(parts);
  return [
    ...serviceRoutes(parts),
    ...keyRoutes(parts),
    ...subaccountRoutes(parts),
    ...transferRoutes(parts),
    ...portfolioRoutes(parts),
    ...catalogRoutes(parts),
    ...priceRoutes(parts),
    ...typeRoutes(parts),
    ...tickRoutes(parts),
    ...changelogRoutes(parts),
    ...orderRoutes(parts),
    ...safetyRoutes(parts),
    ...ticketRoutes(parts),
    ...signInRoutes(parts),
    ...sessionRoutes(parts),
    ...(demoLogin === undefined ? [] : demoRoutes({ ...parts, demoLogin })),
    ...adminEventRoutes(parts, approvals),
    ...adminMarketRoutes(parts),
    ...settlementRoutes(parts, approvals),
    ...settlementListRoutes(parts),
    ...exposureRoutes(parts),
    ...adminTraderRoutes(parts, approvals),
    ...traderRecordRoutes(parts),
    ...walletRoutes(parts),
    ...referenceDataRoutes(parts),
    ...geoRoutes(parts),
    ...maintenanceRoutes(parts),
    ...healthRoutes(parts),
    ...clockRoutes(parts),
    ...quarantineRoutes(parts),
    ...announcementRoutes(parts),
    ...operatorRoutes(parts, approvals),
    ...approvalRoutes(parts, approvals),
    ...emmClientRoutes(parts),
    ...strikeRequestRoutes(parts),
    ...playerRoutes(parts),
    ...auditRoutes(parts),
    ...moneyRoutes(parts),
  ];
}

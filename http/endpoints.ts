/** The endpoints of all routes, made of the parts that they need. */

import type { Limits } from "../actors/ledger/types.js";
import type { Database } from "../db/database.js";
import type { SettlementJob } from "../stream/jobs/settlement.js";
import type { TokenBuckets } from "../stream/services/token-buckets.js";
import type { Tickets } from "../stream/services/tickets.js";
import type { Exchange } from "../stream/log/ports.js";
import type { Changes } from "./reference/changes.js";
import type { Freshness } from "./trading/freshness.js";
import type { Passwords } from "./auth/passwords.js";
import type { Reference } from "./reference/reference.js";
import { auditEndpoints } from "./admin/audit.js";
import { emmClientEndpoints } from "./admin/emm-clients.js";
import { geoEndpoints } from "./admin/geo.js";
import { maintenanceEndpoints } from "./admin/maintenance.js";
import { operatorEndpoints } from "./admin/operators.js";
import { adminEventEndpoints } from "./admin/events.js";
import { adminMarketEndpoints } from "./admin/markets.js";
import { moneyEndpoints } from "./admin/money.js";
import { playerEndpoints } from "./admin/players.js";
import { referenceDataEndpoints } from "./admin/reference-data.js";
import { settlementEndpoints } from "./admin/settlement.js";
import { strikeRequestEndpoints } from "./admin/strike-requests.js";
import { adminTraderEndpoints } from "./admin/traders.js";
import { catalogEndpoints, type Books } from "./surface-a/catalog.js";
import { changelogEndpoints } from "./surface-a/changelog.js";
import { keyEndpoints } from "./surface-a/keys.js";
import { orderEndpoints } from "./surface-a/orders.js";
import { portfolioEndpoints } from "./surface-a/portfolio.js";
import { safetyEndpoints } from "./surface-a/safety.js";
import { serviceEndpoints } from "./surface-a/service.js";
import { sessionEndpoints } from "./surface-a/session.js";
import { subaccountEndpoints } from "./surface-a/subaccounts.js";
import { ticketEndpoints } from "./surface-a/tickets.js";
import { transferEndpoints } from "./surface-a/transfers.js";
import type { Signatures } from "./auth/signatures.js";
import type { Throttle } from "./request/throttle.js";
import type { WebTokens } from "./auth/web-tokens.js";
import type { Trading } from "./trading/trading.js";

export interface EndpointParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly changes: Changes;
  readonly trading: Trading;
  readonly books: Books;
  readonly throttle: Throttle;
  readonly buckets: Pick<TokenBuckets, "spend">;
  readonly signatures: Signatures;
  readonly tokens: WebTokens;
  readonly tickets: Pick<Tickets, "issue">;
  readonly passwords: Passwords;
  readonly enqueueSettlement: (job: SettlementJob) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** What every wallet may have at once. */
  readonly limits: Limits;
  /** How many operators a settlement takes: 1, or 2. */
  readonly settlementApprovals: number;
  /** Whether types flagged `qaOnly` exist here. */
  readonly qa: boolean;
  /** Whether signers may see what the server built: not in production. */
  readonly debug: boolean;
}

export type Endpoints = ReturnType<typeof createEndpoints>;

/** Makes every endpoint once. */
export function createEndpoints(parts: EndpointParts) {
  const markets = adminMarketEndpoints(parts);
  return {
    service: serviceEndpoints(parts),
    keys: keyEndpoints(parts),
    subaccounts: subaccountEndpoints(parts),
    transfers: transferEndpoints(parts),
    catalog: catalogEndpoints(parts),
    orders: orderEndpoints(parts),
    portfolio: portfolioEndpoints(parts),
    safety: safetyEndpoints(parts),
    changelog: changelogEndpoints(parts),
    sessions: sessionEndpoints(parts),
    tickets: ticketEndpoints(parts),
    admin: {
      events: adminEventEndpoints(parts),
      markets,
      settlement: settlementEndpoints(parts),
      traders: adminTraderEndpoints(parts),
      referenceData: referenceDataEndpoints(parts),
      emmClients: emmClientEndpoints(parts),
      strikeRequests: strikeRequestEndpoints({ ...parts, createMarket: markets.create }),
      players: playerEndpoints(parts),
      geo: geoEndpoints(parts),
      maintenance: maintenanceEndpoints(parts),
      operators: operatorEndpoints(parts),
      audit: auditEndpoints(parts),
      money: moneyEndpoints(parts),
    },
  };
}

/** The endpoints of all routes, made of the parts that they need. */

import type { Limits } from "../actors/ledger/types.js";
import type { Database } from "../db/database.js";
import type { SettlementJob } from "../stream/jobs/settlement.js";
import type { TokenBuckets } from "../stream/log/throttle.js";
import type { Tickets } from "../stream/log/tickets.js";
import type { Exchange } from "../stream/log/types.js";
import type { Changes } from "./changes.js";
import type { Freshness } from "./freshness.js";
import type { Passwords } from "./passwords.js";
import type { Reference } from "./reference.js";
import { auditEndpoints } from "./routes/admin/audit.js";
import { emmClientEndpoints } from "./routes/admin/emm-clients.js";
import { geoEndpoints } from "./routes/admin/geo.js";
import { maintenanceEndpoints } from "./routes/admin/maintenance.js";
import { operatorEndpoints } from "./routes/admin/operators.js";
import { adminEventEndpoints } from "./routes/admin/events.js";
import { adminMarketEndpoints } from "./routes/admin/markets.js";
import { moneyEndpoints } from "./routes/admin/money.js";
import { playerEndpoints } from "./routes/admin/players.js";
import { referenceDataEndpoints } from "./routes/admin/reference-data.js";
import { settlementEndpoints } from "./routes/admin/settlement.js";
import { strikeRequestEndpoints } from "./routes/admin/strike-requests.js";
import { adminTraderEndpoints } from "./routes/admin/traders.js";
import { catalogEndpoints, type Books } from "./routes/catalog.js";
import { changelogEndpoints } from "./routes/changelog.js";
import { keyEndpoints } from "./routes/keys.js";
import { orderEndpoints } from "./routes/orders.js";
import { portfolioEndpoints } from "./routes/portfolio.js";
import { safetyEndpoints } from "./routes/safety.js";
import { serviceEndpoints } from "./routes/service.js";
import { sessionEndpoints } from "./routes/session.js";
import { subaccountEndpoints } from "./routes/subaccounts.js";
import { ticketEndpoints } from "./routes/tickets.js";
import { transferEndpoints } from "./routes/transfers.js";
import type { Signatures } from "./signed.js";
import type { Throttle } from "./throttle.js";
import type { WebTokens } from "./tokens.js";
import type { Trading } from "./trading.js";

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

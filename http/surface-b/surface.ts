/** Puts surface B together. */

import type { Database } from "../../db/database.js";
import type { Tail } from "../../stream/log/ports.js";
import type { TokenBuckets } from "../../stream/services/token-buckets.js";
import type { Replicas } from "../../stream/ws/market/replica.js";
import type { Freshness } from "../trading/freshness.js";
import type { Passwords } from "../auth/passwords.js";
import type { Reference } from "../reference/reference.js";
import type { Trading } from "../trading/trading.js";
import { emmAccountEndpoints } from "./account.js";
import { Clients } from "./auth/clients.js";
import { EventMarkets } from "./markets/event-markets.js";
import { emmMarketEndpoints } from "./markets/markets.js";
import { OpenMarkets } from "./markets/open-markets.js";
import { emmOrderEndpoints } from "./orders.js";
import type { EmmEndpoints } from "./routes.js";
import { emmStrikeEndpoints } from "./strikes.js";
import { ServiceTokens, type ServiceKeys } from "./auth/tokens.js";

export interface EmmParts {
  readonly db: Database;
  readonly tail: Pick<Tail, "head">;
  readonly replicas: Replicas;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly trading: Trading;
  readonly passwords: Passwords;
  readonly buckets: TokenBuckets;
  readonly serviceKeys: ServiceKeys;
  readonly onError: (error: unknown) => void;
}

export interface EmmSurface {
  readonly clients: Clients;
  readonly endpoints: EmmEndpoints;
  /** Lets go of the replicas. */
  close(): void;
}

/** Throws `UnusableServiceKey`. */
export function createEmmSurface(parts: EmmParts): EmmSurface {
  const { db, reference, passwords, buckets } = parts;
  const tokens = new ServiceTokens(parts.serviceKeys);
  const eventMarkets = new EventMarkets(parts);
  const openMarkets = new OpenMarkets(db, reference);
  return {
    clients: new Clients({ directory: reference, tokens, passwords, buckets }),
    endpoints: {
      markets: emmMarketEndpoints({ ...parts, eventMarkets, openMarkets }),
      account: emmAccountEndpoints(parts),
      orders: emmOrderEndpoints(parts),
      strikes: emmStrikeEndpoints(parts),
    },
    close: () => {
      eventMarkets.close();
      openMarkets.close();
    },
  };
}

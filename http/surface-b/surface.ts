/** Surface B: its routes and the parts that they share. */

import type { Database } from "../../db/database.js";
import type { TokenBuckets } from "../../stream/services/token-buckets.js";
import type { Replicas } from "../../stream/ws/market/replicas.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { Passwords } from "../auth/passwords/passwords.js";
import type { EngineTime } from "../edge/incoming.js";
import type { Reference } from "../reference/reference.js";
import type { Route } from "../request/route.js";
import type { Freshness, ReadModel } from "../trading/freshness.js";
import type { Trading } from "../trading/trading.js";
import { emmAccountRoutes } from "./account.js";
import { Clients } from "./auth/clients.js";
import { ServiceTokens, type ServiceKeys } from "./auth/tokens.js";
import { EventMarkets } from "./markets/event-markets.js";
import { emmMarketRoutes, type EmmMarketParts } from "./markets/markets.js";
import { OpenMarkets } from "./markets/open-markets.js";
import { emmOrderRoutes } from "./orders.js";
import { emmStrikeRoutes } from "./strikes.js";

interface EmmParts {
  readonly exchange: Exchange;
  readonly db: Database;
  readonly replicas: Replicas;
  readonly reference: Reference;
  readonly time: EngineTime;
  readonly freshness: Freshness;
  readonly reads: ReadModel;
  readonly trading: Trading;
  readonly passwords: Passwords;
  readonly buckets: TokenBuckets;
  readonly serviceKeys: ServiceKeys;
  /** First segment of the paths. */
  readonly prefix: string;
  readonly onError: (error: unknown) => void;
}

interface EmmSurface {
  readonly clients: Clients;
  readonly routes: readonly Route[];
  /** Releases the replicas. */
  close(): void;
}

/** Creates surface B. Throws `UnusableServiceKey` for a key that cannot be used. */
export function createEmmSurface(parts: EmmParts): EmmSurface {
  const { db, reference, passwords, buckets } = parts;
  const tokens = new ServiceTokens(parts.serviceKeys, () => parts.time.now());
  const eventMarkets = new EventMarkets(parts);
  const openMarkets = new OpenMarkets(db, reference);
  return {
    clients: new Clients({ directory: reference, tokens, passwords, buckets }),
    routes: emmRoutes(parts.prefix, { ...parts, eventMarkets, openMarkets }),
    close: () => {
      eventMarkets.close();
      openMarkets.close();
    },
  };
}

/** Returns every route of surface B (specification, Surface B table; contract section 7). */
export function emmRoutes(
  prefix: string,
  parts: EmmMarketParts & Pick<EmmParts, "exchange" | "reads" | "trading">,
): readonly Route[] {
  const base = `/${prefix}/v2/emm`;
  return [
    ...emmMarketRoutes(base, parts),
    ...emmAccountRoutes(base, parts),
    ...emmStrikeRoutes(base, parts),
    ...emmOrderRoutes(base, parts),
  ];
}

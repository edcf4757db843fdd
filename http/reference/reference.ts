/**
 * The gateway's view of reference data: keys, sessions, markets, outcomes, ticks. Kept in memory, dropped by the
 * invalidations of whoever changed it, with a time to live as the backstop (contract section 5: revocation within 5 s).
 */

import { createPublicKey } from "node:crypto";
import type { Ticks } from "../../actors/units.js";
import { isUnavailable, type Database } from "../../db/database.js";
import { findEmmClient, type EmmClient } from "../../db/queries/accounts/emm-clients.js";
import { findEvent, marketIdsOfEvents, type EventRecord } from "../../db/queries/catalog/events.js";
import { geoVersion, readGeoRules } from "../../db/queries/operator/geo.js";
import { findKey } from "../../db/queries/accounts/keys.js";
import { currentMaintenance, type MaintenanceWindow } from "../../db/queries/operator/maintenance.js";
import { findMarket, findMarkets, findOutcome, type MarketRecord } from "../../db/queries/catalog/markets.js";
import { findLocation, type DeviceLocation } from "../../db/queries/accounts/device-locations.js";
import { isTokenRevoked } from "../../db/queries/accounts/revoked-tokens.js";
import { currentTicks } from "../../db/queries/catalog/ticks.js";
import { findTrader, type Trader } from "../../db/queries/accounts/traders.js";
import { Cache } from "./cache.js";
import type { LiveKey } from "../request/callers.js";
import { geoTable, type GeoTable } from "../geo/geo-table.js";
import type { KeyDirectory } from "../auth/signatures.js";

/** What can be invalidated, by whoever changes it. */
export const REFERENCE_KINDS = [
  "key",
  "trader",
  "session",
  "location",
  "client",
  "market",
  "event",
  "ticks",
  "geo",
  "maintenance",
] as const;
export type ReferenceKind = (typeof REFERENCE_KINDS)[number];

/** What was dropped: a thing, or everything. */
export type Change = { readonly kind: ReferenceKind; readonly id: string } | { readonly kind: "all" };

/** The tick table in force, with its prices as a set to look them up in. */
export interface Grid {
  readonly prices: readonly Ticks[];
  readonly allowed: ReadonlySet<number>;
}

/** Where an outcome is traded. */
export interface OutcomeRef {
  readonly marketId: string;
  readonly outcome: number;
}

const KEY_TTL_MS = 5_000;
const MARKET_TTL_MS = 30_000;
/** Greatest age of a gateway's view of maintenance, in ms: the backstop for a lost invalidation. */
export const MAINTENANCE_TTL_MS = 1_000;
/** The one key of the cache that holds one thing. */
const CURRENT = "current";

export class Reference implements KeyDirectory {
  private readonly keys: Cache<LiveKey>;
  private readonly sessions: Cache<{ readonly revoked: boolean }>;
  private readonly accounts: Cache<Trader>;
  private readonly locations: Cache<{ readonly last: DeviceLocation | undefined }>;
  private readonly clients: Cache<EmmClient>;
  private readonly marketCache: Cache<MarketRecord>;
  private readonly events: Cache<EventRecord>;
  private readonly outcomes: Cache<OutcomeRef>;
  private readonly grid: Cache<Grid>;
  private readonly geo: Cache<GeoTable>;
  private lastGeo: GeoTable | undefined;
  private readonly windows: Cache<{ readonly current: MaintenanceWindow | undefined }>;
  private readonly marketListeners = new Set<(marketId: string) => void>();
  private readonly changeListeners = new Set<(change: Change) => void>();

  constructor(private readonly db: Database) {
    const kept = <Value>(
      ttlMs: number,
      maxEntries: number,
      load: (key: string) => Promise<Value | undefined>,
    ): Cache<Value> => new Cache(load, { ttlMs, maxEntries, unreachable: isUnavailable });
    this.keys = kept(KEY_TTL_MS, 50_000, (keyId) => this.loadKey(keyId));
    this.sessions = kept(KEY_TTL_MS, 50_000, async (id) => ({ revoked: await isTokenRevoked(db, id) }));
    this.accounts = kept(KEY_TTL_MS, 50_000, (traderId) => findTrader(db, traderId));
    this.locations = kept(KEY_TTL_MS, 50_000, async (id) => ({ last: await findLocation(db, id) }));
    this.clients = kept(KEY_TTL_MS, 10_000, (clientId) => findEmmClient(db, clientId));
    this.marketCache = kept(MARKET_TTL_MS, 20_000, (marketId) => findMarket(db, marketId));
    this.events = kept(MARKET_TTL_MS, 20_000, (eventId) => findEvent(db, eventId));
    // Which market an outcome belongs to never changes, so this one only bounds memory.
    this.outcomes = kept(86_400_000, 200_000, (outcomeId) => findOutcome(db, outcomeId));
    this.grid = kept(MARKET_TTL_MS, 1, async () => {
      const { prices } = await currentTicks(db);
      return { prices, allowed: new Set<number>(prices) };
    });
    this.geo = kept(MARKET_TTL_MS, 1, () => this.loadGeo());
    this.windows = kept(MAINTENANCE_TTL_MS, 1, async () => ({ current: await currentMaintenance(db) }));
  }

  /** A live key, ready to verify with. */
  find(keyId: string): Promise<LiveKey | undefined> {
    return this.keys.get(keyId);
  }

  /** Whether a web session was ended before its time. */
  async isRevoked(sessionId: string): Promise<boolean> {
    return (await this.sessions.get(sessionId))?.revoked ?? true;
  }

  account(accountId: string): Promise<Trader | undefined> {
    return this.accounts.get(accountId);
  }

  /** The trader's last device check-in. */
  async location(traderId: string): Promise<DeviceLocation | undefined> {
    return (await this.locations.get(traderId))?.last;
  }

  /** A live client of surface B. */
  client(clientId: string): Promise<EmmClient | undefined> {
    return this.clients.get(clientId);
  }

  market(marketId: string): Promise<MarketRecord | undefined> {
    return this.marketCache.get(marketId);
  }

  event(eventId: string): Promise<EventRecord | undefined> {
    return this.events.get(eventId);
  }

  outcome(outcomeId: string): Promise<OutcomeRef | undefined> {
    return this.outcomes.get(outcomeId);
  }

  /** Many markets at once, for lists that name their outcomes. */
  async marketsById(marketIds: Iterable<string>): Promise<ReadonlyMap<string, MarketRecord>> {
    const wanted = [...new Set(marketIds)];
    if (wanted.length > 20) {
      return new Map((await findMarkets(this.db, wanted)).map((market) => [market.marketId, market]));
    }
    const found = await Promise.all(wanted.map((marketId) => this.market(marketId)));
    return new Map(found.flatMap((market) => (market === undefined ? [] : [[market.marketId, market]])));
  }

  /** The markets of an event, oldest first; `undefined` when there is no such event. */
  async marketIdsOf(eventId: string): Promise<readonly string[] | undefined> {
    if ((await this.event(eventId)) === undefined) return undefined;
    return (await marketIdsOfEvents(this.db, [eventId])).get(eventId) ?? [];
  }

  /** The tick table in force. */
  async ticks(): Promise<Grid> {
    const grid = await this.grid.get(CURRENT);
    if (grid === undefined) throw new Error("there is no tick table");
    return grid;
  }

  /** The rules about regions and networks in force. */
  async geoRules(): Promise<GeoTable> {
    const table = await this.geo.get(CURRENT);
    if (table === undefined) throw new Error("there are no rules about regions and networks");
    return table;
  }

  /** The maintenance that is under way. */
  async maintenance(): Promise<MaintenanceWindow | undefined> {
    return (await this.windows.get(CURRENT))?.current;
  }

  /** Drops what a change made stale. `id` is that of the thing which changed. */
  invalidate(kind: ReferenceKind, id: string): void {
    this.drop(kind, id);
    for (const listener of this.changeListeners) listener({ kind, id });
  }

  private drop(kind: ReferenceKind, id: string): void {
    switch (kind) {
      case "key":
        this.keys.drop(id);
        return;
      case "session":
        this.sessions.drop(id);
        return;
      case "location":
        this.locations.drop(id);
        return;
      case "trader":
        this.accounts.drop(id);
        this.keys.dropWhere((key) => key.traderId === id);
        this.clients.dropWhere((client) => client.traderId === id);
        return;
      case "client":
        this.clients.drop(id);
        return;
      case "market":
        this.marketCache.drop(id);
        for (const listener of this.marketListeners) listener(id);
        return;
      case "event":
        this.events.drop(id);
        this.marketCache.dropWhere((market) => market.event.eventId === id);
        return;
      case "ticks":
        this.grid.clear();
        return;
      case "geo":
        this.geo.clear();
        return;
      case "maintenance":
        this.windows.clear();
        return;
      default:
        kind satisfies never;
    }
  }

  /** Drops everything: changes may have been missed. */
  invalidateAll(): void {
    const caches = [
      this.keys,
      this.sessions,
      this.accounts,
      this.locations,
      this.clients,
      this.marketCache,
      this.events,
      this.grid,
      this.geo,
      this.windows,
    ];
    for (const cache of caches) cache.clear();
    for (const listener of this.changeListeners) listener({ kind: "all" });
  }

  /** Tells of everything that is dropped here, for what is made of it, until the returned stop is called. */
  onChange(listener: (change: Change) => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  /** Tells of every market that appeared or changed, until the returned stop is called. */
  onMarket(listener: (marketId: string) => void): () => void {
    this.marketListeners.add(listener);
    return () => this.marketListeners.delete(listener);
  }

  /** Lists of networks can be long, so the same publication is not read again. */
  private async loadGeo(): Promise<GeoTable> {
    const version = await geoVersion(this.db);
    if (this.lastGeo?.version === version) return this.lastGeo;
    const table = geoTable(await readGeoRules(this.db));
    this.lastGeo = table;
    return table;
  }

  private async loadKey(keyId: string): Promise<LiveKey | undefined> {
    const owned = await findKey(this.db, keyId);
    if (owned?.key.revokedTs !== null) return undefined;
    const { key, trader } = owned;
    return {
      keyId,
      traderId: key.traderId,
      subaccountId: key.subaccountId ?? undefined,
      scope: key.scope,
      algorithm: key.algorithm,
      publicKey: createPublicKey({ key: key.publicKeyDer, format: "der", type: "spki" }),
      expiresTs: key.expiresTs ?? undefined,
      kyc: trader.kyc,
      state: trader.state,
    };
  }
}

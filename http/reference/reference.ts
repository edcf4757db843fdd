/**
 * Reference data of a gateway: keys, sessions, markets, outcomes, ticks. It is cached in memory and dropped by the
 * invalidation of each change, with a time to live as the backstop (contract section 5.2: revocation within 5 s).
 */

import { createPublicKey } from "node:crypto";
import type { Ticks } from "../../actors/units.js";
import { unreachable } from "../../actors/unreachable.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { Freshness } from "../trading/freshness.js";
import { isUnavailable, type Database } from "../../db/database.js";
import { findEmmClient, type EmmClient } from "../../db/queries/accounts/emm-clients.js";
import { findEvent, marketIdsOfEvents, type EventRecord } from "../../db/queries/catalog/events.js";
import { geoVersion, readGeoRules } from "../../db/queries/operator/geo.js";
import { findKey } from "../../db/queries/accounts/keys.js";
import { currentMaintenance, type MaintenanceWindow } from "../../db/queries/operator/maintenance.js";
import { findMarkets, findOutcome, type MarketRecord } from "../../db/queries/catalog/markets.js";
import { findLocation, type DeviceLocation } from "../../db/queries/accounts/device-locations.js";
import { isTokenRevoked } from "../../db/queries/accounts/revoked-tokens.js";
import { currentTicks } from "../../db/queries/catalog/ticks.js";
import { stateOf } from "../../db/queries/accounts/restrictions.js";
import { findTrader, type Trader } from "../../db/queries/accounts/traders.js";
import { Cache } from "./cache.js";
import { hasEnded, type WebToken } from "../auth/web-tokens.js";
import type { EngineTime } from "../edge/incoming.js";
import type { LiveKey } from "../request/callers.js";
import { geoTable, type GeoTable } from "../geo/geo-table.js";
import type { KeyDirectory } from "../auth/signatures.js";

/** Kinds of reference data that can be invalidated. */
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

/** Invalidation of one thing, or of everything. */
export type Change = { readonly kind: ReferenceKind; readonly id: string } | { readonly kind: "all" };

/** Tick table in force, as a list and as a set. */
export interface Grid {
  readonly prices: readonly Ticks[];
  readonly allowed: ReadonlySet<number>;
}

/** Market of an outcome, and the position of the outcome in it. */
export interface OutcomeRef {
  readonly marketId: string;
  readonly outcome: number;
}

/** Times to live of the caches, in ms. */
const KEY_TTL_MS = 5_000;
/** Time in ms for which an unknown key or client of surface B stays unknown. */
const UNKNOWN_MS = 1_000;
const MARKET_TTL_MS = 30_000;
const OUTCOME_TTL_MS = 24 * 60 * 60 * 1_000;
/** Greatest age of a gateway's view of maintenance, in ms: the backstop for a lost invalidation. */
export const MAINTENANCE_TTL_MS = 1_000;
/** Key of the caches that hold one value. */
const CURRENT = "current";

/** Caches of the reference data, and the listeners to its changes. */
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

  constructor(
    private readonly db: Database,
    private readonly freshness: Pick<Freshness, "market">,
    private readonly time: Pick<EngineTime, "now">,
  ) {
    const cached = <Value>(
      ttlMs: number,
      maxEntries: number,
      load: (key: string) => Promise<Value | undefined>,
      missTtlMs?: number,
    ): Cache<Value> => new Cache(load, { ttlMs, maxEntries, missTtlMs, unreachable: isUnavailable });
    // The service draws the ids of keys and clients at their creation, so nobody can ask for one before.
    this.keys = cached(KEY_TTL_MS, 50_000, (keyId) => this.loadKey(keyId), UNKNOWN_MS);
    this.sessions = cached(KEY_TTL_MS, 50_000, async (id) => ({ revoked: await isTokenRevoked(db, id) }));
    this.accounts = cached(KEY_TTL_MS, 50_000, (traderId) => findTrader(db, traderId));
    this.locations = cached(KEY_TTL_MS, 50_000, async (id) => ({ last: await findLocation(db, id) }));
    this.clients = cached(KEY_TTL_MS, 10_000, (clientId) => findEmmClient(db, clientId), UNKNOWN_MS);
    this.marketCache = cached(MARKET_TTL_MS, 20_000, (marketId) => this.freshness.market(marketId));
    this.events = cached(MARKET_TTL_MS, 20_000, (eventId) => findEvent(db, eventId));
    // The market of an outcome never changes, so the limits of this cache only bound its memory.
    this.outcomes = cached(OUTCOME_TTL_MS, 200_000, (outcomeId) => findOutcome(db, outcomeId));
    this.grid = cached(MARKET_TTL_MS, 1, async () => {
      const { prices } = await currentTicks(db);
      return { prices, allowed: new Set<number>(prices) };
    });
    this.geo = cached(MARKET_TTL_MS, 1, () => this.loadGeo());
    this.windows = cached(MAINTENANCE_TTL_MS, 1, async () => ({ current: await currentMaintenance(db) }));
  }

  /** Returns a live key, ready to verify signatures with. */
  find(keyId: string): Promise<LiveKey | undefined> {
    return this.keys.get(keyId);
  }

  /** Returns whether a web session was signed out. */
  private async isRevoked(sessionId: string): Promise<boolean> {
    return (await this.sessions.get(sessionId))?.revoked ?? true;
  }

  /** Returns whether a web session was ended before its expiry, alone or with all sessions of its account. */
  async isOver(accountId: string, session: Pick<WebToken, "sessionId" | "expiresAt">): Promise<boolean> {
    const account = await this.account(accountId);
    return account === undefined || hasEnded(session, account) || this.isRevoked(session.sessionId);
  }

  account(accountId: string): Promise<Trader | undefined> {
    return this.accounts.get(accountId);
  }

  /** Returns the last device check-in of a trader. */
  async location(traderId: string): Promise<DeviceLocation | undefined> {
    return (await this.locations.get(traderId))?.last;
  }

  /** Returns a live client of surface B. */
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

  /** Returns many markets by id, for lists that name their outcomes. */
  async marketsById(marketIds: Iterable<string>): Promise<ReadonlyMap<string, MarketRecord>> {
    const ids = [...new Set(marketIds)];
    const stored = ids.length > 20 ? await findMarkets(this.db, ids) : [];
    const found = new Map(stored.map((market) => [market.marketId, market]));
    const others = await Promise.all(
      ids.filter((marketId) => !found.has(marketId)).map((marketId) => this.market(marketId)),
    );
    for (const market of others) if (market !== undefined) found.set(market.marketId, market);
    return found;
  }

  /**
   * Returns whether markets exist and are visible. While Postgres cannot be reached or lacks a market that may exist, its
   * last known visibility counts, and one that is not known is absent.
   */
  async visibility(marketIds: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const stale = marketIds.filter((marketId) => this.marketCache.peek(marketId)?.isFresh !== true);
    const visible = new Map<string, boolean>();
    for (const marketId of marketIds) {
      const known = this.marketCache.peek(marketId)?.value;
      if (known !== undefined) visible.set(marketId, known.event.visible);
    }
    const read = async (marketIds: readonly string[]): Promise<void> => {
      try {
        const found = await this.marketsById(marketIds);
        for (const marketId of marketIds) visible.set(marketId, found.get(marketId)?.event.visible === true);
      } catch (error) {
        if (!(error instanceof Unavailable) && !isUnavailable(error)) throw error;
        // One market that is late says nothing about the others.
        if (marketIds.length > 1) await Promise.all(marketIds.map((marketId) => read([marketId])));
      }
    };
    if (stale.length > 0) await read(stale);
    return visible;
  }

  /** Returns the markets of an event, oldest first; `undefined` when there is no such event. */
  async marketIdsOf(eventId: string): Promise<readonly string[] | undefined> {
    if ((await this.event(eventId)) === undefined) return undefined;
    return (await marketIdsOfEvents(this.db, [eventId])).get(eventId) ?? [];
  }

  /** Returns the tick table in force. */
  async ticks(): Promise<Grid> {
    const grid = await this.grid.get(CURRENT);
    if (grid === undefined) throw new Error("there is no tick table in the database");
    return grid;
  }

  /** Returns the rules about regions and networks in force. */
  async geoRules(): Promise<GeoTable> {
    const table = await this.geo.get(CURRENT);
    if (table === undefined) throw new Error("there are no rules about regions and networks in the database");
    return table;
  }

  /** Returns the current maintenance, if there is one. */
  async maintenance(): Promise<MaintenanceWindow | undefined> {
    return (await this.windows.get(CURRENT))?.current;
  }

  /** Drops the cached data that a change made stale. `id` is that of the changed thing. */
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
        unreachable(kind);
    }
  }

  /** Drops everything, because changes may have been missed. */
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

  /** Calls the listener at every invalidation, until the returned function is called. */
  onChange(listener: (change: Change) => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  /** Calls the listener with every market that is new or changed, until the returned function is called. */
  onMarket(listener: (marketId: string) => void): () => void {
    this.marketListeners.add(listener);
    return () => this.marketListeners.delete(listener);
  }

  /** Reads the rules, unless their version is the last one read; lists of networks can be long. */
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
      state: stateOf(trader, this.time.now()),
    };
  }
}

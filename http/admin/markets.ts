/** Markets: their creation, life cycle and settings (contract sections 4.1 and 8.8). */

import { randomUUID } from "node:crypto";
import { marketActor } from "../../actors/actor.js";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import { hasRoomFor } from "../../actors/market/tick-room.js";
import type { FeeSchedule, MarketDefinition, OutcomeDefinition } from "../../actors/market/types.js";
import { formatPrice } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { listMarketTypes } from "../../db/queries/catalog/classification.js";
import { findPlayers, upsertCompetitor } from "../../db/queries/catalog/competitors.js";
import { findEvent, type EventRecord } from "../../db/queries/catalog/events.js";
import { findMarket, listMarkets, type MarketRecord } from "../../db/queries/catalog/markets.js";
import { UNDERWAY, type EventType } from "../../db/schema/catalog.js";
import type { Exchange } from "../../stream/log/ports.js";
import { retryAfter } from "../edge/headers.js";
import { IDS } from "../docs/examples.js";
import type { Changes } from "../reference/changes.js";
import type { Reference } from "../reference/reference.js";
import { operatorWith } from "../request/access.js";
import { Refused, refusedBy } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { route } from "../request/route.js";
import { marketOnWire } from "../surface-a/wire.js";
import type { Freshness } from "../trading/freshness.js";
import { recordIntent, requireChange, type ActionRequest } from "./audit.js";
import {
  AdminMarket,
  AdminMarketsQuery,
  MarketPatchBody,
  MarketStatusBody,
  NewMarketBody,
  type FeeBody,
} from "./schemas/markets.js";

export interface AdminMarketParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly changes: Changes;
  readonly qa: boolean;
}

const GAME_FEE: FeeSchedule = { coefficientPpm: 30_000, makerCreditPpm: 500_000, charged: "WHEN_LIVE" };
/** Fees of a market whose operator names none, by the type of its event (contract section 3.7). */
const DEFAULT_FEES: Readonly<Record<EventType, FeeSchedule>> = {
  REGULAR_SEASON: GAME_FEE,
  Game: GAME_FEE,
  Future: { coefficientPpm: 60_000, makerCreditPpm: 700_000, charged: "ALWAYS" },
};

function feeOf({ coefficient, makerCredit, charged }: FeeBody): FeeSchedule {
  return { coefficientPpm: coefficient, makerCreditPpm: makerCredit, charged };
}

function adminMarketOnWire(market: MarketRecord) {
  return {
    ...marketOnWire(market),
    outcomes: market.outcomes.map(({ outcomeId, name, status, competitorId }) => ({
      outcomeId,
      name,
      status,
      competitorId,
    })),
    playerId: market.playerId,
    liveDelayMs: market.liveDelayMs,
    live: market.live,
    paused: market.paused,
    settledTs: market.settledTs,
    createdTs: market.createdTs,
  };
}

/**
 * Time in ms that the answer to a change waits for Postgres: longer than a read, because an operator whose change took
 * effect has no other way to learn the id of a new market.
 */
const CHANGE_WAIT_MS = 3_000;

/**
 * Announces a change of a market when Postgres has it, and at the latest after `waitMs` (default a second). Returns
 * whether Postgres has it.
 */
export async function announceMarket(
  { freshness, changes }: Pick<AdminMarketParts, "freshness" | "changes">,
  marketId: string,
  waitMs?: number,
): Promise<boolean> {
  const isCaughtUp = await freshness.hasReached(marketActor(marketId), undefined, waitMs);
  await changes.publish("market", marketId);
  return isCaughtUp;
}

/**
 * Announces a change of a market and reads the market. Refuses `UNAVAILABLE`, with the id of the market, when Postgres
 * does not have the change in time.
 */
export async function readBackMarket(
  parts: Pick<AdminMarketParts, "db" | "freshness" | "changes">,
  marketId: string,
): Promise<MarketRecord> {
  if (!(await announceMarket(parts, marketId, CHANGE_WAIT_MS))) {
    const message = `the change took effect, but market ${marketId} cannot be read yet; read it again`;
    throw new Refused("UNAVAILABLE", message, {}, retryAfter(1));
  }
  const market = await findMarket(parts.db, marketId);
  if (market === undefined) throw new Refused("MARKET_NOT_FOUND");
  return market;
}

/** Returns the reply of a market when it accepted the command, and throws the refusal otherwise. */
export function accepted(reply: MarketReply): Extract<MarketReply, { ok: true }> {
  if (!reply.ok) throw refusedBy(reply.refusal);
  return reply;
}

async function requireType(
  { db, qa }: Pick<AdminMarketParts, "db" | "qa">,
  marketType: string,
): Promise<void> {
  if ((await listMarketTypes(db, { qa })).includes(marketType)) return;
  throw new Refused(
    "INVALID_BODY",
    "marketType is not the name of a market type; add it with POST /admin/v1/market-types",
  );
}

async function requireEvent(db: Database, eventId: string): Promise<EventRecord> {
  const event = await findEvent(db, eventId);
  if (event === undefined) throw new Refused("EVENT_NOT_FOUND");
  if (UNDERWAY.includes(event.status)) return event;
  throw new Refused(
    "INVALID_TRANSITION",
    `an event that is ${event.status} takes no more markets; choose an event that is not over`,
  );
}

/** Applies to a new market the step that its event took while the market was created. */
async function catchUpWithEvent(
  { db, exchange }: Pick<AdminMarketParts, "db" | "exchange">,
  marketId: string,
  before: EventRecord,
): Promise<void> {
  const now = (await findEvent(db, before.eventId))?.status;
  if (now === before.status) return;
  const actions: LifecycleAction[] =
    now === "OPEN_INGAME" ? ["golive"] : now === "OPEN_PREGAME" ? [] : ["close"];
  await exchange.market(marketId, { kind: "lifecycle", actions, byEvent: true });
}

/** Creates a market and returns it as Postgres has it. */
export async function createMarket(
  parts: AdminMarketParts,
  body: NewMarketBody,
  call: ActionRequest,
): Promise<MarketRecord> {
  const { db, exchange, reference } = parts;
  const event = await requireEvent(db, body.eventId);
  await requireType(parts, body.marketType);
  const { playerId, strike } = body;
  if (playerId !== undefined && (await findPlayers(db, [playerId])).length === 0) {
    throw new Refused(
      "INVALID_BODY",
      "playerId is not the id of a player; add the player with POST /admin/v1/players",
    );
  }
  const { prices } = await reference.ticks();
  const [lowest] = prices;
  if (lowest !== undefined && !hasRoomFor(body.outcomes.length, lowest)) {
    throw new Refused(
      "INVALID_BODY",
      `outcomes has ${body.outcomes.length} items, and the lowest price of the tick table, ${formatPrice(lowest)}, multiplied by their number exceeds 1; list fewer, or publish a table with a lower price`,
    );
  }
  const outcomes: OutcomeDefinition[] = [];
  for (const { name, competitor } of body.outcomes) {
    const team =
      competitor === undefined ? undefined : await upsertCompetitor(db, event.league, { name: competitor });
    outcomes.push({ outcomeId: randomUUID(), name, competitorId: team?.competitorId });
  }
  const marketId = randomUUID();
  const definition: MarketDefinition = {
    marketId,
    eventId: event.eventId,
    marketType: body.marketType,
    description: body.description,
    strike,
    playerId,
    voids: body.voids,
    outcomes,
    fee: body.fee === undefined ? DEFAULT_FEES[event.type] : feeOf(body.fee),
    liveDelayMs: body.liveDelayMs,
    ticks: prices,
  };
  const open = body.open && event.status !== "CLOSED_PREGAME";
  const command: MarketCommand = {
    kind: "create",
    definition,
    open,
    live: event.status === "OPEN_INGAME",
  };
  const record = { action: "market.create", subject: marketId, after: body };
  accepted(await recordIntent(db, call, record, () => exchange.market(marketId, command, { id: marketId })));
  await catchUpWithEvent(parts, marketId, event);
  return readBackMarket(parts, marketId);
}

export function adminMarketRoutes(parts: AdminMarketParts) {
  const { db, exchange } = parts;

  const create = route("POST /admin/v1/markets", {
    access: operatorWith("markets"),
    status: 201,
    body: NewMarketBody,
    answer: AdminMarket,
    docs: {
      summary: "Create a market",
      description: "Creates a market of an event that is not over. It opens at once unless `open` is false.",
      refuses: ["EVENT_NOT_FOUND", "INVALID_TRANSITION", "MARKET_EXISTS"],
      exampleBody: {
        eventId: IDS.eventId,
        marketType: "TOTAL",
        description: "Points over or under 47.5",
        strike: "47.5",
        voids: "PUSH",
        fee: { coefficient: "0.03", makerCredit: "0.5", charged: "WHEN_LIVE" },
        outcomes: [{ name: "Over 47.5" }, { name: "Under 47.5" }],
      },
    },
    run: async ({ body, ...call }) => ({ body: adminMarketOnWire(await createMarket(parts, body, call)) }),
  });

  const list = route("GET /admin/v1/markets", {
    access: operatorWith("read"),
    query: AdminMarketsQuery,
    answer: pageOf(AdminMarket),
    docs: {
      summary: "List markets",
      description: "Returns the markets of visible and hidden events, newest first.",
      exampleQuery: { event: IDS.eventId, status: "OPEN" },
    },
    run: async ({ query }) => {
      const { event: eventId, league, status, ...page } = query;
      const { items, next } = await listMarkets(db, { eventId, leagues: league, statuses: status }, page);
      return { body: { items: items.map(adminMarketOnWire), next } };
    },
  });

  const known = async (marketId: string): Promise<MarketRecord> => {
    const market = await findMarket(db, marketId);
    if (market === undefined) throw new Refused("MARKET_NOT_FOUND");
    return market;
  };

  const one = route("GET /admin/v1/markets/:marketId", {
    access: operatorWith("read"),
    answer: AdminMarket,
    docs: {
      summary: "Retrieve a market",
      refuses: ["MARKET_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const marketId = id("marketId");
      await known(marketId);
      return { body: adminMarketOnWire(await readBackMarket(parts, marketId)) };
    },
  });

  const setStatus = route("POST /admin/v1/markets/:marketId/status", {
    access: operatorWith("markets"),
    body: MarketStatusBody,
    answer: AdminMarket,
    docs: {
      summary: "Change the status of a market",
      description: "Opens, closes, pauses or resumes a market.",
      refuses: ["MARKET_NOT_FOUND", "INVALID_TRANSITION"],
      exampleBody: { action: "pause", reason: "the feed of the venue is late" },
    },
    run: async ({ body, id, ...call }) => {
      const { marketId, status, paused } = await known(id("marketId"));
      const { action, reason } = body;
      const after = reason === undefined ? undefined : { reason };
      const record = { action: `market.${action}`, subject: marketId, before: { status, paused }, after };
      const command: MarketCommand = { kind: "lifecycle", actions: [action] };
      const take = async (): Promise<MarketReply> => {
        const reply = await exchange.market(marketId, command);
        const isUnchanged = reply.ok && reply.kind === "done" && reply.unchanged === true;
        return isUnchanged ? { ok: false, refusal: "INVALID_TRANSITION" } : reply;
      };
      accepted(await recordIntent(db, call, record, take));
      return { body: adminMarketOnWire(await readBackMarket(parts, marketId)) };
    },
  });

  const change = route("PATCH /admin/v1/markets/:marketId", {
    access: operatorWith("markets"),
    body: MarketPatchBody,
    answer: AdminMarket,
    docs: {
      summary: "Change a market",
      description:
        "Changes the fee, the in-play delay or the description. A changed fee applies to orders that are accepted later.",
      refuses: ["MARKET_NOT_FOUND", "NO_CHANGE"],
      exampleBody: { liveDelayMs: 2_000 },
    },
    run: async ({ body, id, ...call }) => {
      await parts.freshness.reach(marketActor(id("marketId")));
      const { marketId, fee, liveDelayMs, description } = await known(id("marketId"));
      const changed = { ...body, fee: body.fee === undefined ? undefined : feeOf(body.fee) };
      requireChange({ fee, liveDelayMs, description }, changed);
      const command: MarketCommand = { kind: "configure", ...changed };
      const record = {
        action: "market.change",
        subject: marketId,
        before: { fee, liveDelayMs, description },
        after: body,
      };
      accepted(await recordIntent(db, call, record, () => exchange.market(marketId, command)));
      return { body: adminMarketOnWire(await readBackMarket(parts, marketId)) };
    },
  });

  return [create, list, one, change, setStatus];
}

/**
 * Reference data that operators maintain: the tick table, leagues and market types (contract sections 1.4 and 8.12).
 */

import { hasRoomFor, highestLowest } from "../../actors/market/tick-room.js";
import { CONTRACT_TICKS, formatPrice, type Ticks as Price } from "../../actors/units.js";
import type { Database, Queries } from "../../db/database.js";
import {
  addLeague,
  addMarketType,
  allMarketTypes,
  listLeagues,
  promoteMarketType,
} from "../../db/queries/catalog/classification.js";
import { allMarkets, largestMarket } from "../../db/queries/catalog/markets.js";
import { currentTicks, publishTicks } from "../../db/queries/catalog/ticks.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { Changes } from "../reference/changes.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import { auditedAction, requireChange } from "./audit.js";
import {
  League,
  LeagueBody,
  Leagues,
  MarketType,
  MarketTypeBody,
  MarketTypePatchBody,
  MarketTypes,
  Ticks,
  TicksBody,
} from "./schemas/reference.js";

interface ReferenceDataParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly changes: Changes;
}

/** Number of markets that receive a new table at the same time. */
const PARALLEL = 16;

/** Refuses a table that does not rise strictly or lacks a complement: a bid on one outcome is an offer on the other. */
function requireTable(prices: readonly Price[]): void {
  prices.forEach((price, index) => {
    const last = prices[index - 1];
    if (last !== undefined && last >= price) {
      throw new Refused(
        "INVALID_BODY",
        `prices must rise strictly; ${formatPrice(price)} is not greater than the price before it`,
      );
    }
  });
  const known = new Set<number>(prices);
  const unpaired = prices.find((price) => !known.has(CONTRACT_TICKS - price));
  if (unpaired !== undefined) {
    throw new Refused(
      "INVALID_BODY",
      `prices lacks the complement of ${formatPrice(unpaired)}; add it, or leave the price out`,
    );
  }
}

/** Refuses a table with which a market could not match at the lowest price on all of its outcomes. */
async function requireRoomForMarkets(db: Queries, [lowest]: readonly Price[]): Promise<void> {
  const largest = await largestMarket(db);
  if (largest === undefined || lowest === undefined || hasRoomFor(largest.outcomes, lowest)) return;
  const { marketId, outcomes } = largest;
  throw new Refused(
    "INVALID_BODY",
    `the market ${marketId} is not settled and has ${outcomes} outcomes, so the lowest of prices is at most ${formatPrice(highestLowest(outcomes))}; add a lower price, or settle the market`,
  );
}

export function referenceDataRoutes({ db, exchange, changes }: ReferenceDataParts) {
  const readTicks = route("GET /admin/v1/ticks", {
    access: operatorWith("read"),
    answer: Ticks,
    docs: {
      summary: "Retrieve the tick table",
    },
    run: async () => ({ body: { prices: (await currentTicks(db)).prices.map(formatPrice) } }),
  });

  /**
   * Sends the table to every market that is not settled. Markets need it to price overshooting matches and prints. The
   * tables may be behind an earlier publication, so no market is left out because it seems to have the table.
   */
  const sendToMarkets = async (prices: readonly Price[]): Promise<void> => {
    const open = await allMarkets(db, { statuses: ["OPEN", "CLOSED"] });
    const waiting = open.map(({ marketId }) => marketId);
    const sendNext = async (): Promise<void> => {
      for (let marketId = waiting.pop(); marketId !== undefined; marketId = waiting.pop()) {
        await exchange.market(marketId, { kind: "configure", ticks: prices });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, sendNext));
  };

  const putTicks = route("PUT /admin/v1/ticks", {
    access: operatorWith("markets"),
    body: TicksBody,
    answer: Ticks,
    docs: {
      summary: "Replace the tick table",
      description:
        "Publishes the valid prices: they rise strictly, each has its complement to 1, and the lowest multiplied by the number of outcomes of any market that is not settled is at most 1. Orders that rest at another price keep resting.",
      exampleBody: { prices: ["0.250", "0.500", "0.750"] },
    },
    run: async ({ body, caller, incoming }) => {
      requireTable(body.prices);
      const shown = { prices: body.prices.map(formatPrice) };
      await db.transaction(async (tx) => {
        await requireRoomForMarkets(tx, body.prices);
        const before = { prices: (await currentTicks(tx)).prices.map(formatPrice) };
        const record = { action: "ticks.publish", subject: "ticks", before, after: shown };
        await recordAudit(tx, auditedAction({ caller, incoming }, record));
        const table = { prices: body.prices, publishedBy: caller.accountId, nowTs: incoming.receivedMs };
        await publishTicks(tx, table);
      });
      await changes.publish("ticks", "current");
      await sendToMarkets(body.prices);
      return { body: shown };
    },
  });

  const leagues = route("GET /admin/v1/leagues", {
    access: operatorWith("read"),
    answer: Leagues,
    docs: { summary: "List leagues", description: "Returns every league with its sport, by name." },
    run: async () => ({ body: { items: await listLeagues(db) } }),
  });

  const marketTypes = route("GET /admin/v1/market-types", {
    access: operatorWith("read"),
    answer: MarketTypes,
    docs: {
      summary: "List market types",
      description: "Returns every market type by name, those of the environment `qa` included.",
    },
    run: async () => ({ body: { items: await allMarketTypes(db) } }),
  });

  const createLeague = route("POST /admin/v1/leagues", {
    access: operatorWith("markets"),
    status: 201,
    body: LeagueBody,
    answer: League,
    docs: {
      summary: "Create a league",
      refuses: ["ALREADY_EXISTS"],
      exampleBody: { name: "Insect League", sport: "FOOTBALL" },
    },
    run: async ({ body, ...call }) => {
      const league = { name: body.name, sport: body.sport ?? body.name };
      await db.transaction(async (tx) => {
        if (!(await addLeague(tx, league)))
          throw new Refused(
            "ALREADY_EXISTS",
            `name belongs to the league ${league.name}, which exists already; choose another name`,
          );
        await recordAudit(
          tx,
          auditedAction(call, { action: "league.create", subject: league.name, after: league }),
        );
      });
      return { body: league };
    },
  });

  const createMarketType = route("POST /admin/v1/market-types", {
    access: operatorWith("markets"),
    status: 201,
    body: MarketTypeBody,
    answer: MarketType,
    docs: {
      summary: "Create a market type",
      description: "With `qaOnly` the type exists only where the environment is `qa`.",
      refuses: ["ALREADY_EXISTS"],
      exampleBody: { name: "WINGSPAN", qaOnly: true },
    },
    run: async ({ body, ...call }) => {
      await db.transaction(async (tx) => {
        if (!(await addMarketType(tx, body)))
          throw new Refused(
            "ALREADY_EXISTS",
            `name belongs to the market type ${body.name}, which exists already; choose another name`,
          );
        await recordAudit(
          tx,
          auditedAction(call, { action: "market-type.create", subject: body.name, after: body }),
        );
      });
      return { body };
    },
  });

  const promote = route("PATCH /admin/v1/market-types/:name", {
    access: operatorWith("markets"),
    body: MarketTypePatchBody,
    answer: MarketType,
    docs: {
      summary: "Promote a market type",
      description: "Lets a type that existed only where the environment is `qa` exist everywhere.",
      refuses: ["MARKET_TYPE_NOT_FOUND", "NO_CHANGE"],
      examplePath: { name: "WINGSPAN" },
      exampleBody: { qaOnly: false },
    },
    run: async ({ segment, ...call }) => {
      const name = segment("name");
      const after = { name, qaOnly: false };
      await db.transaction(async (tx) => {
        const before = await promoteMarketType(tx, name);
        if (before === undefined) throw new Refused("MARKET_TYPE_NOT_FOUND");
        requireChange(before, { qaOnly: false });
        await recordAudit(
          tx,
          auditedAction(call, { action: "market-type.promote", subject: name, before, after }),
        );
      });
      return { body: after };
    },
  });

  return [readTicks, putTicks, leagues, createLeague, marketTypes, createMarketType, promote];
}

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { eq } from "drizzle-orm";
import { ledgerActor, marketActor } from "../../../actors/actor.js";
import { ticks } from "../../../actors/units.js";
import { type Database, connect, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import {
  finishEventAction,
  listEvents,
  listEventsByOffset,
  marketIdsOfEvents,
  settleFinalEvents,
  stepEvent,
  recordFollowed,
  unfinishedEventActions,
} from "../../../db/queries/catalog/events.js";
import { marketArchive, removableMarkets } from "../../../db/queries/catalog/removed-markets.js";
import { markets, removedMarkets } from "../../../db/schema/markets.js";
import { Removal, type RemovalPlace } from "../../../stream/jobs/removal.js";
import { allMarkets, findOutcome, listMarkets, settledMarkets } from "../../../db/queries/catalog/markets.js";
import { currentTicks, publishTicks } from "../../../db/queries/catalog/ticks.js";
import { eventActions } from "../../../db/schema/catalog.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";
import { SmallExchange } from "../exchange.js";
import { project } from "../read-model.js";
import { readAll } from "../read-all.js";
import { newEvent } from "./events.js";

const NOW = 1_700_000_000_000;

describe("queries of the catalog", () => {
  let database: FreshDatabase;
  let db: Database;
  let exchange: SmallExchange;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    exchange = new SmallExchange();
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("lists events by start with filters, teams and markets", async () => {
    const late = await newEvent(db, 300);
    const early = await newEvent(db, 100, { league: "NBA" });
    const hidden = await newEvent(db, 200, { visible: false });
    const ids = (items: readonly { eventId: string }[]) => items.map(({ eventId }) => eventId);
    expect(ids((await listEvents(db, {}, { limit: 10 })).items)).to.deep.equal([early, hidden, late]);
    expect(ids((await listEvents(db, { visible: true }, { limit: 10 })).items)).to.deep.equal([early, late]);
    expect(ids((await listEvents(db, { leagues: ["NBA"] }, { limit: 10 })).items)).to.deep.equal([early]);
    expect(
      ids((await listEvents(db, { startsAfter: 100, startsBefore: 300 }, { limit: 10 })).items),
    ).to.deep.equal([hidden]);
    expect(ids((await listEvents(db, { statuses: ["FINAL"] }, { limit: 10 })).items)).to.deep.equal([]);
    expect(ids(await listEventsByOffset(db, {}, { limit: 2, offset: 1 }))).to.deep.equal([hidden, late]);
    expect(ids(await readAll((after) => listEvents(db, {}, { limit: 1, after })))).to.deep.equal([
      early,
      hidden,
      late,
    ]);
    const [first] = (await listEvents(db, { leagues: ["NFL"] }, { limit: 1 })).items;
    expect(first?.game?.homeTeam).to.include({ name: "A", symbol: "AAA" });

    const market = exchange.createMarket({ eventId: late });
    await project(database.url, exchange.entries());
    expect((await marketIdsOfEvents(db, [late, early])).get(late)).to.deep.equal([market.marketId]);
    expect((await marketIdsOfEvents(db, [late, early])).get(early)).to.deep.equal([]);
  });

  it("lists markets by the start of their events, and settled markets newest first", async () => {
    const [late, early] = [await newEvent(db, 300), await newEvent(db, 100, { league: "NBA" })];
    const markets = [late, early, late].map((eventId) => exchange.createMarket({ eventId }));
    const ids = (items: readonly { marketId: string }[]) => items.map(({ marketId }) => marketId);
    for (const market of markets) {
      exchange.grade(market, { kind: "WINNER", outcome: 0 });
      if (market !== markets[1]) exchange.settle(market);
    }
    await project(database.url, exchange.entries());
    const all = await readAll((after) => listMarkets(db, {}, { limit: 1, after }));
    expect(ids(all)[0]).to.equal(markets[1]?.marketId);
    expect(ids(all).sort()).to.deep.equal(ids(markets).sort());
    expect(ids(await allMarkets(db, { leagues: ["NBA"] }))).to.deep.equal([markets[1]?.marketId]);
    expect(ids(await allMarkets(db, { statuses: ["SETTLED"], eventId: late })).sort()).to.deep.equal(
      [markets[0]?.marketId, markets[2]?.marketId].sort(),
    );
    const settled = await readAll((after) => settledMarkets(db, { limit: 1, after }));
    expect(ids(settled)).to.deep.equal([markets[2]?.marketId, markets[0]?.marketId]);
    expect(await findOutcome(db, markets[1]?.outcomeIds[1] ?? "")).to.deep.equal({
      marketId: markets[1]?.marketId,
      outcome: 1,
    });
  });

  it("keeps a finished action of an event for 30 days", async () => {
    const day = 86_400_000;
    const act = async (nowTs: number): Promise<void> => {
      const step = { action: "close", from: ["OPEN_PREGAME"], to: "CLOSED_PREGAME", nowTs } as const;
      const eventId = await newEvent(db, 1);
      const answer = await db.transaction((tx) => stepEvent(tx, { ...step, eventId }));
      if (!answer.ok) throw new Error("the event took no step");
      await finishEventAction(db, answer.pending.actionId, nowTs);
    };
    const count = () => db.$count(eventActions);
    await act(NOW);
    await act(NOW + 30 * day);
    expect(await count()).to.equal(2);
    await act(NOW + 31 * day);
    expect(await count()).to.equal(2);
  });

  it("takes no step of an event while the action of the last step is unfinished", async () => {
    const eventId = await newEvent(db, 1);
    const step = (action: "close" | "finalise", nowTs: number) =>
      db.transaction((tx) =>
        stepEvent(tx, {
          eventId,
          action,
          from: action === "close" ? ["OPEN_PREGAME"] : ["CLOSED_PREGAME"],
          to: action === "close" ? "CLOSED_PREGAME" : "FINAL",
          nowTs,
        }),
      );
    const answers = await Promise.all([step("close", NOW), step("close", NOW), step("close", NOW)]);
    const taken = answers.filter((answer) => answer.ok);
    expect(taken).to.have.length(1);
    const actionId = taken[0]?.ok === true ? taken[0].pending.actionId : 0;
    expect(await step("finalise", NOW)).to.deep.include({ ok: false, refusal: "ACTION_PENDING" });
    expect(await unfinishedEventActions(db, NOW)).to.deep.equal([]);
    expect((await unfinishedEventActions(db, NOW + 1)).map((action) => action.actionId)).to.deep.equal([
      actionId,
    ]);
    const [first, second] = [randomUUID(), randomUUID()];
    await recordFollowed(db, { actionId }, [first]);
    await recordFollowed(db, { actionId }, [second]);
    expect((await unfinishedEventActions(db, NOW + 1))[0]?.followed).to.deep.equal([first, second]);
    await finishEventAction(db, actionId, NOW + 2);
    expect(await step("close", NOW)).to.deep.include({ ok: false, refusal: "INVALID_TRANSITION" });

    const market = exchange.createMarket({ eventId });
    await project(database.url, exchange.entries());
    const last = await step("finalise", NOW + 3);
    expect(
      await settleFinalEvents(db, { nowTs: NOW + 4 }),
      "its markets have not finished the action",
    ).to.deep.equal([]);
    if (last.ok) await finishEventAction(db, last.pending.actionId, NOW + 5);
    expect(await settleFinalEvents(db, { nowTs: NOW + 6 }), "a market is not settled").to.deep.equal([]);
    exchange.grade(market, { kind: "WINNER", outcome: 0 });
    exchange.settle(market);
    await project(database.url, exchange.entries());
    expect(await settleFinalEvents(db, { eventId: randomUUID(), nowTs: NOW + 7 })).to.deep.equal([]);
    expect(await settleFinalEvents(db, { eventId, nowTs: NOW + 7 })).to.deep.equal([eventId]);
    expect(await settleFinalEvents(db, { nowTs: NOW + 8 })).to.deep.equal([]);
  });

  /** Settles new markets, and returns their ids. */
  async function settleMarkets(count: number): Promise<readonly string[]> {
    const settled = Array.from({ length: count }, () => {
      const market = exchange.createMarket();
      exchange.lifecycle(market, "close");
      exchange.grade(market, { kind: "WINNER", outcome: 0 });
      exchange.settle(market);
      return market.marketId;
    });
    await project(database.url, exchange.entries());
    return settled;
  }

  it("removes every settled market, also beside one that was restored and has settled later", async () => {
    const hourMs = 3_600_000;
    const ids = await settleMarkets(4);
    for (const [n, marketId] of ids.entries())
      await db
        .update(markets)
        .set({ settledTs: NOW + 2 * n * hourMs })
        .where(eq(markets.marketId, marketId));
    const [restored = ""] = ids.slice(-1);
    await db.insert(removedMarkets).values({ marketId: restored, hash: null, changedTs: NOW });
    const removal = new Removal(
      {
        exchange: { market: () => expect.fail("every market is removed") },
        removable: (list, after, beforeTs) => removableMarkets(db, list, after, beforeTs, 1, 2),
        findUndone: () => Promise.resolve(),
        async remove(marketId) {
          const row = { hash: "", changedTs: NOW };
          const change = { target: removedMarkets.marketId, set: row };
          await db
            .insert(removedMarkets)
            .values({ marketId, ...row })
            .onConflictDoUpdate(change);
          return true;
        },
        mayRemove: () => true,
      },
      hourMs,
    );
    const search = () => removal.run(NOW + 24 * hourMs);
    for (let run = 0; run < 8; run += 1) await search();
    const rows = await db.select().from(removedMarkets);
    expect(rows.map(({ marketId }) => marketId)).to.have.members(ids);
    expect(rows.every(({ hash }) => hash !== null)).to.equal(true);
    const archive = marketArchive(db, { now: () => NOW });
    const actors = [...ids.map(marketActor), marketActor(randomUUID()), ledgerActor(0)];
    expect(await archive.removedOf(actors)).to.have.members(ids.map(marketActor));
    await archive.mark(marketActor(restored), undefined);
    expect(await archive.removedOf([marketActor(restored)])).to.deep.equal([]);
    expect(await archive.removedOf([])).to.deep.equal([]);
  });

  it("passes over a limited number of removed markets at once", async () => {
    const ids = await settleMarkets(6);
    for (const [n, marketId] of ids.entries()) {
      await db
        .update(markets)
        .set({ settledTs: NOW + n })
        .where(eq(markets.marketId, marketId));
      if (n < 5) await db.insert(removedMarkets).values({ marketId, hash: "", changedTs: NOW });
    }
    const places = ids.map((marketId, n) => ({ marketId, ts: NOW + n }));
    const page = (after: RemovalPlace | undefined) =>
      removableMarkets(db, "settled", after ?? { ts: 0, marketId: randomUUID() }, NOW + 100, 10, 2);
    const first = await page(undefined);
    expect(first).to.deep.equal({ markets: [], next: places[1] });
    const second = await page(first.next);
    expect(second).to.deep.equal({ markets: [], next: places[3] });
    const third = await page(second.next);
    expect(third).to.deep.equal({ markets: [places[5]], next: places[5] });
    expect(await page(third.next)).to.deep.equal({ markets: [], next: undefined });
  });

  it("replaces the tick table in force", async () => {
    await publishTicks(db, { prices: [ticks(250), ticks(750)], publishedBy: randomUUID(), nowTs: NOW });
    expect(await currentTicks(db)).to.deep.equal({ version: 2, prices: [250, 750], publishedTs: NOW });
  });
});

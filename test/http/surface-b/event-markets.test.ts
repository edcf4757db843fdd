import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { createEvent } from "../../../db/queries/catalog/events.js";
import { markets, outcomes } from "../../../db/schema/markets.js";
import { EventMarkets } from "../../../http/surface-b/markets/event-markets.js";
import { MarketWithBook } from "../../../http/surface-b/schemas.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { Replicas } from "../../../stream/ws/market/replicas.js";
import { trader } from "../../stream/ws/support/client.js";
import { TestExchange } from "../../stream/ws/support/exchange.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { until } from "../../support/until.js";

const NOW_MS = 1_700_000_000_000;

describe("the markets of an event", function () {
  this.timeout(20_000);
  const ann = randomUUID();
  let database: FreshDatabase;
  let db: Database;
  let exchange: TestExchange;
  let replicas: Replicas;
  let eventMarkets: EventMarkets;

  before(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    exchange = new TestExchange();
    exchange.fund(ann);
    replicas = new Replicas({ tail: exchange.tail, load: exchange.load, onError: () => undefined });
    eventMarkets = new EventMarkets({
      db,
      reference: { market: () => Promise.resolve(undefined), onChange: () => () => undefined },
      replicas,
      onError: (error) => {
        throw error;
      },
    });
  });

  after(async () => {
    eventMarkets.close();
    await replicas.close();
    await disconnect(db);
    await database.drop();
  });

  async function quantities(eventId: string): Promise<(number | undefined)[]> {
    const answer = await eventMarkets.markets(eventId, "CASH", "ladder");
    const [market] = MarketWithBook.array().parse(JSON.parse(answer.json.toString("utf8")));
    return (market?.book.outcomeLadders[0]?.bids ?? []).map(({ qty }) => qty);
  }

  async function place({ outcomes: [first] }: MarketDefinition, qty: number): Promise<void> {
    const order = { outcomeId: first?.outcomeId, price: "0.400", qty, tif: "GTC" };
    await exchange.place(trader(ann), [order], false);
    exchange.commit();
  }

  it("are unavailable while a replica that lost deltas cannot be reloaded, and never show its old book", async () => {
    const eventId = randomUUID();
    const definition = exchange.createMarket(2, eventId);
    await writeRows(db, definition);
    await place(definition, 7);
    expect(await quantities(eventId)).to.deep.equal([7]);

    exchange.loadFailures = Infinity;
    exchange.operate(definition.marketId, { kind: "lifecycle", actions: ["pause"] });
    exchange.commit();
    exchange.operate(definition.marketId, { kind: "lifecycle", actions: ["resume"] });
    exchange.commit();
    exchange.tail.trim(marketActor(definition.marketId), 99);
    await place(definition, 8);
    await place(definition, 9);

    const refused = await quantities(eventId).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Unavailable);
    exchange.loadFailures = 0;
    await until(async () => (await quantities(eventId).catch(() => [])).length === 3);
    expect(await quantities(eventId)).to.deep.equal([7, 8, 9]);
  });
});

/** Writes the rows of a market and of its event, as the projector and an operator would. */
async function writeRows(db: Database, definition: MarketDefinition): Promise<void> {
  const { marketId, eventId, marketType, description, voids } = definition;
  await createEvent(db, {
    eventId,
    type: "Game",
    sport: "FOOTBALL",
    league: "NFL",
    description: "A at B",
    startsTs: NOW_MS,
    visible: true,
    nowTs: NOW_MS,
  });
  await db.insert(markets).values({
    marketId,
    eventId,
    marketType,
    description,
    voids,
    feeCoefficientPpm: 0,
    feeMakerCreditPpm: 0,
    feeCharged: "ALWAYS",
    liveDelayMs: 0,
    ticks: [...definition.ticks],
    status: "OPEN",
    live: false,
    paused: false,
    remediating: false,
    createdTs: NOW_MS,
    updatedTs: NOW_MS,
  });
  const rows = definition.outcomes.map(({ outcomeId, name }, outcome) => ({
    outcomeId,
    marketId,
    outcome,
    name,
    status: "TBD",
  }));
  await db.insert(outcomes).values(rows);
}

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { until } from "../../support/until.js";
import { ledgerOf, ledgerShardOf, marketActor, partitionOf } from "../../../actors/actor.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { journalOf } from "../../../db/projection/journal.js";
import { migrate } from "../../../db/migrate.js";
import { Projector } from "../../../db/projection/projector.js";
import { money } from "../../../db/queries/operator/money.js";
import { findOrder } from "../../../db/queries/trading/orders.js";
import { waitProjected } from "../../../db/queries/projected.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { LogTail } from "../../../stream/log/tail.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { freshDatabase, freshRedis, type FreshDatabase, type FreshRedis } from "../../support/servers.js";
import {
  createMarket,
  deposit,
  FEE,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";
import { balancesOf } from "../read-model.js";

describe("projector on the real log", () => {
  let redis: FreshRedis;
  let database: FreshDatabase;
  let db: Database;
  let log: RedisLog;
  let tail: LogTail;
  let worker: Worker;
  let exchange: LogExchange;
  let projector: Projector;

  beforeEach(async () => {
    redis = await freshRedis();
    database = await freshDatabase(migrate);
    db = connect(database.url);
    log = await RedisLog.open({ url: redis.url });
    const common = { log, clock: systemClock, logger: silentLogger };
    worker = new Worker({ id: randomUUID(), ...common, actorOf });
    await worker.start();
    exchange = new LogExchange({ ...common, newId: randomUUID });
    await exchange.start();
    tail = new LogTail(common);
    projector = startProjector();
  });

  afterEach(async () => {
    await projector.stop();
    await exchange.close();
    await worker.stop();
    await tail.close();
    await log.close();
    await disconnect(db);
    await database.drop();
    await redis.drop();
  });

  function startProjector(): Projector {
    const started = new Projector({
      databaseUrl: database.url,
      journal: journalOf(log, tail, silentLogger),
      marketChanged: () => Promise.resolve(),
      logger: silentLogger,
    });
    void started.run();
    return started;
  }

  async function place(
    trader: string,
    market: MarketDefinition,
    outcome: number,
    price: number,
  ): Promise<string> {
    const order = orderRequest(market, { outcome, price, qty: 10 });
    await exchange.ledger(ledgerShardOf(trader), placement(trader, order));
    return order.orderId;
  }

  it("shows acknowledged orders before and after a restart, and reports its progress to the log", async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const market = marketDefinition({ fee: FEE });
    const { marketId } = market;
    await exchange.market(marketId, createMarket(market));
    for (const trader of [ann, bob]) {
      await exchange.ledger(ledgerShardOf(trader), deposit(trader, 1_000_000));
    }
    const resting = await place(ann, market, 0, 600);
    await waitProjected(db, ledgerOf(ann), await tail.position(ledgerOf(ann)), 5_000);
    expect(await findOrder(db, ann, resting)).to.include({ qty: 10 });
    await projector.stop();
    await place(bob, market, 1, 400);
    projector = startProjector();

    await until(async () => (await findOrder(db, ann, resting))?.status === "FILLED");
    for (const actor of [ledgerOf(ann), ledgerOf(bob), marketActor(marketId)]) {
      expect(await waitProjected(db, actor, await tail.position(actor), 5_000), actor).to.equal(true);
    }
    expect((await balancesOf(db, [ann])).get(ann)?.CASH.reserved).to.equal(0);
    expect((await money(db)).CASH).to.include({ escrow: 10_000, inFlight: 0, difference: 0 });

    const actor = ledgerOf(bob);
    await until(async () => {
      const [head] = await log.heads(partitionOf(actor), [actor]);
      return head?.projected === head?.seq;
    });
  });
});

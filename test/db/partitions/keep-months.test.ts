import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import pg from "pg";
import { LEDGER_SHARDS, ledgerActor } from "../../../actors/actor.js";
import { connect, disconnect, isUnavailable, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { MIGRATION_LOCK } from "../../../db/locks.js";
import { MONTHLY, startOfMonth } from "../../../db/partitions/months.js";
import { countStrays } from "../../../db/partitions/strays.js";
import { createMonths, keepMonths } from "../../../db/partitions/keep-months.js";
import { listOrders } from "../../../db/queries/trading/orders.js";
import { ProjectionBatch } from "../../../db/projection/batch.js";
import { ProjectionSession } from "../../../db/projection/session.js";
import { startProxy } from "../../support/proxy.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { SmallExchange } from "../exchange.js";
import { project } from "../read-model.js";

const NOW = Date.now();
const DAY_MS = 86_400_000;
const quiet = (): void => undefined;

describe("the tables by month", () => {
  let database: FreshDatabase;
  let db: Database;
  let exchange: SmallExchange;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    exchange = new SmallExchange();
    exchange.network.now = NOW;
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  async function textsOf(query: string): Promise<string[]> {
    const { rows } = await db.execute<{ text: string }>(sql.raw(query));
    return rows.map(({ text }) => text);
  }

  const partitionsOf = (table: string): Promise<string[]> =>
    textsOf(`select inhrelid::regclass::text as text from pg_inherits
      where inhparent = '${table}'::regclass order by 1`);

  const placesOf = (table: string): Promise<string[]> =>
    textsOf(`select distinct tableoid::regclass::text as text from ${table} order by 1`);

  const nameOf = (table: string, ts: number): string =>
    `${table}_${new Date(ts).toISOString().slice(0, 7).replace("-", "_")}`;

  /** Places an order and fills it. Returns the wallet of the order. */
  function trade(): string {
    const market = exchange.createMarket();
    const [ann, bob] = [randomUUID(), randomUUID()];
    for (const trader of [ann, bob]) exchange.transact(trader, 1_000_000);
    exchange.place(ann, market, 0, 600, 4);
    exchange.deliverAll();
    exchange.place(bob, market, 1, 400, 4);
    exchange.deliverAll();
    return ann;
  }

  it("exists three months ahead after the migration, and goes on each month", async () => {
    for (const { name } of MONTHLY) {
      const partitions = await partitionsOf(name);
      expect(partitions).to.include.members([nameOf(name, startOfMonth(NOW, 3)), `${name}_later`]);
    }
    expect(await keepMonths(database.url, NOW, quiet)).to.deep.equal({
      created: [],
      moved: 0,
      isUnfinished: false,
    });
    const next = startOfMonth(NOW, 1);
    const done = await keepMonths(database.url, next, quiet);
    expect(done?.created).to.deep.equal(MONTHLY.map(({ name }) => nameOf(name, startOfMonth(NOW, 4))));
    expect((await keepMonths(database.url, next, quiet))?.created).to.deep.equal([]);
    for (const { name, keyOfPartition = "ts" } of MONTHLY) {
      const [key] = await textsOf(`select pg_get_constraintdef(oid) as text from pg_constraint
        where conrelid = '${nameOf(name, startOfMonth(NOW, 4))}'::regclass and contype = 'p'`);
      expect(key, name).to.include(keyOfPartition);
    }
  });

  it("leaves the work to the one process that does it", async () => {
    await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      expect(await keepMonths(database.url, startOfMonth(NOW, 9), quiet)).to.equal(undefined);
    });
  });

  it("has open orders in one partition, and ended ones in that of their month", async () => {
    const wallet = trade();
    const market = exchange.createMarket();
    exchange.place(wallet, market, 0, 100, 1);
    exchange.deliverAll();
    await project(database.url, exchange.entries(), 1);
    expect(await placesOf("orders")).to.deep.equal([nameOf("orders", NOW), "orders_live"]);
    exchange.network.now = startOfMonth(NOW, 2);
    exchange.cancelAll(wallet);
    exchange.deliverAll();
    await project(database.url, exchange.entries(), 1);
    expect(await placesOf("orders")).to.deep.equal([
      nameOf("orders", NOW),
      nameOf("orders", startOfMonth(NOW, 2)),
    ]);
  });

  it("catches rows beyond the last month, reports them, and then ends their partition after them", async () => {
    exchange.network.now = startOfMonth(NOW, 12) + DAY_MS;
    trade();
    await project(database.url, exchange.entries());
    for (const { name } of MONTHLY) expect(await placesOf(name), name).to.deep.equal([`${name}_later`]);
    const strays = await countStrays(db);
    expect(strays).to.be.above(5);
    expect((await keepMonths(database.url, NOW, quiet))?.created).to.deep.equal([]);
    expect(await countStrays(db), "the clock may go back, so they stay").to.equal(strays);

    const later = startOfMonth(NOW, 9);
    await keepMonths(database.url, later, quiet);
    expect(await countStrays(db)).to.equal(0);
    for (const { name } of MONTHLY)
      expect(await placesOf(name)).to.deep.equal([nameOf(name, startOfMonth(NOW, 13))]);
    trade();
    await project(database.url, exchange.entries());
    expect(await countStrays(db)).to.equal(0);
  });

  it("reads no stray row under its exclusive lock", async () => {
    exchange.network.now = startOfMonth(NOW, 12) + DAY_MS;
    trade();
    await project(database.url, exchange.entries());
    const notices: string[] = [];
    const client = new pg.Client({
      connectionString: database.url,
      options: "-c client_min_messages=debug1",
    });
    client.on("notice", ({ message }) => notices.push(message ?? ""));
    await client.connect();
    try {
      await createMonths(client, startOfMonth(NOW, 9), quiet);
    } finally {
      await client.end();
    }
    for (const { name } of MONTHLY)
      expect(notices).to.include(
        `partition constraint for table "${nameOf(name, startOfMonth(NOW, 13))}" is implied by existing constraints`,
      );
  });

  it("fails, and does not end its process, when Postgres ends its connection", async () => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    try {
      await holder.query("begin; lock table orders in access share mode");
      let isEnded = false;
      const failure = await keepMonths(database.url, startOfMonth(NOW, 1), () => {
        if (isEnded) return;
        isEnded = true;
        void holder.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = 'exchange months' and datname = current_database()`,
        );
      }).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(Error);
    } finally {
      await holder.end();
    }
  });

  it("fails within seconds when Postgres goes silent while it waits", async () => {
    const proxy = await startProxy(database.url);
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    try {
      await holder.query("begin; lock table orders in access share mode");
      const failure = await keepMonths(proxy.url, startOfMonth(NOW, 1), () => proxy.silence()).catch(
        (error: unknown) => error,
      );
      expect(isUnavailable(failure)).to.equal(true);
    } finally {
      await holder.end();
      await proxy.close();
    }
  });

  it("lets an operator take an old month out, and put it back, while the tables are in use", async () => {
    const [month, next] = [startOfMonth(NOW, 2), startOfMonth(NOW, 3)];
    exchange.network.now = month + DAY_MS;
    const wallet = trade();
    await project(database.url, exchange.entries());
    await keepMonths(database.url, startOfMonth(NOW, 4), quiet);
    exchange.network.now = startOfMonth(NOW, 4);
    const list = async () => (await listOrders(db, { wallet }, { limit: 10 })).items.length;
    expect(await list()).to.equal(1);
    for (const { name } of MONTHLY)
      await db.execute(sql.raw(`alter table ${name} detach partition ${nameOf(name, month)} concurrently`));
    expect(await list()).to.equal(0);
    trade();
    await project(database.url, exchange.entries());
    expect((await keepMonths(database.url, startOfMonth(NOW, 5), quiet))?.created).to.have.length(
      MONTHLY.length,
    );
    for (const { name } of MONTHLY)
      await db.execute(
        sql.raw(
          `alter table ${name} attach partition ${nameOf(name, month)} for values from (${month}) to (${next})`,
        ),
      );
    expect(await list()).to.equal(1);
  });

  it("moves orders that a projector of the build before has ended or opened again", async () => {
    const wallet = trade();
    const market = exchange.createMarket();
    exchange.place(wallet, market, 0, 100, 1);
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    // The old projector names its columns, and does not know `ended_ts`.
    await db.execute(sql`update orders set status = 'CANCELED' where status = 'OPEN'`);
    await db.execute(sql`update orders set status = 'OPEN' where status = 'FILLED'`);
    expect((await keepMonths(database.url, NOW, quiet))?.moved).to.equal(3);
    const found = await textsOf(
      `select distinct status || ' ' || tableoid::regclass::text as text from orders`,
    );
    expect(found.toSorted()).to.deep.equal([`CANCELED ${nameOf("orders", NOW)}`, "OPEN orders_live"]);
  });

  it("moves a limited number of orders in one run", async () => {
    await db.execute(sql`
      insert into orders (order_id, wallet, trader_id, market_id, outcome, currency, price, qty, filled, remaining, tif,
        status, ts, place, updated_ts, ended_ts)
      select gen_random_uuid(), ${randomUUID()}::uuid, ${randomUUID()}::uuid, ${randomUUID()}::uuid, 0, 'CASH', 500, 1, 0,
        1, 'GTC', 'CANCELED', ${NOW}, place, ${NOW}, 0
      from generate_series(1, 12500) as place`);
    const run = async () => {
      const { moved, isUnfinished } = (await keepMonths(database.url, NOW, quiet)) ?? {};
      return { moved, isUnfinished };
    };
    expect(await run()).to.deep.equal({ moved: 10_000, isUnfinished: true });
    expect(await run()).to.deep.equal({ moved: 2_500, isUnfinished: false });
  });

  it("refuses an entry that the tables have, although an ended order is in another partition", async () => {
    trade();
    const entries = exchange.entries();
    await project(database.url, entries);
    const count = () => textsOf("select count(*)::text as text from orders");
    const before = await count();
    const session = await ProjectionSession.open(database.url);
    try {
      for (const first of entries.filter(({ actor }) => actor.startsWith("ledger:"))) {
        const again = new ProjectionBatch(new Map());
        for (const each of entries.filter(({ actor }) => actor === first.actor)) again.take(each);
        const failure = await session.write(again).catch((error: unknown) => error);
        expect(failure).to.be.instanceOf(Error);
      }
      // A batch whose rows have no key in common with others in the tables.
      const none = new ProjectionBatch(new Map());
      const projected = new Set(entries.map((each) => each.actor));
      const unused = Array.from({ length: LEDGER_SHARDS }, (_, shard) => ledgerActor(shard)).find(
        (actor) => !projected.has(actor),
      );
      none.take({ actor: unused, seq: 1, batches: [] } as never);
      await session.write(none);
      const failure = await session.write(none).catch((error: unknown) => error);
      expect(String(failure)).to.match(/project_projector_cursors_raising_seq wrote 0 of 1 rows/);
    } finally {
      await session.close();
    }
    expect(await count()).to.deep.equal(before);
  });
});

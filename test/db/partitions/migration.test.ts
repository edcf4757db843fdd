import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";
import { ledgerOf } from "../../../actors/actor.js";
import { contracts } from "../../../actors/units.js";
import { TablesBusy, waitBriefly, withLocks } from "../../../db/brief-locks.js";
import { MIGRATION_LOCK } from "../../../db/locks.js";
import { migrate } from "../../../db/migrate.js";
import { prepareMonths } from "../../../db/partitions/prepare.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { entry } from "../exchange.js";
import { project } from "../read-model.js";

const FOLDER = path.resolve(import.meta.dirname, "..", "..", "..", "db", "migrations");
/** Last migration before the tables were partitioned. */
const LAST = 7;
const ROWS = 1_000;
const TABLES = ["orders", "fills", "entries", "trades"] as const;
const WALLET = randomUUID();
const NOW = Date.now();

/** Brings a database to the schema before the partitions. */
async function migrateBefore(client: pg.Client): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  try {
    fs.cpSync(FOLDER, folder, { recursive: true });
    const file = path.join(folder, "meta", "_journal.json");
    const journal = JSON.parse(fs.readFileSync(file, "utf8")) as { entries: { idx: number }[] };
    journal.entries = journal.entries.filter(({ idx }) => idx <= LAST);
    fs.writeFileSync(file, JSON.stringify(journal));
    await applyMigrations(drizzle({ client }), { migrationsFolder: folder });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** Fills the tables, as the projector of the build before partitions would. The first order is open. */
async function fill(client: pg.Client): Promise<void> {
  const series = `generate_series(1, ${ROWS}) i`;
  const ts = `${NOW} - i * 1000`;
  await client.query(
    `insert into orders (order_id, wallet, trader_id, market_id, outcome, currency, price, qty, filled, remaining, tif,
       status, ts, place, updated_ts)
     select md5('order' || i)::uuid, '${WALLET}', '${WALLET}', gen_random_uuid(), 0, 'CASH', 500, 2, 0, 2, 'GTC',
       case i when 1 then 'OPEN' else 'FILLED' end, ${ts}, i, ${ts} from ${series}`,
  );
  await client.query(
    `insert into fills (wallet, ts, place, fill_id, match_id, order_id, market_id, outcome, currency, price, qty, cost,
       payout, fee, credit, taker, wash)
     select '${WALLET}', ${ts}, i, gen_random_uuid(), gen_random_uuid(), md5('order' || i)::uuid, gen_random_uuid(), 0,
       'CASH', 500, 1, 1, 0, 0, 0, true, false from ${series}`,
  );
  await client.query(
    `insert into entries (wallet, ts, place, transaction_id, counterparty, kind, currency, amount, ref)
     select '${WALLET}', ${ts}, i, gen_random_uuid(), 'house', 'FEE', 'CASH', 1, 'r' from ${series}`,
  );
  await client.query(
    `insert into trades (market_id, currency, ts, place, trade_id, match_id, outcome, price, qty)
     select '${WALLET}', 'CASH', ${ts}, i, gen_random_uuid(), gen_random_uuid(), 0, 500, 1 from ${series}`,
  );
}

describe("the migration to tables by month", function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let client: pg.Client;

  beforeEach(async () => {
    database = await freshDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await migrateBefore(client);
    await fill(client);
  });

  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const rowsOf = async (table: string): Promise<unknown[]> =>
    (
      await client.query<object>(
        `select to_jsonb(${table}) - '{ended_ts,replaces,taker_outcome,taker_price}'::text[] as row from ${table} order by place`,
      )
    ).rows;

  const partitionOfOrder = async (orderId: string): Promise<unknown> =>
    (
      await client.query<{ name: string }>(
        "select tableoid::regclass::text as name from orders where order_id = $1",
        [orderId],
      )
    ).rows;

  it("keeps every row, reads each table once, and keeps the grants", async () => {
    const role = `reader_${randomUUID().slice(0, 8)}`;
    await client.query(`create role ${role}; grant select on fills to ${role}`);
    try {
      const before = await Promise.all(TABLES.map(rowsOf));
      const lines: string[] = [];
      await migrate(database.url, (line) => lines.push(line));
      expect(await Promise.all(TABLES.map(rowsOf))).to.deep.equal(before);
      expect(lines).to.have.length(TABLES.length);
      expect(lines[0]).to.match(/^reading the table trades before it is partitioned by month/);
      const { rows: kinds } = await client.query(
        "select relkind from pg_class where relname = any($1) and relnamespace = 'public'::regnamespace",
        [TABLES],
      );
      expect(kinds).to.deep.equal(TABLES.map(() => ({ relkind: "p" })));
      const { rows: left } = await client.query(
        "select conname from pg_constraint where contype = 'c' and conrelid::regclass::text like '%\\_first'",
      );
      expect(left).to.deep.equal([]);
      const { rows: granted } = await client.query(
        "select has_table_privilege($1, 'fills', 'select') as may",
        [role],
      );
      expect(granted).to.deep.equal([{ may: true }]);
    } finally {
      await client.query(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it("reads no row under its exclusive locks, because the constraints are validated before", async () => {
    await prepareMonths(client, () => undefined);
    const notices: string[] = [];
    const watched = new pg.Client({
      connectionString: database.url,
      options: "-c client_min_messages=debug1",
    });
    watched.on("notice", ({ message }) => notices.push(message ?? ""));
    await watched.connect();
    try {
      await applyMigrations(drizzle({ client: watched }), { migrationsFolder: FOLDER });
    } finally {
      await watched.end();
    }
    for (const table of TABLES)
      expect(notices).to.include(
        `partition constraint for table "${table}_first" is implied by existing constraints`,
      );
  });

  it("lets others use the tables while it waits for a transaction, and names that transaction", async () => {
    const holder = new pg.Client({ connectionString: database.url, application_name: "a dump" });
    await holder.connect();
    await holder.query("begin; lock table fills in access share mode");
    const lines: string[] = [];
    const migrating = migrate(database.url, (line) => lines.push(line));
    try {
      const began = Date.now();
      while (!lines.some((line) => line.includes("a dump")) && Date.now() - began < 30_000) {
        await client.query("set statement_timeout = 5000");
        await client.query("select count(*) from orders");
        await client.query("update fills set qty = qty where place = 1");
      }
      expect(lines.at(-1)).to.match(/these transactions hold locks: a dump \(pid \d+, \d+ s\)/);
    } finally {
      await holder.query("rollback");
      await holder.end();
    }
    await migrating;
  });

  it("gives up with the names of the transactions that hold the locks", async () => {
    const holder = new pg.Client({ connectionString: database.url, application_name: "a dump" });
    await holder.connect();
    await holder.query("begin; lock table fills in access share mode");
    try {
      await client.query("set lock_timeout = 50");
      const work = () => client.query("truncate fills");
      const failure = await withLocks(client, work, () => undefined, 0).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(TablesBusy);
      expect(String(failure)).to.match(/end these transactions: a dump/);
    } finally {
      await holder.query("rollback");
      await holder.end();
    }
  });

  it("names no transaction of another database, whose tables may have the same numbers", async () => {
    // Both are copies of one database.
    const copies = [await freshDatabase(migrate), await freshDatabase(migrate)] as const;
    const [holder, other, waiting] = [copies[0], copies[1], copies[0]].map(
      ({ url }, index) => new pg.Client({ connectionString: url, application_name: `client ${index}` }),
    ) as [pg.Client, pg.Client, pg.Client];
    try {
      for (const each of [holder, other, waiting]) await each.connect();
      for (const each of [other, holder]) await each.query("begin; lock table fills in access share mode");
      await waitBriefly(waiting);
      const work = () => waiting.query("truncate fills");
      const failure = await withLocks(waiting, work, () => undefined, 0).catch((error: unknown) => error);
      expect(String(failure)).to.match(/end these transactions: client 0 \(pid \d+, \d+ s\)$/);
    } finally {
      for (const each of [holder, other, waiting]) await each.end();
      for (const copy of copies) await copy.drop();
    }
  });

  it("does not wait for the end of an autovacuum", async () => {
    await client.query("alter system set autovacuum_naptime = 1");
    try {
      await client.query("select pg_reload_conf()");
      // Slow enough to outlast the test: a pause of 100 ms or more for each page.
      await client.query(
        `alter table orders set (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1,
           autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0)`,
      );
      await client.query("update orders set qty = qty");
      const vacuums = async (): Promise<number> =>
        (
          await client.query(
            `select from pg_locks where relation = 'orders'::regclass and mode = 'ShareUpdateExclusiveLock'`,
          )
        ).rows.length;
      while ((await vacuums()) === 0) await new Promise((resolve) => setTimeout(resolve, 100));
      const lock = () => client.query("alter table orders set (fillfactor = 90)");
      await waitBriefly(client);
      await withLocks(client, lock, () => undefined, 4_000);
      expect((await client.query("show lock_timeout")).rows).to.deep.equal([{ lock_timeout: "900ms" }]);
    } finally {
      await client.query("alter system reset autovacuum_naptime");
      await client.query("select pg_reload_conf()");
    }
  });

  it("makes no partition of years when the clock of its host is years ahead", async () => {
    const { now } = Date;
    Date.now = () => NOW + 10 * 365 * 86_400_000;
    try {
      await migrate(database.url);
    } finally {
      Date.now = now;
    }
    const { rows } = await client.query<{ bound: string }>(
      `select pg_get_expr(relpartbound, oid) as bound from pg_class where relname like any($1)`,
      [TABLES.flatMap((table) => [`${table}_first`, `${table}_later`])],
    );
    const bounds = rows.flatMap(({ bound }) =>
      [...bound.matchAll(/'(\d{13})'/g)].map(([, ms]) => Number(ms)),
    );
    expect(bounds).to.have.length(7);
    for (const ms of bounds) expect(ms).to.be.below(NOW + 150 * 86_400_000);
  });

  it("goes on where an earlier one was interrupted, and renews a constraint whose time is near", async () => {
    await client.query(
      `alter table orders add column ended_ts bigint not null default -1,
         add constraint orders_first check (ended_ts < 0) not valid;
       alter table fills add constraint fills_first check (ts < ${NOW + 86_400_000})`,
    );
    await migrate(database.url);
    await client.query(
      `insert into entries (wallet, ts, place, transaction_id, counterparty, kind, currency, amount, ref)
       select wallet, ${NOW + 20 * 86_400_000}, place, transaction_id, counterparty, kind, currency, amount, ref
       from entries`,
    );
    const { rows } = await client.query("select count(*)::integer as count from fills");
    expect(rows).to.deep.equal([{ count: ROWS }]);
  });

  it("says so while another process migrates", async () => {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const lines: string[] = [];
    const migrating = migrate(database.url, (line) => lines.push(line));
    const began = Date.now();
    while (lines.length === 0 && Date.now() - began < 20_000)
      await new Promise((resolve) => setTimeout(resolve, 100));
    await client.query("select pg_advisory_unlock($1)", [MIGRATION_LOCK]);
    await migrating;
    expect(lines[0]).to.match(/^waiting for pid \d+ of .*, which migrates the database$/);
  });

  it("leaves an open order where it is, until its next change moves it", async () => {
    await migrate(database.url);
    const [open] = (
      await client.query<{ id: string }>("select order_id as id from orders where status = 'OPEN'")
    ).rows;
    const orderId = open?.id ?? "";
    expect(await partitionOfOrder(orderId)).to.deep.equal([{ name: "orders_first" }]);
    const actor = ledgerOf(WALLET);
    const reduce = { type: "order", wallet: WALLET, seq: 1, marketId: WALLET, orderId } as const;
    const change = (kind: "reduce" | "cancel", remaining: number) => [
      { ...reduce, kind, remaining: contracts(remaining) } as never,
    ];
    await project(database.url, [entry(actor, 1, [{ ts: NOW, deltas: change("reduce", 1) }])]);
    expect(await partitionOfOrder(orderId)).to.deep.equal([{ name: "orders_live" }]);
    await project(database.url, [entry(actor, 2, [{ ts: NOW, deltas: change("cancel", 1) }])]);
    const [month] = (await partitionOfOrder(orderId)) as { name: string }[];
    expect(month?.name).to.equal(`orders_${new Date(NOW).toISOString().slice(0, 7).replace("-", "_")}`);
  });
});

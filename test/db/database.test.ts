import { createServer, type AddressInfo } from "node:net";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import { connect, disconnect, isUnavailable, violatedConstraint, type Database } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { sports } from "../../db/schema/catalog.js";
import { balances } from "../../db/schema/wallets.js";
import { startOwnServers } from "../support/own-servers.js";
import { freshDatabase, type FreshDatabase } from "../support/servers.js";

describe("database", () => {
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url, { statementTimeoutMs: 100 });
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  const failureOf = (query: PromiseLike<unknown>): Promise<unknown> =>
    Promise.resolve(query).then(
      () => undefined,
      (error: unknown) => error,
    );

  it("recognizes as unavailable a server that is absent, closes connections or is too slow", async () => {
    expect(isUnavailable(await failureOf(db.execute(sql`select pg_sleep(2)`))), "a slow query").to.equal(
      true,
    );
    // A replica ends a query that keeps it from following its primary.
    const conflict = sql`do $$ begin raise exception 'conflict with recovery' using errcode = '40001'; end $$`;
    expect(isUnavailable(await failureOf(db.execute(conflict))), "a query that a replica ended").to.equal(
      true,
    );
    const cut = await failureOf(db.execute(sql`select pg_terminate_backend(pg_backend_pid())`));
    expect(isUnavailable(cut), "a connection that was cut").to.equal(true);

    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const elsewhere = connect(`postgres://nobody@127.0.0.1:${port}/none`);
    expect(isUnavailable(await failureOf(elsewhere.execute(sql`select 1`))), "closes connections").to.equal(
      true,
    );
    await new Promise((resolve) => server.close(resolve));
    expect(isUnavailable(await failureOf(elsewhere.execute(sql`select 1`))), "absent").to.equal(true);
    await disconnect(elsewhere);
  });

  it("does not take an error in a query for an unavailable server", async () => {
    expect(isUnavailable(await failureOf(db.execute(sql`select nonsense`)))).to.equal(false);
    const twice = await failureOf(db.insert(sports).values({ name: "FOOTBALL" }));
    expect(isUnavailable(twice)).to.equal(false);
    expect(violatedConstraint(twice)).to.equal("sports_pkey");
    expect(isUnavailable(new Error("something else"))).to.equal(false);
  });

  it("keeps no connection to a server that hung within a transaction", async () => {
    const servers = await startOwnServers();
    const one = connect(servers.database.url, { maxConnections: 1, statementTimeoutMs: 100 });
    try {
      const select = (): Promise<unknown> => one.transaction((tx) => tx.execute(sql`select 1`));
      await select();
      const wake = servers.hang("postgres");
      const failures = [await failureOf(select()), await failureOf(one.execute(sql`select 1`))];
      wake();
      expect(failures.map(isUnavailable)).to.deep.equal([true, true]);
      await select();
      expect(one.$client.waitingCount).to.equal(0);
    } finally {
      await disconnect(one);
      await servers.redis.drop();
      await servers.database.drop();
    }
  });

  it("refuses to read money beyond the safe integers", async () => {
    await db.execute(sql`
      insert into balances (wallet, currency, total, reserved, updated_ts)
      values (gen_random_uuid(), 'CASH', 9007199254740993, 0, 0)`);

    expect(String(await failureOf(db.select().from(balances)))).to.match(/not a whole number of millicents/);
  });
});

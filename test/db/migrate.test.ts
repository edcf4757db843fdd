import { expect } from "chai";
import { sql } from "drizzle-orm";
import { connect, disconnect, type Database } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { NewerRows } from "../../db/rows-version.js";
import { listLeagues, listMarketTypes, listSports } from "../../db/queries/catalog/classification.js";
import { currentTicks } from "../../db/queries/catalog/ticks.js";
import { freshDatabase, type FreshDatabase } from "../support/servers.js";

describe("migrate", () => {
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase();
    db = connect(database.url);
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("applies each migration once when several processes start together", async () => {
    await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)]);
    await migrate(database.url);
    const applied = await db.execute(sql`select count(*)::int as n from drizzle.__drizzle_migrations`);
    const files = await db.execute(
      sql`select count(distinct hash)::int as n from drizzle.__drizzle_migrations`,
    );
    expect(applied.rows).to.deep.equal(files.rows);
  });

  it("refuses tables whose rows a later build has changed, before it changes anything", async () => {
    await migrate(database.url);
    await migrate(database.url);
    await db.execute(sql`update rows_version set version = version + 1`);
    await db.execute(sql`delete from drizzle.__drizzle_migrations`);
    const failure = await migrate(database.url).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(NewerRows);
    expect(String(failure)).to.match(
      /rows of version 2, and this build reads them up to version 1: start the/,
    );
    const applied = await db.execute(sql`select 1 from drizzle.__drizzle_migrations`);
    expect(applied.rows).to.have.length(0);
  });

  it("seeds leagues, market types and the grid of the specification", async () => {
    await migrate(database.url);
    const leagues = await listLeagues(db);
    expect(leagues).to.deep.include({ name: "FIFA Club World Cup", sport: "SOCCER" });
    expect(leagues).to.have.length(24);
    expect(await listSports(db)).to.include.members(["FOOTBALL", "TENNIS"]);
    expect(await listMarketTypes(db, { qa: false })).to.include.members(["MONEY", "1X2", "TOTAL_CORNERS"]);

    const { version, prices } = await currentTicks(db);
    expect(version).to.equal(1);
    expect(prices.slice(48, 53)).to.deep.equal([49, 50, 55, 60, 65]);
    expect(prices).to.have.length(50 + 179 + 50);
    expect(prices.every((price) => (prices as readonly number[]).includes(1_000 - price))).to.equal(true);
  });
});

import { expect } from "chai";
import { sql } from "drizzle-orm";
import { connect, type Database, disconnect } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { ProjectionSession } from "../../db/projection/session.js";
import { NewerRows, requireReadableRows, watchRows } from "../../db/rows-version.js";
import { freshDatabase, type FreshDatabase } from "../support/servers.js";
import { until } from "../support/until.js";

describe("the version of the rows", () => {
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });
  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  const raise = () => db.execute(sql`update rows_version set version = version + 1`);

  async function failureOf(work: Promise<unknown>): Promise<unknown> {
    return work.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it("is looked at while a process runs", async () => {
    const seen: Error[] = [];
    const stop = watchRows(db.$client, (error) => seen.push(error), 20);
    try {
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(seen).to.deep.equal([]);
      await raise();
      await until(() => expect(seen[0]).to.be.instanceOf(NewerRows));
    } finally {
      stop();
    }
  });

  it("stops a projector that runs when a later build raises it", async () => {
    const session = await ProjectionSession.open(database.url);
    try {
      await session.deal();
      expect(await session.mustDeal()).to.equal(false);
      await raise();
      expect(await failureOf(session.mustDeal())).to.be.instanceOf(NewerRows);
      expect(await failureOf(session.deal())).to.be.instanceOf(NewerRows);
    } finally {
      await session.close();
    }
  });

  it("is none in a database without tables", async () => {
    await db.execute(sql`drop table rows_version`);
    await requireReadableRows(db.$client);
  });
});

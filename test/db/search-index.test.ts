import { expect } from "chai";
import pg from "pg";
import { SEARCH_INDEX_LOCK } from "../../db/locks.js";
import { migrate } from "../../db/migrate.js";
import { indexAddresses } from "../../db/search-index.js";
import { freshDatabase, type FreshDatabase } from "../support/servers.js";

describe("index for the search of traders", () => {
  let database: FreshDatabase;
  let client: pg.Client;
  let lines: string[];

  beforeEach(async () => {
    database = await freshDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    lines = [];
  });

  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const build = (): Promise<void> => indexAddresses(database.url, (line) => lines.push(line)).done;

  const isValid = async (): Promise<boolean | undefined> => {
    const { rows } = await client.query<{ valid: boolean }>(
      "select indisvalid as valid from pg_index where indexrelid = to_regclass('traders_email_parts')",
    );
    return rows[0]?.valid;
  };

  it("holds up no migration, and ends at once when its role stops", async () => {
    await migrate(database.url);
    await client.query("begin isolation level repeatable read");
    await client.query("select 1 from traders");
    await migrate(database.url);
    const running = indexAddresses(database.url, (line) => lines.push(line));
    await migrate(database.url);
    await running.stop();
    expect(lines).to.deep.equal([]);
    await client.query("rollback");
  });

  it("is built once, in place of one that was cut off", async () => {
    await migrate(database.url);
    expect(await isValid()).to.equal(undefined);
    await Promise.all([build(), build()]);
    expect(await isValid()).to.equal(true);
    await client.query(
      "update pg_index set indisvalid = false where indexrelid = 'traders_email_parts'::regclass",
    );
    await build();
    expect(await isValid()).to.equal(true);
    expect(lines).to.deep.equal([]);
  });

  it("is left to the process that builds it", async () => {
    await migrate(database.url);
    await client.query("select pg_advisory_lock($1)", [SEARCH_INDEX_LOCK]);
    await build();
    expect(await isValid()).to.equal(undefined);
    expect(lines).to.deep.equal([]);
  });

  it("says why it is missing", async () => {
    await build();
    expect(lines).to.have.length(1);
    expect(lines[0]).to.match(/has no index: relation "traders" does not exist/);
  });
});

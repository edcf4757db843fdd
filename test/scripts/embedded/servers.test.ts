import { expect } from "chai";
import { Redis } from "ioredis";
import pg from "pg";
import { freshDatabase, freshRedis } from "../../support/servers.js";

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}

describe("the shared test servers", () => {
  it("give each test a Redis that no other test sees", async () => {
    const [one, other] = [await freshRedis(), await freshRedis()];
    const clients = [new Redis(one.url), new Redis(other.url)] as const;
    await clients[0].set("key", "value");
    expect(await clients[1].get("key")).to.equal(null);
    expect(one.prefix).not.to.equal(other.prefix);
    await one.drop();
    expect(await clients[0].get("key")).to.equal(null);
    for (const client of clients) client.disconnect();
  });

  it("prepare a database once and copy it for each test", async () => {
    let prepared = 0;
    const prepare = async (url: string): Promise<void> => {
      prepared += 1;
      await query(url, "CREATE TABLE bets (id int)");
    };
    const [one, other] = [await freshDatabase(prepare), await freshDatabase(prepare)];
    await query(one.url, "INSERT INTO bets VALUES (1)");
    expect(await query(one.url, "SELECT * FROM bets")).to.have.length(1);
    expect(await query(other.url, "SELECT * FROM bets")).to.have.length(0);
    expect(prepared).to.equal(1);
    await one.drop();
    await other.drop();
  });
});

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { systemClock } from "../../../stream/log/clock.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket } from "../../support/traders.js";
import { Reference } from "../../../http/reference/reference.js";
import { streamCatalog } from "../../../http/websocket/ports.js";
import { connect, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { freshDatabase } from "../../support/servers.js";
import { findMarket } from "../../../db/queries/catalog/markets.js";

describe("the markets that the stream lists", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  it("are the visible ones, and while Postgres is absent also those that are not known", async () => {
    const [shown, hidden] = [await newMarket(stack), await newMarket(stack, "PUSH", false)];
    const [one, two, unknown] = [shown.marketId, hidden.marketId, randomUUID()];
    const db = connect(stack.databaseUrl);
    const absent = connect("postgres://nobody@127.0.0.1:1/none");
    let current = db;
    try {
      const reference = new Reference(
        absent,
        { market: (marketId) => findMarket(current, marketId) },
        systemClock,
      );
      const catalog = streamCatalog(reference);
      await reference.market(two);
      expect([...(await catalog.listed([one, two, unknown]))]).to.deep.equal([one]);
      current = absent;
      const later = randomUUID();
      expect([...(await catalog.listed([one, two, later]))]).to.deep.equal([one, later]);
      // A request that has to know whether they exist is refused with the cause.
      for (const read of [catalog.market(randomUUID()), catalog.marketsOf(randomUUID())]) {
        const failed = await Promise.resolve(read).catch((error: unknown) => error);
        expect(String(failed)).to.equal("Unavailable: the database cannot be reached; try again");
      }
    } finally {
      await disconnect(db);
      await disconnect(absent);
    }
  });
});

describe("the keys and clients that do not exist", () => {
  it("are not looked for in Postgres at each request that names them", async () => {
    const database = await freshDatabase(migrate);
    const db = connect(database.url);
    let queries = 0;
    db.$client.on("acquire", () => (queries += 1));
    try {
      const reference = new Reference(db, { market: (marketId) => findMarket(db, marketId) }, systemClock);
      const finds = [(id: string) => reference.find(id), (id: string) => reference.client(id)];
      for (const find of finds) {
        queries = 0;
        const id = randomUUID();
        const found = await Promise.all(Array.from({ length: 20 }, () => find(id)));
        expect([...found, await find(id)]).to.deep.equal(Array(21).fill(undefined));
        expect(queries).to.equal(1);
        await find(randomUUID());
        expect(queries, "another one").to.equal(2);
      }
    } finally {
      await disconnect(db);
      await database.drop();
    }
  });
});

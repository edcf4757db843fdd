import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Database, connect, disconnect } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { InvalidCursor } from "../../db/page.js";
import { listAudit } from "../../db/queries/operator/audit.js";
import { listEvents } from "../../db/queries/catalog/events.js";
import { listTransactions } from "../../db/queries/trading/transactions.js";
import { type FreshDatabase, freshDatabase } from "../support/servers.js";
import { SmallExchange } from "./exchange.js";
import { project } from "./read-model.js";
import { newEvent } from "./queries/events.js";
import { readAll } from "./read-all.js";

describe("pages", () => {
  let database: FreshDatabase;
  let db: Database;
  let exchange: SmallExchange;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    exchange = new SmallExchange();
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("neither loses nor repeats rows while others arrive", async () => {
    const wallet = randomUUID();
    for (let n = 0; n < 23; n += 1) exchange.transact(wallet, 1 + n);
    // Several rows get the same time, so that only their place orders them.
    exchange.network.now -= 10;
    for (let n = 23; n < 30; n += 1) exchange.transact(wallet, 1 + n);
    await project(database.url, exchange.entries());
    const before = (await listTransactions(db, { wallet }, { limit: 5_000 })).items;
    expect(before).to.have.length(30);
    exchange.network.now = Math.max(...before.map(({ ts }) => ts));

    const read = await readAll(
      (after) => listTransactions(db, { wallet }, { limit: 4, after }),
      async () => {
        exchange.transact(wallet, 1_000);
        exchange.transact(wallet, 1_000);
        await project(database.url, exchange.entries());
      },
    );
    expect(read.map(({ transactionId }) => transactionId)).to.deep.equal(
      before.map(({ transactionId }) => transactionId),
    );
    expect((await listTransactions(db, { wallet }, { limit: 5_000 })).items.length).to.be.greaterThan(30);
  });

  it("refuses a cursor of another list and a malformed one", async () => {
    await newEvent(db, 1);
    await newEvent(db, 2);
    const { next } = await listEvents(db, {}, { limit: 1 });
    const malformed = [
      "",
      "x",
      "bnVsbA",
      Buffer.from(`[1,2]`).toString("base64url"),
      Buffer.from(`["1","${randomUUID()}"]`).toString("base64url"),
      Buffer.from(`[1,"' or 1=1"]`).toString("base64url"),
    ];
    for (const after of malformed) {
      const failure = await listEvents(db, {}, { limit: 1, after }).catch((error: unknown) => error);
      expect(failure, after).to.be.instanceOf(InvalidCursor);
    }
    const failure = await listAudit(db, {}, { limit: 1, after: next }).catch((error: unknown) => error);
    expect(failure, "of another list").to.be.instanceOf(InvalidCursor);
  });
});

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket } from "../../support/traders.js";
import { Reference } from "../../../http/reference/reference.js";
import { streamCatalog } from "../../../http/websocket/ports.js";
import { connect, disconnect } from "../../../db/database.js";
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
      const reference = new Reference(absent, { market: (marketId) => findMarket(current, marketId) });
      const catalog = streamCatalog(reference);
      await reference.market(two);
      expect([...(await catalog.listed([one, two, unknown]))]).to.deep.equal([one]);
      current = absent;
      const later = randomUUID();
      expect([...(await catalog.listed([one, two, later]))]).to.deep.equal([one, later]);
    } finally {
      await disconnect(db);
      await disconnect(absent);
    }
  });
});

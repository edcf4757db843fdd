import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { KnownIds } from "../../../actors/ledger/ids/known.js";
import { Signer } from "../../../http/client/client.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import { callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { EmmClient, newClient } from "../surface-b/client.js";
import { startProxy, type Proxy } from "../../support/proxy.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";

/** Ids that have left the memory of the ledgers, as if they were used hours ago. */
const old = new Set<string>();
/** Ids that leave the memory right after a ledger has been asked for one that has left it. */
const leaving = new Set<string>();

type Lookup = "orderOf" | "ordersSince" | "transferOf" | "transactionOf";

function methodOf<Name extends Lookup>(name: Name): KnownIds[Name] {
  return Object.getOwnPropertyDescriptor(KnownIds.prototype, name)?.value as KnownIds[Name];
}

const orderOf = methodOf("orderOf");
const ordersSince = methodOf("ordersSince");
const transferOf = methodOf("transferOf");
const transactionOf = methodOf("transactionOf");

describe("repeats of old ids", function () {
  this.timeout(60_000);
  let stack: Stack;
  let postgres: Proxy | undefined;
  let trader: TestTrader;
  let calls: Calls;
  let yes: string;

  before(async () => {
    stack = await startStack({ via: { database: async (url) => (postgres = await startProxy(url)).url } });
    trader = await newTrader(stack);
    calls = callsOf(stack.url, trader.trading);
    ({
      outcomes: [yes],
    } = await newMarket(stack));
    KnownIds.prototype.orderOf = function (wallet, clientId) {
      if (!old.has(clientId)) return orderOf.call(this, wallet, clientId);
      for (const id of leaving) old.add(id);
      return "uncertain";
    };
    // The old ids were used just now, so the ledger must not count on the tables to have them for minutes.
    KnownIds.prototype.ordersSince = (nowMs) => nowMs;
    KnownIds.prototype.transferOf = function (owner, id) {
      return old.has(id) ? "uncertain" : transferOf.call(this, owner, id);
    };
    KnownIds.prototype.transactionOf = function (owner, id) {
      return old.has(id) ? "uncertain" : transactionOf.call(this, owner, id);
    };
  });
  after(async () => {
    Object.assign(KnownIds.prototype, { orderOf, ordersSince, transferOf, transactionOf });
    postgres?.heal();
    await stack.stop();
    await postgres?.close();
  });

  const order = (changes: object = {}) => ({
    outcomeId: yes,
    price: "0.100",
    qty: 1,
    tif: "GTC" as const,
    ...changes,
  });
  const place = (changes: object) => calls("POST /v3/orders", order(changes));
  const newId = (): string => {
    const id = randomUUID();
    old.add(id);
    return id;
  };

  it("are answered with the first order, and other orders refused, on every road", async () => {
    const clientId = newId();
    const first = await place({ clientId });
    expect(first.status).to.equal(201);
    const again = await place({ clientId });
    expect(again.status).to.equal(200);
    expect(again.json).to.deep.equal(first.json);
    expect(resultOf(await place({ clientId, qty: 2 }))).to.equal("409 CLIENT_ID_REUSED");
    expect(resultOf(await place({ clientId, selfTrade: "cancel_taker" }))).to.equal("409 CLIENT_ID_REUSED");

    const orderId = String(first.json["orderId"]);
    const stream = new StreamClient(stack.connect(), new Signer(trader.trading.key, stack.brand));
    await stream.connect();
    try {
      const placed = await stream.place([order({ clientId })]);
      expect(placed.accepted).to.deep.equal([{ orderId, clientId }]);
    } finally {
      stream.close();
    }
    const emm = new EmmClient(stack.url, await newClient(stack, trader));
    const onB = await emm.call("POST /orders/place", [
      { ...order({ clientId }), price: 0.1, currency: "CASH" },
    ]);
    expect(onB.status).to.equal(200);
    expect(onB.body).to.have.deep.property("accepted", [{ orderId, clientId }]);
  });

  it("keep the order of a batch, whether its orders are judged apart or together", async () => {
    const [known, fresh, reused] = [newId(), newId(), newId()];
    const firsts = await calls("POST /v3/orders/batch", {
      orders: [order({ clientId: known }), order({ clientId: reused })],
    });
    const [first] = firsts.json["accepted"] as [{ orderId: string }];
    const orders = [
      order(),
      order({ clientId: known }),
      order({ clientId: fresh }),
      order({ clientId: randomUUID() }),
    ];
    const batch = await calls("POST /v3/orders/batch", { orders });
    expect(batch.status).to.equal(201);
    const accepted = batch.json["accepted"] as { orderId: string; clientId?: string }[];
    expect(accepted.map(({ clientId }) => clientId)).to.deep.equal(
      orders.map((one) => (one as { clientId?: string }).clientId),
    );
    expect(accepted[1]?.orderId).to.equal(first.orderId);

    const mixed = { orders: [...orders, order({ clientId: reused, qty: 7 })] };
    const apart = await calls("POST /v3/orders/batch", mixed);
    expect(apart.status).to.equal(207);
    expect(apart.json["rejected"]).to.have.nested.property("[0].index", 4);
    const together = await calls("POST /v3/orders/batch", { ...mixed, atomic: true });
    expect(resultOf(together)).to.equal("409 CLIENT_ID_REUSED");
  });

  it("are answered when more ids leave the memory while the old ones are looked up", async () => {
    const [known, recent] = [newId(), randomUUID()];
    const orders = [order({ clientId: recent }), order({ clientId: known })];
    const first = await calls("POST /v3/orders/batch", { orders });
    leaving.add(recent);
    const again = await calls("POST /v3/orders/batch", { orders });
    expect(again.json["accepted"]).to.deep.equal(first.json["accepted"]);
    expect(old.has(recent)).to.equal(true);
  });

  it("of a market that has closed are answered with the first order", async () => {
    const closing = await newMarket(stack);
    const clientId = newId();
    const body = order({ outcomeId: closing.outcomes[0], clientId });
    const first = await calls("POST /v3/orders", body);
    const operator = await operatorCalls(stack);
    await operator(`POST /admin/v1/markets/${closing.marketId}/status`, { action: "close" });
    const again = await calls("POST /v3/orders", { ...body });
    expect(`${again.status} ${String(again.json["orderId"])}`).to.equal(
      `200 ${String(first.json["orderId"])}`,
    );
    expect(resultOf(await calls("POST /v3/orders", { ...body, selfTrade: "cancel_taker" }))).to.equal(
      "409 MARKET_CLOSED",
    );
  });

  it("of transfers and of an operator's transactions are answered with the first one", async () => {
    const management = callsOf(stack.url, trader.management);
    const path = `POST /v3/account/subaccounts/${trader.trading.key.keyId}/transfer`;
    const body = { direction: "defund", amount: "0.5", clientTransferId: newId() };
    const first = await management(path, body);
    expect(first.json).to.include({ status: "Applied" });
    const again = await management(path, { ...body, amount: "0.6" });
    expect(again.json).to.deep.equal(first.json);

    const operator = await operatorCalls(stack);
    const post = { kind: "DEPOSIT", amount: "1", currency: "CASH", reason: "a repeat", clientRef: newId() };
    const transactions = `POST /admin/v1/traders/${trader.account.traderId}/transactions`;
    const posted = await operator(transactions, post);
    expect(posted.status).to.equal(201);
    expect((await operator(transactions, post)).json).to.deep.equal(posted.json);
  });

  it("wait for tables that are behind, and are then refused with 503; new ids are placed meanwhile", async () => {
    const clientId = newId();
    const first = await place({ clientId });
    const blocker = new pg.Client({ connectionString: stack.databaseUrl });
    await blocker.connect();
    try {
      await blocker.query("begin");
      await blocker.query("lock table orders in exclusive mode");
      expect((await place({ clientId: randomUUID() })).status).to.equal(201);
      const began = Date.now();
      const refused = await place({ clientId });
      expect(resultOf(refused)).to.equal("503 UNAVAILABLE");
      expect(refused.text).to.match(/used before/);
      expect(Date.now() - began).to.be.within(900, 3_000);
      expect(resultOf(await place({ clientId: newId() }))).to.equal("503 UNAVAILABLE");
    } finally {
      await blocker.query("rollback");
      await blocker.end();
    }
    const again = await place({ clientId });
    expect(again.json).to.deep.equal(first.json);
  });

  it("are refused with 503 while Postgres is away, and new and recent ids are not", async () => {
    const [known, recent] = [newId(), randomUUID()];
    const first = await place({ clientId: known });
    const placed = await place({ clientId: recent });
    postgres?.cut();
    try {
      expect((await place({ clientId: randomUUID() })).status).to.equal(201);
      expect((await place({ clientId: recent })).json).to.deep.equal(placed.json);
      expect(resultOf(await place({ clientId: known }))).to.equal("503 UNAVAILABLE");
    } finally {
      postgres?.heal();
    }
    expect((await place({ clientId: known })).json).to.deep.equal(first.json);
  });

  it("are refused by themselves in a batch while Postgres is away, and placed once when it is back", async () => {
    const [known, unknown, fresh] = [newId(), newId(), randomUUID()];
    const first = await place({ clientId: known });
    const orders = [
      order({ qty: 0 }),
      order({ clientId: known }),
      order({ clientId: fresh }),
      order({ clientId: unknown }),
      order(),
    ];
    const stream = new StreamClient(stack.connect(), new Signer(trader.trading.key, stack.brand));
    await stream.connect();
    const emm = new EmmClient(stack.url, await newClient(stack, trader));
    postgres?.cut();
    try {
      const batch = await calls("POST /v3/orders/batch", { orders });
      expect(batch.status).to.equal(207);
      expect(batch.json["accepted"]).to.have.length(2);
      expect(batch.json).to.have.nested.property("accepted[0].clientId", fresh);
      const rejected = batch.json["rejected"] as { index: number; reason: string }[];
      expect(rejected.map(({ index }) => index)).to.deep.equal([0, 1, 3]);
      expect(rejected[1]?.reason).to.match(/whether this clientId was used before; send the order again/);

      const again = await stream.place([order({ clientId: known }), order({ clientId: fresh })]);
      expect(again.accepted).to.deep.equal([(batch.json["accepted"] as object[])[0]]);
      expect(again.rejected).to.have.nested.property("[0].index", 0);

      // No order is left, or all depend on each other: nothing is done, and the same request may succeed later.
      const none = { orders: [order({ qty: 0 }), order({ clientId: known })] };
      expect(resultOf(await calls("POST /v3/orders/batch", none))).to.equal("503 UNAVAILABLE");
      const atomic = { orders: [order(), order({ clientId: known })], atomic: true };
      expect(resultOf(await calls("POST /v3/orders/batch", atomic))).to.equal("503 UNAVAILABLE");

      // An order that the ledger refuses gives the batch its code.
      const tooDear = order({ price: "0.999", qty: 1_000_000 });
      const refused = await calls("POST /v3/orders/batch", { orders: [order({ clientId: known }), tooDear] });
      expect(resultOf(refused)).to.equal("422 INSUFFICIENT_BALANCE");
    } finally {
      stream.close();
      postgres?.heal();
    }
    expect((await place({ clientId: known })).json).to.deep.equal(first.json);
    const placed = await calls("POST /v3/orders/batch", {
      orders: [order({ clientId: known }), order({ clientId: unknown })],
    });
    expect(placed.status).to.equal(201);
    const onB = await emm.call("POST /orders/place", [
      { ...order({ clientId: unknown }), price: 0.1, currency: "CASH" },
    ]);
    expect(onB.body).to.have.deep.property("accepted", [(placed.json["accepted"] as object[])[1]]);
  });
});

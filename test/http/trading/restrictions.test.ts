import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { connect, disconnect } from "../../../db/database.js";
import { openSubaccount } from "../../../db/queries/accounts/subaccounts.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";

describe("the state of a trader", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let operator: Calls;
  let session: Calls;
  let trading: Calls;
  let outcomeId = "";
  let database: pg.Client;

  before(async () => {
    stack = await startStack({ gateways: 2 });
    operator = await operatorCalls(stack);
    [outcomeId] = (await newMarket(stack)).outcomes;
    database = new pg.Client(stack.databaseUrl);
    await database.connect();
  });
  after(async () => {
    await database.end();
    await stack.stop();
  });
  beforeEach(async () => {
    trader = await newTrader(stack);
    session = bearerCalls(stack.url, await login(stack.url, trader.account));
    trading = callsOf(stack.url, trader.trading);
  });

  const place = () => trading("POST /v3/orders", { outcomeId, price: "0.100", qty: 10, tif: "GTC" });
  const setState = (state: string) =>
    operator(`POST /admin/v1/traders/${trader.account.traderId}/state`, { state, reason: "a test" });
  const placed = async (): Promise<string> => String((await place()).json["orderId"]);
  const statusOf = async (orderId: string): Promise<unknown> =>
    (await trading(`GET /v3/orders/${orderId}`)).json["status"];
  /** Returns the restriction that the ledger of the trader applies, as the tables have it. */
  const restriction = async (): Promise<unknown> => {
    const { rows } = await database.query<{ restriction: unknown }>(
      "select restriction from trader_restrictions where trader_id = $1",
      [trader.account.traderId],
    );
    return rows[0]?.restriction ?? null;
  };

  for (const [state, code] of [
    ["EXCLUDED", "ACCOUNT_LOCKED"],
    ["SELF_EXCLUDED", "SELF_EXCLUDED"],
    ["LOCKED", "ACCOUNT_LOCKED"],
  ] as const) {
    it(`${state} cancels all orders and is in the ledger when the operator has the answer`, async () => {
      const orderId = await placed();
      expect((await setState(state)).json).to.include({ state, stateReason: "a test" });
      expect(resultOf(await place())).to.equal(`423 ${code}`);
      await until(restriction, (found) => found === code);
      expect(resultOf(await setState("ACTIVE"))).to.equal("200");
      await until(
        () => statusOf(orderId),
        (status) => status === "CANCELED",
      );
      expect(resultOf(await place())).to.equal("201");
    });

    it(`${state} lets the trader sign in, who then sees the state and its reason`, async () => {
      expect(resultOf(await setState(state))).to.equal("200");
      const next = bearerCalls(stack.url, await login(stack.url, trader.account));
      expect((await next("GET /v3/session")).json).to.include({ state, stateReason: "a test" });
    });
  }

  it("lets a locked trader sign in and see why, and nothing else", async () => {
    await setState("LOCKED");
    expect((await session("GET /v3/session")).json).to.include({ state: "LOCKED", stateReason: "a test" });
    for (const line of ["GET /v3/keys", "GET /v3/account/subaccounts"])
      expect(resultOf(await session(line)), line).to.equal("423 ACCOUNT_LOCKED");
    expect(resultOf(await session("POST /v3/ws/tickets"))).to.equal("423 ACCOUNT_LOCKED");
    expect(resultOf(await trading("DELETE /v3/orders"))).to.equal("423 ACCOUNT_LOCKED");
  });

  it("lets an excluded trader read and cancel in a web session and by keys, and nothing else", async () => {
    await setState("EXCLUDED");
    expect(resultOf(await session("GET /v3/account/subaccounts"))).to.equal("200");
    expect(resultOf(await session("POST /v3/ws/tickets"))).to.equal("200");
    expect(resultOf(await trading("DELETE /v3/orders"))).to.equal("200");
    const management = callsOf(stack.url, trader.management);
    const { keyId } = trader.trading.key;
    const label = { label: "other" };
    expect(resultOf(await management(`PATCH /v3/account/subaccounts/${keyId}`, label))).to.equal(
      "423 ACCOUNT_LOCKED",
    );
  });

  it("is not changed without an effect", async () => {
    expect(resultOf(await setState("ACTIVE"))).to.equal("409 NO_CHANGE");
    await setState("LOCKED");
    expect(resultOf(await setState("LOCKED"))).to.equal("409 NO_CHANGE");
  });

  it("is self-excluded as long as the trader wants, whatever an operator sets", async () => {
    const orderId = await placed();
    const endTs = Date.now() + 3_600_000;
    const excluded = await session("POST /v3/session/self-exclusion", { until: endTs });
    expect(excluded.json).to.deep.equal({ state: "SELF_EXCLUDED", selfExcludedUntil: endTs });
    expect(resultOf(await place())).to.equal("423 SELF_EXCLUDED");
    await until(
      () => statusOf(orderId),
      (status) => status === "CANCELED",
    );
    expect(resultOf(await setState("ACTIVE"))).to.equal("409 INVALID_TRANSITION");
    expect((await setState("LOCKED")).json["state"]).to.equal("LOCKED");
    expect((await setState("ACTIVE")).json).to.include({
      state: "SELF_EXCLUDED",
      selfExcludedUntilTs: endTs,
    });
    expect((await session("GET /v3/session")).json).to.include({
      state: "SELF_EXCLUDED",
      selfExcludedUntil: endTs,
    });
    expect(resultOf(await place())).to.equal("423 SELF_EXCLUDED");
    const shorter = { until: endTs - 1 };
    expect(resultOf(await session("POST /v3/session/self-exclusion", shorter))).to.equal(
      "409 INVALID_TRANSITION",
    );
    const longer = { until: endTs + 1 };
    expect(resultOf(await session("POST /v3/session/self-exclusion", longer))).to.equal("200");
    for (const wrong of [Date.now() - 1_000, Math.floor(endTs / 1_000)])
      expect(resultOf(await session("POST /v3/session/self-exclusion", { until: wrong }))).to.equal(
        "400 INVALID_BODY",
      );
  });

  it("is ACTIVE again when a self-exclusion ends", async () => {
    await session("POST /v3/session/self-exclusion", { until: Date.now() + 1_500 });
    expect(resultOf(await place())).to.equal("423 SELF_EXCLUDED");
    await until(place, (answer) => answer.status === 201);
    expect((await session("GET /v3/session")).json["state"]).to.equal("ACTIVE");
  });

  it("reaches a ledger that did not receive it, because a gateway died or the format was old", async () => {
    const orderId = await placed();
    await database.query("update traders set state = 'EXCLUDED' where trader_id = $1", [
      trader.account.traderId,
    ]);
    await until(restriction, (found) => found === "ACCOUNT_LOCKED");
    await until(
      () => statusOf(orderId),
      (status) => status === "CANCELED",
    );
    await database.query("update traders set state = 'ACTIVE' where trader_id = $1", [
      trader.account.traderId,
    ]);
    await until(restriction, (found) => found === null);
  });

  it("other than ACTIVE opens no subaccount, also at a gateway that has an older state", async () => {
    await setState("EXCLUDED");
    const db = connect(stack.databaseUrl, { maxConnections: 1 });
    const subaccount = {
      subaccountId: randomUUID(),
      traderId: trader.account.traderId,
      label: "late",
      createdTs: Date.now(),
      closedTs: null,
    };
    // The refusal comes before the key is read.
    const opened = await openSubaccount(db, subaccount, {} as never);
    await disconnect(db);
    expect(opened).to.deep.equal({ ok: false, refusal: "ACCOUNT_LOCKED" });
  });
});

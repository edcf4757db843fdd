import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { idOf } from "../resources.js";

type Items = readonly Readonly<Record<string, unknown>>[];

describe("the records of a trader", function () {
  this.timeout(60_000);
  let stack: Stack;
  let operator: Calls;
  let trader: TestTrader;
  let path = "";
  let keyId = "";

  const itemsOf = async (line: string): Promise<Items> => {
    const answer = await operator(`GET ${line}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json["items"] as Items;
  };

  before(async () => {
    stack = await startStack();
    operator = await operatorCalls(stack);
    trader = await newTrader(stack);
    path = `/admin/v1/traders/${trader.account.traderId}`;
    ({ keyId } = trader.trading.key);
  });
  after(() => stack.stop());

  it("are the orders and fills of a subaccount, of every status, with amounts in dollars", async () => {
    const { outcomes, marketId } = await newMarket(stack);
    const trading = callsOf(stack.url, trader.trading);
    const other = callsOf(stack.url, (await newTrader(stack)).trading);
    const order = { outcomeId: outcomes[0], price: "0.600", qty: 5, tif: "GTC" };
    const resting = idOf(await trading("POST /v3/orders", order), "orderId");
    const gone = idOf(await trading("POST /v3/orders", { ...order, price: "0.100" }), "orderId");
    await trading(`DELETE /v3/orders/${gone}`);
    await other("POST /v3/orders", { outcomeId: outcomes[1], price: "0.400", qty: 2, tif: "GTC" });
    const fills = await until(
      () => itemsOf(`${path}/fills?subaccount=${keyId}`),
      (items) => items.length === 1,
    );
    expect(fills[0]).to.include({ orderId: resting, qty: 2, cost: "0.01200", taker: false });
    const orders = await itemsOf(`${path}/orders?subaccount=${keyId}&market=${marketId}`);
    expect(orders.map(({ orderId, status }) => [orderId, status])).to.deep.equal([
      [gone, "CANCELED"],
      [resting, "OPEN"],
    ]);
    const open = await itemsOf(`${path}/orders?subaccount=${keyId}&status=OPEN`);
    expect(open.map(({ orderId }) => orderId)).to.deep.equal([resting]);
    expect(await itemsOf(`${path}/orders`), "the trader's own wallet").to.deep.equal([]);
    const { json } = await operator(`GET ${path}/orders?subaccount=${keyId}&limit=1`);
    const next = await itemsOf(`${path}/orders?subaccount=${keyId}&limit=1&after=${String(json["next"])}`);
    expect(next.map(({ orderId }) => orderId)).to.deep.equal([resting]);
  });

  it("hold each order by its id alone, with its trader and subaccount", async () => {
    const { outcomes } = await newMarket(stack);
    const trading = callsOf(stack.url, trader.trading);
    const body = { outcomeId: outcomes[0], price: "0.300", qty: 4, tif: "GTC" };
    const orderId = idOf(await trading("POST /v3/orders", body), "orderId");
    const { json } = await until(
      () => operator(`GET /admin/v1/orders/${orderId}`),
      ({ json: seen }) => seen["status"] === "OPEN",
    );
    expect(json).to.include({ orderId, traderId: trader.account.traderId, subaccount: keyId, filled: 0 });
    expect(resultOf(await operator(`GET /admin/v1/orders/${randomUUID()}`))).to.equal("404 ORDER_NOT_FOUND");
  });

  it("end with the sessions of the trader, and a reason in the audit log", async () => {
    const { account } = await newTrader(stack);
    const session = bearerCalls(stack.url, await login(stack.url, account));
    const other = `/admin/v1/traders/${account.traderId}`;
    expect((await operator(`POST ${other}/sessions/end`, { reason: "a lost laptop" })).status).to.equal(204);
    await until(async () => (await session("GET /v3/session")).status === 401);
    const audit = await itemsOf(`/admin/v1/audit-log?subject=${account.traderId}&action=trader.sessions.end`);
    expect(audit[0]).to.have.nested.property("after.reason", "a lost laptop");
  });

  it("are the transactions of each wallet, with amounts in dollars", async () => {
    const own = await itemsOf(`${path}/transactions`);
    expect(own.map(({ kind, amount }) => [kind, amount])).to.deep.equal([
      ["TRANSFER_OUT", "-100.00000"],
      ["DEPOSIT", "100.00000"],
    ]);
    const [deposit] = await itemsOf(`${path}/transactions?kind=DEPOSIT`);
    expect(deposit).to.include({ amount: "100.00000" });
    const funded = await itemsOf(`${path}/transactions?subaccount=${keyId}&kind=TRANSFER_IN`);
    expect(funded.map(({ amount }) => amount)).to.deep.equal(["100.00000"]);
  });

  it("are all keys, dead ones included", async () => {
    const manager = callsOf(stack.url, trader.management);
    const other = await newTrader(stack);
    const otherPath = `/admin/v1/traders/${other.account.traderId}`;
    await callsOf(stack.url, other.management)(`DELETE /v3/keys/${other.trading.key.keyId}`);
    expect((await manager("GET /v3/keys")).json).to.have.length(2);
    const keys = await itemsOf(`${otherPath}/keys`);
    expect(keys.map(({ scope, restriction }) => [scope, restriction])).to.deep.equal([
      ["trading", "main"],
      ["management", null],
    ]);
    expect(keys.map(({ revokedAt }) => typeof revokedAt)).to.deep.equal(["number", "object"]);
  });

  it("are the check-ins of the device, newest first", async () => {
    const session = bearerCalls(stack.url, await login(stack.url, trader.account));
    await session("POST /v3/session/location", { region: "US-NJ", latitude: 40.5, longitude: -74 });
    const [last] = await itemsOf(`${path}/check-ins`);
    expect(last).to.include({ region: "US-NJ", failed: false, latitude: 40.5 });
  });

  it("are refused for a trader or a subaccount that is not there", async () => {
    const missing = `/admin/v1/traders/${randomUUID()}`;
    for (const noun of ["orders", "fills", "transactions", "keys", "check-ins"])
      expect(resultOf(await operator(`GET ${missing}/${noun}`)), noun).to.equal("404 TRADER_NOT_FOUND");
    const other = await newTrader(stack);
    for (const noun of ["orders", "fills", "transactions"]) {
      const by = async (key: string): Promise<string> =>
        resultOf(await operator(`GET ${path}/${noun}?subaccount=${key}`));
      expect(await by(other.trading.key.keyId)).to.equal("404 SUBACCOUNT_NOT_FOUND");
      expect(await by(trader.management.key.keyId)).to.equal("400 NOT_A_SUBACCOUNT_KEY");
    }
  });

  it("are found by a part of the e-mail address, in either letter case", async () => {
    const register = async (email: string): Promise<void> => {
      const body = JSON.stringify({ email, password: "a long password" });
      const headers = { "Content-Type": "application/json" };
      await fetch(`${stack.url}/v3/session/register`, { method: "POST", headers, body });
    };
    for (const name of ["ann.smith", "bob.smithers", "s_ith"]) await register(`${name}@desk.example`);
    const found = async (part: string): Promise<unknown[]> =>
      (await itemsOf(`/admin/v1/traders?search=${part}`)).map(({ email }) => email);
    expect(await found("SMITH")).to.deep.equal(["bob.smithers@desk.example", "ann.smith@desk.example"]);
    expect(await found("s_ith"), "no wildcard").to.deep.equal(["s_ith@desk.example"]);
    expect(await found("nobody-has-this")).to.deep.equal([]);
    expect(resultOf(await operator("GET /admin/v1/traders?search=sm"))).to.equal("400 INVALID_QUERY");
  });

  it("and the audit log show amounts in dollars, by operator, action and time", async () => {
    const { traderId } = trader.account;
    const began = Date.now();
    const deposit = { kind: "DEPOSIT", amount: "12.5", currency: "CASH", reason: "more" };
    expect(resultOf(await operator(`POST ${path}/transactions`, deposit))).to.equal("201");
    const me = idOf(await operator("GET /v3/session"), "traderId");
    const log = "/admin/v1/audit-log?action=trader.transaction";
    const [record] = await itemsOf(`${log}&subject=${traderId}&operator=${me}&startsAfter=${began - 1_000}`);
    expect(record).to.have.nested.property("after.amount", "12.50000");
    expect(await itemsOf(`${log}&operator=${traderId}`)).to.deep.equal([]);
    expect(await itemsOf(`${log}&startsAfter=${Date.now() + 60_000}`)).to.deep.equal([]);
  });
});

import { expect } from "chai";
import { MACHINE } from "../../../db/queries/operator/audit.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newTrader, type TestTrader } from "../../support/traders.js";
import { bearerCalls, type Calls } from "../calls.js";
import { send } from "../requests.js";

const DEMO = { email: "visitor@demo.example", password: "the password of the demo" };

describe("the demo's routes", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let session: Calls;

  before(async () => {
    stack = await startStack({ demoLogin: () => DEMO });
    trader = await newTrader(stack);
    session = bearerCalls(stack.url, await login(stack.url, trader.account));
  });
  after(() => stack.stop());

  it("give the login of the demo", async () => {
    const { status, json } = await send(stack.url, { target: "/v3/public/demo" });
    expect(`${status} ${JSON.stringify(json)}`).to.equal(`200 ${JSON.stringify({ login: DEMO })}`);
  });

  it("give play money once for a reference, with a fixed author in the audit log", async () => {
    const first = await session("POST /v3/session/faucet", { clientRef: "once" });
    const again = await session("POST /v3/session/faucet", { clientRef: "once" });
    expect(first.status).to.equal(201);
    expect(again.json["transactionId"]).to.equal(first.json["transactionId"]);
    const operator = bearerCalls(stack.url, await stack.operatorToken());
    const { json } = await operator(`GET /admin/v1/audit-log?operator=${MACHINE}&action=trader.transaction`);
    expect(json["items"]).to.have.nested.property("[0].subject", trader.account.traderId);
    expect(json["items"]).to.have.nested.property("[0].after.kind", "DEPOSIT");
  });

  it("keep their references apart from those of operators", async () => {
    const operator = bearerCalls(stack.url, await stack.operatorToken());
    const deposit = { kind: "DEPOSIT", amount: "1", currency: "CASH", reason: "a gift", clientRef: "gift" };
    const line = `POST /admin/v1/traders/${trader.account.traderId}/transactions`;
    const posted = await operator(line, deposit);
    const given = await session("POST /v3/session/faucet", { clientRef: "gift" });
    expect([posted.status, given.status]).to.deep.equal([201, 201]);
    expect(given.json["transactionId"]).to.not.equal(posted.json["transactionId"]);
  });

  it("give play money to a subaccount of the trader, and to nobody else's", async () => {
    const { keyId } = trader.account.tradingKey;
    const before = await session(`GET /v3/account/subaccounts`);
    const { status } = await session("POST /v3/session/faucet", { subaccountKeyId: keyId });
    expect(status).to.equal(201);
    expect((await session(`GET /v3/account/subaccounts`)).text).to.not.equal(before.text);
    const other = await newTrader(stack);
    const foreign = await session("POST /v3/session/faucet", {
      subaccountKeyId: other.account.tradingKey.keyId,
    });
    expect(`${foreign.status} ${String(foreign.json["code"])}`).to.equal("404 SUBACCOUNT_NOT_FOUND");
  });

  it("give no more than ten times", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 11; i += 1) statuses.push((await session("POST /v3/session/faucet", {})).status);
    expect(new Set(statuses)).to.deep.equal(new Set([201, 429]));
    const { status, headers } = await session("POST /v3/session/faucet", {});
    expect(status).to.equal(429);
    expect(Number(headers.get("retry-after"))).to.be.above(60);
    const repeat = await session("POST /v3/session/faucet", { clientRef: "once" });
    expect(repeat.status, "a repeat takes no token").to.equal(201);
  });
});

for (const exchangeEnv of ["qa", "production"] as const) {
  describe(`the demo's routes in ${exchangeEnv}`, function () {
    this.timeout(60_000);
    let stack: Stack;
    before(async () => {
      stack = await startStack({ exchangeEnv, demoLogin: () => DEMO, operatorsNeedTotp: false });
    });
    after(() => stack.stop());

    it("do not exist", async () => {
      const { account } = await newTrader(stack);
      const session = bearerCalls(stack.url, await login(stack.url, account));
      const answers = [
        await send(stack.url, { target: "/v3/public/demo" }),
        await session("POST /v3/session/faucet", {}),
      ];
      for (const { status, json } of answers) {
        expect(`${status} ${String(json["code"])}`).to.equal("404 ROUTE_NOT_FOUND");
      }
    });
  });
}

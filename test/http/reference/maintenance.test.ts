import { expect } from "chai";
import { bearerCalls, callsOf, openCalls, operatorCalls, resultOf, type Calls } from "../calls.js";
import { addOperator } from "../../support/operators.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

describe("maintenance and the changelog at two gateways", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let operator: Calls;
  before(async () => {
    stack = await startStack({ gateways: 2 });
    trader = await newTrader(stack);
    operator = await operatorCalls(stack);
  });
  after(() => stack.stop());

  it("lock placements on every surface within a second, cancel resting orders, and end", async () => {
    const { outcomes } = await newMarket(stack);
    const [first, second] = stack.urls.map((url) => callsOf(url, trader.trading));
    if (first === undefined || second === undefined) throw new Error("the stack has fewer than two gateways");
    const order = { outcomeId: outcomes[0], price: "0.200", qty: 5, tif: "GTC" };
    const placed = await second("POST /v3/orders", order);
    expect(placed.status, placed.text).to.equal(201);
    const orderId = String(placed.json["orderId"]);
    const client = await operator("POST /admin/v1/emm-clients", {
      subaccountKeyId: trader.trading.key.keyId,
      name: "maker",
    });
    const token = await openCalls(stack.url)(`POST /${stack.prefix}/v1/auth/emm-token`, {
      grant_type: "client_credentials",
      client_id: client.json["clientId"],
      client_secret: client.json["clientSecret"],
    });
    const surfaceB = bearerCalls(stack.url, String(token.json["access_token"]));
    const onB = [{ outcomeId: outcomes[0], price: 0.2, qty: 5, currency: "CASH" }];
    expect(resultOf(await surfaceB(`POST /${stack.prefix}/v2/emm/orders/place`, onB))).to.equal("201");

    const beginning = operator("POST /admin/v1/maintenance", { action: "begin", message: "back at noon" });
    const locked = await until(
      () => second("POST /v3/orders/preview", order).then(() => second("POST /v3/orders", order)),
      ({ status }) => status === 423,
    );
    expect(resultOf(locked)).to.equal("423 SYSTEM_LOCKED");
    expect(locked.json["message"]).to.equal("back at noon");
    const begun = await beginning;
    expect(begun.status, begun.text).to.equal(200);
    expect(begun.json).to.include({ active: true, message: "back at noon" });

    expect(resultOf(await first("POST /v3/orders", order))).to.equal("423 SYSTEM_LOCKED");
    expect(resultOf(await first("POST /v3/orders/batch", { orders: [order] }))).to.equal("423 SYSTEM_LOCKED");
    expect(resultOf(await first(`PATCH /v3/orders/${orderId}`, { qty: 1 }))).to.equal("423 SYSTEM_LOCKED");
    expect((await surfaceB(`POST /${stack.prefix}/v2/emm/orders/place`, onB)).json).to.include({
      code: "SYSTEM_LOCKED",
    });
    const after = await until(
      () => first(`GET /v3/orders/${orderId}`),
      ({ json }) => json["status"] === "CANCELED",
    );
    expect(after.json).to.include({ status: "CANCELED", reason: "MAINTENANCE" });
    expect((await first("GET /v3/orders")).text).to.equal('{"items":[]}');
    expect((await first("DELETE /v3/orders")).text).to.equal('{"canceled":0}');

    expect(resultOf(await operator("POST /admin/v1/maintenance", { action: "begin" }))).to.equal(
      "409 INVALID_TRANSITION",
    );
    expect((await operator("POST /admin/v1/maintenance", { action: "end" })).json).to.include({
      active: false,
    });
    expect(resultOf(await operator("POST /admin/v1/maintenance", { action: "end" }))).to.equal(
      "409 INVALID_TRANSITION",
    );
    for (const calls of [first, second]) {
      const free = await until(
        () => calls("POST /v3/orders", order),
        ({ status }) => status === 201,
      );
      expect(resultOf(free)).to.equal("201");
    }
    const audit = await operator("GET /admin/v1/audit-log?limit=10");
    const actions = (audit.json["items"] as { action: string }[]).map(({ action }) => action);
    expect(actions).to.include.members(["maintenance.begin", "maintenance.end"]);
  });

  it("announce changes in pages, the last to take effect first", async () => {
    for (const effectiveTs of [1_000, 3_000, 2_000]) {
      const body = { title: `At ${effectiveTs}`, body: "Lines\nof text.", effectiveTs };
      expect(resultOf(await operator("POST /admin/v1/changelog", body))).to.equal("201");
    }
    const anybody = openCalls(stack.url);
    const titles: unknown[] = [];
    let target = "/v3/public/changelog?limit=2";
    for (let page = 0; page < 2; page += 1) {
      const { json } = await anybody(`GET ${target}`);
      titles.push(...(json["items"] as { title: string }[]).map(({ title }) => title));
      target = `/v3/public/changelog?limit=2&after=${String(json["next"])}`;
    }
    expect(titles).to.deep.equal(["At 3000", "At 2000", "At 1000"]);
    const asTrader = bearerCalls(stack.url, await login(stack.url, trader.account));
    expect(resultOf(await asTrader("POST /admin/v1/changelog", {}))).to.equal("403 FORBIDDEN");
  });
});

describe("a settlement that two operators approve", function () {
  this.timeout(60_000);
  let stack: Stack;
  let first: Calls;
  let second: Calls;
  before(async () => {
    stack = await startStack({ settlementApprovals: 2 });
    first = await operatorCalls(stack);
    second = bearerCalls(stack.url, await login(stack.url, await addOperator(stack, "settlement")));
  });
  after(() => stack.stop());

  it("waits for the second operator, who cannot be the first, and pays once", async () => {
    const ann = await newTrader(stack);
    const bob = await newTrader(stack);
    const { marketId, outcomes } = await newMarket(stack);
    const [yes, no] = outcomes;
    await callsOf(stack.url, ann.trading)("POST /v3/orders", {
      outcomeId: yes,
      price: "0.600",
      qty: 100,
      tif: "GTC",
    });
    await callsOf(stack.url, bob.trading)("POST /v3/orders", {
      outcomeId: no,
      price: "0.400",
      qty: 100,
      tif: "GTC",
    });
    const holding = await until(
      () => callsOf(stack.url, ann.trading)("GET /v3/portfolio/positions"),
      ({ text }) => text.includes('"qty":100'),
    );
    expect(holding.text).to.include('"cost":"0.60000"');

    const base = `/admin/v1/markets/${marketId}`;
    const preview = await first(`POST ${base}/grade?preview=true`, { winner: yes });
    expect(preview.status, preview.text).to.equal(200);
    expect(preview.json["totals"]).to.deep.equal({ CASH: "1.00000", COIN: "0.00000" });
    expect(preview.json["payouts"]).to.deep.include({
      traderId: ann.account.traderId,
      keyId: ann.trading.key.keyId,
      currency: "CASH",
      amount: "1.00000",
    });
    expect((await first(`GET ${base}`)).json["status"], "a preview changes nothing").to.equal("OPEN");
    expect(resultOf(await first(`POST ${base}/grade`, { prices: { [yes]: "0.5", [no]: "0.5" } }))).to.equal(
      "409 VOID_KIND",
    );
    expect(resultOf(await first(`GET ${base}/settlement`))).to.equal("409 NOT_GRADED");
    expect(resultOf(await second(`POST ${base}/settlement/approve`))).to.equal("409 NOT_GRADED");

    const asked = await first(`POST ${base}/grade`, { winner: no });
    expect(asked.json).to.include({ status: "PENDING_APPROVAL", marketId });
    expect((await first(`GET ${base}`)).json["status"]).to.equal("CLOSED");
    expect((await first(`POST ${base}/grade`, { winner: no })).json).to.deep.equal(asked.json);
    expect(resultOf(await first(`POST ${base}/grade`, { winner: yes }))).to.equal("409 ALREADY_GRADED");
    expect(resultOf(await first(`POST ${base}/settlement/approve`))).to.equal("403 FORBIDDEN");
    expect((await second(`DELETE ${base}/settlement`)).status).to.equal(204);
    expect(resultOf(await second(`POST ${base}/settlement/approve`))).to.equal("409 NOT_GRADED");

    await first(`POST ${base}/grade`, { winner: yes });
    expect((await second(`GET ${base}/settlement`)).json).to.include({ status: "PENDING_APPROVAL", paid: 0 });
    const approved = await second(`POST ${base}/settlement/approve`);
    expect(approved.status, approved.text).to.equal(202);
    await until(
      () => first(`GET ${base}/settlement`),
      ({ json }) => json["status"] === "SETTLED",
    );
    const balance = await callsOf(
      stack.url,
      ann.trading,
    )(`GET /v3/account/subaccounts/${ann.trading.key.keyId}/balance`);
    expect(balance.json["balance"]).to.equal("100.40000");
    expect((await first(`POST ${base}/grade`, { winner: yes })).json).to.include({ status: "SETTLED" });
    expect(resultOf(await first(`POST ${base}/grade`, { winner: no }))).to.equal("409 ALREADY_GRADED");

    const reversal = await first(`POST ${base}/remediate?preview=true`, { reason: "look" });
    expect(reversal.json["totals"]).to.deep.equal({ CASH: "-1.00000", COIN: "0.00000" });
    expect((await first(`GET ${base}`)).json["status"]).to.equal("SETTLED");
    const remediation = await first(`POST ${base}/remediate`, { reason: "wrong" });
    expect(remediation.json).to.include({ action: "market.remediate", status: "PENDING_APPROVAL" });
    expect((await first(`GET ${base}`)).json["status"]).to.equal("SETTLED");
    const path = `/admin/v1/approvals/${String(remediation.json["approvalId"])}/approve`;
    expect((await second(`POST ${path}`)).json).to.include({ status: "APPROVED" });
    await until(
      () => first(`GET ${base}`),
      ({ json }) => json["status"] === "CLOSED",
    );
    expect(
      (
        await until(
          () => first("GET /admin/v1/money"),
          ({ json }) => json["agree"] === true,
        )
      ).json,
    ).to.include({
      agree: true,
    });
  });
});

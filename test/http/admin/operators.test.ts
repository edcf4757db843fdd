import { expect } from "chai";
import { login, startStack, type Stack } from "../../support/stack.js";
import { addOperator } from "../../support/operators.js";
import { newTrader } from "../../support/traders.js";
import { bearerCalls, openCalls, operatorCalls, resultOf, type Calls } from "../calls.js";

/** Time within which a disabled operator is out on every gateway, in ms. */
const PROMISED_MS = 1_000;

describe("operators", function () {
  this.timeout(60_000);
  let stack: Stack;
  let owner: Calls;

  before(async () => {
    stack = await startStack({ gateways: 2 });
    owner = await operatorCalls(stack);
  });
  after(() => stack.stop());

  const signIn = (credentials: { readonly email: string; readonly password: string }) =>
    openCalls(stack.url)("POST /v3/session", { email: credentials.email, password: credentials.password });
  const atEvery = (token: string): readonly Calls[] => stack.urls.map((url) => bearerCalls(url, token));
  const results = (calls: readonly Calls[], line: string): Promise<readonly string[]> =>
    Promise.all(calls.map(async (call) => resultOf(await call(line))));

  it("are created with a role, and listed with their author", async () => {
    const credentials = { email: "Colleague@example.com", password: "another long password" };
    const created = await owner("POST /admin/v1/operators", { ...credentials, role: "support" });
    expect(created.status, created.text).to.equal(201);
    const { traderId: author } = (await owner("GET /v3/session")).json;
    expect(created.json).to.include({ email: "colleague@example.com", role: "support", createdBy: author });
    const { items } = (await owner("GET /admin/v1/operators")).json as { items: { email: string }[] };
    expect(items[0]).to.deep.equal(created.json);
    expect(items.at(-1)).to.include({ email: stack.operatorLogin.email, role: "owner", createdBy: null });
    const other = { email: "partner@example.com", password: credentials.password };
    expect((await owner("POST /admin/v1/operators", other)).json).to.include({ role: "owner" });
    const again = await owner("POST /admin/v1/operators", { ...credentials, role: "support" });
    expect(resultOf(again)).to.equal("409 EMAIL_TAKEN");
    expect(resultOf(await owner("POST /admin/v1/operators", { ...credentials, role: "root" }))).to.equal(
      "400 INVALID_BODY",
    );
    const me = bearerCalls(stack.url, await login(stack.url, credentials));
    expect((await me("GET /v3/session")).json).to.include({ role: "operator", operatorRole: "support" });
  });

  it("have the permissions of another role with the next request, on every gateway", async () => {
    const operator = await addOperator(stack, "viewer");
    const calls = atEvery(await login(stack.url, operator));
    const line = "DELETE /admin/v1/quarantine/6f9619ff-8b86-4011-b42d-00c04fc964ff";
    expect(await results(calls, line)).to.deep.equal(["403 FORBIDDEN", "403 FORBIDDEN"]);
    const path = `/admin/v1/operators/${operator.traderId}`;
    expect((await owner(`PATCH ${path}`, { role: "trading" })).json).to.include({ role: "trading" });
    expect(await results(calls, line)).to.deep.equal(["404 MESSAGE_NOT_FOUND", "404 MESSAGE_NOT_FOUND"]);
    const { items } = (await owner(`GET /admin/v1/audit-log?subject=${operator.traderId}`)).json as {
      items: object[];
    };
    expect(items[0]).to.deep.include({
      action: "operator.role",
      before: { role: "viewer", state: "ACTIVE" },
      after: { role: "trading", state: "ACTIVE" },
    });
  });

  it("who are locked are out within a second on every gateway, and stay out with their old sessions", async () => {
    const operator = await addOperator(stack, "owner");
    const calls = atEvery(await login(stack.url, operator));
    const line = "GET /admin/v1/money";
    expect(await results(calls, line)).to.deep.equal(["200", "200"]);
    const began = performance.now();
    const path = `/admin/v1/operators/${operator.traderId}`;
    expect((await owner(`PATCH ${path}`, { state: "LOCKED" })).json).to.include({ state: "LOCKED" });
    expect(await results(calls, line)).to.deep.equal(["401 UNAUTHENTICATED", "401 UNAUTHENTICATED"]);
    expect(await results(calls, "GET /v3/session")).to.deep.equal([
      "401 UNAUTHENTICATED",
      "401 UNAUTHENTICATED",
    ]);
    expect(performance.now() - began).to.be.below(PROMISED_MS);
    expect(resultOf(await signIn(operator))).to.equal("423 ACCOUNT_LOCKED");
    expect((await owner(`PATCH ${path}`, { state: "ACTIVE" })).json).to.include({ state: "ACTIVE" });
    expect(await results(calls, line)).to.deep.equal(["401 UNAUTHENTICATED", "401 UNAUTHENTICATED"]);
    expect(await results(atEvery(await login(stack.url, operator)), line)).to.deep.equal(["200", "200"]);
  });

  it("whose sessions are ended sign in again at once", async () => {
    const operator = await addOperator(stack, "finance");
    const old = atEvery(await login(stack.url, operator));
    const path = `/admin/v1/operators/${operator.traderId}`;
    expect(resultOf(await owner(`POST ${path}/sessions/end`))).to.equal("204");
    const line = "GET /admin/v1/money";
    expect(await results(old, line)).to.deep.equal(["401 UNAUTHENTICATED", "401 UNAUTHENTICATED"]);
    expect(await results(atEvery(await login(stack.url, operator)), line)).to.deep.equal(["200", "200"]);
    expect(resultOf(await owner(`POST ${path.replace(/.{4}$/, "0000")}/sessions/end`))).to.equal(
      "404 OPERATOR_NOT_FOUND",
    );
  });

  it("cannot be changed as traders are", async () => {
    const target = await addOperator(stack, "owner");
    const support = bearerCalls(stack.url, await login(stack.url, await addOperator(stack, "support")));
    const path = `/admin/v1/traders/${target.traderId}`;
    const locked = await support(`POST ${path}/state`, { state: "LOCKED", reason: "a coup" });
    expect(resultOf(locked)).to.equal("404 TRADER_NOT_FOUND");
    const { account } = await newTrader(stack);
    const trader = `/admin/v1/operators/${account.traderId}`;
    const boss = bearerCalls(stack.url, await login(stack.url, target));
    expect(resultOf(await boss(`PATCH ${trader}`, { role: "owner" }))).to.equal("404 OPERATOR_NOT_FOUND");
  });

  it("keep one active owner", async () => {
    const { items } = (await owner("GET /admin/v1/operators")).json as {
      items: { traderId: string; email: string; role: string }[];
    };
    const first = items.find(({ email }) => email === stack.operatorLogin.email);
    const others = items.filter(({ role, email }) => role === "owner" && email !== first?.email);
    for (const { traderId } of others) {
      const demoted = await owner(`PATCH /admin/v1/operators/${traderId}`, { role: "viewer" });
      expect(resultOf(demoted)).to.equal("200");
    }
    const path = `/admin/v1/operators/${first?.traderId ?? ""}`;
    expect(resultOf(await owner(`PATCH ${path}`, { role: "viewer" }))).to.equal("409 INVALID_TRANSITION");
    expect(resultOf(await owner(`PATCH ${path}`, { state: "LOCKED" }))).to.equal("409 INVALID_TRANSITION");
    expect(resultOf(await owner(`PATCH ${path}`, {}))).to.equal("400 INVALID_BODY");
    await addOperator(stack, "owner");
    expect(resultOf(await owner(`PATCH ${path}`, { role: "viewer" }))).to.equal("200");
    expect(resultOf(await owner(`PATCH ${path}`, { role: "owner" }))).to.equal("403 FORBIDDEN");
  });
});

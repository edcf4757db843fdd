import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import { parseMoney } from "../../../actors/units.js";
import { addOperator, queried } from "../../support/operators.js";
import { findOperator } from "../../../db/queries/accounts/operators.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { bearerCalls, operatorCalls, resultOf, type Calls } from "../calls.js";
import type { Answer } from "../requests.js";

type WithoutStack<Arguments> = Arguments extends [unknown, ...infer Others] ? Others : never;

describe("what waits for a second operator", function () {
  this.timeout(60_000);
  let stack: Stack;
  let author: Calls;
  let authorId = "";
  let second: Calls;

  before(async () => {
    const approvalLimit = parseMoney("50");
    if (approvalLimit === undefined) throw new Error("50 is an amount");
    stack = await startStack({ settlementApprovals: 2, approvalLimit });
    author = await operatorCalls(stack);
    authorId = String((await author("GET /v3/session")).json["traderId"]);
    second = await callsOf("owner");
  });
  after(() => stack.stop());

  async function callsOf(...operator: WithoutStack<Parameters<typeof addOperator>>): Promise<Calls> {
    return bearerCalls(stack.url, await login(stack.url, await addOperator(stack, ...operator)));
  }

  /** Checks that an action waits, and returns the path of its approval. */
  function waiting(answer: Answer, action: string): string {
    expect(answer.status, answer.text).to.equal(202);
    expect(answer.json).to.include({ action, status: "PENDING_APPROVAL", requestedBy: authorId });
    return `/admin/v1/approvals/${String(answer.json["approvalId"])}`;
  }
  /** Grades a new market; the grade waits. */
  async function waitingGrade() {
    const { marketId, outcomes } = await newMarket(stack);
    const base = `/admin/v1/markets/${marketId}`;
    const { json } = await author(`POST ${base}/grade`, { winner: outcomes[0] });
    return { base, outcomes, settlementId: String(json["settlementId"]) };
  }
  const approve = async (call: Calls, path: string): Promise<string> =>
    resultOf(await call(`POST ${path}/approve`));

  it("a grade is approved by nobody who is newer than it, or whom its author created", async () => {
    const { marketId, outcomes } = await newMarket(stack);
    const created = await callsOf("settlement", { createdBy: authorId });
    const base = `/admin/v1/markets/${marketId}`;
    const graded = await author(`POST ${base}/grade`, { winner: outcomes[0] });
    expect(graded.json).to.include({ status: "PENDING_APPROVAL" });
    const line = `POST ${base}/settlement/approve`;
    expect(resultOf(await created(line)), "created by the author").to.equal("403 FORBIDDEN");
    expect(resultOf(await author(line)), "the author").to.equal("403 FORBIDDEN");
    const newer = await callsOf("settlement", { createdTs: Date.now() });
    expect(resultOf(await newer(line)), "newer than the grade").to.equal("403 FORBIDDEN");
    const { items } = (await author(`GET /admin/v1/audit-log?subject=${marketId}`)).json as {
      items: { action: string }[];
    };
    expect(items.filter(({ action }) => action === "approval refused")).to.have.length(3);
    expect(resultOf(await second(line))).to.equal("202");
  });

  it("a grade is in the list of approvals, and is approved or withdrawn there too", async () => {
    const [market, other] = [await newMarket(stack, "FMV"), await newMarket(stack)];
    const waits = async (subject: string): Promise<Readonly<Record<string, unknown>> | undefined> => {
      const { items } = (await author("GET /admin/v1/approvals?status=PENDING_APPROVAL")).json as {
        items: Readonly<Record<string, unknown>>[];
      };
      return items.find((item) => item["subject"] === subject);
    };
    const [yes, no] = market.outcomes;
    const prices = { [yes]: "0.700", [no]: "0.300" };
    const graded = await author(`POST /admin/v1/markets/${market.marketId}/grade`, { prices });
    const settlementId = graded.json["settlementId"];
    expect(await waits(market.marketId)).to.deep.include({
      approvalId: settlementId,
      action: "market.grade",
      details: { settlementId, prices },
      requestedBy: authorId,
    });
    const path = `/admin/v1/approvals/${String(settlementId)}`;
    expect(await approve(await callsOf("trading"), path), "without the permission").to.equal("403 FORBIDDEN");
    expect(await approve(author, path)).to.equal("403 FORBIDDEN");
    expect(await approve(second, path)).to.equal("200");
    expect(await waits(market.marketId)).to.equal(undefined);
    const settled = (await author(`GET /admin/v1/markets/${market.marketId}/settlement`)).json;
    expect(settled).to.include({ settlementId });
    expect(settled["status"]).to.be.oneOf(["SETTLING", "SETTLED"]);

    const base = `/admin/v1/markets/${other.marketId}`;
    const winner = { winner: other.outcomes[0] };
    const first = String((await author(`POST ${base}/grade`, winner)).json["settlementId"]);
    expect(await waits(other.marketId)).to.deep.include({ details: { settlementId: first, ...winner } });
    const trading = await callsOf("trading");
    const line = `DELETE /admin/v1/approvals/${first}`;
    expect(resultOf(await trading(line)), "withdrawn by a stranger to it").to.equal("403 FORBIDDEN");
    expect(resultOf(await author(line))).to.equal("204");
    expect(resultOf(await second(`POST ${base}/settlement/approve`))).to.equal("409 NOT_GRADED");
    const again = await author(`POST ${base}/grade`, { winner: other.outcomes[1] });
    expect(again.json).to.include({ status: "PENDING_APPROVAL" });
    expect(resultOf(await author(`DELETE ${base}/settlement`))).to.equal("204");
    expect(await waits(other.marketId)).to.equal(undefined);
  });

  it("a grade that a gateway of 0.1.0 has let wait is approved and withdrawn", async () => {
    for (const decision of ["approve", "withdraw"] as const) {
      const { base, settlementId } = await waitingGrade();
      await queried(stack, (db) =>
        db.execute(sql`delete from approvals where approval_id = ${settlementId}`),
      );
      const approval = `POST ${base}/settlement/approve`;
      expect(resultOf(await author(approval))).to.equal("403 FORBIDDEN");
      const line = decision === "approve" ? approval : `DELETE ${base}/settlement`;
      expect(resultOf(await second(line))).to.equal(decision === "approve" ? "202" : "204");
    }
  });

  it("a grade whose approval a gateway of 0.1.0 left behind withdraws no newer grade", async () => {
    const { base, outcomes, settlementId } = await waitingGrade();
    await queried(stack, (db) =>
      db.execute(sql`update settlements set status = 'REPLACED' where settlement_id = ${settlementId}`),
    );
    const newer = (await author(`POST ${base}/grade`, { winner: outcomes[1] })).json["settlementId"];
    expect(resultOf(await author(`DELETE /admin/v1/approvals/${settlementId}`))).to.equal("204");
    const shown = (await author(`GET ${base}/settlement`)).json;
    expect(shown).to.include({ settlementId: newer, status: "PENDING_APPROVAL" });
    expect(resultOf(await second(`POST ${base}/settlement/approve`))).to.equal("202");
  });

  it("a grade whose approval got no answer is withdrawn, unless it is in force", async () => {
    const running = (settlementId: string, sinceMs: number) =>
      queried(stack, (db) =>
        db.execute(
          sql`update approvals set status = 'RUNNING', decided_by = requested_by, decided_ts = ${Date.now() - sinceMs} where approval_id = ${settlementId}`,
        ),
      );
    const { base, outcomes, settlementId } = await waitingGrade();
    await running(settlementId, 0);
    expect(resultOf(await author(`DELETE ${base}/settlement`)), "still running").to.equal(
      "409 INVALID_TRANSITION",
    );
    await running(settlementId, 60_000);
    expect(resultOf(await author(`DELETE ${base}/settlement`))).to.equal("204");
    const again = await author(`POST ${base}/grade`, { winner: outcomes[1] });
    const inForce = String(again.json["settlementId"]);
    expect(resultOf(await second(`POST ${base}/settlement/approve`))).to.equal("202");
    await running(inForce, 60_000);
    expect(resultOf(await author(`DELETE /admin/v1/approvals/${inForce}`))).to.equal(
      "409 INVALID_TRANSITION",
    );
  });

  it("a new operator, who then has the author of the request as author", async () => {
    const login = { email: "third@example.com", password: "another long password" };
    const asked = await author("POST /admin/v1/operators", { ...login, role: "settlement" });
    const path = waiting(asked, "operator.create");
    expect(asked.text).to.not.match(/scrypt|another long/);
    expect(asked.json["details"]).to.deep.equal({ email: login.email, role: "settlement" });
    const listed = await author("GET /admin/v1/approvals?status=PENDING_APPROVAL");
    expect(listed.text).to.not.include("scrypt");
    expect((listed.json["items"] as object[])[0]).to.deep.equal(asked.json);
    const subject = String(asked.json["subject"]);
    expect(await queried(stack, (db) => findOperator(db, subject))).to.equal(undefined);
    expect(await approve(author, path)).to.equal("403 FORBIDDEN");
    expect(await approve(second, path)).to.equal("200");
    expect(await queried(stack, (db) => findOperator(db, subject))).to.include({
      email: login.email,
      operatorRole: "settlement",
      createdBy: authorId,
    });
    expect(await approve(second, path)).to.equal("409 INVALID_TRANSITION");
    expect(resultOf(await second(`DELETE ${path}`))).to.equal("409 INVALID_TRANSITION");
  });

  it("a change of role, but not a lock", async () => {
    const { traderId } = await addOperator(stack, "viewer");
    const target = `/admin/v1/operators/${traderId}`;
    const asked = await author(`PATCH ${target}`, { role: "owner", state: "LOCKED" });
    const path = waiting(asked, "operator.role");
    const shown = () => queried(stack, (db) => findOperator(db, traderId));
    expect(await shown()).to.include({ operatorRole: "viewer", state: "LOCKED" });
    expect(await approve(second, path)).to.equal("200");
    expect(await shown()).to.include({ operatorRole: "owner", state: "LOCKED" });
  });

  it("the cancel of an event, which only an operator of markets approves", async () => {
    const { eventId } = await newMarket(stack);
    const [finance, trading] = [await callsOf("finance"), await callsOf("trading")];
    const status = `/admin/v1/events/${eventId}/status`;
    expect(resultOf(await author(`POST ${status}`, { action: "close" }))).to.equal("200");
    const path = waiting(await author(`POST ${status}`, { action: "cancel" }), "event.cancel");
    const shown = async () => (await author(`GET /admin/v1/events/${eventId}`)).json["status"];
    expect(await shown()).to.equal("CLOSED_PREGAME");
    expect(await approve(finance, path)).to.equal("403 FORBIDDEN");
    expect(await approve(trading, path)).to.equal("200");
    expect(await shown()).to.equal("CANCELED");
    expect(resultOf(await author(`POST ${status}`, { action: "cancel" }))).to.equal("409 INVALID_TRANSITION");
  });

  it("a transaction over the limit, posted once; one that is refused waits on", async () => {
    const { account } = await newTrader(stack, "10");
    const [settlement, finance] = [await callsOf("settlement"), await callsOf("finance")];
    const line = `POST /admin/v1/traders/${account.traderId}/transactions`;
    const body = { currency: "COIN", reason: "a prize" };
    const small = await author(line, { ...body, kind: "DEPOSIT", amount: "50" });
    expect(small.json).to.include({ balance: "50.00000" });
    const large = { ...body, kind: "WITHDRAWAL", amount: "50.00001" };
    const asked = await author(line, large);
    const path = waiting(asked, "trader.transaction");
    expect(asked.json["details"]).to.include({ amount: "50.00001", kind: "WITHDRAWAL" });
    expect(await approve(settlement, path)).to.equal("403 FORBIDDEN");
    expect(await approve(second, path)).to.equal("422 INSUFFICIENT_BALANCE");
    const deposit = await author(line, { ...body, kind: "DEPOSIT", amount: "0.00001" });
    expect(deposit.json).to.include({ balance: "50.00001" });
    const both = await Promise.all([approve(second, path), approve(finance, path)]);
    expect(both).to.include("200");
    const after = await author(line, { ...body, kind: "DEPOSIT", amount: "1" });
    expect(after.json).to.include({ balance: "1.00000" });
    const huge = { ...body, kind: "ADJUSTMENT", amount: "-50.00001" };
    waiting(await author(line, huge), "trader.transaction");
  });

  it("is withdrawn, and is then not approved", async () => {
    const { traderId } = await addOperator(stack, "viewer");
    const asked = await author(`PATCH /admin/v1/operators/${traderId}`, { role: "owner" });
    const path = waiting(asked, "operator.role");
    expect(resultOf(await author(`DELETE ${path}`))).to.equal("204");
    expect(await approve(second, path)).to.equal("409 INVALID_TRANSITION");
    const missing = `/admin/v1/approvals/${randomUUID()}`;
    expect(await approve(second, missing)).to.equal("404 APPROVAL_NOT_FOUND");
  });
});

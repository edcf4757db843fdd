import { expect } from "chai";
import { makeKey } from "../keys.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { idOf } from "../resources.js";
import { askToken, EmmClient, newClient } from "../surface-b/client.js";

describe("closing a subaccount", function () {
  this.timeout(60_000);
  let stack: Stack;
  let manager: Calls;

  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  const open = async (): Promise<string> => {
    const { publicKey, algorithm } = makeKey();
    return idOf(
      await manager("POST /v3/account/subaccounts", { label: "one", publicKey, algorithm }),
      "keyId",
    );
  };
  const close = async (keyId: string): Promise<string> =>
    resultOf(await manager(`DELETE /v3/account/subaccounts/${keyId}`));
  const listed = async (): Promise<number> =>
    (JSON.parse((await manager("GET /v3/account/subaccounts")).text) as unknown[]).length;

  it("revokes its keys, hides it from the list, and makes room for another of five", async () => {
    const trader = await newTrader(stack);
    manager = callsOf(stack.url, trader.management);
    const keyIds = [await open(), await open(), await open(), await open()];
    const { publicKey, algorithm } = makeKey();
    const more = { label: "six", publicKey, algorithm };
    expect(resultOf(await manager("POST /v3/account/subaccounts", more))).to.equal("400 INVALID_REQUEST");
    const [closed = ""] = keyIds;
    expect(await close(closed)).to.equal("204");
    expect(resultOf(await manager(`GET /v3/keys/${closed}`))).to.equal("404 KEY_NOT_FOUND");
    expect(await listed()).to.equal(4);
    expect(await close(closed), "again").to.equal("404 SUBACCOUNT_NOT_FOUND");
    await open();
    expect(await listed()).to.equal(5);
  });

  it("is refused while it has money; closed, it takes no money, label or key, and has no client of surface B", async () => {
    const trader = await newTrader(stack);
    manager = callsOf(stack.url, trader.management);
    const client = new EmmClient(stack.url, await newClient(stack, trader));
    expect((await client.call("GET /orders/all")).status).to.equal(200);
    expect(await close(trader.trading.key.keyId)).to.equal("409 SUBACCOUNT_NOT_EMPTY");
    const path = `/v3/account/subaccounts/${trader.trading.key.keyId}`;
    const all = { direction: "defund", amount: "100" };
    expect((await manager(`POST ${path}/transfer`, all)).json["status"]).to.equal("Applied");
    expect(await close(trader.trading.key.keyId)).to.equal("204");
    const { publicKey, algorithm } = makeKey();
    for (const [line, body] of [
      [`POST ${path}/transfer`, { direction: "fund", amount: "1" }],
      [`PATCH ${path}`, { label: "other" }],
      [`POST ${path}/keys`, { name: "late", scope: "trading", publicKey, algorithm }],
    ] as const)
      expect(resultOf(await manager(line, body)), line).to.equal("404 SUBACCOUNT_NOT_FOUND");
    expect((await manager(`GET ${path}/balance`)).json["balance"]).to.equal("0.00000");
    expect((await askToken(stack.url, client.credentials)).status).to.equal(401);
    await until(async () => (await client.call("GET /orders/all")).status === 401);

    const operate = await operatorCalls(stack);
    const post = (kind: string, amount: string): Promise<string> =>
      operate(`POST /admin/v1/traders/${trader.account.traderId}/transactions`, {
        kind,
        amount,
        currency: "CASH",
        reason: "a correction",
        subaccountKeyId: trader.trading.key.keyId,
      }).then(resultOf);
    expect(await post("DEPOSIT", "1")).to.equal("404 SUBACCOUNT_NOT_FOUND");
    expect(await post("WITHDRAWAL", "1"), "debits are possible").to.equal("422 INSUFFICIENT_BALANCE");
  });
});

import { expect } from "chai";
import { makeKey } from "../keys.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader } from "../../support/traders.js";
import { callsOf, resultOf, type Calls } from "../calls.js";
import { idOf } from "../resources.js";

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

  it("is refused while it has money; closed, it takes no money, label or key", async () => {
    const trader = await newTrader(stack);
    manager = callsOf(stack.url, trader.management);
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
  });
});

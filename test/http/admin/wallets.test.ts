import { expect } from "chai";
import { startStack, type Stack } from "../../support/stack.js";
import { addMarket, newEvent, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";

interface Wallet {
  readonly walletId: string;
  readonly traderId: string;
  readonly keyId: string | null;
  readonly label: string | null;
  readonly total: string;
  readonly reserved: string;
  readonly available: string;
  readonly restriction: string | null;
}

describe("the list of all wallets", function () {
  this.timeout(60_000);
  let stack: Stack;
  let operator: Calls;
  let rich: TestTrader;
  let poor: TestTrader;

  before(async () => {
    stack = await startStack();
    operator = await operatorCalls(stack);
    rich = await newTrader(stack, "500");
    poor = await newTrader(stack, "20");
  });
  after(() => stack.stop());

  const read = async (query: string): Promise<readonly Wallet[]> => {
    const answer = await operator(`GET /admin/v1/wallets?${query}`);
    expect(resultOf(answer)).to.equal("200");
    return answer.json["items"] as readonly Wallet[];
  };
  const totals = (wallets: readonly Wallet[]): readonly string[] => wallets.map(({ total }) => total);

  it("shows balances, what orders hold, and the subaccount", async () => {
    const { eventId } = await newEvent(stack);
    const { outcomes } = await addMarket(stack, eventId);
    const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.600", qty: 10, tif: "GTC" };
    expect((await callsOf(stack.url, rich.trading)("POST /v3/orders", order)).status).to.equal(201);
    const { traderId, email } = rich.account;
    const items = await until(
      () => read(`owner=${encodeURIComponent(email)}`),
      (found) => found.some(({ reserved }) => reserved !== "0.00000"),
    );
    const subaccount = items.find(({ keyId }) => keyId !== null);
    expect(subaccount).to.include({ traderId, total: "500.00000", restriction: null });
    expect(Number(subaccount?.total) - Number(subaccount?.reserved)).to.equal(Number(subaccount?.available));
    expect(subaccount?.walletId).not.to.equal(traderId);
    for (const own of items.filter(({ keyId }) => keyId === null)) expect(own.walletId).to.equal(traderId);
    expect(await read(`owner=${traderId.toUpperCase()}`)).to.deep.equal(items);
    expect(await read("owner=nobody@example.com")).to.deep.equal([]);
  });

  it("is ordered by balance, in pages", async () => {
    const all = await read("order=largest");
    expect(totals(all).map(Number)).to.deep.equal(
      totals(all)
        .map(Number)
        .toSorted((a, b) => b - a),
    );
    const { json: first } = await operator("GET /admin/v1/wallets?limit=1");
    const { json: second } = await operator(`GET /admin/v1/wallets?limit=1&after=${String(first["next"])}`);
    expect([...(first["items"] as Wallet[]), ...(second["items"] as Wallet[])]).to.deep.equal(
      all.slice(0, 2),
    );
    expect(totals(await read("order=smallest"))).to.deep.equal(totals(all).toReversed());
  });

  it("narrows to a range of balances", async () => {
    expect(totals(await read("atLeast=500"))).to.deep.equal(["500.00000"]);
    expect(totals(await read("atLeast=500.00001"))).to.deep.equal([]);
    expect(totals(await read("atLeast=20&below=500"))).to.deep.equal(["20.00000"]);
    expect(await read("below=0")).to.deep.equal([]);
  });

  it("narrows to traders whose placements are refused", async () => {
    expect(await read("restricted=true")).to.deep.equal([]);
    const { traderId } = poor.account;
    await operator(`POST /admin/v1/traders/${traderId}/state`, { state: "LOCKED", reason: "a review" });
    const found = await until(
      () => read("restricted=true"),
      (wallets) => wallets.length > 0,
    );
    for (const wallet of found) expect(wallet).to.include({ traderId, restriction: "ACCOUNT_LOCKED" });
    expect(found).to.deep.equal(await read(`owner=${traderId}`));
  });

  it("refuses a filter that it does not understand", async () => {
    for (const query of ["order=newest", "atLeast=much", "restricted=yes", "after=x", "owner="])
      expect(resultOf(await operator(`GET /admin/v1/wallets?${query}`)), query).to.match(/^400/);
  });
});

import { expect } from "chai";
import { mock } from "node:test";
import type { WalletOrderDelta } from "../../../../actors/ledger/deltas.js";
import { RecentFills, TerminalOrders } from "../../../../stream/ws/wallet/terminal-orders.js";

const WALLET = "w";

function delta(orderId: string, end: object): WalletOrderDelta {
  return { type: "order", wallet: WALLET, orderId, ...end } as unknown as WalletOrderDelta;
}

function fill(orderId: string, remaining = 0): WalletOrderDelta {
  return delta(orderId, { kind: "fill", remaining });
}

describe("the ends of recent orders", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  it("are known for five to ten seconds", async () => {
    const orders = new TerminalOrders();
    const statusOf = async (orderId: string): Promise<string | undefined> =>
      (await orders.wait(WALLET, [orderId], 0)).get(orderId)?.status;
    orders.note(fill("filled"));
    orders.note(delta("canceled", { kind: "cancel" }));
    mock.timers.tick(5_000);
    expect([await statusOf("filled"), await statusOf("canceled")]).to.deep.equal(["FILLED", "CANCELED"]);
    mock.timers.tick(5_000);
    expect([await statusOf("filled"), await statusOf("canceled")]).to.deep.equal([undefined, undefined]);
    orders.close();
  });

  it("are known for five to ten minutes if they are fills of the whole order", () => {
    const fills = new RecentFills();
    fills.note(fill("filled"));
    fills.note(fill("partly", 3));
    fills.note(delta("canceled", { kind: "cancel" }));
    mock.timers.tick(300_000);
    expect(fills.has(WALLET, "filled")).to.equal(true);
    expect(fills.has("another", "filled")).to.equal(false);
    expect(fills.has(WALLET, "partly")).to.equal(false);
    expect(fills.has(WALLET, "canceled")).to.equal(false);
    mock.timers.tick(300_000);
    expect(fills.has(WALLET, "filled")).to.equal(false);
    fills.close();
  });

  it("are known for a whole interval after half of the fills of a ledger have come", () => {
    const fills = new RecentFills();
    mock.timers.tick(200_000);
    for (let n = 0; n < 25_000; n += 1) fills.note(fill(String(n)));
    mock.timers.tick(299_999);
    expect(fills.has(WALLET, "0")).to.equal(true);
    mock.timers.tick(1);
    expect(fills.has(WALLET, "0")).to.equal(false);
    fills.close();
  });

  it("are known of 50,000 fills of a ledger at most, the youngest", () => {
    const fills = new RecentFills();
    for (let n = 0; n <= 50_000; n += 1) fills.note(fill(String(n)));
    expect(fills.has(WALLET, "24999")).to.equal(false);
    expect(fills.has(WALLET, "25000")).to.equal(true);
    expect(fills.has(WALLET, "50000")).to.equal(true);
    fills.close();
  });
});

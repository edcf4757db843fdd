import { expect } from "chai";
import { mock } from "node:test";
import type { WalletOrderDelta } from "../../../../actors/ledger/deltas.js";
import { TerminalOrders } from "../../../../stream/ws/wallet/terminal-orders.js";

const WALLET = "w";

function delta(orderId: string, end: object): WalletOrderDelta {
  return { type: "order", wallet: WALLET, orderId, ...end } as unknown as WalletOrderDelta;
}

async function statusOf(orders: TerminalOrders, orderId: string): Promise<string | undefined> {
  return (await orders.wait(WALLET, [orderId], 0)).get(orderId)?.status;
}

describe("the terminal states of recent orders", () => {
  let orders: TerminalOrders;

  beforeEach(() => {
    mock.timers.enable({ apis: ["setInterval"] });
    orders = new TerminalOrders();
  });

  afterEach(() => {
    orders.close();
    mock.timers.reset();
  });

  it("keep a fill for a minute and other ends for five seconds, and both for twice that at most", async () => {
    orders.note(delta("filled", { kind: "fill", remaining: 0 }));
    orders.note(delta("canceled", { kind: "cancel" }));
    mock.timers.tick(5_000);
    expect(await statusOf(orders, "canceled")).to.equal("CANCELED");
    mock.timers.tick(5_000);
    expect(await statusOf(orders, "canceled")).to.equal(undefined);
    mock.timers.tick(50_000);
    expect(await statusOf(orders, "filled")).to.equal("FILLED");
    mock.timers.tick(60_000);
    expect(await statusOf(orders, "filled")).to.equal(undefined);
  });

  it("know nothing of an order that is not filled whole", async () => {
    orders.note(delta("open", { kind: "open" }));
    orders.note(delta("partly", { kind: "fill", remaining: 3 }));
    expect(await statusOf(orders, "open")).to.equal(undefined);
    expect(await statusOf(orders, "partly")).to.equal(undefined);
  });

  it("keep 100,000 fills at most, the youngest", async () => {
    for (let n = 0; n <= 100_000; n += 1) orders.note(delta(String(n), { kind: "fill", remaining: 0 }));
    expect(await statusOf(orders, "49999")).to.equal(undefined);
    expect(await statusOf(orders, "50000")).to.equal("FILLED");
    expect(await statusOf(orders, "100000")).to.equal("FILLED");
  });

  it("forget all orders when the log may have lost their ends", async () => {
    orders.note(delta("filled", { kind: "fill", remaining: 0 }));
    orders.note(delta("canceled", { kind: "cancel" }));
    orders.forget();
    expect(await statusOf(orders, "filled")).to.equal(undefined);
    expect(await statusOf(orders, "canceled")).to.equal(undefined);
  });
});

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Canceling, type CancelingParts } from "../../../http/trading/canceling.js";
import type { TerminalOrder } from "../../../stream/ws/wallet/terminal-orders.js";

const ORDER = randomUUID();
const TRADER = { traderId: randomUUID(), wallet: randomUUID() };

/** Cancels an order that counts as filled in the last five minutes, where the ledger has these orders open. */
function cancel(open: readonly string[], ended: readonly TerminalOrder[]): ReturnType<Canceling["cancel"]> {
  const reply = {
    ok: true,
    kind: "cancels",
    queued: open.map((orderId) => ({ orderId })),
    unknown: [ORDER].filter((orderId) => !open.includes(orderId)),
  };
  const parts = {
    exchange: { ledger: () => Promise.resolve(reply) },
    orderEnds: {
      followOrders: () => Promise.resolve(() => undefined),
      waitForTerminal: () => Promise.resolve(new Map(ended.map((end) => [end.orderId, end]))),
      wasFilled: () => true,
    },
    haltedMarkets: { closed: () => [], passed: () => undefined },
    db: new Proxy({}, { get: () => expect.fail("the tables were read") }),
  };
  return new Canceling(parts as unknown as CancelingParts).cancel(TRADER, [ORDER]);
}

describe("a cancel of an order that was filled in the last five minutes", () => {
  it("is answered without the tables", async () => {
    expect(await cancel([], [])).to.deep.equal({
      canceled: [],
      notCanceled: [{ orderId: ORDER, reason: "FILLED" }],
    });
  });

  it("has the answer of its market if the ledger has it open, as after a loss of the log", async () => {
    expect(await cancel([ORDER], [{ orderId: ORDER, status: "CANCELED" }])).to.deep.equal({
      canceled: [ORDER],
      notCanceled: [],
    });
  });
});

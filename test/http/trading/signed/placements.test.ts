import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { PlaceResult } from "../../../../actors/ledger/commands.js";
import type { Placed } from "../../../../http/trading/placement-answer.js";
import {
  type PlacedReply,
  SignedPlacements,
  type SignedRequest,
} from "../../../../http/trading/signed-placements.js";
import type { PlaceOrder } from "../../../../http/surface-a/schemas/orders.js";

describe("a repeat of a signed placement whose first run an older build served", () => {
  const [orderId, refusedId] = [randomUUID(), randomUUID()];
  const order = (outcomeId: string): PlaceOrder => ({ outcomeId }) as PlaceOrder;
  const request: SignedRequest = {
    trader: { traderId: randomUUID(), wallet: randomUUID() },
    orders: [order(orderId), order(refusedId)],
    atomic: false,
    commandId: randomUUID(),
    ts: 0,
    resumed: false,
  };
  const inTables: Placed = {
    kind: "some",
    accepted: [{ orderId }],
    rejected: [{ index: 1, outcomeId: refusedId, reason: "the market was paused" }],
  };
  const accepted: PlaceResult = { ok: true, orderId, repeated: false };

  /** The ledger knows the results of the orders that the older build sent to it, and not which orders these were. */
  const reply: PlacedReply = { ok: true, kind: "placed", results: [accepted] };

  /** Returns the answers to the request and to one that is refused before its route, with what the tables have of it. */
  async function repeat(found: Placed | undefined, remembered = reply): Promise<(Placed | undefined)[]> {
    const placements = new SignedPlacements({
      exchange: { ledger: () => Promise.resolve(remembered) },
      formats: { active: () => 3 },
      prepare: () => Promise.resolve({ own: [[0, { code: "MARKET_PAUSED" }]], passed: [] }),
      send: () => Promise.resolve({ reply: remembered, repeated: true }),
      placedBefore: () => Promise.resolve(found),
    });
    const [again, recalled] = [await placements.place(request), await placements.recall(request)];
    expect(again.repeated).to.equal(true);
    expect(recalled?.repeated).to.equal(true);
    return [again.placed, recalled?.placed];
  }

  it("is answered with the orders that the tables have", async () => {
    expect(await repeat(inTables)).to.deep.equal([inTables, inTables]);
  });

  it("is answered with a refusal of each order, at every gateway, when the tables have none of them", async () => {
    const [again, recalled] = await repeat(undefined);
    expect(again?.kind).to.equal("none");
    expect(again).to.deep.equal(recalled);
    expect(again?.kind === "none" && again.rejected.map(({ index }) => index)).to.deep.equal([0, 1]);
  });

  it("is answered by the ledger alone when that knows the answer of each order", async () => {
    const second = { ...accepted, orderId: refusedId };
    const [again] = await repeat(inTables, { ...reply, results: [accepted, second] });
    expect(again).to.deep.equal({
      kind: "all",
      accepted: [{ orderId }, { orderId: refusedId }],
      repeated: false,
    });
  });
});

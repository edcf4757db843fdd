import { randomUUID } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import { parseRequest } from "../../../../stream/ws/socket/protocol.js";

function refusal(message: unknown): string {
  const parsed = parseRequest(message);
  if (parsed.ok) throw new Error("the request was accepted");
  return parsed.message;
}

describe("a request of the stream", () => {
  const id = randomUUID();

  it("is a nonce and one verb", () => {
    expect(parseRequest({ nonce: 1, status: {} })).to.deep.equal({
      ok: true,
      request: { nonce: 1, verb: "status", payload: {} },
    });
    expect(refusal([])).to.match(/object/);
    expect(refusal({ status: {} })).to.match(/nonce/);
    for (const nonce of [0, -1, 1.5, "1", null, 2 ** 53])
      expect(refusal({ nonce, status: {} })).to.match(/nonce/);
    expect(refusal({ nonce: 1 })).to.match(/exactly one verb/);
    expect(refusal({ nonce: 1, status: {}, snapshot: {} })).to.match(/exactly one verb/);
    for (const verb of ["trade", "constructor", "toString"])
      expect(refusal({ nonce: 1, [verb]: {} })).to.match(/unknown verb/);
  });

  it("takes one channel or several, and CASH by default", () => {
    const parsed = parseRequest({
      nonce: 2,
      subscribe: { markets: { [id]: "book" }, events: { [id.toUpperCase()]: ["bbo", "trades"] } },
    });
    expect(parsed).to.deep.include({ ok: true });
    if (!parsed.ok) return;
    expect(parsed.request.payload).to.deep.equal({
      markets: { [id]: ["book"] },
      events: { [id]: ["bbo", "trades"] },
      private: [],
      currency: "CASH",
    });
  });

  it("is refused with the path of the first mistake", () => {
    expect(refusal({ nonce: 1, subscribe: { markets: { [id]: "ladder" } } })).to.include(
      `subscribe.markets.${id}`,
    );
    expect(refusal({ nonce: 1, subscribe: { markets: { [id]: [] } } })).to.include("subscribe.markets");
    expect(refusal({ nonce: 1, subscribe: { markets: { one: "book" } } })).to.include("subscribe.markets");
    expect(refusal({ nonce: 1, subscribe: { market: {} } })).to.include("subscribe");
    expect(refusal({ nonce: 1, subscribe: { private: ["fills"] } })).to.include("subscribe.private");
    expect(refusal({ nonce: 1, subscribe: { currency: "EUR" } })).to.include("subscribe.currency");
    expect(refusal({ nonce: 1, subscribe: { since: { [`event:${id}`]: {} } } })).to.include(
      "subscribe.since",
    );
    expect(refusal({ nonce: 1, unsubscribe: [id] })).to.include("unsubscribe.0");
    expect(refusal({ nonce: 1, unsubscribe: [] })).to.include("unsubscribe");
    expect(refusal({ nonce: 1, cancel: { orderIds: ["x"] } })).to.include("cancel.orderIds.0");
    expect(refusal({ nonce: 1, cancel_all: { side: "buy" } })).to.include("cancel_all");
  });

  it("keeps the nonce of a malformed request for the refusal", () => {
    expect(parseRequest({ nonce: 7, place: {} })).to.deep.include({ ok: false, nonce: 7 });
  });

  it("reads the seqs to resume from", () => {
    const since = { [`market:${id}`]: { book: 4, lifecycle: 0 }, orders: 9 };
    const parsed = parseRequest({ nonce: 1, subscribe: { markets: { [id]: "book" }, since } });
    expect(parsed.ok && parsed.request.verb === "subscribe" && parsed.request.payload.since).to.deep.equal({
      orders: 9,
      positions: undefined,
      markets: new Map([[id, { book: 4, lifecycle: 0 }]]),
    });
  });

  it("is accepted or refused for any input", () => {
    const verbs = [
      "subscribe",
      "unsubscribe",
      "snapshot",
      "status",
      "place",
      "cancel",
      "cancel_all",
      "safety",
      "x",
    ];
    const keyed = fc.dictionary(
      fc.constantFrom(
        "markets",
        "events",
        "private",
        "since",
        "orders",
        "orderIds",
        id,
        "__proto__",
        "currency",
      ),
      fc.jsonValue(),
    );
    const message = fc.oneof(
      fc.jsonValue(),
      fc.record({ nonce: fc.jsonValue() }),
      fc
        .tuple(fc.constantFrom(...verbs), fc.oneof(keyed, fc.jsonValue()))
        .map(([verb, payload]) => ({ nonce: 1, [verb]: payload })),
    );
    fc.assert(
      fc.property(message, (value) => {
        const parsed = parseRequest(value);
        if (!parsed.ok) expect(parsed.message).to.be.a("string").and.have.length.within(1, 1_000);
      }),
      { numRuns: 500 },
    );
  });
});

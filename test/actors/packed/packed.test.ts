import { expect } from "chai";
import fc from "fast-check";
import { type ActorId, ledgerActor, marketActor } from "../../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import { orderOf } from "../../../actors/ledger/placing.js";
import type { MarketCommand } from "../../../actors/market/commands.js";
import type { EffectDelta } from "../../../actors/market/deltas.js";
import type { Order } from "../../../actors/market/types.js";
import { packCommands, unpackCommands } from "../../../actors/packed/commands.js";
import { contracts, millicents } from "../../../actors/units.js";
import { packBatches, packReply, unpackReply } from "../../../actors/packed/packed.js";
import { FEE, marketDefinition, orderRequest } from "../../support/exchange/commands.js";
import { allThroughLog } from "../../support/exchange/packed.js";
import { throughJson } from "../../support/exchange/network.js";
import { Differential } from "../differential/differential.js";
import { scenario } from "../differential/steps.js";

function orderFor(wallet: string): Order {
  const definition = marketDefinition({ fee: FEE });
  const request = orderRequest(definition, { outcome: 1, price: 400, qty: 4, notAfter: 9_000 });
  return orderOf(request, { wallet, trader: "t", ledger: 3 }, 5_000);
}

const LEDGER = ledgerActor(3);
const MARKET = marketActor("m");
/** The kinds of deltas of an order that go through a market. They are packed as tuples. */
const TUPLES = [
  ...["accepted", "canceling", "open", "fill", "cancel", "reject", "position", "entry", "balance"],
  ...["hold", "add", "update", "remove", "bbo", "nobbo", "trade", "match", "locked"],
];

describe("a packed entry", () => {
  it("has the batches of any history, and the frequent deltas as tuples", function () {
    this.timeout(60_000);
    const tuples = new Set<string>();
    fc.assert(
      fc.property(scenario(60), (sampled) => {
        const differential = new Differential();
        differential.run(sampled);
        for (const { id, emitted } of differential.actors) {
          allThroughLog(id, emitted);
          for (const [, deltas] of packBatches(id, emitted))
            for (const delta of deltas) if (Array.isArray(delta)) tuples.add(String(delta[0]));
        }
      }),
      { numRuns: 5, seed: 3 },
    );
    expect([...tuples].sort()).to.deep.equal([...TUPLES].sort());
  });

  it("gives the commands that follow from it, with what their receivers read", () => {
    const [order, resting] = [orderFor("w"), orderFor("v")];
    const [wallet, ledger, currency] = ["w", 3, "CASH"] as const;
    const position = { wallet, ledger, currency, outcome: 0, qty: contracts(2), cost: millicents(9) };
    const effects = (deltas: readonly EffectDelta[]): LedgerCommand => {
      return { kind: "effects", marketId: "m", ts: 5_000, deltas };
    };
    const commands: (MarketCommand | LedgerCommand)[] = [
      { kind: "enter", order },
      { kind: "enter", order: resting },
      { kind: "cancel", orderIds: ["a"], reason: "GROUP_LIMIT" },
      effects([
        { type: "order", kind: "open", order: resting, qty: contracts(4) },
        { type: "position", ...position },
        { type: "order", kind: "reduce", orderId: "a", wallet, ledger, remaining: contracts(1) },
      ]),
    ];
    const read = throughJson(unpackCommands(throughJson(packCommands(commands)) as unknown[]));
    const { orderId } = resting;
    const opened = {
      type: "order",
      kind: "open",
      order: { orderId, wallet: "v", ledger },
      qty: contracts(4),
    };
    const expected = throughJson(commands) as { deltas?: unknown[] }[];
    expected[3]?.deltas?.splice(0, 1, opened);
    expect(read).to.deep.equal(expected);
  });

  it("keeps the times of its batches, and deltas of unknown kinds", () => {
    const batches = [5_000, 5_000, 7_001].map((ts) => ({ ts, deltas: [{ type: "other", ts }] }));
    for (const id of [LEDGER, MARKET] as ActorId[]) expect(allThroughLog(id, batches)).to.deep.equal(batches);
  });

  it("has the answers to placements by the ids of the orders, and every other answer as it is", () => {
    const replies: LedgerReply[] = [
      {
        ok: true,
        kind: "placed",
        results: [
          { ok: true, orderId: "a", clientId: undefined, repeated: false },
          { ok: true, orderId: "b", clientId: "x", repeated: false },
          { ok: true, orderId: "c", clientId: "y", repeated: true },
          { ok: false, refusal: "GROUP_LIMIT" },
        ],
      },
      { ok: true, kind: "placed", results: [], own: [[0, { code: "MARKET_PAUSED" }]] },
      { ok: true, kind: "done" },
      { ok: false, refusal: "ORDER_NOT_FOUND" },
    ];
    for (const reply of [...replies, null, { ok: false, quarantined: true }]) {
      const packed = throughJson(packReply(LEDGER, reply));
      expect(throughJson(unpackReply(LEDGER, packed))).to.deep.equal(throughJson(reply));
      expect(packReply(MARKET, reply)).to.equal(reply);
    }
    const [placed] = replies;
    expect(packReply(LEDGER, placed)).to.deep.equal([
      "placed",
      [
        "a",
        ["b", "x"],
        { ok: true, orderId: "c", clientId: "y", repeated: true },
        { ok: false, refusal: "GROUP_LIMIT" },
      ],
    ]);
  });
});

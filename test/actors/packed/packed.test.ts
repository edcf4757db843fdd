import { expect } from "chai";
import fc from "fast-check";
import { type ActorId, ledgerActor, marketActor } from "../../../actors/actor.js";
import type { LedgerReply } from "../../../actors/ledger/commands.js";
import { packBatches, packReply, unpackReply } from "../../../actors/packed/packed.js";
import { allThroughLog } from "../../support/exchange/packed.js";
import { throughJson } from "../../support/exchange/network.js";
import { Differential } from "../differential/differential.js";
import { scenario } from "../differential/steps.js";

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

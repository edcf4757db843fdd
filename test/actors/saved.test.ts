import { expect } from "chai";
import { type ActorId, restoreParts } from "../../actors/actor.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import { market } from "../../actors/market/market.js";
import {
  giantLedger,
  GIANT_LEDGER,
  giantMarket,
  GIANT_MARKET,
  giantWallet,
} from "../support/exchange/giants.js";
import { restoredCopy, savedText } from "../support/exchange/saved.js";

const NOW = 1_700_000_100_000;
const MAX_PART_BYTES = 300_000;

/** Counts the parts of `after` that `before` does not have. */
function newParts(before: readonly string[], after: readonly string[]): number {
  const known = new Set(before);
  return after.filter((part) => !known.has(part)).length;
}

function cancelOne(state: LedgerState, wallet: string): readonly unknown[] {
  const [order] = state.wallets.get(wallet)?.orders.values() ?? [];
  if (order === undefined) throw new Error("the wallet has no order");
  const { marketId, orderId, remaining } = order;
  const effect = {
    type: "order",
    kind: "cancel",
    currency: "CASH",
    wallet,
    orderId,
    remaining,
    ledger: 3,
  } as const;
  const command = { kind: "effects", marketId, ts: NOW, deltas: [effect] } as const;
  return ledger.decide(state, command, NOW).deltas;
}

describe("the parts of a saved state", () => {
  const wallet = giantWallet(777);
  const small = (): LedgerState => giantLedger(1_000, 10_000);
  const actors: readonly (readonly [string, ActorId, () => readonly string[]])[] = [
    ["a ledger of many wallets", GIANT_LEDGER, () => [...ledger.save(small())]],
    ["a ledger with a wallet of 20,000 orders", GIANT_LEDGER, () => [...ledger.save(giantLedger(2, 40_000))]],
    ["a market with 20,000 resting orders", GIANT_MARKET, () => [...market.save(giantMarket(20_000))]],
  ];

  for (const [name, id, save] of actors) {
    it(`of ${name} are bounded, and restore all of it`, () => {
      const parts = save();
      expect(Math.max(...parts.map(({ length }) => length)), "bytes of the longest part").to.be.below(
        MAX_PART_BYTES,
      );
      expect(parts.length).to.be.above(10);
      const restored =
        id === GIANT_MARKET
          ? savedText(market, restoreParts(market, id, parts))
          : savedText(ledger, unpacked(restoreParts(ledger, id, parts)));
      expect(restored).to.equal(parts.join("\n\n"));
    });
  }

  function unpacked(state: LedgerState): LedgerState {
    expect([...state.wallets.values()]).to.have.length(state.wallets.size);
    return state;
  }

  it("stay the same where nothing changes", () => {
    const state = small();
    const before = [...ledger.save(state)];
    cancelOne(state, wallet);
    expect(newParts(before, [...ledger.save(state)]), "parts of the ledger that one cancel changes").to.equal(
      2,
    );
    const book = giantMarket(20_000);
    const first = [...market.save(book)];
    const [order] = book.resting.values();
    market.decide(book, { kind: "cancel", orderIds: [order?.order.orderId ?? ""], reason: undefined }, NOW);
    expect(newParts(first, [...market.save(book)]), "parts of the market that one cancel changes").to.equal(
      2,
    );
  });

  it("are those of the saved state after a change of restored wallets, of which the others stay packed", () => {
    const live = small();
    const restored = restoredCopy(ledger, GIANT_LEDGER, live);
    expect(cancelOne(restored, wallet)).to.deep.equal(cancelOne(live, wallet));
    const packed = [...restored.wallets.entries()].filter((entry) => "unpack" in entry);
    expect(packed).to.have.length(999);
    expect(savedText(ledger, restored)).to.equal(savedText(ledger, live));
    expect([...restored.wallets.keys()]).to.deep.equal([...live.wallets.keys()]);
  });

  it("keep the dead-man switches of packed wallets", () => {
    const live = small();
    ledger.decide(live, { kind: "deadman", wallet, trader: wallet, timeoutMs: 5_000 }, NOW);
    const restored = restoredCopy(ledger, GIANT_LEDGER, live);
    expect(ledger.deadline(restored)).to.equal(NOW + 5_000);
    expect(ledger.decide(restored, { kind: "tick" }, NOW + 5_000)).to.deep.equal(
      ledger.decide(live, { kind: "tick" }, NOW + 5_000),
    );
  });

  it("report the money of the shard without unpacking a wallet", () => {
    const live = small();
    const restored = restoredCopy(ledger, GIANT_LEDGER, live);
    expect(ledger.decide(restored, { kind: "report" }, NOW)).to.deep.equal(
      ledger.decide(live, { kind: "report" }, NOW),
    );
    expect([...restored.wallets.entries()].every((entry) => "unpack" in entry)).to.equal(true);
  });
});

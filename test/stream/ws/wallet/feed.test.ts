import { expect } from "chai";
import { emptyWallet } from "../../../../actors/ledger/state.js";
import type { OpenOrder, WalletSnapshot } from "../../../../actors/ledger/types.js";
import { contracts, millicents, ticks } from "../../../../actors/units.js";
import { WalletFeed } from "../../../../stream/ws/wallet/feed.js";
import type { WalletBase } from "../../../../stream/ws/wallet/fold.js";
import { marketDefinition } from "../../../support/exchange/commands.js";
import { usualLongestTurnMs } from "../../../support/loop/turns.js";
import { until } from "../../../support/until.js";
import { snapshotOf } from "../support/client.js";

const WALLET: WalletSnapshot = {
  wallet: "w",
  policy: "hold",
  balances: emptyWallet("w", "w").funds,
  orders: { seq: 0, open: [] },
  positions: { seq: 0, positions: [] },
};

function openOrder(orderId: string): OpenOrder {
  return {
    orderId,
    marketId: "m",
    outcome: 0,
    currency: "CASH",
    price: ticks(500),
    qty: contracts(10),
    tif: "GTC",
    status: "OPEN",
  };
}

/** Returns a feed that begins with this wallet, and must not fail. */
function feedOf(wallet: WalletBase): WalletFeed {
  return new WalletFeed({
    snapshot: () => Promise.resolve(wallet),
    market: (marketId) => Promise.resolve({ ...marketDefinition(), marketId }),
    onError: (error) => expect.fail(String(error)),
    onFailed: (error) => expect.fail(String(error)),
  });
}

describe("the feed of a wallet", () => {
  it("keeps the markets that the wallet is in, and not all that it was ever in", async () => {
    const loads = new Map<string, number>();
    const failures: unknown[] = [];
    const feed = new WalletFeed({
      snapshot: () => Promise.resolve(WALLET),
      market: (marketId) => {
        loads.set(marketId, (loads.get(marketId) ?? 0) + 1);
        return Promise.resolve({ ...marketDefinition(), marketId });
      },
      onError: (error) => failures.push(error),
      onFailed: (error) => failures.push(error),
    });
    await feed.ready;
    let seq = 0;
    const hold = async (marketId: string, qty: number): Promise<void> => {
      seq += 1;
      const position = {
        type: "position",
        wallet: "w",
        seq,
        marketId,
        currency: "CASH",
        outcome: 0,
      } as const;
      feed.push({ ts: seq, deltas: [{ ...position, qty: contracts(qty), cost: millicents(qty) }] });
      await until(
        () => feed.seq("positions"),
        (reached) => reached === seq,
      );
    };
    await hold("kept", 5);
    await hold("left", 5);
    await hold("left", 0);
    for (let n = 0; n < 300; n += 1) await hold(`market ${n}`, 0);
    await hold("kept", 6);
    await hold("left", 7);
    expect(failures).to.deep.equal([]);
    expect([loads.get("kept"), loads.get("left")]).to.deep.equal([1, 2]);
    expect(snapshotOf(feed, "positions")).to.have.property("positions").with.length(2);
    feed.close();
  });

  it("fails when ten thousand batches wait for a market that cannot be read", async () => {
    const failures: unknown[] = [];
    const feed = new WalletFeed({
      snapshot: () => Promise.resolve(WALLET),
      market: () => Promise.reject(new Error("the database is away")),
      onError: () => undefined,
      onFailed: (error) => failures.push(error),
    });
    await feed.ready;
    const position = { type: "position", wallet: "w", marketId: "m", currency: "CASH", outcome: 0 } as const;
    for (let seq = 1; seq <= 10_002; seq += 1) {
      expect(failures, `before batch ${seq}`).to.have.length(seq === 10_002 ? 1 : 0);
      feed.push({ ts: seq, deltas: [{ ...position, seq, qty: contracts(1), cost: millicents(1) }] });
    }
    expect(String(failures[0])).to.contain("too many batches wait");
    expect(failures).to.have.length(1);
  });

  it("does not need an order that was amended and canceled between two pages of its wallet", async () => {
    const pageSeqs = [1, 4].map((seq) => ({ orders: seq, positions: 0 }));
    const feed = feedOf({ ...WALLET, orders: { seq: 1, open: [openOrder("kept")] }, pageSeqs });
    const delta = { type: "order", wallet: "w", marketId: "m" } as const;
    const reduce = (orderId: string, seq: number): void =>
      feed.push({ ts: seq, deltas: [{ ...delta, kind: "reduce", orderId, seq, remaining: contracts(5) }] });
    reduce("gone", 2);
    feed.push({
      ts: 3,
      deltas: [{ ...delta, kind: "cancel", orderId: "gone", seq: 3, remaining: contracts(5) }],
    });
    expect((await feed.ready).orders).to.equal(4);
    expect([feed.seq("orders"), feed.size("orders")]).to.deep.equal([3, 1]);
    const received: number[] = [];
    feed.onBatch(({ seq }) => received.push(seq));
    reduce("kept", 4);
    reduce("kept", 5);
    expect(received).to.deep.equal([5]);
    expect(feed.since("orders", 4)).to.have.length(1);
    expect(feed.since("orders", 3)).to.equal(undefined);
    feed.close();
  });

  it("serializes only the orders that have changed since its last snapshot", async () => {
    const open = Array.from({ length: 5_000 }, (_, n) => openOrder(`order ${n}`));
    const feed = feedOf({ ...WALLET, orders: { seq: 0, open } });
    await feed.ready;
    let slices = 0;
    const slice = async <Result>(run: () => Result): Promise<Result> => {
      slices += 1;
      return Promise.resolve(run());
    };
    await feed.prepareSnapshot("orders", { piece: slice });
    expect(slices).to.equal(10);
    expect(await usualLongestTurnMs(() => Promise.resolve(feed.snapshot("orders")))).to.be.below(3);
    let seq = 0;
    const change = { type: "order", kind: "reduce", wallet: "w", orderId: "order 7", marketId: "m" } as const;
    const turnMs = await usualLongestTurnMs(() => {
      seq += 1;
      feed.push({ ts: seq, deltas: [{ ...change, seq, remaining: contracts(10 - seq) }] });
      feed.snapshot("orders");
      return Promise.resolve();
    });
    const shown = snapshotOf(feed, "orders") as { seq: number; open: { orderId: string; qty: number }[] };
    expect(shown.seq).to.equal(seq);
    expect(shown.open.filter(({ qty }) => qty !== 10)).to.have.length(1);
    expect(shown.open[7]).to.include({ orderId: "order 7", qty: 10 - seq });
    // All orders at once take 5 ms.
    expect(turnMs).to.be.below(3);
    feed.close();
  });
});

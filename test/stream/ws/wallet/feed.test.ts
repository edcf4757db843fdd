import { expect } from "chai";
import { emptyWallet } from "../../../../actors/ledger/state.js";
import type { WalletSnapshot } from "../../../../actors/ledger/types.js";
import { contracts, millicents } from "../../../../actors/units.js";
import { WalletFeed } from "../../../../stream/ws/wallet/feed.js";
import { marketDefinition } from "../../../support/exchange/commands.js";
import { until } from "../../../support/until.js";

const WALLET: WalletSnapshot = {
  wallet: "w",
  policy: "hold",
  balances: emptyWallet("w", "w").funds,
  orders: { seq: 0, open: [] },
  positions: { seq: 0, positions: [] },
};

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
    expect(feed.snapshot("positions")).to.have.property("positions").with.length(2);
    feed.close();
  });
});

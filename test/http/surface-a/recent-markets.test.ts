import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import { ColdLoads } from "../../../http/surface-a/prices/cold-loads.js";
import { RecentMarkets } from "../../../http/surface-a/prices/recent-markets.js";

/** Tables of markets, and what was read of them. */
class Tables {
  readonly visible = new Map<string, boolean>();
  readonly read: string[][] = [];
  readonly probed: string[][] = [];
  running = 0;
  most = 0;

  add(visible = true): string {
    const marketId = randomUUID();
    this.visible.set(marketId, visible);
    return marketId;
  }

  async markets(marketIds: readonly string[]): Promise<readonly MarketRecord[]> {
    this.read.push([...marketIds]);
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    await new Promise((resolve) => setImmediate(resolve));
    this.running -= 1;
    return marketIds
      .filter((marketId) => this.visible.has(marketId))
      .map((marketId) => ({ marketId, event: { visible: this.visible.get(marketId) } }) as MarketRecord);
  }

  hours(marketIds: readonly string[]): Promise<ReadonlyMap<string, never>> {
    this.probed.push([...marketIds]);
    return Promise.resolve(new Map<string, never>());
  }
}

describe("the recent prices of markets", () => {
  let tables: Tables;
  let markets: RecentMarkets;
  let nowMs: number;

  beforeEach(() => {
    tables = new Tables();
    nowMs = 10_000;
    markets = new RecentMarkets(tables, () => nowMs);
  });

  const idsOf = async (marketIds: readonly string[]): Promise<string[]> =>
    (await markets.of(marketIds)).map(({ market }) => market.marketId);

  it("are read of the visible markets only", async () => {
    const [one, hidden, two] = [tables.add(), tables.add(false), tables.add()];
    expect(await idsOf([two, randomUUID(), hidden, one])).to.deep.equal([two, one]);
    expect(tables.probed).to.deep.equal([[two, one]]);
    expect(await idsOf([randomUUID(), hidden])).to.deep.equal([]);
    expect(tables.probed).to.have.length(1);
  });

  it("are kept for five seconds, however many other ids are asked for", async () => {
    const one = tables.add();
    await markets.of([one]);
    for (let batch = 0; batch < 15; batch += 1)
      await markets.of(Array.from({ length: 2_000 }, () => randomUUID()));
    tables.read.length = 0;
    expect(await idsOf([one])).to.deep.equal([one]);
    expect(tables.read).to.deep.equal([]);
    nowMs += 5_000;
    expect(await idsOf([one])).to.deep.equal([one]);
    expect(tables.read).to.deep.equal([[one]]);
  });

  it("are read one batch at a time, each market once", async () => {
    const [one, two] = [tables.add(), tables.add()];
    const answers = await Promise.all([[one], [two], [one, two], [two]].map(idsOf));
    expect(answers).to.deep.equal([[one], [two], [one, two], [two]]);
    expect(tables.most).to.equal(1);
    expect(tables.read.flat()).to.have.members([one, two]);
  });

  it("are refused while too many ids wait", async () => {
    const many = (): string[] => Array.from({ length: 2_000 }, () => randomUUID());
    const first = markets.of(many());
    const refused = await markets.of([randomUUID()]).catch((error: unknown) => error);
    expect(refused).to.include({ code: "UNAVAILABLE" });
    expect(await first).to.deep.equal([]);
  });
});

describe("the allowance for loads of markets", () => {
  it("has a hundred at once, and ten a second after them", () => {
    let nowMs = 0;
    const loads = new ColdLoads(() => nowMs);
    const taken = (): number => Array.from({ length: 200 }, () => loads.take()).filter(Boolean).length;
    expect(taken()).to.equal(100);
    expect(taken()).to.equal(0);
    nowMs += 1_000;
    expect(taken()).to.equal(10);
    nowMs += 60_000;
    expect(taken()).to.equal(100);
  });
});

import { expect } from "chai";
import { desc } from "drizzle-orm";
import { ledgerOf, marketActor, partitionOf } from "../../../actors/actor.js";
import type { MarketState } from "../../../actors/market/state.js";
import { LedgerRepair } from "../../../db/projection/repair/ledger.js";
import { MarketRepair } from "../../../db/projection/repair/market.js";
import { auditLog } from "../../../db/schema/accounts.js";
import { reconciliations } from "../../../db/schema/wallets.js";
import { reconciledSince } from "../../../db/queries/projected.js";
import { Freshness } from "../../../http/trading/freshness.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { parseEntry } from "../../../stream/log/packing.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { Instance } from "../../../stream/runtime/instance.js";
import { loadState } from "../../../stream/runtime/recovery.js";
import { bitOf } from "../../../stream/ws/channels.js";
import { Replica } from "../../../stream/ws/market/replica.js";
import { orderRequest, placement } from "../../support/exchange/commands.js";
import { dice } from "../exchange.js";
import { type LogServer, memoryServer, redisServer, WentBack } from "./went-back.js";

const BOOK = bitOf("book", "CASH");

/** Trades, keeps a copy of the log, trades on, and lets the log go back to the copy. Trades again. */
async function goBack(exchange: WentBack, { unseen = false } = {}): Promise<void> {
  exchange.startProjector();
  const first = await exchange.createMarket();
  await exchange.createMarket();
  await exchange.fundTraders();
  await exchange.trade(60);
  await exchange.projected();
  await exchange.keepCopy();

  await exchange.trade(60);
  await exchange.settle(first);
  await exchange.createMarket();
  await exchange.trade(20);
  await exchange.projected();
  if (unseen) await exchange.stopProjector();
  await exchange.goBack();
  exchange.markets.pop();
  if (unseen) await exchange.trade(200);
  else await exchange.trade(30);
  if (unseen) exchange.startProjector();
}

describe("a log that went back", () => {
  let server: LogServer;
  let exchange: WentBack | undefined;

  afterEach(async () => {
    await exchange?.stop();
    exchange = undefined;
  });

  async function start(seed: number, created = memoryServer()): Promise<WentBack> {
    server = created;
    exchange = await WentBack.start(server, dice(seed));
    return exchange;
  }

  async function expectTablesOfLog(of: WentBack): Promise<void> {
    await of.projected();
    const { found, expected } = await of.rows();
    expect(found).to.deep.equal(expected);
  }

  it("leaves the tables as the actors are, on Redis", async () => {
    const of = await start(1, await redisServer());
    await goBack(of);
    await expectTablesOfLog(of);

    const reports = of.errors.filter(({ message }) => message.startsWith("the log has lost entries"));
    const recorded = await of.db.select().from(reconciliations);
    expect(reports).to.have.length(recorded.length);
    expect(recorded).to.have.length.above(2);
    const removed = recorded.reduce(
      (sum, row) => sum + Object.values(row.removed).reduce((a, b) => a + b),
      0,
    );
    expect(removed).to.be.above(100);
    const [audited] = await of.db.select().from(auditLog).orderBy(desc(auditLog.auditId));
    expect(audited).to.include({ action: "RECONCILE" });
  });

  it("is noticed when its new entries outnumber the lost ones, on Redis", async () => {
    const of = await start(2, await redisServer());
    await goBack(of, { unseen: true });
    await expectTablesOfLog(of);
  });

  it("is repaired when it goes back to another branch of its history", async () => {
    const of = await start(3);
    await goBack(of);
    await of.projected();
    // The copy is of the first incarnation, and older than the fork.
    await of.goBack();
    await of.trade(20);
    await of.goBack();
    await of.trade(20);
    await expectTablesOfLog(of);
  });

  it("gives no seq twice", async () => {
    const of = await start(4);
    const trader = of.traders[0] ?? "";
    const actor = ledgerOf(trader);
    const seqs = async (): Promise<readonly number[]> => {
      const reply = await of.ledger(trader, { kind: "wallet", wallet: trader });
      if (!reply.ok || reply.kind !== "wallet") throw new Error("no wallet");
      const [head] = await of.log.heads(partitionOf(actor), [actor]);
      return [head?.seq ?? 0, reply.wallet.orders.seq, reply.wallet.positions.seq];
    };
    await of.createMarket();
    await of.fundTraders();
    await of.trade(20);
    await of.keepCopy();
    await of.trade(60);
    const before = await seqs();
    await of.goBack();
    const after = await seqs();
    after.forEach((seq, index) => expect(seq).to.be.above((before[index] ?? 0) + 1_000));
  });

  it("gives a subscriber with an old seq a snapshot, and reloads the replica of a market", async () => {
    const of = await start(5);
    const { marketId } = await of.createMarket();
    await of.fundTraders();
    await of.trade(30);
    await of.keepCopy();
    await of.trade(60);
    const errors: unknown[] = [];
    const open = (): Promise<Replica | undefined> => {
      const load = async (id: string) => {
        const { state, seq } = await loadState(
          { log: of.log, actorOf, logger: silentLogger },
          marketActor(id),
        );
        return { seq, state: state as MarketState };
      };
      return Replica.load({ tail: of.tail, load, onError: (error) => errors.push(error) }, marketId);
    };
    const before = await open();
    const lost = before?.market.seq("book", "CASH") ?? 0;
    before?.close();
    await of.goBack();
    const cut = await open();
    const kept = cut?.market.seq("book", "CASH") ?? 0;
    expect(kept).to.be.within(1, lost - 1);
    await of.trade(80);
    await cut?.catchUp();
    expect(cut?.market.seq("book", "CASH")).to.be.above(lost + 1_000);

    const resumedFrom = async (seq: number): Promise<number> =>
      (await cut?.missed(new Map([[BOOK, seq]])))?.finish().resumed ?? -1;
    for (let seq = kept; seq <= lost + 5; seq += 1)
      expect(await resumedFrom(seq), `since ${seq}`).to.equal(0);
    const latest = cut?.market.seq("book", "CASH") ?? 0;
    expect(await resumedFrom(latest - 1)).to.equal(BOOK);
    expect(errors).to.deep.equal([]);
    cut?.close();
  });

  it("knows since when rows are lost, also when the last entry that is left only refuses", async () => {
    const of = await start(8);
    const market = await of.createMarket();
    await of.fundTraders();
    const trader = of.traders[0] ?? "";
    const actor = ledgerOf(trader);
    const reads = async () => {
      const [head] = await of.log.heads(partitionOf(actor), [actor]);
      return { partition: partitionOf(actor), actor, afterSeq: (head?.seq ?? 0) - 1 };
    };
    const before = Date.now();
    await of.ledger(trader, placement(trader, orderRequest(market, { outcome: 0, price: 400, qty: 1 })));
    await of.ledger(
      trader,
      placement(trader, orderRequest(market, { outcome: 0, price: 400, qty: 900_000 })),
    );
    const [last] = await of.log.readEntries([await reads()], 1);
    const [entry] = last?.entries ?? [];
    if (entry === undefined) throw new Error("no entry");
    expect(parseEntry(actor, entry).batches).to.deep.equal([]);
    const { sinceTs } = await of.journal().historyAfter(actor, entry.seq);
    expect(sinceTs).to.be.within(before, Date.now());
  });

  it("dates a settlement whose correction is lost by its own grade", async () => {
    const of = await start(9);
    of.startProjector();
    const market = await of.createMarket();
    await of.fundTraders();
    await of.trade(20);
    await of.settle(market);
    await of.projected();
    await of.keepCopy();
    await of.correct(market);
    await of.projected();
    await of.goBack();
    await expectTablesOfLog(of);
  });

  it("fails the waits of reads until the rows of its lost entries are removed", async () => {
    const of = await start(7);
    of.startProjector();
    const { marketId } = await of.createMarket();
    await of.fundTraders();
    await of.trade(20);
    await of.projected();
    await of.keepCopy();
    await of.trade(60);
    await of.projected();
    await of.stopProjector();
    const actors = [ledgerOf(of.traders[0] ?? ""), marketActor(marketId)];
    const fresh = (): Promise<readonly boolean[]> => {
      const freshness = new Freshness(of.db, of.tail);
      return Promise.all(actors.map((actor) => freshness.hasReached(actor)));
    };
    expect(await fresh()).to.deep.equal([true, true]);
    await of.goBack();
    expect(await fresh()).to.deep.equal([false, false]);
    of.startProjector();
    await of.projected();
    expect(await fresh()).to.deep.equal([true, true]);
  });

  it("is shown by /readyz", async () => {
    const of = await start(6);
    await goBack(of);
    await of.projected();
    expect(await reconciledSince(of.db, Date.now() - 60_000)).to.be.above(2);
    expect(await reconciledSince(of.db, Date.now() + 60_000)).to.equal(0);
  });

  for (let seed = 10; seed < 16; seed += 1) {
    it(`leaves the tables as the actors are, with seed ${seed}`, async () => {
      const of = await start(seed);
      await goBack(of, { unseen: seed % 2 === 0 });
      await expectTablesOfLog(of);
    });
  }

  describe("with a planted bug", () => {
    const bugs: readonly (readonly [string, () => () => void])[] = [
      ["the rows of a ledger's lost entries stay", () => replace(LedgerRepair.prototype, { remove: none })],
      ["the rows of a market's lost entries stay", () => replace(MarketRepair.prototype, { remove: none })],
      ["the orders, positions and balances stay", () => replace(LedgerRepair.prototype, { reset: nothing })],
      ["the definition and the last prices stay", () => replace(MarketRepair.prototype, { reset: nothing })],
      ["the lineage is not checked", () => replace(Instance.prototype, { adoptLineage: () => undefined })],
    ];

    for (const [name, plant] of bugs) {
      it(`shows it: ${name}`, async () => {
        const of = await start(20);
        const remove = plant();
        try {
          await goBack(of, { unseen: true });
          const differs = await expectTablesOfLog(of).then(
            () => false,
            () => true,
          );
          expect(differs).to.equal(true);
        } finally {
          remove();
        }
      });
    }
  });
});

const none = (): Promise<Record<string, number>> => Promise.resolve({});
const nothing = (): Promise<void> => Promise.resolve();

/** Replaces methods of a class. Returns the function that restores them. */
function replace<Class extends object>(prototype: Class, methods: Partial<Class>): () => void {
  const names = Object.keys(methods) as (keyof Class)[];
  const originals = names.map((name) => [name, prototype[name]] as const);
  Object.assign(prototype, methods);
  return () => {
    for (const [name, original] of originals) prototype[name] = original;
  };
}

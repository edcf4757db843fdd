import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ledgerShardOf, marketActor } from "../../../actors/actor.js";
import type { MarketState } from "../../../actors/market/state.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { loadState } from "../../../stream/runtime/recovery.js";
import { LogTail } from "../../../stream/log/tail.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { bitOf, maskOf } from "../../../stream/ws/channels.js";
import { Replicas } from "../../../stream/ws/market/replicas.js";
import { Wallets } from "../../../stream/ws/wallet/wallets.js";
import {
  createMarket,
  deposit,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";
import { type Json, Mirror, snapshotOf } from "./support/client.js";
import { textsIn } from "./support/encoded.js";
import { ids } from "./support/exchange.js";
import { until } from "../../support/until.js";

const [ann = "", bob = ""] = ids(2);
const ALL = maskOf(["book", "bbo", "trades"], "CASH");

describe("replicas and private feeds on a log", function () {
  this.timeout(20_000);
  const closing: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  it("follow markets and wallets through a change of workers, with contiguous seqs", async () => {
    const store = new MemoryStore();
    const parts = { clock: systemClock, logger: silentLogger };
    const connect = (): MemoryLog => {
      const log = new MemoryLog(store, { clock: systemClock });
      closing.push(() => log.close());
      return log;
    };
    const startWorker = async (id: string): Promise<Worker> => {
      const worker = new Worker({ ...parts, id, log: connect(), actorOf });
      await worker.start();
      return worker;
    };
    const gateway = connect();
    const tail = new LogTail({ ...parts, log: gateway });
    closing.push(() => tail.close());
    const exchange = new LogExchange({ ...parts, log: gateway, newId: randomUUID });
    await exchange.start();
    closing.push(() => exchange.close());

    const definition = marketDefinition();
    const { marketId } = definition;
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const load = async (id: string): Promise<{ seq: number; state: MarketState } | undefined> => {
      const { state, seq } = await loadState({ ...parts, log: gateway, actorOf }, marketActor(id));
      return seq === 0 ? undefined : { seq, state: state as MarketState };
    };
    const replicas = new Replicas({ tail, load, onError });
    closing.push(() => replicas.close());
    const catalog = { market: () => Promise.resolve(definition) };
    const wallets = new Wallets({ tail, exchange, catalog, onError });
    closing.push(() => {
      wallets.close();
      return Promise.resolve();
    });

    const first = await startWorker("first");
    expect(await replicas.acquire(marketId)).to.equal(undefined);
    await exchange.market(marketId, createMarket(definition));
    for (const traderId of [ann, bob]) {
      await exchange.ledger(ledgerShardOf(traderId), deposit(traderId, 10_000_000));
    }
    const place = async (trader: string, outcome: number, price: number): Promise<string> => {
      const order = orderRequest(definition, { outcome, price, qty: 2 });
      await exchange.ledger(ledgerShardOf(trader), placement(trader, order));
      return order.orderId;
    };
    await place(ann, 0, 400);
    const replica = await replicas.acquire(marketId);
    if (replica === undefined) throw new Error("no replica");
    await until(() => replica.market.seq("book", "CASH") === 1);
    const publicSeqs: number[] = [];
    replica.onBatch(({ parts: published }) => {
      for (const part of published) if (part.channel === "book") publicSeqs.push(part.seq);
    });
    const { feed } = await wallets.watch(ann, ann, () => errors.push("lost"));
    const mirror = new Mirror();
    mirror.take({
      snapshot: {},
      orders: snapshotOf(feed, "orders"),
      positions: snapshotOf(feed, "positions"),
    });
    feed.onBatch(({ frame }) => mirror.take(JSON.parse(frame) as Json));

    const resting = await place(ann, 0, 450);
    await place(bob, 1, 550);
    await first.stop();
    const second = await startWorker("second");
    closing.push(() => second.stop());
    const canceled = await place(ann, 0, 300);
    await until(() => mirror.orders.has(canceled));
    const ended = wallets.waitForTerminal(ann, [canceled], 5_000);
    await exchange.ledger(ledgerShardOf(ann), { kind: "cancel", wallet: ann, orderIds: [canceled] });
    expect((await ended).get(canceled)).to.deep.include({ status: "CANCELED" });
    await until(() => feed.seq("orders") === 5 && replica.market.seq("book", "CASH") === 5);

    expect(publicSeqs).to.deep.equal([2, 3, 4, 5]);
    expect([...mirror.orders.values()].map((order) => order["price"])).to.deep.equal(["0.400"]);
    expect(mirror.orders.has(resting)).to.equal(false);
    expect([...mirror.positions.values()].map(({ qty, cost }) => [qty, cost])).to.deep.equal([
      [2, "0.00900"],
    ]);
    const book = await replicas.book(marketId, "CASH");
    expect(book?.orders.map((orders) => orders.map(({ price }) => price))).to.deep.equal([[400], []]);
    const { frames, resumed } = (await replica.missed(new Map([[bitOf("book", "CASH"), 1]]))).finish();
    expect(resumed).to.equal(bitOf("book", "CASH"));
    expect(textsIn(frames)).to.have.length(4);
    await replica.prepareTrades();
    expect(JSON.parse(replica.market.snapshot(ALL, "CASH"))).to.have.nested.property(
      "trades.trades[0].seq",
      1,
    );
    expect(errors).to.deep.equal([]);
  });
});

import { expect } from "chai";
import { marketActor } from "../../../../actors/actor.js";
import type { MarketDelta } from "../../../../actors/market/deltas.js";
import { type Tail, Unavailable } from "../../../../stream/log/ports.js";
import { bitOf } from "../../../../stream/ws/channels.js";
import { Replicas } from "../../../../stream/ws/market/replicas.js";
import type { Resumed } from "../../../../stream/ws/market/resume.js";
import { trader } from "../support/client.js";
import { textsIn } from "../support/encoded.js";
import { TestExchange } from "../support/exchange.js";
import { TRADERS } from "../support/flow.js";
import { until } from "../../../support/until.js";
import { stopwatch } from "../../../support/stopwatch.js";

const BOOK = bitOf("book", "CASH");

describe("replicas", () => {
  const [ann = "", bob = ""] = TRADERS;
  let exchange: TestExchange;
  let replicas: Replicas;
  let errors: unknown[];

  beforeEach(() => {
    exchange = new TestExchange();
    errors = [];
    replicas = new Replicas({
      tail: exchange.tail,
      load: exchange.load,
      onError: (e) => errors.push(e),
      warmMs: 20,
    });
    for (const traderId of [ann, bob]) exchange.fund(traderId);
  });

  afterEach(async () => {
    await replicas.close();
    expect(errors).to.deep.equal([]);
  });

  async function place(
    traderId: string,
    outcomeId: string | undefined,
    price: string,
    qty = 1,
  ): Promise<void> {
    await exchange.place(trader(traderId), [{ outcomeId, price, qty, tif: "GTC" }], false);
    exchange.commit();
  }

  /** Returns the seqs of the book in the frames of a resume. */
  function bookSeqs(resumed: Resumed | undefined, marketId: string): unknown[] {
    type Frame = { readonly delta: Readonly<Record<string, { readonly book: { readonly seq: number } }>> };
    return textsIn(resumed?.frames ?? []).map((frame) => (frame as Frame).delta[marketId]?.book.seq);
  }

  it("return the book as of the last commit of the market", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    await place(ann, outcomes[0]?.outcomeId, "0.400", 7);
    expect(await replicas.book(marketId, "CASH")).to.deep.include({ seq: 1 });
    await place(ann, outcomes[1]?.outcomeId, "0.450", 2);
    const book = await replicas.book(marketId, "CASH");
    expect(book?.seq).to.equal(2);
    expect(book?.orders.map((orders) => orders.map(({ price, qty }) => [price, qty]))).to.deep.equal([
      [[400, 7]],
      [[450, 2]],
    ]);
    expect(await replicas.book(marketId, "COIN")).to.deep.equal({
      seq: 0,
      orders: [[], []],
      hasMore: false,
    });
    expect(await replicas.book("8c5ca0f6-52a2-4d66-a4c0-1d5b6d0f2d55", "CASH")).to.equal(undefined);
  });

  for (const delta of [
    { type: "future", seq: 2 },
    { type: "order", kind: "future", orderId: "o1" },
  ]) {
    it(`report an unknown delta and load the market again: ${JSON.stringify(delta)}`, async () => {
      const { marketId, outcomes } = exchange.createMarket(2);
      const replica = await replicas.acquire(marketId);
      let lost = 0;
      replica?.onLost(() => (lost += 1));
      const published: unknown[] = [];
      replica?.onBatch((batch) => published.push(batch));
      const deltas = [delta as unknown as MarketDelta];
      exchange.tail.commit(marketActor(marketId), [{ ts: 1_000, deltas }]);
      await until(() => lost === 1);
      expect(errors.splice(0).map(String).join()).to.match(/^Error: unexpected value: .*future/);
      expect(published).to.deep.equal([]);
      await place(ann, outcomes[0]?.outcomeId, "0.400");
      await until(() => published.length === 1);
    });
  }

  it("are shared by concurrent users, and closed some time after the last use", async () => {
    const { marketId } = exchange.createMarket(2);
    const [one, two] = await Promise.all([replicas.acquire(marketId), replicas.acquire(marketId)]);
    expect(one).to.equal(two).and.not.equal(undefined);
    expect(exchange.tail.followers).to.equal(1);
    replicas.release(marketId);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(exchange.tail.followers).to.equal(1);
    replicas.release(marketId);
    expect(await replicas.acquire(marketId)).to.equal(one);
    replicas.release(marketId);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(exchange.tail.followers).to.equal(0);
    expect(await replicas.acquire(marketId)).to.not.equal(one);
  });

  it("load the trades from before they were created", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    for (let i = 0; i < 60; i += 1) {
      await place(ann, outcomes[0]?.outcomeId, "0.500");
      await place(bob, outcomes[1]?.outcomeId, "0.500");
    }
    const replica = await replicas.acquire(marketId);
    await replica?.prepareTrades();
    await place(ann, outcomes[0]?.outcomeId, "0.500");
    await place(bob, outcomes[1]?.outcomeId, "0.500");
    await replica?.waitForSeq(exchange.tail.last(marketActor(marketId)));
    const { trades } = JSON.parse(replica?.market.snapshot(bitOf("trades", "CASH"), "CASH") ?? "{}") as {
      trades: { seq: number; trades: { seq: number }[] };
    };
    expect(trades.seq).to.equal(61);
    expect(trades.trades.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 50 }, (_, i) => 12 + i));
  });

  it("load the trades again for the next reader when the log could not be read", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    await place(ann, outcomes[0]?.outcomeId, "0.400");
    await place(bob, outcomes[1]?.outcomeId, "0.600");
    let failures = 1;
    const tail: Tail = {
      follow: (actor, afterSeq, onEntries, onGap) => exchange.tail.follow(actor, afterSeq, onEntries, onGap),
      head: (actor) => exchange.tail.head(actor),
      read: (actor, afterSeq, throughSeq) => {
        failures -= 1;
        if (failures >= 0) return Promise.reject(new Unavailable("the log is away"));
        return exchange.tail.read(actor, afterSeq, throughSeq);
      },
    };
    const own = new Replicas({ tail, load: exchange.load, onError: (e) => errors.push(e) });
    const replica = await own.acquire(marketId);
    const failure: unknown = await replica?.prepareTrades().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);
    await replica?.prepareTrades();
    expect(
      JSON.parse(replica?.market.snapshot(bitOf("trades", "CASH"), "CASH") ?? ""),
    ).to.have.nested.property("trades.trades[0].seq", 1);
    own.release(marketId);
    await own.close();
  });

  it("resume every batch since a seq, and nothing when some of them were trimmed", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    for (let i = 0; i < 5; i += 1) await place(ann, outcomes[0]?.outcomeId, "0.400");
    const replica = await replicas.acquire(marketId);
    const missed = await replica?.missed(new Map([[BOOK, 2]]));
    await place(ann, outcomes[0]?.outcomeId, "0.400");
    await replica?.waitForSeq(exchange.tail.last(marketActor(marketId)));
    const resumed = missed?.finish();
    expect(resumed?.resumed).to.equal(BOOK);
    expect(bookSeqs(resumed, marketId)).to.deep.equal([3, 4, 5, 6]);
    const ahead = (await replica?.missed(new Map([[BOOK, 99]])))?.finish();
    expect(ahead).to.deep.equal({ resumed: 0, frames: [] });
    const upToDate = (await replica?.missed(new Map([[BOOK, 6]])))?.finish();
    expect(upToDate).to.deep.equal({ resumed: BOOK, frames: [] });
    exchange.tail.trim(marketActor(marketId), 5);
    const trimmed = (await replica?.missed(new Map([[BOOK, 2]])))?.finish();
    expect(trimmed).to.deep.equal({ resumed: 0, frames: [] });
  });

  it("resume the last 10,000 batches", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
    for (let i = 0; i < 200; i += 1) {
      // A wallet has at most 1,000 open orders in a market.
      const maker = `maker-${Math.floor(i / 19)}`;
      if (i % 19 === 0) exchange.fund(maker);
      await exchange.place(trader(maker), Array<object>(51).fill(order), false);
      exchange.commit();
    }
    const replica = await replicas.acquire(marketId);
    const missed = await replica?.missed(new Map([[BOOK, 200]]));
    for (let i = 0; i < 5; i += 1) {
      await exchange.place(trader(bob), Array<object>(102).fill(order), false);
      exchange.commit();
    }
    await replica?.waitForSeq(exchange.tail.last(marketActor(marketId)));
    let slices = 0;
    await missed?.prepare({
      piece: (piece) => {
        slices += 1;
        return Promise.resolve(piece());
      },
    });
    expect(slices).to.equal(3);
    await place(ann, outcomes[0]?.outcomeId, "0.450");
    await replica?.waitForSeq(exchange.tail.last(marketActor(marketId)));
    const resumed = missed?.finish();
    expect(resumed?.resumed).to.equal(BOOK);
    expect(bookSeqs(resumed, marketId)).to.deep.equal(Array.from({ length: 10_511 }, (_, i) => 201 + i));
  }).timeout(20_000);

  it("resume the channels of which no batch was trimmed, and not the others", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    for (let i = 0; i < 30; i += 1) await place(ann, outcomes[0]?.outcomeId, "0.400");
    const trimmed = exchange.tail.last(marketActor(marketId)) - 1;
    await place(bob, outcomes[1]?.outcomeId, "0.600");
    const replica = await replicas.acquire(marketId);
    exchange.tail.trim(marketActor(marketId), trimmed);
    const since = new Map([
      [BOOK, 0],
      [bitOf("trades", "CASH"), 0],
    ]);
    const resumed = (await replica?.missed(since))?.finish();
    expect(resumed?.resumed).to.equal(bitOf("trades", "CASH"));
    const [frame, ...others] = textsIn(resumed?.frames ?? []) as { delta: Record<string, object> }[];
    expect(others).to.deep.equal([]);
    expect(Object.keys(frame?.delta[marketId] ?? {})).to.deep.equal(["eventId", "trades"]);
  });

  it("read nothing back for a seq that the market has not reached", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    for (let i = 0; i < 3; i += 1) await place(ann, outcomes[0]?.outcomeId, "0.400");
    const replica = await replicas.acquire(marketId);
    const since = new Map([
      [BOOK, 99],
      [bitOf("bbo", "CASH"), 1],
    ]);
    const before = exchange.tail.reads;
    const resumed = (await replica?.missed(new Map([[BOOK, 99]])))?.finish();
    expect(resumed).to.deep.equal({ resumed: 0, frames: [] });
    expect(exchange.tail.reads).to.equal(before);
    expect((await replica?.missed(since))?.finish().resumed).to.equal(bitOf("bbo", "CASH"));
    expect(exchange.tail.reads).to.equal(before + 1);
  });

  it("reload the state when deltas were trimmed unread", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    const replica = await replicas.acquire(marketId);
    let received = 0;
    replica?.onBatch(
      ({ parts }) => (received += parts.filter(({ channel }) => channel === "lifecycle").length),
    );
    exchange.tail.trim(marketActor(marketId), 99);
    for (let i = 0; i < 3; i += 1) {
      exchange.operate(marketId, { kind: "lifecycle", actions: ["pause"] });
      exchange.operate(marketId, { kind: "lifecycle", actions: ["resume"] });
    }
    exchange.commit();
    exchange.tail.trim(marketActor(marketId), 99);
    await place(ann, outcomes[0]?.outcomeId, "0.400", 3);
    await replica?.waitForSeq(exchange.tail.last(marketActor(marketId)));
    expect((await replicas.book(marketId, "CASH"))?.orders[0]?.map(({ qty }) => qty)).to.deep.equal([3]);
    expect(received).to.equal(0);
    expect(replica?.market.seq("lifecycle", "CASH")).to.equal(7);
  });

  /** Tail whose deliveries stop while it is held; `gap` is what the log calls when entries are gone. */
  function heldTail(): { held: boolean; gap: () => void; headLess: number; readonly tail: Tail } {
    const held = {
      held: false,
      headLess: 0,
      gap: () => expect.fail("nobody follows the market"),
      tail: {
        follow: (actor, afterSeq, onEntries, onGap) => {
          held.gap = onGap;
          const take: typeof onEntries = (entries) => (held.held ? undefined : onEntries(entries));
          return exchange.tail.follow(actor, afterSeq, take, onGap);
        },
        read: (actor, afterSeq, throughSeq) => exchange.tail.read(actor, afterSeq, throughSeq),
        head: async (actor) => (await exchange.tail.head(actor)) - held.headLess,
      },
    } as ReturnType<typeof heldTail>;
    return held;
  }

  it("refuse a book that is behind the log, and find what a reload brings", async () => {
    const log = heldTail();
    const own = new Replicas({ tail: log.tail, load: exchange.load, onError: (e) => errors.push(e) });
    const { marketId, outcomes } = exchange.createMarket(2);
    await own.book(marketId, "CASH");
    log.held = true;
    await place(ann, outcomes[0]?.outcomeId, "0.400", 7);
    const failure: unknown = await own.book(marketId, "CASH").catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);

    const elapsedMs = stopwatch();
    const book = own.book(marketId, "CASH");
    log.gap();
    expect((await book)?.seq).to.equal(1);
    expect(elapsedMs()).to.be.below(900);
    await own.close();
  });

  it("resume nothing when the state was loaded again meanwhile", async () => {
    const log = heldTail();
    const own = new Replicas({ tail: log.tail, load: exchange.load, onError: (e) => errors.push(e) });
    const { marketId, outcomes } = exchange.createMarket(2);
    for (let i = 0; i < 3; i += 1) await place(ann, outcomes[0]?.outcomeId, "0.400");
    const replica = await own.acquire(marketId);
    const missed = await replica?.missed(new Map([[BOOK, 1]]));
    log.held = true;
    await place(ann, outcomes[0]?.outcomeId, "0.400");
    log.held = false;
    log.gap();
    await until(() => replica?.market.seq("book", "CASH") === 4);
    expect(missed?.finish()).to.deep.equal({ resumed: 0, frames: [] });
    await own.close();
  });

  it("load a market again whose last entries a crash of the log has undone", async () => {
    const log = heldTail();
    let loads = 0;
    const load: typeof exchange.load = (marketId) => {
      loads += 1;
      return exchange.load(marketId);
    };
    const own = new Replicas({ tail: log.tail, load, onError: (e) => errors.push(e) });
    const { marketId } = exchange.createMarket(2);
    await own.book(marketId, "CASH");
    log.headLess = 1;
    await own.book(marketId, "CASH");
    expect(loads).to.equal(2);
    await own.close();
  });
});

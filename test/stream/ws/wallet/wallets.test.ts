import { expect } from "chai";
import fc from "fast-check";
import { ledgerActor, ledgerShardOf } from "../../../../actors/actor.js";
import type { LedgerDelta } from "../../../../actors/ledger/deltas.js";
import type { Tail } from "../../../../stream/log/ports.js";
import type { PrivateChannel } from "../../../../stream/ws/channels.js";
import { type WatchedWallet, Wallets } from "../../../../stream/ws/wallet/wallets.js";
import type { PrivateBatch } from "../../../../stream/ws/wallet/fold.js";
import { type Json, Mirror, snapshotOf, trader } from "../support/client.js";
import { framesIn } from "../support/encoded.js";
import { TestExchange } from "../support/exchange.js";
import { flow, play, take, TRADERS } from "../support/flow.js";
import { randomOf } from "../support/random.js";
import { until } from "../../../support/until.js";

const [ann = "", bob = ""] = TRADERS;
/** Pages in which a wallet of the tests is read. */
const PAGES = 3;

function isPage(part: unknown): part is { readonly page: number; readonly of: number } {
  return typeof part === "object";
}

function walletsOf(exchange: TestExchange, errors: unknown[] = [], warmMs?: number): Wallets {
  const onError = (error: unknown): number => errors.push(error);
  return new Wallets({ tail: exchange.tail, exchange, catalog: exchange, onError, warmMs });
}

/** Returns the placing of an order for one contract, which the same order on the other outcome fills. */
function placing(exchange: TestExchange, outcomes: readonly { readonly outcomeId: string }[]) {
  return (traderId: string, outcome: number): ReturnType<TestExchange["place"]> => {
    const order = { outcomeId: outcomes[outcome]?.outcomeId, price: "0.500", qty: 1, tif: "GTC" };
    return exchange.place(trader(traderId), [order], false);
  };
}

/** Orders and positions that a mirror should hold, read from the ledger itself. */
function truth(
  exchange: TestExchange,
  traderId: string,
): { orders: [string, number][]; positions: number[] } {
  const { orders, positions } = exchange.wallet(traderId);
  return {
    orders: orders.open
      .filter(({ status }) => status === "OPEN")
      .map(({ orderId, qty }): [string, number] => [orderId, qty])
      .sort(),
    positions: positions.positions.map(({ qty }) => qty).sort(),
  };
}

function held(mirror: Mirror): { orders: [string, number][]; positions: number[] } {
  return {
    orders: [...mirror.orders].map(([id, order]): [string, number] => [id, order["qty"] as number]).sort(),
    positions: [...mirror.positions.values()].map((position) => position["qty"] as number).sort(),
  };
}

function missedTexts(watched: WatchedWallet, channel: PrivateChannel): string[] | undefined {
  const missed = watched.missed(channel);
  return missed && [...framesIn(missed.past), ...missed.kept.map(({ frame }) => frame)];
}

describe("private feeds", () => {
  for (const delta of [
    { type: "future", wallet: ann },
    { type: "order", kind: "future", wallet: ann, seq: 2, orderId: "o1", marketId: "m1" },
  ]) {
    it(`end at an unknown delta instead of skipping it: ${JSON.stringify(delta)}`, async () => {
      const errors: unknown[] = [];
      const exchange = new TestExchange();
      exchange.fund(ann);
      const wallets = walletsOf(exchange, errors);
      let lost = 0;
      await wallets.watch(ann, ann, () => (lost += 1));
      const deltas = [delta as unknown as LedgerDelta];
      exchange.tail.commit(ledgerActor(ledgerShardOf(ann)), [{ ts: 1_000, deltas }]);
      await until(() => lost === 1);
      expect(errors.map(String)).to.have.length(1);
      expect(String(errors[0])).to.match(/^Error: unexpected value: .*future/);
      const again = await wallets.watch(ann, ann, () => undefined);
      expect(snapshotOf(again.feed, "orders")).to.deep.equal({ seq: 0, open: [] });
      wallets.close();
    });
  }

  it("continue a snapshot with contiguous deltas, whenever they are watched", async () => {
    await fc.assert(
      fc.asyncProperty(flow, fc.nat(40), fc.infiniteStream(fc.nat(1_000)), async (steps, from, stream) => {
        const exchange = new TestExchange(randomOf(stream));
        const { marketId } = exchange.createMarket(2);
        const wallets = walletsOf(exchange);
        await play(exchange, marketId, steps.slice(0, from));
        const mirror = new Mirror();
        const watched = wallets.watch(ann, ann, () => expect.fail("nothing was lost"));
        const begun = watched.then(({ feed }) => {
          mirror.take({
            snapshot: {},
            orders: snapshotOf(feed, "orders"),
            positions: snapshotOf(feed, "positions"),
          });
          feed.onBatch(({ frame }) => mirror.take(JSON.parse(frame) as Json));
          return feed;
        });
        for (const step of steps.slice(from)) await take(exchange, marketId, step);
        const feed = await begun;
        exchange.commit();
        const { orders, positions } = exchange.wallet(ann);
        await until(() => feed.seq("orders") === orders.seq && feed.seq("positions") === positions.seq);
        expect(held(mirror)).to.deep.equal(truth(exchange, ann));
        const late = await wallets.watch(ann, ann, () => undefined);
        expect(late.feed).to.equal(feed);
        const second = new Mirror();
        second.take({
          snapshot: {},
          orders: snapshotOf(feed, "orders"),
          positions: snapshotOf(feed, "positions"),
        });
        expect(held(second)).to.deep.equal(truth(exchange, ann));
        wallets.close();
      }),
      { numRuns: 40 },
    );
  });

  it("continue a wallet that is read in pages while it trades", async () => {
    let changed = 0;
    await fc.assert(
      fc.asyncProperty(flow, fc.nat(30), fc.infiniteStream(fc.nat(1_000)), async (steps, from, stream) => {
        const exchange = new TestExchange(randomOf(stream));
        const { marketId } = exchange.createMarket(2);
        await play(exchange, marketId, steps.slice(0, from));
        const later = steps.slice(from);
        const wallets = new Wallets({
          tail: exchange.tail,
          catalog: exchange,
          onError: () => expect.fail("nothing fails"),
          exchange: {
            /** Answers as a ledger whose pages are small, and trades between the pages. */
            async ledger(shard, command) {
              const step = later.shift();
              if (step !== undefined) await take(exchange, marketId, step);
              const isFirst = command.kind === "wallet" && isPage(command.part) && command.part.of < PAGES;
              if (!isFirst) return exchange.ledger(shard, command);
              const reply = await exchange.ledger(shard, { ...command, part: "balances" });
              if (!reply.ok || reply.kind !== "wallet") throw new Error("a ledger has no balances");
              return { ...reply, wallet: { ...reply.wallet, pages: PAGES } };
            },
          },
        });
        const commits = setInterval(() => exchange.commit(), 1);
        const { feed } = await wallets.watch(ann, ann, () => expect.fail("nothing was lost"));
        clearInterval(commits);
        exchange.commit();
        if (feed.seq("orders") > 0) changed += 1;
        const { orders, positions } = exchange.wallet(ann);
        await until(() => feed.seq("orders") === orders.seq && feed.seq("positions") === positions.seq);
        const mirror = new Mirror();
        mirror.take({
          snapshot: {},
          orders: snapshotOf(feed, "orders"),
          positions: snapshotOf(feed, "positions"),
        });
        expect(held(mirror)).to.deep.equal(truth(exchange, ann));
        wallets.close();
      }),
      { numRuns: 60 },
    );
    expect(changed, "the runs in which the wallet had orders").to.be.above(10);
  });

  it("send orders and positions in the shapes of the contract, fills before the end of the order", async () => {
    const exchange = new TestExchange();
    const { marketId, outcomes } = exchange.createMarket(2);
    const [yes = "", no = ""] = outcomes.map(({ outcomeId }) => outcomeId);
    for (const traderId of [ann, bob]) exchange.fund(traderId);
    exchange.fund(ann, "COIN");
    const wallets = walletsOf(exchange);
    const { feed } = await wallets.watch(ann, ann, () => undefined);
    const batches: PrivateBatch[] = [];
    feed.onBatch((batch) => batches.push(batch));
    const clientId = "0d1c6f4e-68c6-4d33-9d22-9d46e3ce25c1";
    await exchange.place(trader(bob), [{ outcomeId: no, price: "0.400", qty: 4, tif: "GTC" }], false);
    await exchange.place(
      trader(ann),
      [{ outcomeId: yes, price: "0.650", qty: 10, tif: "GTC", clientId }],
      false,
    );
    const orderId = exchange.wallet(ann).orders.open[0]?.orderId ?? "";
    exchange.amend(trader(ann), orderId, 5);
    await exchange.cancel(trader(ann), [orderId]);
    await exchange.place(
      trader(ann),
      [{ outcomeId: yes, price: "0.300", qty: 1, tif: "GTC", currency: "COIN" }],
      false,
    );
    await exchange.place(trader(ann), [{ outcomeId: yes, price: "0.200", qty: 1, tif: "IOC" }], false);
    exchange.commit();
    await until(() => feed.seq("orders") === exchange.wallet(ann).orders.seq);

    const open = { kind: "open", orderId, clientId, marketId, outcomeId: yes, price: "0.650", tif: "GTC" };
    const published = batches.map(({ channel, frame }) => {
      const { delta, [channel]: part } = JSON.parse(frame) as { delta: object; [channel: string]: object };
      expect(delta).to.deep.equal({});
      return { channel, ...part } as { channel: string; seq: number; deltas: Json[] };
    });
    const orders = published.filter(({ channel }) => channel === "orders").map(({ deltas }) => deltas);
    const fillId = orders[0]?.[0]?.["fillId"];
    expect(orders[0]).to.deep.equal([
      {
        kind: "fill",
        orderId,
        clientId,
        marketId,
        outcomeId: yes,
        price: "0.600",
        qty: 4,
        remaining: 6,
        fillId,
      },
      { ...open, qty: 6 },
    ]);
    expect(fillId).to.be.a("string");
    expect(orders[1]).to.deep.equal([{ ...open, qty: 5 }]);
    expect(orders[2]).to.deep.equal([{ kind: "cancel", orderId, marketId }]);
    expect(orders[3]?.[0]).to.include({ kind: "open", currency: "COIN", price: "0.300" });
    expect(orders[4]?.[0]).to.include({ kind: "reject", reason: "NO_MATCH" });
    expect(
      published.filter(({ channel }) => channel === "positions").map(({ deltas }) => deltas),
    ).to.deep.equal([[{ marketId, outcomeId: yes, qty: 4, cost: "0.02400" }]]);
    wallets.close();
  });

  it("wait for the catalog and lose nothing", async () => {
    const exchange = new TestExchange();
    exchange.fund(ann);
    const errors: unknown[] = [];
    const wallets = walletsOf(exchange, errors);
    const { feed } = await wallets.watch(ann, ann, () => undefined);
    const { outcomes } = exchange.createMarket(2);
    exchange.catalogFailures = 2;
    const seqs: number[] = [];
    feed.onBatch(({ seq }) => seqs.push(seq));
    for (let i = 0; i < 3; i += 1) {
      await exchange.place(
        trader(ann),
        [{ outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" }],
        false,
      );
    }
    exchange.commit();
    await until(() => seqs.length === 3);
    expect(seqs).to.deep.equal([1, 2, 3]);
    expect(errors).to.have.length(2);
    wallets.close();
  });

  it("return the batches since a seq, or undefined when some are no longer kept", async () => {
    const exchange = new TestExchange();
    exchange.fund(ann);
    const { outcomes } = exchange.createMarket(2);
    const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
    await exchange.place(trader(ann), [order], false);
    exchange.commit();
    const wallets = walletsOf(exchange);
    const { feed } = await wallets.watch(ann, ann, () => undefined);
    for (let i = 0; i < 3; i += 1) await exchange.place(trader(ann), [order], false);
    exchange.commit();
    await until(() => feed.seq("orders") === 4);
    expect(feed.since("orders", 2)?.map(({ seq }) => seq)).to.deep.equal([3, 4]);
    expect(feed.since("orders", 4)).to.deep.equal([]);
    expect(feed.since("orders", 0)).to.equal(undefined);
    expect(feed.since("orders", 5)).to.equal(undefined);
    wallets.close();
  });

  it("return to another process every batch since any seq, in the same bytes, from the log of the ledger", async () => {
    await fc.assert(
      fc.asyncProperty(
        flow,
        fc.nat(60),
        fc.nat(60),
        fc.infiniteStream(fc.nat(1_000)),
        async (steps, a, b, stream) => {
          const exchange = new TestExchange(randomOf(stream));
          const { marketId } = exchange.createMarket(2);
          const [first, second] = [walletsOf(exchange), walletsOf(exchange)];
          const { feed } = await first.watch(ann, ann, () => undefined);
          const published: Record<string, string[]> = { orders: [], positions: [] };
          feed.onBatch(({ channel, frame }) => published[channel]?.push(frame));
          await play(exchange, marketId, steps);
          exchange.commit();
          const { orders, positions } = exchange.wallet(ann);
          await until(() => feed.seq("orders") === orders.seq && feed.seq("positions") === positions.seq);
          const since = { orders: a % (orders.seq + 1), positions: b % (positions.seq + 1) };
          const watched = await second.watch(ann, ann, () => undefined, since);
          for (const channel of ["orders", "positions"] as const) {
            const frames = missedTexts(watched, channel);
            expect(frames, `${channel} after ${since[channel]}`).to.deep.equal(
              published[channel]?.slice(since[channel]),
            );
          }
          const ahead = { orders: orders.seq + 1, positions: positions.seq + 1 };
          const early = await second.watch(ann, ann, () => undefined, ahead);
          for (const channel of ["orders", "positions"] as const)
            expect(early.missed(channel)).to.equal(undefined);
          first.close();
          second.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  for (const [catchesUp, expected] of [
    [true, [1, 2, 3, 4]],
    [false, undefined],
  ] as const) {
    it(`return what the log has more than their feed if the feed ${catchesUp ? "reaches it" : "does not reach it"}`, async () => {
      const exchange = new TestExchange();
      exchange.fund(ann);
      const { outcomes } = exchange.createMarket(2);
      const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
      const place = async (): Promise<void> => {
        await exchange.place(trader(ann), [order, order], false);
        exchange.commit();
      };
      await place();
      const held: (() => void)[] = [];
      let isHeld = false;
      const tail: Tail = {
        follow: (actor, afterSeq, onEntries, onGap) =>
          exchange.tail.follow(
            actor,
            afterSeq,
            (entries: Parameters<typeof onEntries>[0]) => {
              if (isHeld) held.push(() => onEntries(entries));
              else onEntries(entries);
            },
            onGap,
          ),
        head: (actor) => exchange.tail.head(actor),
        read: (actor, afterSeq, throughSeq) => exchange.tail.read(actor, afterSeq, throughSeq),
      };
      const wallets = new Wallets({ tail, exchange, catalog: exchange, onError: () => undefined });
      const { feed } = await wallets.watch(ann, ann, () => undefined);
      isHeld = true;
      await place();
      await until(() => held.length > 0);
      const watching = wallets.watch(ann, ann, () => undefined, { orders: 0 });
      if (catchesUp) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        isHeld = false;
        for (const deliver of held) deliver();
      }
      const seqs = missedTexts(await watching, "orders")?.map(
        (text) => (JSON.parse(text) as { orders: { seq: number } }).orders.seq,
      );
      expect(seqs).to.deep.equal(expected);
      expect(feed.seq("orders")).to.equal(catchesUp ? 4 : 2);
      wallets.close();
    });
  }

  it("return no incomplete list of missed batches to another process", async () => {
    const exchange = new TestExchange();
    const { outcomes } = exchange.createMarket(2);
    exchange.fund(ann);
    const place = (tif: "GTC" | "IOC"): Promise<unknown> =>
      exchange.place(
        trader(ann),
        [{ outcomeId: outcomes[0]?.outcomeId ?? "", price: "0.300", qty: 1, tif }],
        false,
      );
    const entries: number[] = [];
    for (const tif of ["GTC", "IOC", "GTC"] as const) {
      await place(tif);
      exchange.commit();
      entries.push(exchange.tail.last(ledgerActor(ledgerShardOf(ann))));
    }
    const { seq } = exchange.wallet(ann).orders;
    expect(seq).to.equal(3);
    exchange.tail.trim(ledgerActor(ledgerShardOf(ann)), (entries[0] ?? 0) + 1);
    const wallets = walletsOf(exchange);
    const watched = await wallets.watch(ann, ann, () => undefined, { orders: 0 });
    expect(watched.missed("orders")).to.equal(undefined);
    const later = await wallets.watch(ann, ann, () => undefined, { orders: 1 });
    expect(missedTexts(later, "orders")).to.have.length(2);
    wallets.close();
  });

  it("call onLost when deltas of their ledger are lost, and start again for the next watcher", async () => {
    const exchange = new TestExchange();
    exchange.fund(ann);
    const { outcomes } = exchange.createMarket(2);
    const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
    const errors: unknown[] = [];
    const wallets = walletsOf(exchange, errors);
    let lost = 0;
    const first = await wallets.watch(ann, ann, () => (lost += 1));
    const shard = ledgerActor(ledgerShardOf(ann));
    await exchange.place(trader(ann), [order], false);
    exchange.commit();
    for (let i = 0; i < 3; i += 1) {
      exchange.fund(ann);
      exchange.commit();
      exchange.tail.trim(shard, 99);
    }
    await until(() => lost === 1 && errors.length === 1);
    first.stop();
    const second = await wallets.watch(ann, ann, () => undefined);
    expect(second.feed).to.not.equal(first.feed);
    expect(snapshotOf(second.feed, "orders")).to.have.property("seq", 1);
    wallets.close();
  });

  it("follow the ledgers of the wallets that are served, and no others", async () => {
    const exchange = new TestExchange();
    const { tail } = exchange;
    exchange.fund(ann);
    const wallets = walletsOf(exchange, [], 50);
    expect(tail.followed).to.deep.equal([]);
    const ledger = ledgerActor(ledgerShardOf(ann));
    const first = await wallets.watch(ann, ann, () => undefined);
    const second = await wallets.watch(ann, ann, () => undefined);
    expect(tail.followed).to.deep.equal([ledger]);
    first.stop();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(tail.followed, "while one watcher is left").to.deep.equal([ledger]);
    second.stop();
    await until(() => tail.followed.length === 0);
    const again = await wallets.watch(ann, ann, () => undefined);
    expect(tail.followed).to.deep.equal([ledger]);
    again.stop();
    wallets.close();
    expect(tail.followed).to.deep.equal([]);
  });

  it("miss nothing of a ledger that is committed to while it begins to be followed", async () => {
    const exchange = new TestExchange();
    exchange.fund(ann);
    const { outcomes } = exchange.createMarket(2);
    const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
    const wallets = walletsOf(exchange);
    const watched = wallets.watch(ann, ann, () => expect.fail("nothing was lost"));
    for (let i = 0; i < 5; i += 1) {
      await exchange.place(trader(ann), [order], false);
      exchange.commit();
    }
    const { feed } = await watched;
    await until(() => feed.seq("orders") === exchange.wallet(ann).orders.seq);
    expect(feed.orders).to.have.length(5);
    wallets.close();
  });

  it("go on with a cancel when its ledger cannot be followed", async () => {
    const exchange = new TestExchange();
    const errors: unknown[] = [];
    const tail = {
      follow: () => expect.fail("the ledger has no position"),
      read: () => expect.fail("the ledger has no position"),
      head: () => Promise.reject(new Error("unreachable")),
    };
    const onError = (error: unknown): number => errors.push(error);
    const wallets = new Wallets({ tail, exchange, catalog: exchange, onError });
    const unfollow = await wallets.followOrders(ann);
    expect(String(errors.at(-1))).to.include("cannot be read");
    unfollow();
    const waited = wallets.watch(ann, ann, () => undefined).then(() => "watched", String);
    expect(await waited).to.include("Unavailable");
    wallets.close();
  });

  it("report terminal orders from before and during a wait, and leave out those that are not terminal in time", async () => {
    const exchange = new TestExchange();
    exchange.fund(ann);
    exchange.fund(bob);
    const { outcomes } = exchange.createMarket(2);
    const order = placing(exchange, outcomes);
    const wallets = walletsOf(exchange);
    await order(ann, 0);
    await order(ann, 0);
    await order(ann, 0);
    const [filled = "", canceled = "", resting = ""] = exchange
      .wallet(ann)
      .orders.open.map(({ orderId }) => orderId);
    const unfollow = await wallets.followOrders(ann);
    const early = wallets.waitForTerminal(ann, [filled, canceled], 2_000);
    await order(bob, 1);
    await exchange.cancel(trader(ann), [canceled]);
    exchange.commit();
    const ended = [
      { orderId: filled, status: "FILLED" },
      { orderId: canceled, status: "CANCELED", reason: undefined },
    ];
    expect([...(await early).values()]).to.have.deep.members(ended);
    expect([
      ...(await wallets.waitForTerminal(ann, [filled, canceled], 2_000)).values(),
    ]).to.have.deep.members(ended);
    const some = await wallets.waitForTerminal(ann, [filled, resting], 30);
    expect([...some.keys()]).to.deep.equal([filled]);
    expect(
      [...(await wallets.waitForTerminal(bob, [filled], 10)).keys()],
      "for another wallet",
    ).to.deep.equal([]);
    unfollow();
    wallets.close();
  });

  for (const [loss, lose] of [
    [
      "deltas of its ledger are lost",
      (exchange: TestExchange) => exchange.tail.trim(ledgerActor(ledgerShardOf(ann)), 99),
    ],
    ["its ledger is no longer followed", undefined],
  ] as const) {
    it(`know an order as filled until ${loss}`, async () => {
      const exchange = new TestExchange();
      exchange.fund(ann);
      exchange.fund(bob);
      const { outcomes } = exchange.createMarket(2);
      const place = placing(exchange, outcomes);
      const wallets = walletsOf(exchange, [], 50);
      const unfollow = await wallets.followOrders(ann);
      await place(ann, 0);
      const [{ orderId } = { orderId: "" }] = exchange.wallet(ann).orders.open;
      await place(bob, 1);
      exchange.commit();
      await until(() => wallets.wasFilled(ann, ann, orderId));
      expect(wallets.wasFilled(bob, bob, orderId)).to.equal(false);
      if (lose === undefined) unfollow();
      for (let i = 0; lose !== undefined && i < 3; i += 1) {
        exchange.fund(ann);
        exchange.commit();
        lose(exchange);
      }
      await until(() => !wallets.wasFilled(ann, ann, orderId));
      wallets.close();
    });
  }
});

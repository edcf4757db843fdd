import { expect } from "chai";
import fc from "fast-check";
import { digestOf, isFixed, keyOf, textOf } from "../../../actors/ledger/ids/digest.js";
import { IdFilter } from "../../../actors/ledger/ids/filter.js";
import { KnownIds } from "../../../actors/ledger/ids/known.js";
import { RecentIds } from "../../../actors/ledger/ids/recent.js";
import { marketDefinition, orderRequest } from "../../support/exchange/commands.js";

const MIB = 1_024 * 1_024;

function filled(filter: IdFilter, ids: number): IdFilter {
  for (let n = 0; n < ids; n += 1) filter.add(keyOf("wallet", `id ${n}`));
  return filter;
}

/** Returns the share of new ids that are maybe known. */
function falsePositives(filter: IdFilter, probes = 20_000): number {
  let maybe = 0;
  for (let n = 0; n < probes; n += 1) if (filter.mayHave(keyOf("wallet", `new ${n}`))) maybe += 1;
  return maybe / probes;
}

describe("a digest", () => {
  it("has 22 characters, whatever the size of the order, and differs when a field does", () => {
    const definition = marketDefinition();
    const order = { orderId: "a", outcome: 0, price: 500, qty: 10, notAfter: 1_790_000_000_000 };
    const request = orderRequest(definition, order);
    expect(digestOf(request)).to.match(/^[\w-]{22}$/);
    expect(isFixed(digestOf(request))).to.equal(true);
    expect(isFixed(textOf(request))).to.equal(false);
    expect(digestOf(orderRequest(definition, { ...order, orderId: "b" }))).to.equal(digestOf(request));
    for (const change of [{ price: 501 }, { qty: 11 }, { outcome: 1 }, { groupId: "g" }, { notAfter: 1 }])
      expect(digestOf(orderRequest(definition, { ...order, ...change }))).to.not.equal(digestOf(request));
  });
});

describe("a filter of ids", () => {
  it("has every id that was added, also after a restore, and few others", function () {
    this.timeout(20_000);
    for (const ids of [0, 1, 5_000, 40_000, 150_000]) {
      const filter = filled(new IdFilter(4 * MIB), ids);
      const restored = new IdFilter(4 * MIB);
      for (const page of filter.pages()) restored.addPage(page);
      for (const known of [filter, restored]) {
        expect(known.ids).to.equal(ids);
        for (let n = 0; n < ids; n += 7) expect(known.mayHave(keyOf("wallet", `id ${n}`))).to.equal(true);
        expect(falsePositives(known)).to.be.below(0.002);
      }
      restored.add(keyOf("wallet", "one more"));
      filter.add(keyOf("wallet", "one more"));
      expect([...restored.pages()]).to.deep.equal([...filter.pages()]);
    }
  });

  it("stops growing at its limit and becomes less selective, and still has every id", function () {
    this.timeout(20_000);
    const filter = filled(new IdFilter(MIB / 16), 100_000);
    expect(filter.bytes).to.equal(MIB / 16);
    expect(falsePositives(filter)).to.be.above(0.01);
    for (let n = 0; n < 100_000; n += 11) expect(filter.mayHave(keyOf("wallet", `id ${n}`))).to.equal(true);
  });

  it("begins with room for as many ids as the filter before it had, and an eighth more", () => {
    const chain = (expected: number, ids: number): number[] => {
      const filter = filled(new IdFilter(4 * MIB, expected), ids);
      return [...new Map([...filter.pages()].map(([index, bytes]) => [index, bytes / 1_024])).values()];
    };
    expect(chain(0, 40_000)).to.deep.equal([16, 16, 32, 64]);
    expect(chain(40_000, 44_000)).to.deep.equal([112]);
    expect(chain(40_000, 50_000)).to.deep.equal([112, 112]);
  });

  it("takes up to 3 bytes of memory an id of an hour like the one before it", function () {
    this.timeout(20_000);
    for (const ids of [80_000, 150_000, 300_000]) {
      const { bytes } = filled(new IdFilter(4 * MIB, ids), ids);
      expect(bytes / ids).to.be.within(2.5, 3);
    }
  });
});

describe("the filters of a ledger's ids", () => {
  it("report their memory, and the room of their pages in two snapshots that share what has not changed", () => {
    const known = new KnownIds();
    expect(known.filterBytes).to.deep.equal({ memory: 0, snapshots: 0 });
    // More than the 13,106 ids of the first filters of 16 KiB each, so that a third one of 32 KiB follows.
    for (let n = 0; n < 14_000; n += 1) known.addOrder("wallet", `id ${n}`, { orderId: "o", digest: "d" }, 0);
    expect(known.filterBytes).to.deep.equal({ memory: 64 * 1_024, snapshots: 1.35 * (64 + 32) * 1_024 });
  });

  it("fill their pages with little more than base64, as the allocator of Redis rounds them", () => {
    const known = new KnownIds();
    for (let n = 0; n < 60_000; n += 1) known.addOrder("wallet", `id ${n}`, { orderId: "o", digest: "d" }, 0);
    const pages = [...known.parts()].filter(([kind]) => kind === "filter");
    const longest = Math.max(...pages.map((page) => JSON.stringify(page).length));
    expect(longest).to.be.within(40_000, 40 * 1_024 - 50);
  });
});

describe("the recent ids", () => {
  it("are those of a plain map, minute by minute, also after a restore", () => {
    const steps = fc.array(
      fc.record({
        after: fc.integer({ min: 0, max: 40_000 }),
        count: fc.integer({ min: 0, max: 300 }),
        keep: fc.integer({ min: 0, max: 200_000 }),
        restore: fc.boolean(),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(steps, (taken) => {
        let ids = new RecentIds();
        const model = new Map<string, { orderId: string; digest: string; ts: number }>();
        let ts = 1_700_000_000_000;
        let added = 0;
        for (const { after, count, keep, restore } of taken) {
          ts += after;
          for (let n = 0; n < count; n += 1) {
            const first = {
              orderId: `order-${added}`,
              digest: String(added).padStart(22, "d"),
            };
            added += 1;
            ids.add(keyOf("w", first.orderId), first, ts);
            model.set(first.orderId, { ...first, ts });
          }
          ids.forgetBefore(ts - keep);
          if (restore) {
            const restored = new RecentIds();
            for (const [minute, page] of ids.pages()) restored.addPage(minute, page);
            ids = restored;
          }
          const limit = Math.floor((ts - keep) / 60_000) * 60_000;
          for (const [id, first] of model) if (first.ts < limit) model.delete(id);
          expect(ids.size).to.equal(model.size);
          for (const [id, { orderId, digest }] of model)
            expect(ids.find(keyOf("w", id))).to.deep.equal({ orderId, digest });
          expect(ids.find(keyOf("w", "unknown"))).to.equal(undefined);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("are all found in a minute that has grown, also after a restore", () => {
    const ts = 1_700_000_000_000;
    const all = Array.from({ length: 10_000 }, (_, n) => ({
      orderId: `order-${n}`,
      digest: String(n).padStart(22, "d"),
    }));
    const ids = new RecentIds();
    for (const first of all) ids.add(keyOf("w", first.orderId), first, ts);
    const restored = new RecentIds();
    for (const [minute, page] of ids.pages()) restored.addPage(minute, page);
    for (const one of [ids, restored])
      expect(all.map(({ orderId }) => one.find(keyOf("w", orderId)))).to.deep.equal(all);
  });
});

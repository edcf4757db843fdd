import { expect } from "chai";
import { Cache } from "../../../http/reference/cache.js";
import { MemoryBuckets } from "../../../http/request/throttle.js";
import { stopwatch } from "../../support/stopwatch.js";

describe("the cache of reference data", () => {
  let now = 0;
  let loads: string[] = [];
  let load: (key: string) => Promise<string | undefined>;
  const down = new Error("down");
  const make = (): Cache<string> =>
    new Cache(
      (key) => {
        loads.push(key);
        return load(key);
      },
      { ttlMs: 100, maxEntries: 2, unreachable: (error) => error === down },
      () => now,
    );

  beforeEach(() => {
    now = 0;
    loads = [];
    load = (key) => Promise.resolve(key.toUpperCase());
  });

  it("loads a value once for many readers, and again after its time to live", async () => {
    const cache = make();
    expect(await Promise.all([cache.get("a"), cache.get("a"), cache.get("a")])).to.deep.equal([
      "A",
      "A",
      "A",
    ]);
    now = 49;
    await cache.get("a");
    expect(loads).to.deep.equal(["a"]);
    now = 100;
    await cache.get("a");
    expect(loads).to.deep.equal(["a", "a"]);
  });

  it("reloads a value in use before its time to live ends, at a time of its own, while nobody waits", async () => {
    const cache = make();
    for (const key of ["a", "b"]) await cache.get(key);
    let finish: (value: string) => void = () => undefined;
    load = () => new Promise((resolve) => (finish = resolve));
    now = 90;
    expect(await Promise.all([cache.get("a"), cache.get("a")])).to.deep.equal(["A", "A"]);
    await new Promise(setImmediate);
    expect(loads).to.deep.equal(["a", "b", "a"]);
    finish("new");
    await new Promise(setImmediate);
    expect(await cache.get("a")).to.equal("new");
    load = () => Promise.reject(new Error("a bug"));
    expect(await Promise.all([cache.get("b"), cache.get("b")])).to.deep.equal(["B", "B"]);
    expect(await cache.get("b"), "until it is no longer fresh").to.equal("B");
    now = 100;
    expect(await cache.get("b").catch(String)).to.equal("Error: a bug");
    expect(loads).to.deep.equal(["a", "b", "a", "b", "b"]);
  });

  it("keeps a value fresh that cannot be reloaded ahead, and tries again after a change of others", async () => {
    const cache = make();
    for (const key of ["a", "b"]) await cache.get(key);
    load = () => Promise.reject(down);
    now = 90;
    await cache.get("a");
    await new Promise(setImmediate);
    now = 99;
    expect(cache.peek("a")).to.deep.equal({ value: "A", isFresh: true });
    expect(loads).to.deep.equal(["a", "b", "a"]);
    cache.dropWhere((value) => value === "B");
    load = () => Promise.resolve("new");
    expect(await cache.get("a")).to.equal("A");
    await new Promise(setImmediate);
    expect(await cache.get("a")).to.equal("new");
  });

  it("does not keep a value that is dropped while it loads", async () => {
    const cache = make();
    let finish: (value: string) => void = () => undefined;
    load = () => new Promise((resolve) => (finish = resolve));
    const old = cache.get("a");
    await new Promise(setImmediate);
    cache.drop("a");
    finish("old");
    expect(await old).to.equal("old");
    load = () => Promise.resolve("new");
    expect(await cache.get("a")).to.equal("new");
  });

  it("remembers a missing value for its time to live, and not beyond a change", async () => {
    const cache = new Cache(
      (key) => {
        loads.push(key);
        return load(key);
      },
      { ttlMs: 100, maxEntries: 2, missTtlMs: 10, unreachable: () => false },
      () => now,
    );
    load = () => Promise.resolve(undefined);
    for (const key of ["a", "a", "b", "a"]) expect(await cache.get(key)).to.equal(undefined);
    expect(loads).to.deep.equal(["a", "b"]);
    now = 10;
    await cache.get("a");
    expect(loads).to.deep.equal(["a", "b", "a"]);
    load = (key) => Promise.resolve(key.toUpperCase());
    cache.drop("a");
    expect(await cache.get("a")).to.equal("A");
    cache.drop("b");
    expect(await cache.get("b")).to.equal("B");
  });

  it("remembers no more missing values than its size", async () => {
    const cache = new Cache(
      (key) => {
        loads.push(key);
        return Promise.resolve(undefined);
      },
      { ttlMs: 100, maxEntries: 2, missTtlMs: 10, unreachable: () => false },
      () => now,
    );
    for (const key of ["a", "b", "c", "b", "c", "a"]) await cache.get(key);
    expect(loads).to.deep.equal(["a", "b", "c", "a"]);
  });

  it("loads a missing value every time", async () => {
    const cache = make();
    load = () => Promise.resolve(undefined);
    expect(await cache.get("a")).to.equal(undefined);
    load = () => Promise.resolve("here");
    expect(await cache.get("a")).to.equal("here");
  });

  it("serves an old value while the source is out of reach, but not after other errors, nor after a drop", async () => {
    const cache = make();
    await cache.get("a");
    now = 1_000;
    load = () => Promise.reject(down);
    expect(await cache.get("a")).to.equal("A");
    await cache.get("a");
    expect(loads, "a source that is down is not asked at every turn").to.have.length(2);
    now = 2_000;
    load = () => Promise.reject(new Error("a bug"));
    expect(await cache.get("a").catch(String)).to.equal("Error: a bug");
    load = () => Promise.reject(down);
    cache.drop("a");
    expect(await cache.get("a").catch(String)).to.equal("Error: down");
  });

  it("serves an old value while the source hangs, and keeps the late answer", async () => {
    const cache = make();
    await cache.get("a");
    now = 1_000;
    let finish: (value: string) => void = () => undefined;
    load = () => new Promise((resolve) => (finish = resolve));
    expect(await Promise.all([cache.get("a"), cache.get("a")])).to.deep.equal(["A", "A"]);
    const elapsedMs = stopwatch();
    expect(await cache.get("a")).to.equal("A");
    expect(elapsedMs(), "nobody waits again").to.be.below(100);
    finish("new");
    await new Promise(setImmediate);
    expect(await cache.get("a")).to.equal("new");
    expect(loads).to.deep.equal(["a", "a"]);
  });

  it("holds no more entries than its limit", async () => {
    const cache = make();
    for (const key of ["a", "b", "c", "c", "b", "a"]) await cache.get(key);
    expect(loads).to.deep.equal(["a", "b", "c", "a"]);
  });
});

describe("buckets in memory", () => {
  it("refill continuously, report when to try again, and take tokens back", () => {
    let now = 0;
    const buckets = new MemoryBuckets({ capacity: 10, refillPerSec: 2 }, () => now);
    expect(buckets.charge("a", 10)).to.deep.equal({ granted: true, remaining: 0, retryAfterS: 0 });
    expect(buckets.charge("a", 3)).to.deep.equal({ granted: false, remaining: 0, retryAfterS: 2 });
    expect(buckets.charge("b", 1).granted).to.equal(true);
    now = 1_500;
    expect(buckets.charge("a", 3)).to.deep.equal({ granted: true, remaining: 0, retryAfterS: 0 });
    expect(buckets.charge("a", -4).remaining).to.equal(4);
    expect(buckets.charge("a", -40).remaining).to.equal(10);
  });

  it("hold a limited number of subjects, the last used ones", () => {
    const buckets = new MemoryBuckets({ capacity: 2, refillPerSec: 1 }, () => 0, 2);
    for (const subject of ["a", "b", "c"]) buckets.charge(subject, 2);
    expect(buckets.charge("c", 1).granted).to.equal(false);
    expect(buckets.charge("a", 1).granted).to.equal(true);
  });
});

import { expect } from "chai";
import { TokenBuckets } from "../../../http/client/token-buckets.js";

const COST = { bucket: "place", cost: 200 } as const;
const LIMIT = { capacity: 64, refillPerSec: 20, remaining: 64 };

function answer(bucket: string, remaining: number): { headers: Record<string, string> } {
  return { headers: { "x-ratelimit-bucket": bucket, "x-ratelimit-remaining": String(remaining) } };
}

describe("client: token buckets", () => {
  it("let requests pass while the bucket holds their tokens", async () => {
    const buckets = new TokenBuckets();
    expect(buckets.level("place")).to.equal(256);
    await buckets.take(COST);
    expect(buckets.level("place")).to.equal(56);
    expect(buckets.level("cancel")).to.equal(256);
  });

  it("take over the level that an answer reports, less the requests that are still under way", async () => {
    const buckets = new TokenBuckets();
    await buckets.take(COST);
    await buckets.take({ bucket: "place", cost: 6 });
    buckets.settle(COST, answer("place", 40));
    expect(buckets.level("place")).to.equal(34);
    buckets.settle({ bucket: "place", cost: 6 }, undefined);
    expect(buckets.level("place")).to.equal(34);
    buckets.settle({ bucket: "cancel", cost: 0 }, answer("place", 0));
    expect(buckets.level("place")).to.equal(34);
  });

  it("make a request wait until its tokens are back", async () => {
    const buckets = new TokenBuckets();
    const limits = { read: LIMIT, account: LIMIT, cancel: LIMIT, stream: LIMIT, history: LIMIT };
    buckets.replace({ ...limits, place: { ...LIMIT, remaining: 0 }, maxWatchedMarkets: 1 });
    const began = performance.now();
    await buckets.take({ bucket: "place", cost: 4 });
    expect(performance.now() - began).to.be.within(190, 2_000);
    expect(buckets.level("place")).to.be.below(4);
  });

  it("let a waiting request go as soon as an answer reports tokens", async () => {
    const buckets = new TokenBuckets();
    await buckets.take(COST);
    const began = performance.now();
    const waiting = buckets.take(COST);
    buckets.settle(COST, answer("place", 256));
    await waiting;
    expect(performance.now() - began).to.be.below(2_000);
  });

  it("let a request that costs more than the capacity wait for a full bucket only", async () => {
    const buckets = new TokenBuckets();
    await buckets.take({ bucket: "read", cost: 100 });
    expect(buckets.level("read")).to.equal(0);
  });

  it("let no small request pass a large one that waits, and let none wait longer than it may", async () => {
    const buckets = new TokenBuckets();
    await buckets.take(COST);
    const order: string[] = [];
    const began = performance.now();
    const large = buckets.take(COST, 300).then(() => order.push("large"));
    const small = buckets.take({ bucket: "place", cost: 1 }, 300).then(() => order.push("small"));
    await Promise.all([large, small]);
    expect(order).to.deep.equal(["large", "small"]);
    expect(performance.now() - began).to.be.within(290, 2_000);
  });
});

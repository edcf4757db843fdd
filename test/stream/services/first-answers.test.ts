import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Redis } from "ioredis";
import { Unavailable } from "../../../stream/log/ports.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { FirstAnswers, type Claim, type ClaimResult } from "../../../stream/services/first-answers.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

const NAME = { subject: "a key", id: "a request" };

function claimOf(known: ClaimResult): Claim {
  if (known.kind !== "claimed") throw new Error(`the request is ${known.kind}`);
  return known.claim;
}

describe("first answers", () => {
  let redis: FreshRedis;
  let client: Redis;
  let connections: ServiceConnection[];
  let first: FirstAnswers;
  let second: FirstAnswers;

  /** The first answers of one more process. */
  function open(rememberMs = 5_000, url = redis.url): FirstAnswers {
    const connection = new ServiceConnection({ url, prefix: redis.prefix });
    connections.push(connection);
    return new FirstAnswers(connection, { rememberMs, newId: randomUUID, onError: () => undefined });
  }

  /** Expires the claim, as the death of its process does. */
  async function expireClaim(): Promise<void> {
    const [key = ""] = await client.keys("*");
    await client.hset(key, "untilMs", 0);
  }

  beforeEach(async () => {
    redis = await freshRedis();
    client = new Redis(redis.url);
    connections = [];
    first = open();
    second = open();
  });

  afterEach(async () => {
    for (const connection of connections) connection.close();
    client.disconnect();
    await redis.drop();
  });

  it("give one of many concurrent claims, and its answer to the others", async () => {
    const claims = Array.from({ length: 40 }, (_, index) => (index % 2 ? first : second).claim(NAME));
    const known = await Promise.all(claims);
    const mine = known.filter(({ kind }) => kind === "claimed");
    expect(mine).to.have.length(1);
    expect(known.filter(({ kind }) => kind === "running")).to.have.length(39);
    const [own] = mine;
    if (own === undefined) throw new Error("no claim was given");
    expect(own).to.include({ resumed: false });
    await claimOf(own).answer("the answer");
    for (const process of [first, second]) {
      expect(await process.claim(NAME)).to.deep.equal({ kind: "answered", answer: "the answer" });
    }
    expect((await second.claim({ ...NAME, id: "another" })).kind).to.equal("claimed");
    expect((await second.claim({ ...NAME, subject: "another" })).kind).to.equal("claimed");
  });

  it("treat the repeat of a request without effect as the first", async () => {
    await claimOf(await first.claim(NAME)).noEffect();
    expect(await second.claim(NAME)).to.include({ kind: "claimed", resumed: false });
  });

  it("resume a request with an unknown effect, and one whose process has died", async () => {
    await claimOf(await first.claim(NAME)).outcomeUnknown();
    const known = await second.claim(NAME);
    expect(known).to.include({ kind: "claimed", resumed: true });
    await expireClaim();
    const third = await first.claim(NAME);
    expect(third).to.include({ kind: "claimed", resumed: true });
    await claimOf(known).answer("of the expired claim");
    await claimOf(third).answer("too late");
    expect(await second.claim(NAME)).to.deep.equal({ kind: "answered", answer: "of the expired claim" });
  });

  it("do not let an expired claim end the claim that replaced it", async () => {
    const expired = claimOf(await first.claim(NAME));
    await expireClaim();
    claimOf(await second.claim(NAME));
    await expired.noEffect();
    await expired.outcomeUnknown();
    expect((await first.claim(NAME)).kind).to.equal("running");
  });

  it("hold a claim for as long as its process lives", async () => {
    const claim = claimOf(await first.claim(NAME));
    await new Promise((resolve) => setTimeout(resolve, 2_300));
    expect((await second.claim(NAME)).kind).to.equal("running");
    await claim.answer("slow");
    expect(await second.claim(NAME)).to.deep.equal({ kind: "answered", answer: "slow" });
  });

  it("forget every request after the given time", async () => {
    const brief = open(60);
    await claimOf(await brief.claim(NAME)).answer("soon forgotten");
    await brief.claim({ ...NAME, id: "never answered" });
    expect((await client.keys("*")).length).to.equal(2);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await client.keys("*")).to.deep.equal([]);
  });

  it("are unavailable without Redis", async () => {
    const unreachable = open(1_000, "redis://127.0.0.1:1");
    const failure: unknown = await unreachable.claim(NAME).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);
  });
});

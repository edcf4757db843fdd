import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Redis } from "ioredis";
import { FirstAnswers, type Claim, type Known } from "../../../stream/services/first-answers.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

const NAME = { subject: "a key", id: "a request" };

function claimOf(known: Known): Claim {
  if (known.kind !== "mine") throw new Error(`it is ${known.kind}`);
  return known.claim;
}

describe("first answers", () => {
  let redis: FreshRedis;
  let client: Redis;
  let first: FirstAnswers;
  let second: FirstAnswers;
  const open = (rememberMs = 5_000): FirstAnswers =>
    new FirstAnswers({
      url: redis.url,
      prefix: redis.prefix,
      rememberMs,
      newId: randomUUID,
      onError: () => undefined,
    });
  /** What becomes of a claim whose process is gone. */
  const letRunOut = async (): Promise<void> => {
    const [key = ""] = await client.keys("*");
    await client.hset(key, "untilMs", 0);
  };

  beforeEach(async () => {
    redis = await freshRedis();
    client = new Redis(redis.url);
    first = open();
    second = open();
  });

  afterEach(async () => {
    first.close();
    second.close();
    client.disconnect();
    await redis.drop();
  });

  it("one of many who ask at once may answer, the others see it running, then get its answer", async () => {
    const asked = Array.from({ length: 40 }, (_, index) => (index % 2 ? first : second).claim(NAME));
    const known = await Promise.all(asked);
    const mine = known.filter(({ kind }) => kind === "mine");
    expect(mine).to.have.length(1);
    expect(known.filter(({ kind }) => kind === "running")).to.have.length(39);
    const [own] = mine;
    if (own === undefined) throw new Error("nobody may");
    expect(own).to.include({ resumed: false });
    await claimOf(own).answer("the answer");
    for (const one of [first, second]) {
      expect(await one.claim(NAME)).to.deep.equal({ kind: "answered", answer: "the answer" });
    }
    expect((await second.claim({ ...NAME, id: "another" })).kind).to.equal("mine");
    expect((await second.claim({ ...NAME, subject: "another" })).kind).to.equal("mine");
  });

  it("a request without effect may come again as the first", async () => {
    await claimOf(await first.claim(NAME)).noEffect();
    expect(await second.claim(NAME)).to.include({ kind: "mine", resumed: false });
  });

  it("a request whose effect is not known, or whose process is gone, is resumed", async () => {
    await claimOf(await first.claim(NAME)).outcomeUnknown();
    const known = await second.claim(NAME);
    expect(known).to.include({ kind: "mine", resumed: true });
    await letRunOut();
    const third = await first.claim(NAME);
    expect(third).to.include({ kind: "mine", resumed: true });
    await claimOf(known).answer("of one thought dead");
    await claimOf(third).answer("too late");
    expect(await second.claim(NAME)).to.deep.equal({ kind: "answered", answer: "of one thought dead" });
  });

  it("who has lost a claim cannot end another's", async () => {
    const lost = claimOf(await first.claim(NAME));
    await letRunOut();
    claimOf(await second.claim(NAME));
    await lost.noEffect();
    await lost.outcomeUnknown();
    expect((await first.claim(NAME)).kind).to.equal("running");
  });

  it("a claim is held for as long as its process lives", async () => {
    const claim = claimOf(await first.claim(NAME));
    await new Promise((resolve) => setTimeout(resolve, 2_300));
    expect((await second.claim(NAME)).kind).to.equal("running");
    await claim.answer("slow");
    expect(await second.claim(NAME)).to.deep.equal({ kind: "answered", answer: "slow" });
  });

  it("nothing is kept for longer than asked", async () => {
    const brief = open(60);
    await claimOf(await brief.claim(NAME)).answer("soon forgotten");
    await brief.claim({ ...NAME, id: "never answered" });
    expect((await client.keys("*")).length).to.equal(2);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await client.keys("*")).to.deep.equal([]);
    brief.close();
  });

  it("without Redis nobody may answer", async () => {
    const lost = new FirstAnswers({
      url: "redis://127.0.0.1:1",
      rememberMs: 1_000,
      newId: randomUUID,
      onError: () => undefined,
    });
    expect(await lost.claim(NAME).catch((error: unknown) => error)).to.be.instanceOf(Unavailable);
    lost.close();
  });
});

import { expect } from "chai";
import { Redis } from "ioredis";
import { Tickets } from "../../../stream/services/tickets.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

describe("one-use tickets", () => {
  let redis: FreshRedis;
  let first: Tickets;
  let second: Tickets;

  beforeEach(async () => {
    redis = await freshRedis();
    first = new Tickets({ url: redis.url, prefix: redis.prefix });
    second = new Tickets({ url: redis.url, prefix: redis.prefix });
  });

  afterEach(async () => {
    first.close();
    second.close();
    await redis.drop();
  });

  it("are good once, at whichever process", async () => {
    const ticket = await first.issue("a seat", 5_000);
    const tries = Array.from({ length: 40 }, (_, index) => (index % 2 ? first : second).redeem(ticket));
    expect((await Promise.all(tries)).filter((meaning) => meaning !== undefined)).to.deep.equal(["a seat"]);
  });

  it("expire", async () => {
    const ticket = await first.issue("a seat", 20);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await first.redeem(ticket)).to.equal(undefined);
  });

  it("cannot be guessed, nor read in Redis", async () => {
    const ticket = await first.issue("a seat", 5_000);
    expect(ticket).to.match(/^[\w-]{43}$/);
    expect(await first.issue("a seat", 5_000)).to.not.equal(ticket);
    const client = new Redis(redis.url);
    const keys = await client.keys("*");
    client.disconnect();
    expect(keys).to.have.length(2);
    expect(keys.join()).to.not.contain(ticket);
    for (const other of ["", "x", `${ticket}A`, ticket.replace(/^./, ticket.startsWith("A") ? "B" : "A")]) {
      expect(await second.redeem(other)).to.equal(undefined);
    }
  });

  it("are unavailable without Redis", async () => {
    const closed = new Tickets({ url: "redis://127.0.0.1:1", prefix: redis.prefix });
    const failed: unknown = await closed.issue("a seat", 1_000).catch((error: unknown) => error);
    closed.close();
    expect(failed).to.be.instanceOf(Unavailable);
  });
});

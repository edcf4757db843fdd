import { expect } from "chai";
import { Redis } from "ioredis";
import { Unavailable } from "../../../stream/log/ports.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { Tickets } from "../../../stream/services/tickets.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

describe("one-use tickets", () => {
  let redis: FreshRedis;
  let connections: ServiceConnection[];
  let first: Tickets;
  let second: Tickets;

  /** The tickets as one more process sees them. */
  function open(url = redis.url): Tickets {
    const connection = new ServiceConnection({ url, prefix: redis.prefix });
    connections.push(connection);
    return new Tickets(connection);
  }

  beforeEach(async () => {
    redis = await freshRedis();
    connections = [];
    first = open();
    second = open();
  });

  afterEach(async () => {
    for (const connection of connections) connection.close();
    await redis.drop();
  });

  it("are valid once, in any process", async () => {
    const ticket = await first.issue("a session", 5_000);
    const tries = Array.from({ length: 40 }, (_, index) => (index % 2 ? first : second).redeem(ticket));
    const meanings = (await Promise.all(tries)).filter((meaning) => meaning !== undefined);
    expect(meanings).to.deep.equal(["a session"]);
  });

  it("expire", async () => {
    const ticket = await first.issue("a session", 20);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await first.redeem(ticket)).to.equal(undefined);
  });

  it("cannot be guessed, nor read in Redis", async () => {
    const ticket = await first.issue("a session", 5_000);
    expect(ticket).to.match(/^[\w-]{43}$/);
    expect(await first.issue("a session", 5_000)).to.not.equal(ticket);
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
    const unreachable = open("redis://127.0.0.1:1");
    const failure: unknown = await unreachable.issue("a session", 1_000).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);
  });
});

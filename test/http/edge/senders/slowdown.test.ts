import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Request, Response } from "express";
import { LONGEST_WAIT_MS, Slowdown } from "../../../../http/edge/senders/slowdown.js";
import type { Logger } from "../../../../http/edge/request-log.js";
import { Refused } from "../../../../http/request/errors.js";
import { answerFailures } from "../../../../http/request/failures.js";
import { startStack, type Stack } from "../../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../../support/traders.js";
import { send, signed, type Raw } from "../../requests.js";

/** Answers that cost no token and are sent at once to an address, and the ms between further ones. */
const AT_ONCE = 2;
const SPACING_MS = 250;

describe("an answer that costs no token", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let place: (price: string) => Raw;

  before(async () => {
    stack = await startStack({
      trustProxy: 1,
      edge: { burst: 1_000, ratePerSecond: 20_000 / SPACING_MS },
    });
    trader = await newTrader(stack);
    const { outcomes } = await newMarket(stack);
    place = (price) => {
      const order = { outcomeId: outcomes[0], price, qty: 1, tif: "GTC", clientId: randomUUID() };
      return signed(trader.trading, { method: "POST", target: "/v3/orders", body: JSON.stringify(order) });
    };
  });
  after(() => stack.stop());

  /** Sends requests from an address, and returns their statuses and the time that each answer took, in ms. */
  const timed = async (address: string, raws: readonly Raw[]) => {
    const statuses = new Set<number>();
    const times: number[] = [];
    for (const raw of raws) {
      const headers = { ...(raw.headers as Readonly<Record<string, string>>), "X-Forwarded-For": address };
      const began = performance.now();
      statuses.add((await send(stack.url, { ...raw, headers })).status);
      times.push(performance.now() - began);
    }
    return { statuses: [...statuses], times };
  };
  const sum = (times: readonly number[]): number => times.reduce((total, ms) => total + ms, 0);
  const repeated = (count: number, raw: Raw): Raw[] => Array.from({ length: count }, () => raw);

  it("waits for its turn once its address has had many, and that of another address does not", async () => {
    const nothing = { target: "/v3/no/such/route" };
    const { statuses, times } = await timed("203.0.113.1", repeated(AT_ONCE + 5, nothing));
    expect(statuses).to.deep.equal([404]);
    expect(Math.min(...times.slice(0, AT_ONCE))).to.be.below(SPACING_MS);
    expect(sum(times)).to.be.at.least(5 * SPACING_MS - 5);
    const elsewhere = await timed("203.0.113.2", repeated(AT_ONCE, nothing));
    expect(Math.min(...elsewhere.times)).to.be.below(SPACING_MS);
  });

  it("may be that of a repeat, and is neither an answer to a first request nor a refusal that cost tokens", async () => {
    const from = "203.0.113.3";
    const { statuses, times } = await timed(from, repeated(1 + AT_ONCE + 5, place("0.200")));
    expect(statuses).to.deep.equal([201]);
    expect(sum(times)).to.be.at.least(5 * SPACING_MS - 5);
    const first = await timed(from, ["0.200", "0.200", "0.200"].map(place));
    expect(first.statuses).to.deep.equal([201]);
    expect(Math.min(...first.times)).to.be.below(SPACING_MS);
    const refused = await timed(from, ["0.2001", "0.2001", "0.2001"].map(place));
    expect(refused.statuses).to.deep.equal([400]);
    expect(Math.min(...refused.times)).to.be.below(SPACING_MS);
  });

  it("is that of the edge for each request of an address of which too many wait, and comes late too", async () => {
    const mostAtOnce = AT_ONCE + LONGEST_WAIT_MS / SPACING_MS;
    const from = { headers: { "X-Forwarded-For": "203.0.113.4" } };
    const flood = repeated(2 * mostAtOnce, { target: "/v3/no/such/route" });
    const answers = await Promise.all(flood.map((raw) => timed("203.0.113.4", [raw])));
    const statuses = answers.map((answer) => answer.statuses.join());
    expect(new Set(statuses)).to.deep.equal(new Set(["404", "403"]));
    expect(statuses.filter((status) => status === "404").length).to.be.at.least(mostAtOnce);
    const refused = answers.filter((answer) => answer.statuses.includes(403));
    expect(Math.min(...refused.map(({ times }) => sum(times)))).to.be.at.least(LONGEST_WAIT_MS / 2 - 5);
    expect((await send(stack.url, { target: "/v3/public/ticks", ...from })).status).to.equal(200);
  });

  it("is given to an address that sends for the first time, however low the rate of the edge is", () => {
    expect(new Slowdown({ capacity: 0.05, refillPerSec: 0.1 }).isFull("a")).to.equal(false);
  });
});

describe("the slowdown", () => {
  it("drops the refusal of a late request whose work has ended meanwhile", async () => {
    const slowdown = new Slowdown({ capacity: 0, refillPerSec: 100 });
    const refused: Refused[] = [];
    const log = { error: () => expect.fail("no failure is unexpected here") } as unknown as Logger;
    const fail = answerFailures(log, (_res, one) => refused.push(one), slowdown);
    const response = { locals: {}, headersSent: false, get: () => undefined };
    const late = { ...response, locals: {} };
    for (const res of [response, late])
      fail(new Refused("UNAVAILABLE"), {} as unknown as Request, res as unknown as Response, () => undefined);
    late.headersSent = true;
    await slowdown.wait("");
    expect(refused).to.have.length(1);
  });

  it("spaces those of a sender beyond its pace, and of no other", async () => {
    const slowdown = new Slowdown({ capacity: 2, refillPerSec: 20 });
    const answered: string[] = [];
    const began = performance.now();
    for (const name of ["a1", "a2", "a3", "a4", "b1"])
      slowdown.answer(name.slice(0, 1), () => answered.push(name));
    expect(answered).to.deep.equal(["a1", "a2", "b1"]);
    await slowdown.wait("a");
    expect(answered).to.deep.equal(["a1", "a2", "b1", "a3", "a4"]);
    expect(performance.now() - began).to.be.at.least(3 * 50 - 5);
  });

  it("lets no answer wait longer than the longest wait, after which it is full for the sender alone", () => {
    const slowdown = new Slowdown({ capacity: 2, refillPerSec: 20 });
    const mostWaiting = (20 * LONGEST_WAIT_MS) / 1_000;
    for (let n = 0; n < 2 + mostWaiting; n += 1) {
      expect(slowdown.isFull("a"), String(n)).to.equal(false);
      slowdown.answer("a", () => undefined);
    }
    expect(slowdown.isFull("a")).to.equal(true);
    expect(slowdown.isFull("b")).to.equal(false);
  });

  it("refuses at different times what came together", async () => {
    const slowdown = new Slowdown({ capacity: 2, refillPerSec: 20 });
    const began = performance.now();
    const times = await Promise.all(
      Array.from({ length: 200 }, async () => {
        await new Promise<void>((resolve) => slowdown.refuse(resolve));
        return performance.now() - began;
      }),
    );
    expect(Math.min(...times)).to.be.at.least(LONGEST_WAIT_MS / 2 - 5);
    const tenths = new Map<number, number>();
    for (const ms of times) tenths.set(Math.floor(ms / 100), (tenths.get(Math.floor(ms / 100)) ?? 0) + 1);
    expect(Math.max(...tenths.values())).to.be.below(times.length / 2);
  });

  it("has its whole pace again after a rest", async () => {
    const slowdown = new Slowdown({ capacity: 2, refillPerSec: 50 });
    for (let n = 0; n < 3; n += 1) await slowdown.wait("a");
    await new Promise((resolve) => setTimeout(resolve, 60));
    let answered = 0;
    for (let n = 0; n < 3; n += 1) slowdown.answer("a", () => (answered += 1));
    expect(answered).to.equal(2);
  });
});

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Request, Response } from "express";
import { Slowdown, SLOW_ANSWER_MS } from "../../../http/edge/slowdown.js";
import type { Logger } from "../../../http/edge/request-log.js";
import { Refused } from "../../../http/request/errors.js";
import { answerFailures } from "../../../http/request/failures.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { send, signed, type Raw } from "../requests.js";

/** Answers that cost no token and are sent at once, of each address. */
const AT_ONCE = 5;

describe("an answer that costs no token", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let place: (price: string) => Raw;

  before(async () => {
    stack = await startStack({ trustProxy: 1, edge: { burst: 10 * AT_ONCE, ratePerSecond: 1 } });
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
  const repeated = (count: number, raw: Raw): Raw[] => Array.from({ length: count }, () => raw);

  it("is delayed once its address has had many, and that of another address is not", async () => {
    const nothing = { target: "/v3/no/such/route" };
    const { statuses, times } = await timed("203.0.113.1", repeated(AT_ONCE + 3, nothing));
    expect(statuses).to.deep.equal([404]);
    expect(Math.min(...times.slice(0, AT_ONCE))).to.be.below(SLOW_ANSWER_MS);
    expect(Math.min(...times.slice(AT_ONCE))).to.be.at.least(SLOW_ANSWER_MS - 5);
    const elsewhere = await timed("203.0.113.2", repeated(AT_ONCE, nothing));
    expect(Math.min(...elsewhere.times)).to.be.below(SLOW_ANSWER_MS);
  });

  it("may be that of a repeat, and is neither an answer to a first request nor a refusal that cost tokens", async () => {
    const from = "203.0.113.3";
    const { statuses, times } = await timed(from, repeated(AT_ONCE + 4, place("0.200")));
    expect(statuses).to.deep.equal([201]);
    expect(Math.min(...times.slice(AT_ONCE + 1))).to.be.at.least(SLOW_ANSWER_MS - 5);
    const first = await timed(from, ["0.200", "0.200", "0.200"].map(place));
    expect(first.statuses).to.deep.equal([201]);
    expect(Math.min(...first.times)).to.be.below(SLOW_ANSWER_MS);
    const refused = await timed(from, ["0.2001", "0.2001", "0.2001"].map(place));
    expect(refused.statuses).to.deep.equal([400]);
    expect(Math.min(...refused.times)).to.be.below(SLOW_ANSWER_MS);
  });
});

describe("the slowdown", () => {
  it("drops the refusal of a late request whose work has ended meanwhile", async () => {
    const slowdown = new Slowdown({ capacity: 0, refillPerSec: 0 });
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

  it("delays those of a sender beyond its rate, and of no other", async () => {
    const slowdown = new Slowdown({ capacity: 2, refillPerSec: 0.001 });
    const answered: string[] = [];
    const began = performance.now();
    for (const name of ["a1", "a2", "a3", "b1"]) slowdown.answer(name.slice(0, 1), () => answered.push(name));
    expect(answered).to.deep.equal(["a1", "a2", "b1"]);
    await slowdown.wait("a");
    expect(answered).to.deep.equal(["a1", "a2", "b1", "a3"]);
    expect(performance.now() - began).to.be.at.least(SLOW_ANSWER_MS - 5);
  });
});

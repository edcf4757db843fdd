import { expect } from "chai";
import { Slowdown, SLOW_ANSWER_MS } from "../../../../http/edge/fair/slowdown.js";
import { Turns } from "../../../../http/edge/fair/turns.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the turns of the event loop", () => {
  it("begin one request of each sender, in the order of arrival, while there are several", async () => {
    const turns = new Turns();
    const began: string[] = [];
    const take = (...names: string[]): void => {
      for (const name of names) turns.take(name.slice(0, 1), () => began.push(name));
    };
    take("z0", "a1", "a2", "a3", "b1", "a4", "b2", "c1");
    expect(began).to.deep.equal(["z0", "a1", "b1", "c1"]);
    await turn();
    expect(began.splice(0).slice(4)).to.deep.equal(["a2", "b2"]);
    take("a5", "d1");
    expect(began, "the line of a sender stays in order").to.deep.equal(["d1"]);
    await turn();
    await turn();
    await turn();
    expect(began).to.deep.equal(["d1", "a3", "a4", "a5"]);
    await turn();
    take("a6");
    expect(began.at(-1), "the next turn").to.equal("a6");
  });

  it("begin every request of a sender who is alone", () => {
    const turns = new Turns();
    let began = 0;
    for (let i = 0; i < 50; i += 1) turns.take("a", () => (began += 1));
    expect(began).to.equal(50);
  });
});

describe("the slowdown", () => {
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

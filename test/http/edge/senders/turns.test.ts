import { expect } from "chai";
import { type Turn, type TurnLimits, Turns } from "../../../../http/edge/senders/turns.js";

const LONG_MS = 60_000;

/** Resolves after the pause in which the requests of a sender wait. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 25));
const iteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the turns of requests", () => {
  let began: string[];
  let gaveUp: string[];
  let entered: (Turn | undefined)[];

  beforeEach(() => {
    began = [];
    gaveUp = [];
    entered = [];
  });
  afterEach(() => {
    for (const turn of entered) turn?.end();
  });

  /** Turns of a number of requests at a time. */
  const turnsOf = (atOnce: number, limits: Partial<TurnLimits> = {}): Turns =>
    new Turns({ fewest: atOnce, most: atOnce, maxWaiting: 9, longestMs: LONG_MS, ...limits });

  /** Lets requests enter, whose names begin with that of their sender, and returns the functions that end their turns. */
  const enter = (turns: Turns, ...names: readonly string[]): (Turn | undefined)[] => {
    const turnsOfNames = names.map((name) =>
      turns.enter(
        name.slice(0, 1),
        () => began.push(name),
        () => gaveUp.push(name),
      ),
    );
    entered.push(...turnsOfNames);
    return turnsOfNames;
  };

  it("begin at once for a few requests of a sender, and for those of another sender", () => {
    enter(turnsOf(2), "a1", "a2", "a3", "a4", "b1");
    expect(began).to.deep.equal(["a1", "a2", "b1"]);
  });

  it("begin in order as others end, each of which ends once", async () => {
    const turns = turnsOf(2);
    const [first, second, third, fourth] = enter(turns, "a1", "a2", "a3", "a4", "a5", "a6");
    for (const turn of [first, first, second]) turn?.end();
    enter(turns, "b1");
    expect(began).to.deep.equal(["a1", "a2", "b1"]);
    await pause();
    expect(began).to.deep.equal(["a1", "a2", "b1", "a3", "a4"]);
    for (const turn of [third, fourth]) turn?.end();
    await pause();
    expect(began).to.deep.equal(["a1", "a2", "b1", "a3", "a4", "a5", "a6"]);
  });

  it("begin a few at once, also when they end at once", async () => {
    const turns = new Turns({ fewest: 2, most: 2 });
    const names = Array.from({ length: 10 }, (_, n) => `a${n}`);
    for (const name of names) {
      const start = (): void => {
        began.push(name);
        queueMicrotask(() => turn?.end());
      };
      const turn = turns.enter("a", start, () => gaveUp.push(name));
    }
    expect(began).to.have.length(2);
    while (began.length < 10) {
      const before = began.length;
      await iteration();
      expect(began.length - before).to.be.at.most(2);
    }
    expect(began).to.deep.equal(names);
  });

  it("begin in order, also for one that arrives while an earlier one is due", async () => {
    const turns = turnsOf(1);
    const [first, second] = enter(turns, "a1", "a2");
    first?.end();
    enter(turns, "a3");
    await pause();
    expect(began).to.deep.equal(["a1", "a2"]);
    second?.end();
    await pause();
    expect(began).to.deep.equal(["a1", "a2", "a3"]);
  });

  it("are refused to a sender of which too many wait", async () => {
    const turns = turnsOf(1, { maxWaiting: 2 });
    const [first, second, , refused] = enter(turns, "a1", "a2", "a3", "a4");
    expect(refused).to.equal(undefined);
    expect(enter(turns, "b1")).to.not.include(undefined);
    first?.end();
    await pause();
    expect(enter(turns, "a5")).to.not.include(undefined);
    second?.end();
    await pause();
    expect(began).to.deep.equal(["a1", "b1", "a2", "a3"]);
  });

  it("are given up by a request that has waited for too long", async () => {
    const turns = turnsOf(1, { maxWaiting: 2, longestWaitMs: 100 });
    const [first, , third] = enter(turns, "a1", "a2", "a3");
    third?.end();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(gaveUp).to.deep.equal(["a2"]);
    const [fourth, fifth] = enter(turns, "a4", "a5");
    expect([fourth, fifth]).to.not.include(undefined);
    first?.end();
    await pause();
    expect(began).to.deep.equal(["a1", "a4"]);
    fourth?.end();
    await pause();
    fifth?.end();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect({ began, gaveUp }).to.deep.equal({ began: ["a1", "a4", "a5"], gaveUp: ["a2"] });
  });

  it("pass over a request that has left", async () => {
    const turns = turnsOf(1);
    const [first, second] = enter(turns, "a1", "a2", "a3");
    second?.end();
    first?.end();
    await pause();
    expect(began).to.deep.equal(["a1", "a3"]);
  });

  it("end after a while, because a request that takes longer mostly waits", async () => {
    enter(turnsOf(1, { longestMs: 20 }), "a1", "a2");
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(began).to.deep.equal(["a1"]);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(began).to.deep.equal(["a1", "a2"]);
  });

  it("are more for a sender whose requests are paid for, and fewer again after answers that cost no token", async () => {
    const turns = new Turns({ fewest: 2, most: 4, creditStep: 2 });
    /** Returns how many of ten requests begin before any ends, and ends them. */
    const begin = async (...ways: readonly (keyof Turn)[]): Promise<number> => {
      began = [];
      const all = enter(turns, ...Array.from({ length: 10 }, (_, n) => `a${n}`));
      const atOnce = began.length;
      for (const turn of all.slice(atOnce)) turn?.end();
      all.slice(0, atOnce).forEach((turn, n) => turn?.[ways[n] ?? "end"]());
      for (const turn of all) turn?.end();
      await pause();
      return atOnce;
    };
    expect(await begin("admitted")).to.equal(2);
    expect(await begin("admitted")).to.equal(2);
    expect(await begin("admitted", "admitted")).to.equal(3);
    expect(await begin()).to.equal(4);
    expect(await begin("free")).to.equal(4);
    expect(await begin("free", "free")).to.equal(3);
    expect(await begin()).to.equal(2);
  });

  it("last until the answer, and with the highest credit until the request is admitted", async () => {
    const turns = new Turns({ fewest: 1, most: 2, creditStep: 1 });
    const [first] = enter(turns, "a1", "a2", "a3", "a4", "a5");
    first?.admitted();
    await pause();
    expect(began).to.deep.equal(["a1"]);
    first?.end();
    await pause();
    expect(began).to.deep.equal(["a1", "a2", "a3"]);
    const [other] = enter(turns, "b1", "b2");
    other?.admitted();
    other?.admitted();
    await pause();
    expect(began).to.deep.equal(["a1", "a2", "a3", "b1", "b2"]);
  });

  it("end with an answer that costs no token, also while that waits for its pace", async () => {
    const turns = turnsOf(1);
    const [first] = enter(turns, "a1", "a2");
    first?.free();
    await pause();
    expect(began).to.deep.equal(["a1", "a2"]);
  });
});

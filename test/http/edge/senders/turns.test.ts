import { expect } from "chai";
import { Turns } from "../../../../http/edge/senders/turns.js";

const LONG_MS = 60_000;

const iteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the turns of requests", () => {
  let began: string[];

  beforeEach(() => {
    began = [];
  });

  /** Lets requests enter, whose names begin with that of their sender, and returns the functions that end their turns. */
  const enter = (turns: Turns, ...names: readonly string[]): ((() => void) | undefined)[] =>
    names.map((name) => turns.enter(name.slice(0, 1), () => began.push(name)));

  it("begin at once for a few requests of a sender, and for those of another sender", () => {
    const ends = enter(new Turns(2, 9, LONG_MS), "a1", "a2", "a3", "a4", "b1");
    expect(began).to.deep.equal(["a1", "a2", "b1"]);
    for (const end of ends) end?.();
  });

  it("begin in order as others end, each of which ends once, a few in an iteration of the event loop", async () => {
    const turns = new Turns(2, 9, LONG_MS, 1);
    const [first, second, third, fourth] = enter(turns, "a1", "a2", "a3", "a4", "a5", "a6");
    for (const end of [first, first, second]) end?.();
    enter(turns, "b1");
    expect(began).to.deep.equal(["a1", "a2", "b1"]);
    await iteration();
    expect(began).to.deep.equal(["a1", "a2", "b1", "a3"]);
    await iteration();
    expect(began).to.deep.equal(["a1", "a2", "b1", "a3", "a4"]);
    await iteration();
    expect(began).to.deep.equal(["a1", "a2", "b1", "a3", "a4"]);
    for (const end of [third, fourth]) end?.();
    await iteration();
    await iteration();
    expect(began).to.deep.equal(["a1", "a2", "b1", "a3", "a4", "a5", "a6"]);
  });

  it("begin in order, also for one that arrives while an earlier one is due", async () => {
    const turns = new Turns(1, 9, LONG_MS);
    const [first, second] = enter(turns, "a1", "a2");
    first?.();
    enter(turns, "a3");
    await iteration();
    expect(began).to.deep.equal(["a1", "a2"]);
    second?.();
    await iteration();
    expect(began).to.deep.equal(["a1", "a2", "a3"]);
  });

  it("are refused to a sender of which too many wait", async () => {
    const turns = new Turns(1, 2, LONG_MS);
    const [first, second, , refused] = enter(turns, "a1", "a2", "a3", "a4");
    expect(refused).to.equal(undefined);
    expect(enter(turns, "b1")).to.not.include(undefined);
    first?.();
    await iteration();
    expect(enter(turns, "a5")).to.not.include(undefined);
    second?.();
    await iteration();
    expect(began).to.deep.equal(["a1", "b1", "a2", "a3"]);
  });

  it("pass over a request that has left", async () => {
    const turns = new Turns(1, 9, LONG_MS);
    const [first, second] = enter(turns, "a1", "a2", "a3");
    second?.();
    first?.();
    await iteration();
    expect(began).to.deep.equal(["a1", "a3"]);
  });

  it("end after a while, because a request that takes longer mostly waits", async () => {
    const ends = enter(new Turns(1, 9, 20), "a1", "a2");
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(began).to.deep.equal(["a1"]);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(began).to.deep.equal(["a1", "a2"]);
    for (const end of ends) end?.();
  });
});

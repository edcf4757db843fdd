import { expect } from "chai";
import { Refused } from "../../../../http/request/errors.js";
import { FairSlots, type Turn } from "../../../../http/auth/passwords/fair-slots.js";

/** Slots whose tasks end one after the other, and the names of the tasks in the order in which they began. */
class Desk {
  readonly began: string[] = [];
  readonly refused: string[] = [];
  readonly #ends: (() => void)[] = [];
  readonly #slots: FairSlots;

  constructor(slots: number, places: number) {
    this.#slots = new FairSlots(slots, places);
  }

  /** Adds a task of a sender, such as `b2`: the second task of the sender `b`. */
  async add(name: string, preferred = false): Promise<void> {
    const turn: Turn = { sender: name.slice(0, 1), preferred };
    const task = (): Promise<void> => {
      this.began.push(name);
      return new Promise((resolve) => this.#ends.push(resolve));
    };
    this.#slots.run(turn, task).catch(() => this.refused.push(name));
    await settled();
  }

  /** Ends the task that has run for longest, and so on, until none is left. */
  async finish(): Promise<void> {
    for (let end = this.#ends.shift(); end !== undefined; end = this.#ends.shift()) {
      end();
      await settled();
    }
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("fair slots", () => {
  it("run as many tasks at once as there are slots", async () => {
    const desk = new Desk(2, 9);
    for (const name of ["a1", "b1", "c1"]) await desk.add(name);
    expect(desk.began).to.deep.equal(["a1", "b1"]);
    await desk.finish();
    expect(desk.began).to.deep.equal(["a1", "b1", "c1"]);
  });

  it("refuse a task whose turn does not come in time, and go on", async () => {
    const slots = new FairSlots(1, 9, 20);
    const held = slots.run({ sender: "a" }, () => new Promise<void>((resolve) => setTimeout(resolve, 60)));
    const late: unknown = await slots
      .run({ sender: "b" }, () => Promise.resolve())
      .catch((error: unknown) => error);
    expect(late).to.be.instanceOf(Refused).with.property("code", "UNAVAILABLE");
    await held;
    expect(await slots.run({ sender: "b" }, () => Promise.resolve("in time"))).to.equal("in time");
  });

  it("stay empty for a while after a task that asks for a rest", async () => {
    const slots = new FairSlots(1, 9);
    await slots.run({ sender: "a" }, (rest) => {
      rest(40);
      return Promise.resolve();
    });
    const began = performance.now();
    await slots.run({ sender: "b" }, () => Promise.resolve());
    expect(performance.now() - began).to.be.at.least(35);
    const rested = performance.now();
    await slots.run({ sender: "b" }, () => Promise.resolve());
    expect(performance.now() - rested).to.be.below(35);
  });

  it("serve a sender who comes for the first time before one who was served", async () => {
    const desk = new Desk(1, 9);
    for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) await desk.add(name);
    await desk.finish();
    expect(desk.began).to.deep.equal(["a1", "c1", "b1", "a2", "b2", "a3"]);
  });

  it("serve a preferred sender first", async () => {
    const desk = new Desk(1, 9);
    for (const name of ["a1", "b1", "c1"]) await desk.add(name);
    await desk.add("p1", true);
    await desk.finish();
    expect(desk.began).to.deep.equal(["a1", "p1", "c1", "b1"]);
  });

  it("refuse the task that would run last when every place is taken", async () => {
    const desk = new Desk(1, 3);
    for (const name of ["a1", "a2", "b1", "b2", "a3"]) await desk.add(name);
    expect(desk.refused, "the sender who was served has no place left").to.deep.equal(["a3"]);
    await desk.add("c1");
    await desk.add("d1");
    await desk.add("e1");
    await desk.add("p1", true);
    expect(desk.refused).to.deep.equal(["a3", "a2", "b2", "c1", "d1"]);
    await desk.finish();
    expect(desk.began).to.deep.equal(["a1", "p1", "e1", "b1"]);
  });

  it("refuse a task at once when many of its sender wait", async () => {
    const desk = new Desk(1, 40);
    for (let n = 0; n <= 9; n += 1) await desk.add(`a${n}`);
    expect(desk.refused).to.deep.equal(["a9"]);
    await desk.add("b1");
    await desk.finish();
    expect(desk.began.slice(0, 3)).to.deep.equal(["a0", "b1", "a1"]);
    expect(desk.began).to.have.length(10);
  });

  it("give a place to a sender who comes for the first time, however often others come again after a refusal", async () => {
    const desk = new Desk(1, 2);
    for (const name of ["a1", "b1", "c1", "d1", "e1"]) await desk.add(name);
    expect(desk.refused).to.deep.equal(["c1", "d1"]);
    await desk.finish();
    for (const name of ["a2", "d2", "e2", "n1"]) await desk.add(name);
    await desk.finish();
    expect(desk.refused, "the one whose turn was last").to.deep.equal(["c1", "d1", "e2"]);
    expect(desk.began).to.deep.equal(["a1", "e1", "b1", "a2", "n1", "d2"]);
  });

  it("serve who has waited longest in turns with who comes, while others keep coming", async () => {
    const desk = new Desk(1, 4);
    for (const name of "abcdefghi") await desk.add(`${name}1`);
    expect(desk.refused, "those between the oldest and the newest").to.have.length(4);
    await desk.finish();
    expect(desk.began.slice(0, 3)).to.deep.equal(["a1", "i1", "b1"]);
  });

  it("count the new senders of a group as served when the group was", async () => {
    const slots = new FairSlots(1, 9);
    const began: string[] = [];
    const run = (sender: string, group: string): Promise<unknown> =>
      slots.run({ sender, group }, async () => {
        began.push(sender);
        await settled();
      });
    await Promise.all([run("a", "one"), run("n", "two"), run("b", "one"), run("c", "one")]);
    expect(began.slice(0, 2)).to.deep.equal(["a", "n"]);
  });

  it("pass the slot of a task that fails on", async () => {
    const slots = new FairSlots(1, 1);
    const failing = slots.run({ sender: "a" }, () => Promise.reject(new Error("broken")));
    const next = slots.run({ sender: "b" }, () => Promise.resolve("done"));
    expect(await failing.catch((error: unknown) => String(error))).to.equal("Error: broken");
    expect(await next).to.equal("done");
  });
});

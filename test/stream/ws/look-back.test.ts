import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import type { Entry } from "../../../stream/log/ports.js";
import { lookBack, WindowTurns } from "../../../stream/ws/look-back.js";
import { MemoryTail } from "./support/memory-tail.js";

const ACTOR = marketActor("6f9619ff-8b86-4011-b42d-00c04fc964ff");

/** Turns without rests. */
const restless = (): WindowTurns => new WindowTurns(() => Promise.resolve());

describe("reading back", () => {
  function tailOf(entries: number, trimmedBelow: number): MemoryTail {
    const tail = new MemoryTail();
    for (let seq = 1; seq <= entries; seq += 1) tail.commit(ACTOR, []);
    tail.trim(ACTOR, trimmedBelow);
    return tail;
  }

  for (const [entries, from] of [
    [6, 1],
    [6, 4],
    [300, 200],
    [12_000, 2_001],
    [12_000, 9_001],
    [12_000, 12_000],
  ] as const) {
    it(`finds the entries that are left, ${entries - from + 1} of ${entries}`, async () => {
      const tail = tailOf(entries, from);
      const windows: Entry[][] = [];
      for await (const window of lookBack(tail, ACTOR, entries, { turns: restless() }))
        windows.unshift([...window]);
      expect(windows.flat().map(({ seq }) => seq)).to.deep.equal(
        Array.from({ length: entries - from + 1 }, (_, index) => from + index),
      );
    });
  }

  it("reads no further than needed, in windows that grow to 256 entries or 128 KiB", async () => {
    const sizesWith = async (entryBytes: number): Promise<number[]> => {
      const tail = tailOf(12_000, 1);
      tail.bytesOf = () => entryBytes;
      const sizes: number[] = [];
      for await (const { length } of lookBack(tail, ACTOR, 12_000, { turns: restless() })) {
        sizes.push(length);
        if (sizes.length === 8) break;
      }
      return sizes;
    };
    expect(await sizesWith(100)).to.deep.equal([8, 16, 32, 64, 128, 256, 256, 256]);
    expect(await sizesWith(4_096)).to.deep.equal([8, 16, 32, 32, 32, 32, 32, 32]);
    expect(await sizesWith(1_000_000)).to.deep.equal([1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it("yields entries that are much larger than those after them in several windows", async () => {
    const tail = tailOf(600, 1);
    tail.bytesOf = (seq) => (seq > 590 ? 100 : 50_000);
    const sizes: number[] = [];
    for await (const { length } of lookBack(tail, ACTOR, 600, { turns: restless() })) {
      sizes.push(length);
      if (sizes.length === 7) break;
    }
    expect(sizes).to.deep.equal([8, 4, 2, 2, 2, 2, 2]);
  });

  it("ends at an entry that cannot be parsed", async () => {
    const tail = tailOf(100, 1);
    tail.unreadable = 70;
    const seqs: number[] = [];
    for await (const window of lookBack(tail, ACTOR, 100, { turns: restless() }))
      seqs.unshift(...window.map(({ seq }) => seq));
    expect(seqs).to.deep.equal(Array.from({ length: 30 }, (_, index) => 71 + index));
  });

  it("rests between windows for twice the time of one and of its reader, 50 ms at most", async () => {
    const rests: number[] = [];
    const rest = (ms: number): Promise<void> => {
      rests.push(ms);
      return Promise.resolve();
    };
    const busyMs = [5, 200];
    const turns = new WindowTurns(rest);
    for await (const { length } of lookBack(tailOf(56, 1), ACTOR, 56, { turns })) {
      expect(length).to.equal(8 * 2 ** rests.length);
      const untilMs = performance.now() + (busyMs[rests.length] ?? 0);
      while (performance.now() < untilMs);
    }
    expect(rests).to.have.length(3);
    expect(rests[0]).to.be.within(10, 50);
    expect(rests[1]).to.equal(50);
  });

  it("reads one window at a time for all readers, and first for the one that has read least", async () => {
    let atOnce = 0;
    let mostAtOnce = 0;
    const turns = restless();
    const order: string[] = [];
    const read = async (name: string, windows: number): Promise<void> => {
      for await (const { length } of lookBack(tailOf(10_000, 1), ACTOR, 10_000, { turns })) {
        expect(length).to.be.at.least(8);
        atOnce += 1;
        mostAtOnce = Math.max(mostAtOnce, atOnce);
        order.push(name);
        await new Promise((resolve) => setImmediate(resolve));
        atOnce -= 1;
        if (order.filter((each) => each === name).length === windows) break;
      }
    };
    const deep = read("deep", 6);
    while (order.length < 3) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([deep, read("short", 2), read("shorter", 1)]);
    expect(mostAtOnce).to.equal(1);
    const short = order.slice(3).filter((name) => name !== "deep");
    expect(short.toSorted()).to.deep.equal(["short", "short", "shorter"]);
    // The window that the deep reader asked for before the others came may still be read first.
    expect(order.slice(3, 7).filter((name) => name === "deep").length).to.be.at.most(1);
  });

  it("ends when its time is over, also while it waits for a turn", async () => {
    const turns = restless();
    expect(await turns.take(0, Infinity)).to.equal(true);
    const windows = [];
    for await (const window of lookBack(tailOf(10, 1), ACTOR, 10, { turns, mostMs: 20 }))
      windows.push(window);
    expect(windows).to.deep.equal([]);
    await turns.end(0);
    for await (const window of lookBack(tailOf(600, 1), ACTOR, 600, { turns, mostMs: 20 })) {
      windows.push(window);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(windows).to.have.length(1);
  });
});

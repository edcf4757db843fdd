import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import type { Entry } from "../../../stream/log/ports.js";
import { lookBack } from "../../../stream/ws/look-back.js";
import { MemoryTail } from "./support/memory-tail.js";

const ACTOR = marketActor("6f9619ff-8b86-4011-b42d-00c04fc964ff");

const noRest = (): Promise<void> => Promise.resolve();

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
      for await (const window of lookBack(tail, ACTOR, entries, noRest)) windows.unshift([...window]);
      expect(windows.flat().map(({ seq }) => seq)).to.deep.equal(
        Array.from({ length: entries - from + 1 }, (_, index) => from + index),
      );
    });
  }

  it("reads no further than needed, in windows of 256", async () => {
    const tail = tailOf(12_000, 1);
    const sizes: number[] = [];
    for await (const { length } of lookBack(tail, ACTOR, 12_000, noRest)) {
      sizes.push(length);
      if (sizes.length === 3) break;
    }
    expect(sizes).to.deep.equal([256, 256, 256]);
  });

  it("rests between windows for twice the time of one and of its reader, 50 ms at most", async () => {
    const rests: number[] = [];
    const rest = (ms: number): Promise<void> => {
      rests.push(ms);
      return Promise.resolve();
    };
    const busyMs = [5, 200];
    for await (const { length } of lookBack(tailOf(768, 1), ACTOR, 768, rest)) {
      expect(length).to.equal(256);
      const untilMs = performance.now() + (busyMs[rests.length] ?? 0);
      while (performance.now() < untilMs);
    }
    expect(rests).to.have.length(2);
    expect(rests[0]).to.be.within(10, 50);
    expect(rests[1]).to.equal(50);
  });
});

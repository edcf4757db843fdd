import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import { lookBack } from "../../../stream/ws/look-back.js";
import { MemoryTail } from "./support/memory-tail.js";

const ACTOR = marketActor("6f9619ff-8b86-4011-b42d-00c04fc964ff");

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
      const found = await lookBack(tail, ACTOR, entries, () => false);
      expect(found.complete).to.equal(false);
      expect(found.entries.map(({ seq }) => seq)).to.deep.equal(
        Array.from({ length: entries - from + 1 }, (_, index) => from + index),
      );
    });
  }

  it("reads no further than needed", async () => {
    const windows: number[] = [];
    const found = await lookBack(tailOf(12_000, 1), ACTOR, 12_000, ({ length }) => {
      windows.push(length);
      return length > 1_000;
    });
    expect(found.complete).to.equal(true);
    expect(windows).to.deep.equal([0, 256, 2_048]);
  });
});

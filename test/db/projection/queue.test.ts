import { expect } from "chai";
import { EntryQueue } from "../../../db/projection/queue.js";
import type { AnyDelta, Entry } from "../../../stream/log/ports.js";
import { entry } from "../exchange.js";

/** Returns an entry with a number of deltas, whose content does not matter here. */
function entryOf(seq: number, deltas: number): Entry {
  const delta: AnyDelta = { type: "skipped", count: 1 };
  return entry("ledger:1", seq, [{ ts: 1, deltas: new Array<AnyDelta>(deltas).fill(delta) }]);
}

async function take(queue: EntryQueue): Promise<number[] | undefined> {
  return (await queue.take(10))?.map(({ seq }) => seq);
}

describe("the queue of the projector", () => {
  it("divides what is queued into transactions of bounded size", async () => {
    const queue = new EntryQueue();
    const waits = queue.put([entryOf(1, 9_000), entryOf(2, 9_000), entryOf(3, 9_000), entryOf(4, 100_000)]);
    void queue.put([entryOf(5, 1), entryOf(6, 1)]);
    expect(await take(queue)).to.deep.equal([1, 2]);
    expect(await take(queue), "an entry that does not fit beside the next").to.deep.equal([3]);
    expect(await take(queue), "an entry that is too large for a transaction of several").to.deep.equal([4]);
    expect(await take(queue)).to.deep.equal([5, 6]);
    expect(await take(queue)).to.deep.equal([]);
    await waits;
  });

  it("lets the log wait until there is room", async () => {
    const queue = new EntryQueue();
    let hasRoom = false;
    void queue.put([entryOf(1, 15_000), entryOf(2, 15_000), entryOf(3, 15_000)]).then(() => (hasRoom = true));
    await take(queue);
    await Promise.resolve();
    expect(hasRoom, "with 30,000 deltas left").to.equal(false);
    await take(queue);
    await Promise.resolve();
    expect(hasRoom, "with 15,000 deltas left").to.equal(true);
  });
});

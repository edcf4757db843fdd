import { expect } from "chai";
import { maskOf } from "../../../../stream/ws/channels.js";
import { FlushScheduler } from "../../../../stream/ws/socket/flush-scheduler.js";
import { Replicas } from "../../../../stream/ws/market/replicas.js";
import { type Member, Rooms } from "../../../../stream/ws/market/rooms.js";
import { TestExchange } from "../support/exchange.js";

const LIFECYCLE = maskOf(["lifecycle"], "CASH");
const BOOK = maskOf(["book"], "CASH");

class TestMember implements Member {
  readonly frames: Buffer[] = [];
  closed = 0;

  deliver(frames: Buffer): void {
    this.frames.push(frames);
  }

  close(): void {
    this.closed += 1;
  }
}

describe("a room", () => {
  it("delivers its frames before a member joins or leaves, and the same bytes to all members", async () => {
    const exchange = new TestExchange();
    const { marketId } = exchange.createMarket(2);
    const replicas = new Replicas({
      tail: exchange.tail,
      load: exchange.load,
      onError: (error) => expect.fail(String(error)),
      warmMs: 1,
    });
    const replica = await replicas.acquire(marketId);
    if (replica === undefined) throw new Error("no replica");
    const rooms = new Rooms(new FlushScheduler());
    const room = rooms.of(replica);
    const [one, two, late] = [new TestMember(), new TestMember(), new TestMember()];
    room.join(one, LIFECYCLE);
    room.join(two, LIFECYCLE);
    const step = async (action: "pause" | "resume"): Promise<void> => {
      exchange.operate(marketId, { kind: "lifecycle", actions: [action] });
      exchange.commit();
      await Promise.resolve();
      expect(replica.market.seq("lifecycle", "CASH")).to.equal(seq);
      seq += 1;
    };
    let seq = 2;
    await step("pause");
    expect(one.frames).to.deep.equal([]);
    room.leave(one, LIFECYCLE);
    expect(one.frames).to.have.length(1);
    expect(two.frames[0]).to.equal(one.frames[0]);
    await step("resume");
    room.join(late, BOOK);
    expect(late.frames).to.deep.equal([]);
    expect(two.frames).to.have.length(2);
    await step("pause");
    await step("resume");
    await new Promise((resolve) => setImmediate(resolve));
    expect([one.frames.length, two.frames.length, late.frames.length]).to.deep.equal([1, 3, 1]);
    expect(late.frames[0]?.toString()).to.match(/"seq":4.*"seq":5/s);

    rooms.removeEmpty(marketId);
    expect(rooms.of(replica)).to.equal(room);
    room.leave(two, LIFECYCLE);
    room.leave(late, BOOK);
    rooms.removeEmpty(marketId);
    expect(rooms.of(replica)).to.not.equal(room);
    replicas.release(marketId);
    await replicas.close();
  });
});

import { expect } from "chai";
import type { ActorId } from "../../../actors/actor.js";
import type { Unprojected } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { ReadModelTime } from "../../../stream/services/read-model-time.js";
import { ManualClock } from "../log/support.js";

describe("the time of the read model", () => {
  let clock: ManualClock;
  let time: ReadModelTime;
  let behind: readonly Unprojected[] | Error;

  beforeEach(() => {
    clock = new ManualClock(10_000);
    behind = [];
    const unprojected = (partition: string): Promise<readonly Unprojected[]> => {
      if (behind instanceof Error) return Promise.reject(behind);
      return Promise.resolve(partition === "m7" ? behind : []);
    };
    time = new ReadModelTime({ log: { unprojected }, clock, logger: silentLogger });
  });

  afterEach(() => time.close());

  /** Reads the time of a copy, which has what the read model had at its last mark from `copied` on. */
  function startCopied(): { copied: number; marked: number } {
    const state = { copied: 0, marked: 0 };
    const mark = () => {
      const own = (state.marked += 1);
      return Promise.resolve(() => Promise.resolve(own <= state.copied));
    };
    time = new ReadModelTime({
      log: { unprojected: () => Promise.resolve([]) },
      copy: { mark },
      clock,
      logger: silentLogger,
    });
    return state;
  }

  const lacks = (id: string, seq: number, projected: number): Unprojected => ({
    actor: `market:${id}` as ActorId,
    seq,
    projected,
  });

  /** Lets a second pass, in which the time is determined again. */
  async function second(): Promise<number | null> {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
    return time.completeMs;
  }

  it("is that of the last check while nothing is missing", async () => {
    await time.start();
    expect(time.completeMs).to.equal(10_000);
    expect(await second()).to.equal(11_000);
  });

  it("follows at the pace of the projector while markets go on", async () => {
    await time.start();
    behind = [lacks("a", 10, 8), lacks("b", 3, 0)];
    expect(await second(), "what was there at 11 s is missing").to.equal(10_000);
    behind = [lacks("a", 20, 12), lacks("b", 4, 2)];
    expect(await second(), "one of them is still missing").to.equal(10_000);
    behind = [lacks("a", 30, 25)];
    expect(await second(), "all of them are there").to.equal(11_000);
    behind = [];
    expect(await second()).to.equal(14_000);
  });

  it("is that of the copy from which lists are read", async () => {
    const copy = startCopied();
    await time.start();
    expect(time.completeMs, "the copy may lack what is complete at 10 s").to.equal(null);
    expect(await second()).to.equal(null);
    copy.copied = 1;
    expect(await second(), "the copy has what was complete at 10 s").to.equal(10_000);
    expect(await second(), "and may lack what was complete at 12 s").to.equal(10_000);
    copy.copied = 2;
    expect(await second()).to.equal(12_000);
  });

  it("is not known before the tables were complete once, and stays while the log is away", async () => {
    behind = [lacks("a", 1, 0)];
    await time.start();
    expect(time.completeMs).to.equal(null);
    behind = new Error("no answer");
    expect(await second()).to.equal(null);
    behind = [lacks("a", 2, 1)];
    expect(await second()).to.equal(10_000);
    behind = new Error("no answer");
    expect(await second()).to.equal(10_000);
  });
});

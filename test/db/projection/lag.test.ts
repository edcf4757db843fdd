import { expect } from "chai";
import { ProjectionLag } from "../../../db/projection/lag.js";
import type { Entry } from "../../../stream/log/ports.js";

describe("the lag of a projector", () => {
  const entries = [9_000, 8_500].map((ts): Entry => {
    const batches = [{ ts, deltas: [] }];
    return { actor: "market:m", seq: 1, cursor: "0-0", sources: {}, answers: [], batches };
  });

  it("is the age of the oldest decision in engine time, whatever the clock of its host shows", () => {
    let nowMs = 10_000;
    const lag = new ProjectionLag({ now: () => nowMs, monotonic: () => nowMs });
    expect([lag.writingMs(), lag.takeMs()]).to.deep.equal([0, 0]);
    lag.begin(entries);
    expect(lag.writingMs()).to.equal(1_500);
    nowMs = 10_250;
    lag.end();
    expect([lag.writingMs(), lag.takeMs(), lag.takeMs()]).to.deep.equal([0, 1_750, 0]);
  });

  it("is the time since the begin of a write of decisions that are dated ahead", () => {
    let monotonicMs = 70;
    const lag = new ProjectionLag({ now: () => 1_000, monotonic: () => monotonicMs });
    lag.begin(entries);
    monotonicMs = 970;
    expect(lag.writingMs()).to.equal(900);
  });

  it("is that of no entries of which another projector writes the rows", () => {
    const lag = new ProjectionLag({ now: () => 10_000, monotonic: () => 0 });
    lag.begin(entries);
    lag.forget();
    expect([lag.writingMs(), lag.takeMs()]).to.deep.equal([0, 0]);
  });
});

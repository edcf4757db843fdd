import { expect } from "chai";
import { isBehindMessage, watchBehind } from "../../../scripts/roles/behind.js";
import { ManualClock } from "../../stream/log/support.js";

describe("the watch of a projector", () => {
  it("reports when rows are more than half a second late, and when they were not for three seconds", () => {
    const clock = new ManualClock(0);
    const told: (readonly [number, boolean])[] = [];
    let lagMs = 0;
    const stop = watchBehind(
      clock,
      () => lagMs,
      ({ behind }) => void told.push([clock.now(), behind]),
    );
    const pass = (ms: number, lag: number): void => {
      lagMs = lag;
      for (let passed = 0; passed < ms; passed += 250) clock.advance(250);
    };
    pass(1_000, 500);
    pass(250, 501);
    // Between two writes a projector has no lag.
    pass(2_000, 0);
    pass(250, 501);
    pass(10_000, 0);
    stop();
    pass(1_000, 9_000);
    expect(told).to.deep.equal([
      [1_250, true],
      [6_500, false],
    ]);
  });

  it("sends messages that a supervisor distinguishes from others", () => {
    const messages = [{ behind: true }, { behind: false }, { behind: 1 }, { ready: true }, "ready", null];
    expect(messages.map(isBehindMessage)).to.deep.equal([true, true, false, false, false, false]);
  });
});

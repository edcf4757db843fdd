import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";
import { LoopPauses } from "../../../stream/services/loop-pauses.js";

const BUSY_MS = 5;
const NO_WAITS = { waitedMs: () => 0, stolenMs: () => 0, close: () => undefined };

/** Blocks the thread, which then needs no core. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("the pauses of the event loop", () => {
  it("are the longest since the last look", async () => {
    const pauses = new LoopPauses(BUSY_MS);
    try {
      await sleep(20);
      block(200);
      await sleep(20);
      const { pauseMs, ownPauseMs } = pauses.take();
      expect(pauseMs).to.be.within(190, 2_000);
      expect(ownPauseMs).to.be.within(150, pauseMs);
      await sleep(20);
      expect(pauses.take().pauseMs).to.be.lessThan(pauseMs);
    } finally {
      pauses.stop();
    }
  });

  it("are shown without the time in which the thread waited for a core", async () => {
    let waitedMs = 1_000;
    const pauses = new LoopPauses(BUSY_MS, { ...NO_WAITS, waitedMs: () => waitedMs });
    try {
      await sleep(20);
      pauses.take();
      block(200);
      waitedMs += 150;
      await sleep(20);
      const { pauseMs, ownPauseMs } = pauses.take();
      expect(pauseMs - ownPauseMs).to.be.closeTo(150, 1);
    } finally {
      pauses.stop();
    }
  });

  it("are shown without the time that the host of a virtual machine took", async () => {
    let stolenMs = 1_000;
    const pauses = new LoopPauses(BUSY_MS, { ...NO_WAITS, stolenMs: () => stolenMs });
    try {
      await sleep(20);
      pauses.take();
      block(200);
      stolenMs += 150;
      await sleep(20);
      const { pauseMs, guestPauseMs, ownPauseMs } = pauses.take();
      expect(pauseMs).to.be.at.least(190);
      expect(pauseMs - guestPauseMs).to.be.closeTo(150, 1);
      expect(ownPauseMs).to.equal(guestPauseMs);
    } finally {
      pauses.stop();
    }
  });

  it("are measured at few looks while the loop has nothing to do, and not shorter for it", async () => {
    let looks = 0;
    const waitedMs = (): number => {
      looks += 1;
      return 0;
    };
    const pauses = new LoopPauses(BUSY_MS, { ...NO_WAITS, waitedMs });
    try {
      await sleep(1_200);
      looks = 0;
      await sleep(1_000);
      expect(looks).to.be.within(5, 12);
      pauses.take();
      block(250);
      await sleep(150);
      expect(pauses.take().pauseMs).to.be.within(240, 2_000);
      await sleep(1_000);
      looks = 0;
      await sleep(200);
      expect(looks, "looks at the loop, which counts as busy after it").to.be.greaterThan(15);
    } finally {
      pauses.stop();
    }
  });
});

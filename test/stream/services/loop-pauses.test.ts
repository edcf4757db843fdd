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
    let lookedMs = performance.now();
    let onLook: (intervalMs: number) => void = () => undefined;
    const waitedMs = (): number => {
      const intervalMs = performance.now() - lookedMs;
      lookedMs += intervalMs;
      onLook(intervalMs);
      return 0;
    };
    const pauses = new LoopPauses(BUSY_MS, { ...NO_WAITS, waitedMs });
    /** Waits for the next look, and returns the time since the one before. */
    const look = (): Promise<number> => new Promise((resolve) => (onLook = resolve));
    /** Waits until the loop counts as calm, up to the moment after a look. */
    const calm = async (): Promise<void> => {
      while ((await look()) < 90);
      pauses.take();
    };
    try {
      await calm();
      // The pause begins some 60 ms before the next look.
      await sleep(40);
      block(150);
      await look();
      expect(pauses.take().pauseMs).to.be.within(145, 1_000);
      expect(await look(), "interval after the pause").to.be.lessThan(80);
      await calm();
      for (let i = 0; i < 6; i += 1) {
        block(10);
        await sleep(4);
      }
      await look();
      expect(pauses.take().pauseMs, "short work between two looks").to.be.lessThan(45);
    } finally {
      pauses.stop();
    }
  });
});

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Metrics } from "../../../http/ops/metrics.js";
import type { Clock } from "../../../stream/log/clock.js";
import { checkInstallation, idOfLog } from "../../../stream/log/installation.js";
import { ProcessReporter, ProcessReports } from "../../../stream/services/process-reports.js";
import { until } from "../../support/until.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";

/** A clock whose timers the test fires. */
class TestClock implements Clock {
  #now = 0;
  #calls: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(_ms: number, call: () => void): () => void {
    this.#calls.push(call);
    return () => (this.#calls = this.#calls.filter((other) => other !== call));
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const call of this.#calls.splice(0)) call();
  }
}

describe("reports of processes", () => {
  it("show the figures, the memory and the longest pause of each process in the metrics", async () => {
    const clock = new TestClock();
    const log = new MemoryLog(new MemoryStore());
    const reports = await ProcessReports.subscribe(log, clock);
    const reporter = new ProcessReporter({
      log,
      clock,
      role: "worker",
      name: "worker-1",
      process: "w1",
      figures: () => ({ partitions: 3 }),
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    for (const end = performance.now() + 80; performance.now() < end;);
    await new Promise((resolve) => setTimeout(resolve, 30));
    clock.advance(5_000);
    await until(() => (reports.latest()[0]?.figures.event_loop_pause_seconds ?? 0) > 0);
    const metrics = new Metrics("gateway-1");
    metrics.processes(() => reports.latest());
    const shown = await metrics.registry.metrics();
    const valueOf = (name: string): number =>
      Number(
        new RegExp(
          `^overround_process_${name}\\{role="worker",name="worker-1",process="w1"\\} (\\S+)$`,
          "m",
        ).exec(shown)?.[1],
      );
    expect(valueOf("partitions")).to.equal(3);
    expect(valueOf("rss_bytes")).to.be.greaterThan(1e6);
    expect(valueOf("heap_total_bytes")).to.be.at.least(valueOf("heap_bytes"));
    expect(valueOf("external_bytes")).to.be.greaterThan(1e5);
    expect(valueOf("event_loop_pause_seconds")).to.be.within(0.06, 0.5);
    expect(valueOf("event_loop_own_pause_seconds")).to.be.at.most(valueOf("event_loop_pause_seconds"));

    // The pause leaves the report after a minute.
    for (let i = 0; i < 12; i += 1) clock.advance(5_000);
    await until(() => (reports.latest()[0]?.figures.event_loop_pause_seconds ?? 1) < 0.06);

    // A process that has ended disappears.
    reporter.stop();
    clock.advance(31_000);
    expect(await metrics.registry.metrics()).not.to.contain('process="w1"');
    await reports.close();
    await log.close();
  });

  it("are those of the same log, and of builds that name none", async () => {
    const clock = new TestClock();
    const log = new MemoryLog(new MemoryStore());
    await checkInstallation(log);
    const reports = await ProcessReports.subscribe(log, clock);
    const ids = { same: await idOfLog(log), other: randomUUID(), unnamed: undefined };
    for (const [name, logId] of Object.entries(ids)) {
      const report = { role: "worker", name, host: "h", process: name, pid: 1, figures: {}, logId };
      await log.publish({ feed: "process-reports", body: JSON.stringify(report) });
    }
    const reporter = new ProcessReporter({ log, clock, role: "worker", name: "own", process: "w" });
    await until(() => expect(reports.names()).to.deep.equal({ worker: ["own", "same", "unnamed"] }));
    reporter.stop();
    await reports.close();
    await log.close();
  });
});

import { expect } from "chai";
import { judgeFlood, judgeSteadyRun, ROLES, type Sample } from "../../../scripts/bench/endurance/verdicts.js";

const LENGTH_S = 3_600;
const P99 = { first: 10, last: 10 };

/** Samples of a run in which nothing happens, one every 5 s. */
function quietRun(
  change: (sample: Sample) => Partial<Sample> = () => ({}),
  lengthS = LENGTH_S,
): readonly Sample[] {
  return Array.from({ length: lengthS / 5 }, (_, index) => {
    const sample: Sample = {
      atS: 5 * (index + 1),
      operationsPerSecond: 5_000,
      p50Ms: 5,
      p99Ms: 10,
      refused: 0,
      unavailable: 0,
      slow: 0,
      clientMicros: 20,
      rssBytes: Object.fromEntries(ROLES.map((role) => [role, 1e8])),
      workerHeap: { total: 0, used: 0, external: 0 },
      processes: Object.fromEntries(ROLES.map((role) => [role, `a ${role}`])),
      pauseMs: 10,
      guestPauseMs: 10,
      ownPauseMs: 10,
      postgresBytes: 1e7,
      moves: { "a worker": 64 },
      redisBytes: 1e8,
      redisShare: 0.1,
      aofBytes: 1e8,
      diskBytes: 1e9,
      deltaBytes: 1e7,
      snapshotBytes: 1e7,
      mailboxBytes: 0,
      filterBytes: 0,
      filterSnapshotBytes: 0,
      entries: 1_000,
      lag: 0,
      projected: 0,
    };
    return { ...sample, ...change(sample) };
  });
}

const failuresOf = (samples: readonly Sample[]): readonly string[] =>
  judgeSteadyRun("run", samples, P99)
    .filter(({ verdict }) => verdict === "FAIL")
    .map(({ measure }) => measure);

describe("the verdicts of the endurance bench", () => {
  it("pass a run in which nothing happens", () => {
    expect(failuresOf(quietRun())).to.deep.equal([]);
  });

  it("fail one that grows by more than 1 % an hour", () => {
    const growing = (percent: number) =>
      quietRun(({ atS }) => ({ redisBytes: 1e8 * (1 + (percent / 100) * (atS / 3_600)) }));
    expect(failuresOf(growing(0.9))).to.deep.equal([]);
    expect(failuresOf(growing(1.1))).to.deep.equal([
      "growth of the used memory of Redis, without filters of ids",
    ]);
  });

  it("fail one in which the memory of a role grows", () => {
    const grown = ({ atS }: Sample): number => 1e8 * (1 + 0.02 * (atS / 3_600));
    const samples = quietRun((sample) => ({ rssBytes: { ...sample.rssBytes, gateway: grown(sample) } }));
    expect(failuresOf(samples)).to.deep.equal(["growth of the RSS: gateway"]);
  });

  it("fail one in which Postgres takes more memory than its connections and vacuums may", () => {
    const mostMb = (most: number) =>
      quietRun(({ atS }) => ({ postgresBytes: 1e6 * (atS === 1_800 ? most : 60) }));
    expect(failuresOf(mostMb(120))).to.deep.equal([]);
    expect(failuresOf(mostMb(130))).to.deep.equal(["most anonymous memory of Postgres"]);
  });

  it("leave out the filters of the ids of a day, and what grows as they do is a failure", () => {
    const filtersAt = (atS: number): number => 1e5 * atS;
    const growing = ({ atS, rssBytes }: Sample): Partial<Sample> => ({
      redisBytes: 1e8 + 3 * filtersAt(atS),
      rssBytes: { ...rssBytes, worker: 1e8 + filtersAt(atS) },
    });
    const known = ({ atS }: Sample): Partial<Sample> => ({
      filterBytes: filtersAt(atS),
      filterSnapshotBytes: 3 * filtersAt(atS),
    });
    expect(failuresOf(quietRun((sample) => ({ ...growing(sample), ...known(sample) })))).to.deep.equal([]);
    expect(failuresOf(quietRun(growing))).to.deep.equal([
      "growth of the used memory of Redis, without filters of ids",
      "growth of the RSS: worker, without filters of ids",
    ]);
  });

  it("pass one in which garbage comes and goes, and fail one in which it hides growth", () => {
    const garbage = (atS: number): number => 5e7 * ((atS % 290) / 290);
    const worker = (percent: number) =>
      quietRun(({ atS, rssBytes }) => ({
        rssBytes: { ...rssBytes, worker: 1e8 * (1 + (percent / 100) * (atS / 3_600)) + garbage(atS) },
      }));
    expect(failuresOf(worker(0))).to.deep.equal([]);
    expect(failuresOf(worker(3))).to.deep.equal(["growth of the RSS: worker, without filters of ids"]);
  });

  it("state by how much a growth is uncertain", () => {
    const unitOf = (samples: readonly Sample[]): string | undefined =>
      judgeSteadyRun("run", samples, P99).find(({ measure }) => measure.startsWith("growth of the used"))
        ?.unit;
    const varying = quietRun(({ atS }) => ({ redisBytes: 1e8 * (1 + 0.01 * Math.sin(atS / 97)) }));
    expect(unitOf(quietRun())).to.match(/± 0(\.0)?$/);
    expect(Number(unitOf(varying)?.split("± ")[1])).to.be.within(0.5, 10);
  });

  it("are unclear where a growth is smaller than its error", () => {
    const growing = (percent: number) =>
      quietRun(({ atS }) => ({
        redisBytes: 1e8 * (1 + (percent / 100) * (atS / 3_600) + 0.03 * Math.sin(atS / 97)),
      }));
    const verdictOf = (samples: readonly Sample[]) =>
      judgeSteadyRun("run", samples, P99).find(({ measure }) => measure.startsWith("growth of the used"))
        ?.verdict;
    expect(verdictOf(growing(4))).to.equal("unclear");
    expect(verdictOf(growing(20))).to.equal("FAIL");
  });

  it("judge the last 45 minutes of a longer run", () => {
    const longer = quietRun(({ atS }) => ({ redisBytes: 1e8 + 1e4 * Math.min(atS, 1_500) }), 4_200);
    expect(failuresOf(longer)).to.deep.equal([]);
    expect(failuresOf(longer.slice(0, 720))).to.have.length(1);
  });

  it("leave out the beginning, in which the windows of the flood empty", () => {
    const emptying = quietRun(({ atS }) => ({ redisBytes: 1e8 + Math.max(0, 900 - atS) * 1e5 }));
    expect(failuresOf(emptying)).to.deep.equal([]);
  });

  it("fail one with a long pause, and one whose requests take longer at its end", () => {
    expect(failuresOf(quietRun(({ atS }) => (atS === 1_800 ? { pauseMs: 60 } : {})))).to.deep.equal([
      "longest pause of a worker",
    ]);
    const pauses = quietRun(({ atS }) => (atS === 1_800 ? { pauseMs: 60, ownPauseMs: 55 } : {}));
    expect(failuresOf(pauses)).to.deep.equal([
      "longest pause of a worker",
      "the same, without waiting for a core",
    ]);
    const slower = judgeSteadyRun("run", quietRun(), { first: 10, last: 12.5 });
    expect(slower.filter(({ verdict }) => verdict === "FAIL").map(({ measure }) => measure)).to.deep.equal([
      "p99 of the last sixth, ratio to the first",
    ]);
  });

  it("show by how much the machine has become slower", () => {
    const slowing = quietRun(({ atS }) => ({ clientMicros: atS > 3_000 ? 30 : 20 }));
    const figures = judgeSteadyRun("run", slowing, P99).filter(({ measure }) =>
      measure.startsWith("time of the client"),
    );
    expect(figures.map(({ figure, verdict }) => [figure, verdict])).to.deep.equal([[1.5, undefined]]);
    const verdictAt = (last: number) =>
      judgeSteadyRun("run", slowing, { first: 10, last }).find(({ measure }) =>
        measure.startsWith("p99 of the last"),
      )?.verdict;
    expect([12, 17, 19].map(verdictAt)).to.deep.equal(["pass", "unclear", "FAIL"]);
  });

  it("fail one with a refusal", () => {
    const refusing = quietRun(({ atS }) => (atS === 1_800 ? { refused: 20, unavailable: 1 } : {}));
    expect(failuresOf(refusing)).to.deep.equal([
      "orders and cancels refused",
      "requests that could not be served",
    ]);
  });

  it("fail one in which a worker was replaced, whose moves start anew", () => {
    const samples = quietRun(({ atS, processes }) =>
      atS < 1_000
        ? {}
        : { processes: { ...processes, worker: "another worker" }, moves: { "another worker": 64 } },
    );
    const figures = judgeFlood("run", samples).filter(({ verdict }) => verdict === "FAIL");
    expect(figures.map(({ measure, figure }) => [measure, figure])).to.deep.equal([
      ["partitions that moved", 64],
      ["processes that were replaced", 1],
    ]);
  });

  it("pass one with several processes of a role, and fail when one of them is replaced", () => {
    const several = { "worker-1": "w1", "worker-2": "w2", gateway: "g", projector: "p", jobs: "j" };
    const with2 = (second: string): Partial<Sample> => ({
      processes: { ...several, "worker-2": second },
      moves: { w1: 32, [second]: 32 },
    });
    expect(failuresOf(quietRun(() => with2("w2")))).to.deep.equal([]);
    const samples = quietRun(({ atS }) => with2(atS < 1_000 ? "w2" : "w3"));
    const figures = judgeFlood("run", samples).filter(({ verdict }) => verdict === "FAIL");
    expect(figures.map(({ measure, figure }) => [measure, figure])).to.deep.equal([
      ["partitions that moved", 32],
      ["processes that were replaced", 1],
    ]);
  });

  it("fail one in which a role has stopped reporting", () => {
    const samples = quietRun(({ atS, rssBytes: { jobs: _, ...rest } }) =>
      atS < 2_000 ? {} : { rssBytes: rest },
    );
    expect(failuresOf(samples)).to.deep.equal(["growth of the RSS: jobs"]);
  });
});

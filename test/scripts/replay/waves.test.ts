import { expect } from "chai";
import fc from "fast-check";
import {
  bestOf,
  EMPTY_LADDER,
  RecordedMarket,
  UnusableRecording,
} from "../../../scripts/replay/recording/ladder.js";
import { readLine, type Line } from "../../../scripts/replay/recording/recording.js";
import { survey } from "../../../scripts/replay/recording/survey.js";
import { cutWaves, type Segment, type Wave } from "../../../scripts/replay/recording/waves.js";
import { makeRecording } from "../../support/recording.js";
import { GRID } from "../../support/exchange/commands.js";

const OPTIONS = { grid: GRID, scale: 1, windowMs: Infinity };

function linesOf(texts: readonly string[]): Line[] {
  return texts.flatMap((text, index) => readLine(text, index + 1) ?? []);
}

async function segmentsOf(texts: readonly string[], options = OPTIONS): Promise<Segment[]> {
  const segments: Segment[] = [];
  for await (const segment of cutWaves(linesOf(texts), options)) segments.push(segment);
  return segments;
}

function message(change: object, pt = 0): string {
  return JSON.stringify({ op: "mcm", pt, mc: [{ id: "1.1", ...change }] });
}

function definition(status: string, inPlay = false, first = "ACTIVE", second = "ACTIVE"): object {
  const runners = [
    { id: 1, status: first },
    { id: 2, status: second },
  ];
  return { marketDefinition: { status, inPlay, marketTime: "2026-01-01T12:00:00.000Z", runners } };
}

const DEFINED = message(definition("OPEN"));

function waves(segments: readonly Segment[]): Wave[] {
  return segments.filter((segment) => segment.kind === "wave");
}

describe("replay: the recorded ladder", () => {
  it("puts backs of a runner and lays of its opponent on the same side, and adds up levels on one tick", () => {
    const market = new RecordedMarket(OPTIONS);
    const [line] = linesOf([
      message({
        ...definition("OPEN"),
        rc: [
          {
            id: 1,
            atl: [
              [2.5, 10],
              [2.48, 1],
            ],
          },
          { id: 2, atb: [[1.66, 30]] },
        ],
      }),
    ]);
    if (line?.ok !== true) throw new Error("the line is broken");
    market.apply(line.changes);
    // 1/2.5 = 0.400; 1/2.48 = 0.4032 snaps to 0.400; a lay at 1.66 is 0.3975 on the opponent, which snaps to 0.395.
    expect(market.snapped()).to.deep.equal([
      new Map([
        [400, 2_500 + 248],
        [395, 4_980],
      ]),
      new Map(),
    ]);
  });

  it("leaves out the thinner of two levels that cross in the source", () => {
    const market = new RecordedMarket(OPTIONS);
    const [line] = linesOf([
      message({
        ...definition("OPEN"),
        rc: [
          {
            id: 1,
            atl: [[2, 10]],
            atb: [
              [2, 20],
              [1.9, 5],
            ],
          },
        ],
      }),
    ]);
    if (line?.ok !== true) throw new Error("the line is broken");
    market.apply(line.changes);
    expect(market.snapped()).to.deep.equal([
      new Map(),
      new Map([
        [500, 4_000],
        [470, 950],
      ]),
    ]);
  });

  it("refuses a market without exactly two runners", async () => {
    const runners = [1, 2, 3].map((id) => ({ id, status: "ACTIVE" }));
    const three = { status: "OPEN", inPlay: false, marketTime: "2026-01-01T12:00:00.000Z", runners };
    let problem: unknown;
    await segmentsOf([message({ marketDefinition: three })]).catch((error: unknown) => (problem = error));
    expect(problem).to.be.instanceOf(UnusableRecording);
  });
});

describe("replay: cutting waves", () => {
  it("puts messages of different prices into one wave and begins another where a price recurs", async () => {
    const segments = await segmentsOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 2, atl: [[2.2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 11]] }] }),
    ]);
    expect(waves(segments).map(({ messages, lastLine }) => [messages, lastLine])).to.deep.equal([
      [3, 3],
      [1, 4],
    ]);
  });

  it("turns half of the traded volume into a take from the bids at that price", async () => {
    const segments = await segmentsOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 6]], trd: [[2, 8]] }] }),
    ]);
    const [, last] = waves(segments);
    expect(last?.takes).to.deep.equal([{ outcome: 1, tick: 500, qty: 800 }]);
    expect(last?.untaken).to.equal(0);
  });

  it("takes at most the resting contracts, and counts the others as untaken", async () => {
    const segments = await segmentsOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 0]], trd: [[2, 50]] }] }),
      message({ rc: [{ id: 1, trd: [[3, 50]] }] }),
    ]);
    const [, last] = waves(segments);
    expect(last?.takes.map(({ qty }) => qty)).to.deep.equal([2_000]);
    expect(last?.untaken).to.equal(3_000 + 7_500);
  });

  it("keeps trades in one wave while they account for every change of a price", async () => {
    const segments = await segmentsOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 6]], trd: [[2, 8]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 5]], trd: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 9]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 8]], trd: [[2, 12]] }] }),
    ]);
    const [, second, third] = waves(segments);
    expect(second?.messages).to.equal(3);
    expect(second?.takes.map(({ qty }) => qty)).to.deep.equal([800, 200]);
    expect(third?.takes.map(({ qty }) => qty)).to.deep.equal([200]);
  });

  it("takes the change of the level when it differs from the trade by rounding alone", async () => {
    const take = async (left: number, traded: number): Promise<number | undefined> => {
      const segments = await segmentsOf([
        DEFINED,
        message({ rc: [{ id: 1, atl: [[2.5, 10]] }] }),
        message({ rc: [{ id: 1, atl: [[2.5, left]], trd: [[2.5, traded]] }] }),
      ]);
      return waves(segments)[1]?.takes[0]?.qty;
    };
    expect(await take(6, 7.98)).to.equal(1_000);
    expect(await take(6, 8.03)).to.equal(1_000);
    expect(await take(0, 19.99)).to.equal(2_500);
    expect(await take(6, 7.9)).to.equal(987);
    expect(await take(6, 9)).to.equal(1_125);
  });

  it("does not count volume twice that was corrected down and up", async () => {
    const segments = await segmentsOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 100]], trd: [[2, 10]] }] }),
      message({ rc: [{ id: 1, trd: [[2, 4]] }] }),
      message({ rc: [{ id: 1, trd: [[2, 10]] }] }),
    ]);
    expect(waves(segments).flatMap(({ takes }) => takes)).to.deep.equal([]);
  });

  it("yields the changes of status: suspension, in play, result", async () => {
    const segments = await segmentsOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message(definition("SUSPENDED")),
      message({ ...definition("OPEN", true), rc: [{ id: 1, atl: [[3, 10]] }] }),
      message(definition("SUSPENDED", true)),
      message(definition("CLOSED", true, "LOSER", "WINNER")),
      message({ rc: [{ id: 1, atl: [[4, 10]] }] }),
    ]);
    expect(segments.map(({ kind }) => kind)).to.deep.equal([
      "define",
      "wave",
      "suspend",
      "wave",
      "golive",
      "resume",
      "wave",
      "suspend",
      "wave",
      "wave",
      "result",
    ]);
    expect(segments.at(-1)).to.deep.equal({ kind: "result", winner: 1 });
  });

  it("yields a broken line and continues after it", async () => {
    const segments = await segmentsOf([DEFINED, "{", message({ rc: [{ id: 1, atl: [[2, 10]] }] })]);
    expect(segments.find(({ kind }) => kind === "broken")).to.deep.equal({
      kind: "broken",
      line: 2,
      reason: "the line is not JSON",
    });
    expect(waves(segments).at(-1)?.target[0].get(500)).to.equal(2_000);
  });

  it("puts messages into different waves that are further apart than the window", async () => {
    const texts = [
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 1]] }] }, 100),
      message({ rc: [{ id: 1, atl: [[3, 1]] }] }, 900),
    ];
    expect(waves(await segmentsOf(texts))).to.have.length(1);
    expect(waves(await segmentsOf(texts, { ...OPTIONS, windowMs: 500 }))).to.have.length(2);
  });

  it("takes only contracts of the book, skips no message, and ends at the recorded ladder", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const texts = makeRecording({ seed, messages: 60, winner: 0 });
        const segments = await segmentsOf(texts);
        let book = EMPTY_LADDER;
        for (const segment of segments) {
          if (segment.kind === "golive") book = EMPTY_LADDER;
          if (segment.kind !== "wave") continue;
          const resting = book.map((bids) => new Map(bids));
          for (const { outcome, tick, qty } of segment.takes) {
            const bids = resting[1 - outcome] ?? new Map<number, number>();
            let left = qty;
            while (left > 0 && bestOf(bids) >= 1_000 - tick) {
              const best = bestOf(bids);
              const taken = Math.min(left, bids.get(best) ?? 0);
              left -= taken;
              if (taken === bids.get(best)) bids.delete(best);
              else bids.set(best, (bids.get(best) ?? 0) - taken);
            }
            expect(left).to.equal(0);
          }
          book = segment.target;
          expect(bestOf(book[0]) + bestOf(book[1])).to.be.lessThan(1_000);
        }
        expect(waves(segments).reduce((sum, { messages }) => sum + messages, 0)).to.equal(texts.length);
        const whole = new RecordedMarket(OPTIONS);
        for (const line of linesOf(texts)) if (line.ok) whole.apply(line.changes);
        expect(book).to.deep.equal(whole.snapped());
      }),
      { numRuns: 50 },
    );
  });

  it("adds up the cost of a recording, and names the scale that fits", async () => {
    const texts = [
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 6]], trd: [[2, 8]] }] }),
    ];
    const found = await survey(cutWaves(linesOf(texts), OPTIONS), 1);
    expect(found).to.include({
      messages: 3,
      largestLevel: 2_000,
      restingCost: 1_000_000,
      takenCost: 400_000,
    });
    let problem: unknown;
    const huge = { ...OPTIONS, scale: 2_000_000 };
    await survey(cutWaves(linesOf(texts), huge), huge.scale).catch((error: unknown) => (problem = error));
    expect(String(problem)).to.contain("--scale");
  });
});

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
import { cutWaves, type Scene, type Wave } from "../../../scripts/replay/recording/waves.js";
import { makeRecording } from "../../support/recording.js";
import { GRID } from "./grid.js";

const CUTTING = { grid: GRID, scale: 1, windowMs: Infinity };

function linesOf(texts: readonly string[]): Line[] {
  return texts.flatMap((text, index) => readLine(text, index + 1) ?? []);
}

async function scenesOf(texts: readonly string[], cutting = CUTTING): Promise<Scene[]> {
  const scenes: Scene[] = [];
  for await (const scene of cutWaves(linesOf(texts), cutting)) scenes.push(scene);
  return scenes;
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

function waves(scenes: readonly Scene[]): Wave[] {
  return scenes.filter((scene) => scene.kind === "wave");
}

describe("replay: the recorded ladder", () => {
  it("puts backs of a runner and lays of its opponent on the same side, and adds up what lands on one tick", () => {
    const market = new RecordedMarket(CUTTING);
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

  it("leaves the thinner of two levels out that the source shows crossed", () => {
    const market = new RecordedMarket(CUTTING);
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

  it("refuses a market that has not two runners", async () => {
    const runners = [1, 2, 3].map((id) => ({ id, status: "ACTIVE" }));
    const three = { status: "OPEN", inPlay: false, marketTime: "2026-01-01T12:00:00.000Z", runners };
    let problem: unknown;
    await scenesOf([message({ marketDefinition: three })]).catch((error: unknown) => (problem = error));
    expect(problem).to.be.instanceOf(UnusableRecording);
  });
});

describe("replay: cutting waves", () => {
  it("puts messages of different prices in one wave and cuts where a price comes again", async () => {
    const scenes = await scenesOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 2, atl: [[2.2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 11]] }] }),
    ]);
    expect(waves(scenes).map(({ messages, lastLine }) => [messages, lastLine])).to.deep.equal([
      [3, 3],
      [1, 4],
    ]);
  });

  it("turns traded volume into a take of half of it, from the bids that rested there", async () => {
    const scenes = await scenesOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 6]], trd: [[2, 8]] }] }),
    ]);
    const [, last] = waves(scenes);
    expect(last?.takes).to.deep.equal([{ outcome: 1, tick: 500, qty: 800 }]);
    expect(last?.untaken).to.equal(0);
  });

  it("takes no more than rests, and counts the rest as untaken", async () => {
    const scenes = await scenesOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 0]], trd: [[2, 50]] }] }),
      message({ rc: [{ id: 1, trd: [[3, 50]] }] }),
    ]);
    const [, last] = waves(scenes);
    expect(last?.takes.map(({ qty }) => qty)).to.deep.equal([2_000]);
    expect(last?.untaken).to.equal(3_000 + 7_500);
  });

  it("keeps trades in one wave while they alone account for what a price loses", async () => {
    const scenes = await scenesOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 6]], trd: [[2, 8]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 5]], trd: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 9]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 8]], trd: [[2, 12]] }] }),
    ]);
    const [, second, third] = waves(scenes);
    expect(second?.messages).to.equal(3);
    expect(second?.takes.map(({ qty }) => qty)).to.deep.equal([800, 200]);
    expect(third?.takes.map(({ qty }) => qty)).to.deep.equal([200]);
  });

  it("takes what the price lost when only cents of rounding stand between", async () => {
    const take = async (left: number, traded: number): Promise<number | undefined> => {
      const scenes = await scenesOf([
        DEFINED,
        message({ rc: [{ id: 1, atl: [[2.5, 10]] }] }),
        message({ rc: [{ id: 1, atl: [[2.5, left]], trd: [[2.5, traded]] }] }),
      ]);
      return waves(scenes)[1]?.takes[0]?.qty;
    };
    expect(await take(6, 7.98)).to.equal(1_000);
    expect(await take(6, 8.03)).to.equal(1_000);
    expect(await take(0, 19.99)).to.equal(2_500);
    expect(await take(6, 7.9)).to.equal(987);
    expect(await take(6, 9)).to.equal(1_125);
  });

  it("does not count volume again that was corrected down and up", async () => {
    const scenes = await scenesOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 100]], trd: [[2, 10]] }] }),
      message({ rc: [{ id: 1, trd: [[2, 4]] }] }),
      message({ rc: [{ id: 1, trd: [[2, 10]] }] }),
    ]);
    expect(waves(scenes).flatMap(({ takes }) => takes)).to.deep.equal([]);
  });

  it("follows the market: suspension, in play, result", async () => {
    const scenes = await scenesOf([
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message(definition("SUSPENDED")),
      message({ ...definition("OPEN", true), rc: [{ id: 1, atl: [[3, 10]] }] }),
      message(definition("SUSPENDED", true)),
      message(definition("CLOSED", true, "LOSER", "WINNER")),
      message({ rc: [{ id: 1, atl: [[4, 10]] }] }),
    ]);
    expect(scenes.map(({ kind }) => kind)).to.deep.equal([
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
    expect(scenes.at(-1)).to.deep.equal({ kind: "result", winner: 1 });
  });

  it("passes a broken line on and goes on after it", async () => {
    const scenes = await scenesOf([DEFINED, "{", message({ rc: [{ id: 1, atl: [[2, 10]] }] })]);
    expect(scenes.find(({ kind }) => kind === "broken")).to.deep.equal({
      kind: "broken",
      line: 2,
      reason: "it is not JSON",
    });
    expect(waves(scenes).at(-1)?.target[0].get(500)).to.equal(2_000);
  });

  it("keeps messages apart that lie further apart than the window", async () => {
    const texts = [
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 1]] }] }, 100),
      message({ rc: [{ id: 1, atl: [[3, 1]] }] }, 900),
    ];
    expect(waves(await scenesOf(texts))).to.have.length(1);
    expect(waves(await scenesOf(texts, { ...CUTTING, windowMs: 500 }))).to.have.length(2);
  });

  it("always finds in the book what it takes, skips no message and ends at the recorded ladder", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const texts = makeRecording({ seed, messages: 60, winner: 0 });
        const scenes = await scenesOf(texts);
        let book = EMPTY_LADDER;
        for (const scene of scenes) {
          if (scene.kind === "golive") book = EMPTY_LADDER;
          if (scene.kind !== "wave") continue;
          const resting = book.map((bids) => new Map(bids));
          for (const { outcome, tick, qty } of scene.takes) {
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
          book = scene.target;
          expect(bestOf(book[0]) + bestOf(book[1])).to.be.lessThan(1_000);
        }
        expect(waves(scenes).reduce((sum, { messages }) => sum + messages, 0)).to.equal(texts.length);
        const whole = new RecordedMarket(CUTTING);
        for (const line of linesOf(texts)) if (line.ok) whole.apply(line.changes);
        expect(book).to.deep.equal(whole.snapped());
      }),
      { numRuns: 50 },
    );
  });

  it("surveys what a recording needs, and says which scale fits", async () => {
    const texts = [
      DEFINED,
      message({ rc: [{ id: 1, atl: [[2, 10]] }] }),
      message({ rc: [{ id: 1, atl: [[2, 6]], trd: [[2, 8]] }] }),
    ];
    const found = await survey(cutWaves(linesOf(texts), CUTTING), 1);
    expect(found).to.include({
      messages: 3,
      largestLevel: 2_000,
      restingCost: 1_000_000,
      takenCost: 400_000,
    });
    let problem: unknown;
    const huge = { ...CUTTING, scale: 2_000_000 };
    await survey(cutWaves(linesOf(texts), huge), huge.scale).catch((error: unknown) => (problem = error));
    expect(String(problem)).to.contain("--scale");
  });
});

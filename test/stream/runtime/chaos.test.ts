import { expect } from "chai";
import { ACTORS, CRASHES, NETWORK, POWER, runSeed, traffic } from "./chaos.js";

const SEEDS = 100;
describe("actors under faults", () => {
  const kinds = { "a bad network": NETWORK, "crashes as well": CRASHES, "power cuts as well": POWER };
  for (const [kind, faults] of Object.entries(kinds)) {
    it(`apply every command once, and receive every message once and in order, with ${kind}`, async () => {
      let messages = 0;
      let trimmed = 0;
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const world = await runSeed(seed, faults);
        const { sent, received } = await traffic(world);
        expect(received, `seed ${seed}: every number sent is received`).to.deep.equal(sent);
        const applied = Object.values(sent).flat();
        expect(new Set(applied).size, `seed ${seed}: a command took effect twice`).to.equal(applied.length);
        if (world.powerCuts === 0) {
          expect(applied.length, `seed ${seed}: a command was lost`).to.equal(world.posts.length);
        }
        for (const actor of ACTORS) {
          const toActor = Object.entries(received).filter(([way]) => way.endsWith(`> ${actor}`));
          const { received: inState } = await world.state(actor);
          expect(
            Object.fromEntries(
              Object.entries(inState).map(([from, numbers]) => [`${from} -> ${actor}`, numbers]),
            ),
            `seed ${seed}: the state of ${actor} is the fold of its deltas`,
          ).to.deep.equal(Object.fromEntries(toActor));
        }
        messages += applied.length;
        trimmed += world.trimmed;
      }
      expect(messages, "the runs did something").to.be.above(SEEDS * 5);
      expect(trimmed, "entries were trimmed").to.be.above(SEEDS / 2);
    }).timeout(60_000);
  }

  it("have the same trace for the same seed", async () => {
    const [one, two] = [await runSeed(7, POWER), await runSeed(7, POWER)];
    expect(one.trace).to.deep.equal(two.trace);
    expect(one.trace.length).to.be.above(100);
    expect((await runSeed(8, POWER)).trace).not.to.deep.equal(one.trace);
  });
});

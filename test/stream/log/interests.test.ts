import { expect } from "chai";
import { runInterests } from "./interests.js";

const SEEDS = 30;

describe("interests that change while notifications are lost", () => {
  it("let every message reach its worker, and every entry its followers", async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1)
      expect((await runInterests(seed)).failure, `seed ${seed}`).to.equal(undefined);
  }).timeout(60_000);
});

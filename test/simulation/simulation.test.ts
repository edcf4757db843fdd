import { expect } from "chai";
import { carryOut, type Report } from "./tasks.js";

async function seed(n: number): Promise<Extract<Report, { kind: "seed" }>> {
  const report = await carryOut({ kind: "seed", seed: n });
  if (report.kind !== "seed") throw new Error("a seed is reported as something else");
  return report;
}

describe("the simulated exchange", function () {
  this.timeout(120_000);

  it("keeps every invariant through all faults, and reaches them", async () => {
    const reached = new Map<string, number>();
    for (let n = 1; n <= 20; n += 1) {
      const { failure, reached: counts } = await seed(n);
      expect(failure, `seed ${n}: npm run simulate -- --seed ${n} --trace`).to.equal(undefined);
      for (const [what, times] of counts) reached.set(what, (reached.get(what) ?? 0) + times);
    }
    const faults = ["worker crash", "worker pause", "hand-over", "power cut", "disconnect", "gateway crash"];
    const losses = ["lost answer", "lost request", "late request", "repeated request", "projector crash"];
    const recoveries = ["commit fenced", "commit conflict", "takeover", "readSnapshot", "asked again"];
    const trading = [
      "order fill netting",
      "order wash",
      "payout",
      "reversal",
      "transfer",
      "market REMEDIATE",
    ];
    const tifs = ["order GTC", "order GTT", "order IOC", "order FOK", "order PO"];
    for (const what of [...faults, ...losses, ...recoveries, ...trading, ...tifs])
      expect(reached.get(what), `times that ${what} was reached`).to.be.above(0);
  });

  it("takes the same way again from the same seed, and another from another", async () => {
    const [first, again, other] = [await seed(3), await seed(3), await seed(4)];
    expect(again.hash).to.equal(first.hash);
    expect(other.hash).to.not.equal(first.hash);
  });

  for (const name of [
    "the fence removed",
    "the dedupe by (source, seq) removed",
    "the sequence check removed",
    "time priority reversed",
  ]) {
    it(`catches a planted bug: ${name}`, async () => {
      const report = await carryOut({ kind: "mutant", name });
      expect(report.kind === "mutant" ? report.caught : undefined).to.not.equal(undefined);
    });
  }
});

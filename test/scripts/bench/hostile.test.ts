import { expect } from "chai";
import { BEHAVIORS } from "../../../scripts/bench/hostile/behaviors.js";
import { Callers, SignedRequests } from "../../../scripts/bench/hostile/caller.js";
import { attack, attackWorld, Rounds } from "../../../scripts/bench/hostile/hostile.js";
import { openWorld, type Target } from "../../../scripts/bench/hostile/world.js";
import type { Row } from "../../../scripts/bench/table.js";
import { until } from "../../support/until.js";
import { startStack, type Stack } from "../../support/stack.js";

describe("the bench of hostile traders", function () {
  this.timeout(900_000);
  let stack: Stack;
  let target: Target;

  beforeEach(async () => {
    stack = await startStack({ metered: true, trustProxy: 1 });
    target = {
      url: stack.url,
      operator: stack.operatorLogin,
      brand: stack.brand,
      redisUrl: stack.redisUrl,
      sizes: () =>
        Promise.resolve({
          processes: { all: String(process.pid) },
          rssBytes: { all: process.memoryUsage().rss },
          redisBytes: 0,
        }),
    };
  });
  afterEach(() => stack.stop());

  it("has at least ten behaviors, of which none makes the request of another trader fail", async () => {
    expect(new Set(BEHAVIORS.map(({ name }) => name)).size)
      .to.equal(BEHAVIORS.length)
      .and.to.be.at.least(10);
    const rows: Row[] = [];
    for await (const measured of attack(target, BEHAVIORS, 0.5, { victims: 3, dust: 512, readers: 2 }))
      rows.push(...measured);
    for (const { name } of BEHAVIORS) {
      const figureOf = (measure: string): number =>
        rows.find((row) => row.bench === `hostile: ${name}` && row.measure === measure)?.figure ?? NaN;
      expect(figureOf("failed requests"), name).to.equal(0);
      expect(figureOf("roles restarted"), name).to.equal(0);
      expect(figureOf("hostile requests"), name).to.be.above(0);
      expect(figureOf("hostile requests refused"), name).to.be.within(0, 100);
      expect(figureOf("another trader's p50"), name).to.be.above(0);
      expect(figureOf("another trader's p99"), name).to.be.above(0);
    }
  });

  it("meets the dust with each behavior, also after one that has canceled it", async () => {
    const world = await openWorld(target, { victims: 0, dust: 512, readers: 1 });
    const callers = new Callers(stack.url, "198.51");
    try {
      const caller = callers.open(1);
      const requests = new SignedRequests(world.facts.hostile.trading, stack.brand);
      const openOrders = async (): Promise<number> => {
        const { body } = await caller.send(await requests.of("GET", "/v3/account/orders"));
        return (JSON.parse(body.toString()) as { open: unknown[] }).open.length;
      };
      await until(openOrders, (orders) => orders === 512);
      const cancels = BEHAVIORS.filter(({ name }) => name === "cancels of everything");
      let least = Infinity;
      const watch = setInterval(() => {
        void openOrders().then((orders) => (least = Math.min(least, orders)));
      }, 50);
      for await (const rows of attackWorld(target, cancels, world, 1)) expect(rows.length).to.be.above(0);
      clearInterval(watch);
      expect(least).to.equal(0);
      await until(openOrders, (orders) => orders === 512);
    } finally {
      callers.close();
      world.close();
    }
  });
});

describe("the rounds of the bench of hostile traders", () => {
  /** Runs the rounds with the ratios of each behavior. Returns the order of the behaviors, and the verdicts. */
  function decide(ratios: Readonly<Record<string, readonly number[]>>): [string[], Row[]] {
    const behaviors = Object.keys(ratios).map((name) => ({ name, run: () => Promise.resolve() }));
    const rounds = new Rounds(behaviors);
    const order: string[] = [];
    for (const { name } of rounds.behaviors()) {
      const figure = ratios[name]?.[order.filter((other) => other === name).length] ?? NaN;
      order.push(name);
      rounds.record([
        { bench: `hostile: ${name}`, measure: "another trader's p99", figure, unit: "x quiet" },
      ]);
    }
    return [order, rounds.verdicts()];
  }

  it("have a third round for the behaviors over which the first two disagree, and no other", () => {
    const [order, rows] = decide({ a: [1.9, 2], b: [2.1, 1.5, 1.6], c: [1, 2.1, 2.5], d: [2.2, 3] });
    expect(order.join("")).to.equal("abcdabcdbc");
    expect(rows.map(({ measure, figure, verdict }) => [measure, figure, verdict])).to.deep.equal([
      ["a", 2, "pass"],
      ["b", 1.6, "pass"],
      ["c", 2.1, "FAIL"],
      ["d", 3, "FAIL"],
    ]);
  });

  it("judge the p50 like the p99", () => {
    const rounds = new Rounds([{ name: "a", run: () => Promise.resolve() }]);
    for (const { name } of rounds.behaviors()) {
      const bench = `hostile: ${name}`;
      const rowOf = (share: string, figure: number): Row => {
        return { bench, measure: `another trader's ${share}`, figure, unit: "x quiet" };
      };
      rounds.record([rowOf("p50", 3), rowOf("p99", 1)]);
    }
    expect(rounds.verdicts().map(({ figure, verdict }) => [figure, verdict])).to.deep.equal([[3, "FAIL"]]);
  });

  it("fail a behavior that has no ratio", () => {
    expect(decide({ a: [] })[1].map(({ verdict }) => verdict)).to.deep.equal(["FAIL"]);
  });
});

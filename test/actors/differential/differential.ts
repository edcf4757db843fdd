/** Runs random steps against the real actors and the naive exchange, and compares their states after each step. */

import { expect } from "chai";
import type { ActorId, Batch } from "../../../actors/actor.js";
import type { Bounds } from "../../../actors/limits.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { Bench, type Tally } from "./bench.js";
import { Comparison } from "./comparison.js";
import type { Actors } from "../../support/exchange/network.js";
import { expectFold } from "./checked-actor.js";
import { amend, cancel, cancelAll, place } from "./order-steps.js";
import { configure, grade, guard, lifecycle, post, remediate, transact, transfer } from "./other-steps.js";
import type { Scenario, Step } from "./steps.js";
import { definitionOf } from "./world.js";
import { unreachable } from "../../../actors/unreachable.js";

const START_MILLICENTS = 50_000;

export class Differential {
  readonly #bench: Bench;
  readonly #comparison: Comparison;
  /** Number of steps taken so far. */
  stepsTaken = 0;

  /** `bounds` limits each decision (default as in production). */
  constructor(actors?: Actors, tally: Tally = new Map(), bounds?: Bounds) {
    this.#bench = new Bench(actors, tally, bounds);
    this.#comparison = new Comparison(this.#bench);
  }

  /** All actors of the exchange, with the batches that they have emitted. */
  get actors(): readonly { readonly id: ActorId; readonly emitted: readonly Batch<unknown>[] }[] {
    const { markets, ledgers } = this.#bench.real;
    return [...markets.values(), ...ledgers.values()];
  }

  run({ shapes, steps }: Scenario): void {
    const bench = this.#bench;
    shapes.forEach((shape, n) => {
      const definition = definitionOf(n, shape);
      const { marketId } = definition;
      bench.marketIds.push(marketId);
      bench.real.market(marketId, { kind: "create", definition, open: true, live: shape.live });
      bench.naive.create(definition);
      bench.naive.lifecycle(marketId, shape.live ? ["golive", "open"] : ["open"]);
    });
    bench.wallets.forEach((wallet, n) => {
      for (const currency of CURRENCIES) post(bench, wallet, "DEPOSIT", START_MILLICENTS, currency);
      guard(bench, { do: "guard", setting: "group", wallet: n, group: 0, bound: 4 });
    });
    for (const step of steps) {
      this.stepsTaken += 1;
      this.#apply(step);
      this.#comparison.check();
    }
    this.#finish();
  }

  /** Ends every market, so that each scenario reaches settlement. */
  #finish(): void {
    const { marketIds, naive, real } = this.#bench;
    for (const [n, marketId] of marketIds.entries()) {
      for (const kind of [n, 0])
        if (naive.market(marketId).grade === undefined)
          this.#apply({ do: "grade", market: n, kind, outcome: n, batch: 2 });
      this.#comparison.check();
      expect(naive.market(marketId).status).to.equal("SETTLED");
    }
    for (const market of real.markets.values()) expectFold(market);
    for (const ledger of real.ledgers.values()) expectFold(ledger);
  }

  #apply(step: Step): void {
    const bench = this.#bench;
    bench.count(step.do);
    switch (step.do) {
      case "place":
        place(bench, step);
        return;
      case "cancel":
        cancel(bench, step);
        return;
      case "cancelAll":
        cancelAll(bench, step);
        return;
      case "amend":
        amend(bench, step);
        return;
      case "transact":
        transact(bench, step);
        return;
      case "transfer":
        transfer(bench, step);
        return;
      case "guard":
        guard(bench, step);
        return;
      case "lifecycle":
        lifecycle(bench, step);
        return;
      case "configure":
        configure(bench, step);
        return;
      case "grade":
        grade(bench, step);
        return;
      case "remediate":
        remediate(bench, step);
        return;
      case "wait":
        bench.wait(step.ms);
        return;
      default:
        unreachable(step);
    }
  }
}

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import type { MarketCommand, MarketReply } from "../../../actors/market/commands.js";
import { market as actor } from "../../../actors/market/market.js";
import type { Voids } from "../../../actors/market/types.js";
import { ticks } from "../../../actors/units.js";
import { driveEventStep, type EventAction, type EventMarket } from "../../../stream/jobs/event-actions.js";
import { Unavailable, type AskOptions, type Exchange } from "../../../stream/log/ports.js";

/** Real market actors in memory, which answer a repeated command id with the first answer. */
class Markets implements Exchange {
  readonly #states = new Map<string, ReturnType<typeof actor.create>>();
  readonly #answers = new Map<string, MarketReply>();
  /** Kinds of the lifecycle deltas so far. */
  readonly transitions: string[] = [];
  failing: string | undefined;

  add(voids: Voids, open = true): EventMarket {
    const marketId = randomUUID();
    this.#states.set(marketId, actor.create(marketActor(marketId)));
    this.#decide(marketId, {
      kind: "create",
      open,
      live: false,
      definition: {
        marketId,
        eventId: randomUUID(),
        marketType: "MONEY",
        description: "A against B",
        voids,
        outcomes: [
          { outcomeId: randomUUID(), name: "A" },
          { outcomeId: randomUUID(), name: "B" },
        ],
        fee: { coefficientPpm: 30_000, makerCreditPpm: 500_000, charged: "WHEN_LIVE" },
        liveDelayMs: 0,
        ticks: [ticks(500)],
      },
    });
    this.transitions.length = 0;
    return { marketId, voids };
  }

  state(market: EventMarket) {
    const state = this.#states.get(market.marketId);
    if (state === undefined) throw new Error("no such market");
    return state;
  }

  #decide(marketId: string, command: MarketCommand): MarketReply {
    const state = this.#states.get(marketId);
    if (state === undefined) throw new Error("no such market");
    const { deltas, reply } = actor.decide(state, command, 1_000);
    for (const delta of deltas) if (delta.type === "lifecycle") this.transitions.push(delta.kind);
    if (reply === undefined) throw new Error("no answer");
    return reply;
  }

  async market(marketId: string, command: MarketCommand, options?: AskOptions): Promise<MarketReply> {
    if (this.failing === marketId) throw new Unavailable("no answer");
    const id = options?.id ?? randomUUID();
    const answer = this.#answers.get(id) ?? this.#decide(marketId, command);
    this.#answers.set(id, answer);
    return Promise.resolve(answer);
  }

  ledger(): Promise<never> {
    return Promise.reject(new Error("an event step sent a command to a ledger"));
  }
}

describe("event steps", () => {
  let markets: Markets;
  let actionId = 0;
  const step = (action: EventAction) => ({ actionId: (actionId += 1), eventId: randomUUID(), action });

  beforeEach(() => {
    markets = new Markets();
  });

  it("are followed by every market of the event", async () => {
    const game = [markets.add("PUSH"), markets.add("FMV")];
    await driveEventStep(markets, step("golive"), game);
    expect(markets.transitions).to.deep.equal(["START", "GOLIVE", "START", "GOLIVE"]);
    await driveEventStep(markets, step("unlive"), game);
    await driveEventStep(markets, step("close"), game);
    expect(game.map((market) => markets.state(market).status)).to.deep.equal(["CLOSED", "CLOSED"]);
    await driveEventStep(markets, step("open"), game);
    expect(game.map((market) => markets.state(market).status)).to.deep.equal(["OPEN", "OPEN"]);
  });

  it("grade PUSH markets as pushed when the event is canceled, and return them for settlement", async () => {
    const [push, fair] = [markets.add("PUSH"), markets.add("FMV")];
    const graded = await driveEventStep(markets, step("cancel"), [push, fair]);
    expect(graded.map(({ marketId }) => marketId)).to.deep.equal([push.marketId]);
    expect(markets.state(push).settlement?.settlementId).to.equal(graded[0]?.settlementId);
    expect(markets.state(fair).settlement).to.equal(undefined);
    expect(markets.state(fair).status).to.equal("CLOSED");
  });

  it("can be sent again after a market did not answer, and take effect once", async () => {
    const [first, second] = [markets.add("PUSH"), markets.add("PUSH")];
    const finalise = step("finalise");
    markets.failing = second.marketId;
    const failure = await driveEventStep(markets, finalise, [first, second]).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);
    markets.failing = undefined;
    await driveEventStep(markets, finalise, [first, second]);
    expect(markets.transitions).to.deep.equal(["END", "CLOSE", "END", "CLOSE"]);
  });
});

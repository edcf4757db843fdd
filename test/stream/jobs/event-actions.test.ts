import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { MarketCommand, MarketReply } from "../../../actors/market/commands.js";
import type { Voids } from "../../../actors/market/types.js";
import {
  driveEventStep,
  type EventAction,
  type EventMarket,
  type EventStep,
  type EventStepPorts,
} from "../../../stream/jobs/event-actions.js";
import { Unavailable, type AskOptions } from "../../../stream/log/ports.js";
import { createMarket, marketDefinition } from "../../support/exchange/commands.js";
import { ActorNetwork } from "../../support/exchange/network.js";

/** Real market actors in memory, which answer a repeated command id with the first answer until they forget it. */
class Markets implements EventStepPorts {
  /** Kinds of the lifecycle deltas so far. */
  readonly transitions: string[] = [];
  /** Markets that took a step which others did not answer. */
  readonly followed: string[] = [];
  readonly exchange = { market: this.market.bind(this) };
  readonly recordFollowed = (_step: EventStep, marketIds: readonly string[]): Promise<void> => {
    this.followed.push(...marketIds);
    return Promise.resolve();
  };
  failing: string | undefined;
  readonly #answers = new Map<string, MarketReply>();
  readonly #network = new ActorNetwork({
    onBatch: (_actor, { deltas }) => {
      for (const delta of deltas) if (delta.type === "lifecycle") this.transitions.push(delta.kind);
    },
  });

  add(voids: Voids, open = true): EventMarket {
    const definition = marketDefinition({ voids });
    this.#decide(definition.marketId, createMarket(definition, open));
    this.transitions.length = 0;
    return definition;
  }

  state({ marketId }: EventMarket) {
    return this.#network.marketOf(marketId).state;
  }

  #decide(marketId: string, command: MarketCommand): MarketReply {
    const reply = this.#network.market(marketId, command);
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

  forgetAnswers(): void {
    this.#answers.clear();
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

  it("open the markets that the event has closed when it goes in play, after GOLIVE", async () => {
    const [followed, closed] = [markets.add("PUSH"), markets.add("PUSH")];
    await markets.market(closed.marketId, { kind: "lifecycle", actions: ["close"] });
    await driveEventStep(markets, step("close"), [followed, closed]);
    markets.transitions.length = 0;
    await driveEventStep(markets, step("golive"), [closed]);
    expect(markets.transitions).to.deep.equal(["START", "GOLIVE"]);
    expect(markets.state(closed).status).to.equal("CLOSED");
    markets.transitions.length = 0;
    await driveEventStep(markets, step("golive"), [followed]);
    expect(markets.transitions).to.deep.equal(["START", "GOLIVE", "OPEN"]);
    expect(markets.state(followed).status).to.equal("OPEN");
  });

  it("leave a market closed whose operator closed it after the event had opened it again", async () => {
    const game = [markets.add("PUSH")] as const;
    await driveEventStep(markets, step("close"), game);
    await driveEventStep(markets, step("open"), game);
    await markets.market(game[0].marketId, { kind: "lifecycle", actions: ["close"] });
    await driveEventStep(markets, step("golive"), game);
    expect(markets.state(game[0]).status).to.equal("CLOSED");
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

  it("leave the markets alone that took them before another did not answer, however long ago", async () => {
    const [first, second] = [markets.add("PUSH"), markets.add("PUSH")];
    const open = step("open");
    markets.failing = second.marketId;
    await driveEventStep(markets, open, [first, second]).catch(() => undefined);
    expect(markets.followed).to.deep.equal([first.marketId]);
    await markets.market(first.marketId, { kind: "lifecycle", actions: ["close"] });
    markets.failing = undefined;
    markets.forgetAnswers();
    await driveEventStep(markets, { ...open, followed: markets.followed }, [first, second]);
    expect(markets.state(first).status).to.equal("CLOSED");
  });
});

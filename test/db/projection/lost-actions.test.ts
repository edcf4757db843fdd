import { expect } from "chai";
import { eq } from "drizzle-orm";
import type { MarketDefinition } from "../../../actors/market/types.js";
import type { EventStatus } from "../../../db/schema/catalog.js";
import { markets, marketTransitions } from "../../../db/schema/markets.js";
import type { EventAction } from "../../../stream/jobs/event-actions.js";
import { dice } from "../exchange.js";
import { newEvent } from "../queries/events.js";
import { memoryServer, WentBack } from "./went-back.js";

/** An action, the statuses of the event before and after it, and what it leads to in a market. */
type Case = readonly [EventAction, EventStatus, EventStatus, Shown];

interface Shown {
  readonly status: string;
  readonly live: boolean;
  readonly grade?: object | null;
}

const OPEN: Shown = { status: "OPEN", live: false };
const CLOSED: Shown = { status: "CLOSED", live: false };
const CASES: readonly Case[] = [
  ["golive", "OPEN_PREGAME", "OPEN_INGAME", { status: "OPEN", live: true }],
  ["close", "OPEN_PREGAME", "CLOSED_PREGAME", CLOSED],
  ["finalise", "OPEN_PREGAME", "FINAL", CLOSED],
  ["cancel", "OPEN_PREGAME", "CANCELED", { ...CLOSED, grade: { kind: "PUSH" } }],
];

describe("actions on an event that the log has lost", () => {
  let of: WentBack;
  let eventId: string;
  let market: MarketDefinition;

  beforeEach(async () => {
    of = await WentBack.start(memoryServer(), dice(1));
    eventId = await newEvent(of.db, 1);
    of.startProjector();
    market = await of.createMarket({ eventId, voids: "PUSH" });
    await of.projected();
  });

  afterEach(() => of.stop());

  /** Returns what the tables show of the market, when they are at the end of the log. */
  async function shown(): Promise<Shown | undefined> {
    await of.projected();
    const { status, live, grade } = markets;
    const rows = await of.db
      .select({ status, live, grade })
      .from(markets)
      .where(eq(markets.marketId, market.marketId));
    return rows[0];
  }

  for (const [action, from, to, expected] of CASES) {
    for (const seen of [true, false]) {
      it(`are sent again: ${action}, which the tables ${seen ? "had" : "never had"}`, async () => {
        await of.keepCopy();
        if (!seen) await of.stopProjector();
        await of.actOnEvent(eventId, action, from, to);
        if (seen) expect(await shown()).to.deep.include(expected);
        await of.goBack();
        if (!seen) of.startProjector();
        expect(await shown()).to.deep.include(OPEN);
        expect(await of.sendLostActions()).to.deep.equal([market.marketId]);
        expect(await shown()).to.deep.include(expected);
        expect(await of.sendLostActions(), "once more").to.deep.equal([]);
      });
    }
  }

  it("are sent again: unlive", async () => {
    await of.actOnEvent(eventId, "golive", "OPEN_PREGAME", "OPEN_INGAME");
    await of.projected();
    await of.keepCopy();
    await of.actOnEvent(eventId, "unlive", "OPEN_INGAME", "DELAYED");
    await of.goBack();
    expect(await shown()).to.deep.include({ status: "OPEN", live: true });
    expect(await of.sendLostActions()).to.deep.equal([market.marketId]);
    expect(await shown()).to.deep.include(OPEN);
  });

  it("are sent again when the grade of a cancel alone is lost", async () => {
    await of.actOnEvent(eventId, "close", "OPEN_PREGAME", "CLOSED_PREGAME");
    await of.projected();
    await of.keepCopy();
    await of.actOnEvent(eventId, "cancel", "CLOSED_PREGAME", "CANCELED");
    expect(await shown()).to.deep.include({ grade: { kind: "PUSH" } });
    await of.goBack();
    expect(await shown()).to.deep.include({ ...CLOSED, grade: null });
    expect(await of.sendLostActions()).to.deep.equal([market.marketId]);
    expect(await shown()).to.deep.include({ ...CLOSED, grade: { kind: "PUSH" } });
  });

  it("are not searched in a market that was changed by hand since", async () => {
    await of.actOnEvent(eventId, "close", "OPEN_PREGAME", "CLOSED_PREGAME");
    await of.change(market, "open");
    expect(await shown()).to.deep.include(OPEN);
    expect(await of.sendLostActions()).to.deep.equal([]);
  });

  it("are sent to no other market of the event", async () => {
    const byHand = await of.createMarket({ eventId });
    await of.projected();
    await of.keepCopy();
    await of.actOnEvent(eventId, "close", "OPEN_PREGAME", "CLOSED_PREGAME");
    await of.goBack();
    await of.change(byHand, "pause");
    const created = await of.createMarket({ eventId });
    await of.projected();
    expect(await of.sendLostActions()).to.deep.equal([market.marketId]);
    await of.projected();
    const rows = await of.db.select().from(markets).where(eq(markets.status, "OPEN"));
    expect(rows.map(({ marketId }) => marketId)).to.have.members([byHand.marketId, created.marketId]);
  });

  it("are not searched in a market of which no earlier transition is known", async () => {
    await of.keepCopy();
    await of.actOnEvent(eventId, "close", "OPEN_PREGAME", "CLOSED_PREGAME");
    await of.goBack();
    expect(await shown()).to.deep.include(OPEN);
    await of.db.delete(marketTransitions);
    expect(await of.sendLostActions()).to.deep.equal([]);
  });

  it("are not searched in tables that are behind the log", async () => {
    await of.stopProjector();
    await of.actOnEvent(eventId, "close", "OPEN_PREGAME", "CLOSED_PREGAME");
    await of.change(market, "open");
    expect(await of.sendLostActions()).to.deep.equal([]);
    of.startProjector();
    expect(await shown()).to.deep.include(OPEN);
  });

  it("are not sent after a later action", async () => {
    await of.keepCopy();
    await of.actOnEvent(eventId, "close", "OPEN_PREGAME", "CLOSED_PREGAME");
    await of.goBack();
    await of.projected();
    await of.actOnEvent(eventId, "open", "CLOSED_PREGAME", "OPEN_PREGAME");
    expect(await of.sendLostActions()).to.deep.equal([]);
    expect(await shown()).to.deep.include(OPEN);
  });
});

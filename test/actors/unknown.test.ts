/** Commands and deltas of a newer build. Actors reject unknown commands and stop at unknown deltas. */

import { expect } from "chai";
import { ledgerActor, MalformedCommand, marketActor, type Outgoing } from "../../actors/actor.js";
import type { LedgerCommand } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { MarketCommand } from "../../actors/market/commands.js";
import type { EffectDelta, MarketDelta } from "../../actors/market/deltas.js";
import { market } from "../../actors/market/market.js";
import { contracts } from "../../actors/units.js";
import { unreachable } from "../../actors/unreachable.js";
import { packEnvelope } from "../../stream/log/packing.js";
import { actorOf } from "../../stream/runtime/actors.js";
import { Instance } from "../../stream/runtime/instance.js";
import { MARKET_ID, Scenario } from "./scenario.js";
import { savedText } from "../support/exchange/saved.js";

const NO_COMMANDS: readonly unknown[] = [{ kind: "future" }, { kind: "toString" }, {}, [], null, 7, "tick"];
const FUTURE = { type: "future", seq: 1 };
const TS = 1_000;

function traded(): Scenario {
  const exchange = new Scenario();
  exchange.fund("ann", 1_000_000);
  exchange.place("ann", "YES 0.600 x 10");
  return exchange;
}

describe("unreachable", () => {
  it("throws an error that names the value, cut to 200 characters", () => {
    expect(() => unreachable({ type: "future" } as never)).to.throw('unexpected value: {"type":"future"}');
    expect(() => unreachable(undefined as never)).to.throw("unexpected value: undefined");
    expect(() => unreachable("x".repeat(1_000) as never)).to.throw(/^unexpected value: "x{199}$/);
  });
});

describe("an actor that receives a message that is not a command", () => {
  for (const body of NO_COMMANDS) {
    it(`throws MalformedCommand and changes nothing: ${JSON.stringify(body)}`, () => {
      const exchange = traded();
      const before = savedText(market, exchange.market);
      expect(() => market.decide(exchange.market, body as MarketCommand, TS)).to.throw(MalformedCommand);
      expect(savedText(market, exchange.market)).to.equal(before);
      for (const shard of exchange.ledgers.values()) {
        const saved = savedText(ledger, shard);
        expect(() => ledger.decide(shard, body as LedgerCommand, TS)).to.throw(MalformedCommand);
        expect(savedText(ledger, shard)).to.equal(saved);
      }
    });
  }

  it("rejects an unknown kind before it checks that the market exists", () => {
    const state = market.create(marketActor(MARKET_ID));
    expect(() => market.decide(state, { kind: "future" } as never, TS)).to.throw(MalformedCommand);
  });

  for (const id of [marketActor(MARKET_ID), "ledger:3"] as const) {
    it(`is skipped by the runtime, and ${id} processes the next message`, () => {
      const instance = Instance.create(actorOf(id), id);
      const bodies = [{ kind: "future" }, null, { kind: "report" }].map((command) =>
        packEnvelope({ id: "ask", replyTo: "feed", commands: [command] }),
      );
      const messages = bodies.map((body, index) => ({ id: `0-${index + 1}`, body }));
      const turn = instance.run(messages, TS);
      expect(turn.fault).to.equal(undefined);
      expect(turn.handled).to.equal(3);
      expect(turn.skipped.map(({ error }) => error.name)).to.deep.equal([
        "MalformedCommand",
        "MalformedCommand",
      ]);
      expect(turn.replies).to.have.length(1);
      expect(instance.cursor).to.equal("0-3");
    });
  }
});

describe("a message from one actor to another", () => {
  it("compiles only with a command of its destination", () => {
    const toMarket = { kind: "amend", orderId: "o1", qty: contracts(1) } as const;
    const toLedger = { kind: "effects", marketId: MARKET_ID, ts: TS, deltas: [] } as const;
    const right: readonly Outgoing[] = [
      { to: marketActor(MARKET_ID), command: toMarket },
      { to: ledgerActor(3), command: toLedger },
    ];
    const wrong: readonly Outgoing[] = [
      // @ts-expect-error A market accepts no command of a ledger.
      { to: marketActor(MARKET_ID), command: toLedger },
      // @ts-expect-error A ledger accepts no command of a market.
      { to: ledgerActor(3), command: toMarket },
    ];
    expect([...right, ...wrong]).to.have.length(4);
  });
});

describe("a fold that reads an unknown delta", () => {
  const marketDeltas: readonly unknown[] = [
    FUTURE,
    { type: "order", kind: "future", orderId: "o1" },
    { type: "lifecycle", kind: "FUTURE", seq: 9, status: "OPEN" },
  ];
  for (const delta of marketDeltas) {
    it(`stops the market: ${JSON.stringify(delta)}`, () => {
      const { market: state } = traded();
      expect(() => market.evolve(state, delta as MarketDelta, TS)).to.throw("unexpected value");
    });
  }

  it("stops the routing of the market's and the ledger's effects", () => {
    const batch = { ts: TS, deltas: [FUTURE as unknown as MarketDelta] };
    expect(() => market.route(marketActor(MARKET_ID), batch)).to.throw("unexpected value");
    const ofLedger = { ts: TS, deltas: [FUTURE as unknown as LedgerDelta] };
    expect(() => ledger.route("ledger:3", ofLedger)).to.throw("unexpected value");
  });

  it("stops the ledger, also at an unknown kind of order or entry", () => {
    const exchange = traded();
    const [shard] = [...exchange.ledgers.values()].filter(({ wallets }) => wallets.has("ann"));
    if (shard === undefined) throw new Error("no shard has the wallet of ann");
    const deltas: readonly unknown[] = [
      FUTURE,
      { type: "order", kind: "future", wallet: "ann", seq: 9, orderId: "o1" },
      { type: "entry", kind: "FUTURE", wallet: "ann", currency: "CASH", amount: 1 },
    ];
    for (const delta of deltas)
      expect(() => ledger.evolve(shard, delta as LedgerDelta, TS)).to.throw("unexpected value");
  });

  it("stops the ledger at an unknown effect of a market, so that no money is skipped", () => {
    const state = ledger.create("ledger:3");
    for (const effect of [FUTURE, { type: "order", kind: "future" }]) {
      const deltas = [effect as unknown as EffectDelta];
      const command = { kind: "effects", marketId: MARKET_ID, ts: TS, deltas } as const;
      expect(() => ledger.decide(state, command, TS)).to.throw("unexpected value");
    }
  });
});

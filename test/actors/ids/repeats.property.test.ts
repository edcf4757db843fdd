/**
 * Repeats of orders, transfers and operator's transactions against a naive model that keeps every id for ever. The test
 * plays the part of the gateway: it looks up uncertain ids in tables, which have what the answer asks for and no more.
 */

import { expect } from "chai";
import fc from "fast-check";
import { ledgerActor, restoreParts } from "../../../actors/actor.js";
import { type Format, LATEST_FORMAT, OLDEST_FORMAT } from "../../../actors/format.js";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import { IdFilter } from "../../../actors/ledger/ids/filter.js";
import { ledger } from "../../../actors/ledger/ledger.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import type { Transfer } from "../../../actors/ledger/types.js";
import { millicents } from "../../../actors/units.js";
import { deposit, marketDefinition, orderRequest } from "../../support/exchange/commands.js";
import { pick } from "../differential/world.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MARKET = marketDefinition();
/** Time between an uncertain answer and the command with what was looked up: more than the timeout of a command. */
const LOOK_UP_MS = 10_000;
const WAITS = [0, 1, 30_000, 9 * MINUTE, 10 * MINUTE, 11 * MINUTE, HOUR, 13 * HOUR, DAY - 1, DAY, 25 * HOUR];

/** Returns the saved form of a ledger as one string. */
function savedOf(state: LedgerState): string {
  return [...ledger.save(state)].join("\n");
}

/** A ledger with the tables that follow it and the part of the gateway. */
class Gateway {
  state: LedgerState = ledger.create(ledgerActor(0));
  now = 1_700_000_000_123;
  format: Format = LATEST_FORMAT;
  lookUps = 0;
  readonly tables = {
    orders: new Map<string, { orderId: string; digest: string; ts: number }>(),
    transfers: new Map<string, Transfer>(),
    transactions: new Map<string, string>(),
  };
  readonly log: { readonly ts: number; readonly deltas: readonly LedgerDelta[] }[] = [];

  constructor() {
    this.send(deposit("ann", 10_000_000_000));
  }

  private decide(command: LedgerCommand): LedgerReply | undefined {
    const { deltas, reply } = ledger.decide(this.state, command, this.now, this.format);
    const batch = JSON.parse(JSON.stringify({ ts: this.now, deltas })) as (typeof this.log)[number];
    this.log.push(batch);
    for (const delta of batch.deltas) this.project(delta);
    return JSON.parse(JSON.stringify(reply ?? null)) as LedgerReply;
  }

  private project(delta: LedgerDelta): void {
    if (delta.type === "accepted" && delta.clientId !== undefined) {
      const { orderId } = delta.order;
      this.tables.orders.set(delta.clientId, { orderId, digest: delta.digest ?? "", ts: this.now });
    }
    if (delta.type === "transfer" && delta.transfer.clientTransferId !== undefined)
      this.tables.transfers.set(delta.transfer.clientTransferId, delta.transfer);
    if (delta.type === "entry" && delta.clientRef !== undefined)
      this.tables.transactions.set(delta.clientRef, delta.transactionId);
  }

  tick(): void {
    for (let n = 0; (ledger.deadline(this.state) ?? Infinity) <= this.now; n += 1) {
      expect(n, "a tick changes the deadline").to.be.below(3);
      this.decide(ledger.tick);
    }
  }

  /** Sends a command; after an uncertain answer, which changes nothing, sends it again with what the tables have. */
  send(command: LedgerCommand): LedgerReply | undefined {
    this.tick();
    const before = savedOf(this.state);
    const reply = this.decide(command);
    if (reply?.ok !== true || reply.kind !== "uncertain") return reply;
    this.lookUps += 1;
    expect(this.log.at(-1)?.deltas).to.deep.equal([]);
    expect(savedOf(this.state)).to.equal(before);
    this.now += LOOK_UP_MS;
    const again = this.decide(this.withLookedUp(command, reply.ids, reply.sinceMs));
    expect(again).to.not.have.property("kind", "uncertain");
    return again;
  }

  private withLookedUp(command: LedgerCommand, ids: readonly string[], sinceMs = Infinity): LedgerCommand {
    const [id = ""] = ids;
    switch (command.kind) {
      case "place": {
        const lookedUp = ids.map((clientId) => {
          const first = this.tables.orders.get(clientId);
          return { clientId, first: first !== undefined && first.ts < sinceMs ? first : undefined };
        });
        return { ...command, lookedUp };
      }
      case "transfer":
        return { ...command, lookedUp: { first: this.tables.transfers.get(id) } };
      case "transact":
        return { ...command, lookedUp: { first: this.tables.transactions.get(id) } };
      default:
        throw new Error(`the command ${command.kind} has no id`);
    }
  }

  /** Saves and restores the ledger, as a worker does that takes it over. */
  takeOver(whole = false): void {
    const folded = ledger.create(ledgerActor(0));
    for (const { ts, deltas } of this.log) for (const delta of deltas) ledger.evolve(folded, delta, ts);
    const saved = savedOf(this.state);
    expect(savedOf(folded), "the fold of the log").to.equal(saved);
    const parts = [...ledger.save(this.state)];
    this.state = whole
      ? ledger.restoreWhole(ledgerActor(0), JSON.parse(JSON.stringify(ledger.saveWhole(this.state))))
      : restoreParts(ledger, ledgerActor(0), parts);
    expect(savedOf(this.state), "the restored ledger").to.equal(saved);
  }
}

const STEP = fc.record({
  wait: fc.constantFrom(...WAITS),
  do: fc.constantFrom("place", "place", "place", "transfer", "transact", "takeOver"),
  atomic: fc.boolean(),
  orders: fc.array(fc.record({ id: fc.integer({ min: 0, max: 5 }), qty: fc.integer({ min: 1, max: 2 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
});
type Step = typeof STEP extends fc.Arbitrary<infer Value> ? Value : never;

/** Every id for ever. */
class Model {
  orders = new Map<number, { readonly orderId: string; readonly qty: number; readonly ts: number }>();
  readonly transfers = new Map<number, { readonly transferId: string; readonly wallet: string }>();
  readonly transactions = new Map<number, string>();

  place(id: number, qty: number, orderId: string, now: number): string {
    const first = this.orders.get(id);
    if (first !== undefined && now - first.ts < DAY)
      return first.qty === qty ? `${first.orderId} repeated` : "CLIENT_ID_REUSED";
    this.orders.set(id, { orderId, qty, ts: now });
    return orderId;
  }
}

function run(steps: readonly Step[], gateway: Gateway, formats?: readonly Format[]): void {
  const model = new Model();
  steps.forEach((step, n) => {
    gateway.now += step.wait;
    gateway.format = formats?.[n] ?? 2;
    switch (step.do) {
      case "place": {
        // An atomic batch refuses the second use of an id.
        const requests = step.atomic
          ? step.orders.filter(({ id }, index, all) => all.findIndex((one) => one.id === id) === index)
          : step.orders;
        const orders = requests.map(({ id, qty }, index) =>
          orderRequest(MARKET, {
            orderId: `order-${n}-${index}`,
            clientId: `c${id}`,
            outcome: 0,
            price: 1,
            qty,
          }),
        );
        const { atomic } = step;
        const reply = gateway.send({ kind: "place", wallet: "ann", trader: "ann", orders, atomic });
        const results = reply?.ok === true && reply.kind === "placed" ? reply.results : [];
        const before = new Map(model.orders);
        const expected = requests.map(({ id, qty }, index) =>
          model.place(id, qty, `order-${n}-${index}`, gateway.now),
        );
        if (atomic && expected.includes("CLIENT_ID_REUSED")) model.orders = before;
        expect(
          results.map((result) =>
            result.ok ? `${result.orderId}${result.repeated ? " repeated" : ""}` : result.refusal,
          ),
        ).to.deep.equal(expected);
        return;
      }
      case "transfer": {
        const [{ id, qty } = { id: 0, qty: 1 }] = step.orders;
        const transfer = {
          transferId: `transfer-${n}`,
          direction: "fund" as const,
          trader: "ann",
          wallet: `sub${qty}`,
          amount: millicents(1),
          clientTransferId: `t${id}`,
        };
        const reply = gateway.send({ kind: "transfer", ...transfer });
        const first = model.transfers.get(id) ?? transfer;
        if (!model.transfers.has(id)) model.transfers.set(id, transfer);
        if (first.wallet === transfer.wallet)
          expect(reply).to.have.nested.property("transfer.transferId", first.transferId);
        else expect(reply).to.have.property("refusal", "TRANSFER_ID_REUSED");
        return;
      }
      case "transact": {
        const [{ id } = { id: 0 }] = step.orders;
        const transactionId = `transaction-${n}`;
        const reply = gateway.send(deposit("ann", 1, { transactionId, clientRef: `r${id}` }));
        if (!model.transactions.has(id)) model.transactions.set(id, transactionId);
        expect(reply).to.have.property("transactionId", model.transactions.get(id));
        return;
      }
      default:
        gateway.takeOver(step.atomic);
    }
  });
  gateway.takeOver();
}

describe("repeats of ids", function () {
  this.timeout(60_000);

  it("are answered as by a model with all ids for ever", () => {
    let lookUps = 0;
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 25 }), (steps) => {
        const gateway = new Gateway();
        run(steps, gateway);
        lookUps += gateway.lookUps;
      }),
      { numRuns: 200 },
    );
    expect(lookUps, "uncertain ids").to.be.above(50);
  });

  it("are answered so too when every filter is saturated", () => {
    const mayHave = Object.getOwnPropertyDescriptor(IdFilter.prototype, "mayHave");
    IdFilter.prototype.mayHave = () => true;
    try {
      fc.assert(
        fc.property(fc.array(STEP, { maxLength: 25 }), (steps) => run(steps, new Gateway())),
        { numRuns: 100 },
      );
    } finally {
      if (mayHave !== undefined) Object.defineProperty(IdFilter.prototype, "mayHave", mayHave);
    }
  });

  it("are answered so too when the ledger begins with format 1", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 25 }), fc.nat(25), (steps, from) => {
        const formats = steps.map((_, n): Format => (n < from ? OLDEST_FORMAT : LATEST_FORMAT));
        run(steps, new Gateway(), formats);
      }),
      { numRuns: 100 },
    );
  });

  it("need no tables for an id that is new or younger than ten minutes", () => {
    const gateway = new Gateway();
    const markets = [MARKET, marketDefinition()];
    const place = (n: number): LedgerReply | undefined => {
      const clientId = `id ${n}`;
      const definition = pick(markets, n);
      const order = orderRequest(definition, { orderId: clientId, clientId, outcome: 0, price: 1, qty: 1 });
      return gateway.send({ kind: "place", wallet: "ann", trader: "ann", orders: [order], atomic: false });
    };
    for (let n = 0; n < 600; n += 1) {
      gateway.now += 20_000;
      place(n);
      expect(place(Math.max(0, n - 29))).to.have.nested.property("results[0].repeated", true);
    }
    expect(gateway.lookUps).to.be.below(5);
  });

  it("take less than 20 bytes an id in a snapshot once they are ten minutes old", () => {
    const { state, now: start } = new Gateway();
    const ids = 30_000;
    let now = start;
    for (let n = 0; n < ids; n += 1) {
      now += 15;
      const orderId = `o${n}`;
      const order = orderRequest(MARKET, { orderId, clientId: `c${n}`, outcome: 0, price: 1, qty: 1 });
      ledger.decide(
        state,
        { kind: "place", wallet: "ann", trader: "ann", orders: [order], atomic: false },
        now,
      );
      const canceled = { type: "order", kind: "cancel", wallet: "ann", seq: n + 1 } as const;
      const { marketId } = MARKET;
      ledger.evolve(state, { ...canceled, marketId, orderId, remaining: order.qty }, now);
    }
    expect(savedOf(state).length / ids).to.be.within(50, 130);
    ledger.decide(state, ledger.tick, now + 11 * MINUTE);
    expect(savedOf(state).length / ids).to.be.below(20);
  });

  it("are forgotten by time, although nothing is accepted any more, with one small delta a minute", () => {
    const gateway = new Gateway();
    for (let n = 0; n < 3; n += 1) {
      const order = orderRequest(MARKET, {
        orderId: `o${n}`,
        clientId: `c${n}`,
        outcome: 0,
        price: 1,
        qty: 1,
      });
      gateway.send({ kind: "place", wallet: "ann", trader: "ann", orders: [order], atomic: false });
      gateway.send(deposit("ann", 1, { clientRef: `r${n}` }));
      gateway.now += 20_000;
    }
    const since = gateway.log.length;
    const start = gateway.now;
    const times: number[] = [];
    for (let at = ledger.deadline(gateway.state); at !== undefined; at = ledger.deadline(gateway.state)) {
      gateway.now = at;
      times.push(at - start);
      gateway.tick();
      gateway.takeOver();
    }
    expect(times.length).to.be.within(2, 4);
    expect(times[0]).to.be.within(9 * MINUTE, 11 * MINUTE);
    expect(times.at(-1)).to.be.within(DAY, DAY + HOUR);
    expect(gateway.log.slice(since).flatMap(({ deltas }) => deltas.map(({ type }) => type))).to.deep.equal(
      times.map(() => "forgotten"),
    );
    expect(JSON.stringify(gateway.log.at(-1)).length).to.be.below(150);
    const kept = ["clientIds", "clientRefs", "transfers", "recent"].filter((kind) =>
      savedOf(gateway.state).includes(`["${kind}"`),
    );
    expect(kept).to.deep.equal([]);
    expect(savedOf(gateway.state).match(/\["filter",(-?\d+)/g)).to.deep.equal(['["filter",-1']);
  });
});

import { expect } from "chai";
import fc from "fast-check";
import type { ActorId } from "../../../actors/actor.js";
import { LATEST_FORMAT } from "../../../actors/format.js";
import { Inbox, inboxParts, wholeInbox } from "../../../stream/runtime/inbox.js";
import { cursorAt, type Message, NO_CURSOR } from "../../../stream/log/log.js";
import {
  CorruptLog,
  type Envelope,
  packEntry,
  packEnvelope,
  parseEnvelope,
  parseQuarantined,
  QUARANTINED_REPLY,
} from "../../../stream/log/packing.js";
import {
  Instance,
  packDispatch,
  PART_KINDS,
  type SavedWhole,
  type Turn,
} from "../../../stream/runtime/instance.js";
import { counter, type CounterCommand, type CounterDelta, type CounterState } from "./counter.js";

const id = "market:a" as ActorId;
const other = "market:b" as ActorId;

/** Returns a copy through the parts of a snapshot. */
const inParts = (from: Instance): Instance => {
  const { seq, cursor, lastTs } = from;
  const builder = Instance.restore(counter, id, { seq, cursor, format: LATEST_FORMAT }, lastTs);
  for (const kind of PART_KINDS) for (const part of from.parts(kind)) builder.add(kind, part);
  return builder.finish();
};

/** Returns a copy through the one value of a snapshot of format 1. */
const asOneValue = (from: Instance): Instance => {
  const saved = JSON.parse(JSON.stringify(from.saveWhole())) as SavedWhole;
  const { seq, cursor } = from;
  return Instance.restoreWhole(counter, id, { seq, cursor, format: LATEST_FORMAT }, saved);
};

class Mailbox {
  #count = 0;

  of(...envelopes: readonly (Envelope | string)[]): Message[] {
    return envelopes.map((envelope) => ({
      id: cursorAt(++this.#count),
      body: typeof envelope === "string" ? envelope : packEnvelope(envelope),
    }));
  }
}

const ask = (name: string, command: CounterCommand, more: Partial<Envelope> = {}): Envelope => ({
  id: name,
  replyTo: "gateway",
  commands: [command],
  ...more,
});

const from = (source: ActorId, seq: number, n: number): Envelope => ({
  source,
  seq,
  commands: [{ kind: "receive", from: source, n }],
});

describe("an actor in memory", () => {
  let mailbox: Mailbox;
  let instance: Instance;

  beforeEach(() => {
    mailbox = new Mailbox();
    instance = Instance.create(counter, id);
  });

  const value = (of = instance): number => (of.state as CounterState).value;
  const run = (now: number, ...envelopes: readonly (Envelope | string)[]): Turn =>
    instance.run(mailbox.of(...envelopes), now);

  it("applies messages in order, in one entry, and answers each", () => {
    const turn = run(100, ask("x", { kind: "add", n: 2 }), ask("y", { kind: "add", n: 3 }));
    expect(turn.replies).to.deep.equal([
      { to: "gateway", id: "x", reply: { value: 2 } },
      { to: "gateway", id: "y", reply: { value: 5 } },
    ]);
    expect(turn.entry).to.deep.equal({
      actor: id,
      seq: 1,
      cursor: "0-2",
      sources: {},
      answers: [
        { id: "x", reply: { value: 2 }, untilMs: 10_100 },
        { id: "y", reply: { value: 5 }, untilMs: 10_100 },
      ],
      batches: [
        { ts: 100, deltas: [{ type: "added", n: 2 }] },
        { ts: 100, deltas: [{ type: "added", n: 3 }] },
      ],
      format: LATEST_FORMAT,
    });
    expect(turn.change).to.include({ expectedSeq: 0, cursor: "0-2" });
  });

  it("moves the cursor alone for a command that changes nothing and is not remembered", () => {
    const turn = run(100, ask("x", { kind: "read" }, { rememberMs: 0 }));
    expect(turn.entry).to.equal(undefined);
    expect(turn.changed).to.equal(true);
    expect(turn.change).to.deep.include({ expectedSeq: 0, cursor: "0-1", entry: undefined });
    expect(turn.replies).to.deep.equal([{ to: "gateway", id: "x", reply: { value: 0 } }]);
    expect(run(100).changed).to.equal(false);
  });

  it("executes a repeated command once, and sends the first answer to the feed of the repeat", () => {
    run(100, ask("x", { kind: "add", n: 2 }));
    run(200, ask("y", { kind: "add", n: 2 }));
    const turn = run(300, ask("x", { kind: "add", n: 2 }, { replyTo: "another gateway" }));
    expect(turn.replies).to.deep.equal([
      { to: "another gateway", id: "x", reply: { value: 2 }, repeated: true },
    ]);
    expect(turn.entry).to.equal(undefined);
    expect(value()).to.equal(4);
  });

  it("remembers an answer for its time after the last moment at which a repeat may be executed", () => {
    run(100, ask("x", { kind: "add", n: 1 }, { notAfterMs: 5_000, rememberMs: 1_000 }));
    run(6_000, ask("x", { kind: "add", n: 1 }, { notAfterMs: 6_000, rememberMs: 1_000 }));
    expect(value()).to.equal(1);
    run(6_001, ask("x", { kind: "add", n: 1 }));
    expect(value()).to.equal(2);
  });

  it("does not execute a command after the time to wait for its answer", () => {
    const turn = run(6_000, ask("x", { kind: "add", n: 1 }, { notAfterMs: 5_999 }));
    expect([turn.entry, turn.replies, turn.change.cursor]).to.deep.equal([undefined, [], "0-1"]);
    expect(value()).to.equal(0);
  });

  it("executes a command in time by the clock, also when its own last time is an hour ahead", () => {
    run(3_600_000, ask("x", { kind: "add", n: 1 }));
    const turn = run(1_000, ask("y", { kind: "add", n: 1 }, { notAfterMs: 6_000 }));
    expect(turn.entry?.batches[0]?.ts).to.equal(3_600_000);
    expect(value()).to.equal(2);
    run(6_001, ask("z", { kind: "add", n: 1 }, { notAfterMs: 6_000 }));
    expect(value()).to.equal(2);
  });

  it("drops a message that it has received from another actor before", () => {
    run(100, from(other, 3, 30), from(other, 3, 30), from(other, 5, 50));
    const turn = run(200, from(other, 2, 20), from(other, 5, 50), from(other, 6, 60));
    expect(turn.entry?.sources).to.deep.equal({ [other]: 6 });
    expect((instance.state as CounterState).received).to.deep.equal({ [other]: [30, 50, 60] });
  });

  it("forgets a source of which no message can come any more, and no other", () => {
    const last = "market:c" as ActorId;
    const forgotten = { commands: [], forgotten: { [other]: 7, [last]: 2, "market:unknown": 1 } };
    const turns = [
      instance.run(mailbox.of(from(other, 7, 1), from(last, 3, 1)), 1_000),
      instance.run(mailbox.of(forgotten), 1_001),
    ];
    expect([...instance.sources]).to.deep.equal([[last, 3]]);
    expect(turns[1]?.entry?.sources).to.deep.equal({ [other]: 0 });
    const folded = Instance.create(counter, id);
    for (const { entry, change } of turns)
      folded.fold({ seq: entry?.seq ?? 0, body: change.entry ?? expect.fail("there is no entry") });
    for (const copy of [folded, inParts(instance), asOneValue(instance)])
      expect([...copy.sources]).to.deep.equal([[last, 3]]);
    const turn = instance.run(mailbox.of(from(other, 8, 2), forgotten, from(other, 8, 2)), 1_002);
    expect(turn.entry?.sources, "a restored actor goes on").to.deep.equal({ [other]: 8 });
    expect((instance.state as CounterState).received[other]).to.deep.equal([1, 2]);
  });

  it("records the last message of a source before it forgets the source in a later turn", () => {
    const forgotten = { commands: [], forgotten: { [other]: 7 } };
    const turn = instance.run(mailbox.of(from(other, 7, 1), forgotten), 1_000);
    expect(turn.entry?.sources).to.deep.equal({ [other]: 7 });
    expect([...instance.sources]).to.deep.equal([[other, 7]]);
    expect(instance.run(mailbox.of(forgotten), 1_001).entry?.sources).to.deep.equal({ [other]: 0 });
    expect([...instance.sources]).to.deep.equal([]);
  });

  it("remembers a message that changes nothing", () => {
    const unchanging = { source: other, seq: 4, commands: [{ kind: "read" }] };
    expect(run(100, unchanging).entry).to.deep.include({ batches: [], sources: { [other]: 4 } });
    expect(run(100, unchanging).entry).to.equal(undefined);
  });

  it("never lets its time go back", () => {
    run(500, ask("x", { kind: "add", n: 1 }));
    expect(run(400, ask("y", { kind: "add", n: 1 })).entry?.batches[0]?.ts).to.equal(500);
  });

  it("ticks when it is due, before the messages", () => {
    const set = run(100, ask("x", { kind: "alarm", atMs: 150 }));
    expect(set.change.deadlineMs).to.equal(150);
    expect(run(149).changed).to.equal(false);
    const turn = run(160, ask("y", { kind: "add", n: 1 }));
    expect(turn.entry?.batches.flatMap(({ deltas }) => deltas)).to.deep.equal([
      { type: "ticked", atMs: 160 },
      { type: "added", n: 1 },
    ]);
    expect(turn.change.deadlineMs).to.equal(null);
    expect(run(170, ask("z", { kind: "add", n: 1 })).change.deadlineMs).to.equal(undefined);
  });

  it("treats a tick that changes nothing as a fault, because it would stay due", () => {
    const stuck = Instance.create({ ...counter, tick: { kind: "read" } }, id);
    stuck.run(mailbox.of(ask("x", { kind: "alarm", atMs: 50 })), 10);
    expect(stuck.run([], 60).fault).to.be.an("error");
  });

  it("skips malformed messages", () => {
    const turn = run(
      100,
      "not JSON",
      JSON.stringify({ commands: "none" }),
      JSON.stringify({ commands: [], source: "market:b" }),
      JSON.stringify({ commands: [], id: 7 }),
      JSON.stringify({ commands: [], source: "nobody", seq: 1 }),
      ask("x", { kind: "nonsense" } as unknown as CounterCommand),
      ask("y", { kind: "add", n: 1 }),
    );
    expect(turn.skipped.map(({ id: skipped }) => skipped)).to.deep.equal([
      "0-1",
      "0-2",
      "0-3",
      "0-4",
      "0-5",
      "0-6",
    ]);
    expect(turn.replies.map(({ id: answered }) => answered)).to.deep.equal(["y"]);
    expect(turn.change.cursor).to.equal("0-7");
    expect(turn.fault).to.equal(undefined);
  });

  it("ends a turn at a broken invariant, with the envelopes before it and without the broken one", () => {
    const broken = { source: other, seq: 9, commands: [{ kind: "add", n: 5 }, { kind: "break" }] };
    const turn = run(100, ask("x", { kind: "add", n: 1 }), broken, ask("y", { kind: "add", n: 1 }));
    expect(turn.fault?.message).to.match(/broken on request/);
    expect(turn.replies.map(({ id: answered }) => answered)).to.deep.equal(["x"]);
    expect(turn.entry).to.deep.include({ cursor: "0-1", sources: {} });
    expect(turn.entry?.batches).to.deep.equal([{ ts: 100, deltas: [{ type: "added", n: 1 }] }]);
  });

  it("takes no further message in a turn after many deltas, or after long messages", () => {
    const numbers = Array.from({ length: 150 }, (_, n) => n);
    const many = ask("m", { kind: "send", to: other, numbers });
    const afterMany = run(100, ...["a", "b", "c"].map((name) => ({ ...many, id: name })));
    expect(afterMany).to.include({ handled: 2, isFull: true });
    const long = { ...ask("l", { kind: "read" }), replyTo: "x".repeat(25_000) };
    const afterLong = run(100, ...["d", "e", "f", "g"].map((name) => ({ ...long, id: name })));
    expect(afterLong).to.include({ handled: 3, isFull: true });
    expect(run(100, many)).to.include({ handled: 1, isFull: false });
  });

  it("takes no further message in a turn that is late, and one at least", () => {
    let taken = 0;
    const isLate = (): boolean => (taken += 1) === 2;
    const numbered = ["a", "b", "c", "d"].map((id) => ask(id, { kind: "add", n: 1 }));
    const messages = mailbox.of(...numbered);
    const late = instance.run(messages, 100, undefined, isLate);
    expect(late).to.include({ handled: 2, isFull: true });
    const rest = instance.run(messages.slice(2), 100, undefined, isLate);
    expect(rest).to.include({ handled: 2, isFull: false });
  });

  describe("with unfinished work", () => {
    const deltasOf = (turn: Turn): readonly unknown[] =>
      turn.entry?.batches.flatMap(({ deltas }) => deltas) ?? [];

    it("does one piece in a turn, and handles no message before the last one", () => {
      const messages = mailbox.of(ask("x", { kind: "climb", n: 3 }), ask("y", { kind: "add", n: 10 }));
      const first = instance.run(messages, 100);
      expect([first.handled, first.change.cursor, first.change.deadlineMs]).to.deep.equal([1, "0-1", 0]);
      expect(first.replies).to.deep.equal([{ to: "gateway", id: "x", reply: { value: 1 } }]);
      expect(first.entry?.unfinished).to.deep.equal([{ kind: "climb", n: 2 }]);
      const second = instance.run(messages.slice(1), 100);
      expect([second.handled, second.change.cursor, value()]).to.deep.equal([0, "0-1", 2]);
      expect(second.entry?.answers).to.deep.equal([]);
      const last = instance.run(messages.slice(1), 100);
      expect([last.handled, last.change.cursor, value()]).to.deep.equal([1, "0-2", 13]);
      expect([last.change.deadlineMs, last.entry?.unfinished]).to.deep.equal([null, undefined]);
    });

    it("leaves the other commands of the envelope for later, in order", () => {
      const commands = [
        { kind: "climb", n: 2 },
        { kind: "add", n: 5 },
        { kind: "nonsense" },
        { kind: "read" },
      ];
      const turn = run(100, { source: other, seq: 1, commands });
      expect(turn.entry?.sources).to.deep.equal({ [other]: 1 });
      expect(turn.entry?.unfinished).to.deep.equal([{ kind: "climb", n: 1 }, ...commands.slice(1)]);
      const rest = run(100);
      expect(deltasOf(rest)).to.deep.equal([
        { type: "added", n: 1 },
        { type: "added", n: 5 },
      ]);
      expect(rest.skipped).to.have.length(1);
      expect([rest.fault, rest.entry?.unfinished]).to.deep.equal([undefined, undefined]);
    });

    it("drops what is left of a command of a process when a piece fails, also after a recovery", () => {
      const poison = ask("x", { kind: "climb", n: 4, breaksAt: 2 }, { notAfterMs: 5_000 });
      const begun = [run(100, poison), run(100)];
      const folded = Instance.create(counter, id);
      for (const [index, { change }] of begun.entries())
        folded.fold({ seq: index + 1, body: change.entry ?? expect.fail("there is no entry") });
      for (const copy of [instance, inParts(folded), asOneValue(folded), folded]) {
        const turn = copy.run([], 100);
        expect([turn.fault, turn.quarantined?.message]).to.deep.equal([
          undefined,
          "the invariant is broken on request",
        ]);
        const { actor, ts, reason, body } = parseQuarantined(turn.change.quarantined ?? "");
        expect([actor, ts, reason]).to.deep.equal([id, 100, "the invariant is broken on request"]);
        expect(parseEnvelope(body)).to.deep.include({
          id: "x",
          commands: [{ kind: "climb", n: 2, breaksAt: 2 }],
        });
        expect(turn.entry).to.deep.include({ seq: 3, cursor: "0-1", batches: [] });
        expect([turn.entry?.unfinished, turn.change.deadlineMs]).to.deep.equal([undefined, 0]);
        const recovered = Instance.create(counter, id);
        for (const [index, { change }] of [...begun, turn].entries())
          recovered.fold({ seq: index + 1, body: change.entry ?? expect.fail("there is no entry") });
        expect([value(recovered), recovered.isBusy]).to.deep.equal([2, false]);
        const repeated = recovered.run(mailbox.of(poison), 200);
        expect(repeated.replies).to.deep.equal([
          { to: "gateway", id: "x", reply: { value: 1 }, repeated: true },
        ]);
      }
    });

    it("stops at a piece that fails of the work that follows from another actor", () => {
      run(100, { source: other, seq: 1, commands: [{ kind: "climb", n: 3, breaksAt: 2 }] });
      const turn = run(100);
      expect([turn.fault?.message, turn.quarantined]).to.deep.equal([
        "the invariant is broken on request",
        undefined,
      ]);
    });

    it("does not tick before the last piece", () => {
      run(100, ask("x", { kind: "alarm", atMs: 150 }), ask("y", { kind: "climb", n: 3 }));
      expect(deltasOf(run(200))).to.deep.equal([{ type: "added", n: 1 }]);
      expect(deltasOf(run(200))).to.deep.equal([
        { type: "added", n: 1 },
        { type: "ticked", atMs: 200 },
      ]);
    });

    it("goes on from the log and from a snapshot between any two pieces", () => {
      let copies = [instance, Instance.create(counter, id), Instance.create(counter, id)];
      const messages = mailbox.of(ask("x", { kind: "climb", n: 4 }));
      for (let seq = 1; seq <= 4; seq += 1) {
        const [live, folded, restored] = copies;
        const turn = live?.run(seq === 1 ? messages : [], 100);
        const stored = { seq, body: turn?.change.entry ?? "" };
        for (const copy of [folded, restored]) copy?.fold(stored);
        expect(copies.map((copy) => [copy.isBusy, copy.deadline])).to.deep.equal(
          copies.map(() => (seq < 4 ? [true, 0] : [false, undefined])),
        );
        if (restored === undefined || folded === undefined) throw new Error("a copy is missing");
        const again = inParts(restored);
        again.adoptHead(turn?.change.cursor ?? "", again.deadline);
        // The folded actor takes over from the live one.
        folded.adoptHead(turn?.change.cursor ?? "", folded.deadline);
        const next = asOneValue(again);
        copies = [folded, again, next];
      }
      expect(copies.map((copy) => value(copy))).to.deep.equal([4, 4, 4]);
    });
  });

  describe("that fails after its decisions", () => {
    /** An actor whose entries cannot be packed when they have one of these deltas. */
    const unpackable = (of: CounterDelta): boolean =>
      (of.type === "added" && of.n === 13) || (of.type === "ticked" && of.atMs === 1_313);
    const failing: typeof counter = {
      ...counter,
      decide: (...args) => {
        const decision = counter.decide(...args);
        const deltas = decision.deltas.map((delta) => (unpackable(delta) ? { ...delta, n: 13n } : delta));
        return { ...decision, deltas: deltas as CounterDelta[] };
      },
    };
    const add = (name: string, n = 1): Envelope => ask(name, { kind: "add", n });

    /** Runs turns on the messages until all are handled, and loads the actor again after each that has failed. */
    function runAll(messages: readonly Message[], now = 100): { turns: Turn[]; halted: Error | undefined } {
      const turns: Turn[] = [];
      let current = Instance.create(failing, id);
      for (let left = [...messages]; left.length > 0;) {
        const turn = current.run(left, now);
        if (turn.fault !== undefined) return { turns, halted: turn.fault };
        if (turn.retry === undefined) {
          turns.push(turn);
          left = left.slice(turn.handled);
        }
        if (turn.retry === undefined && turn.quarantined === undefined) continue;
        current = Instance.create(failing, id);
        for (const { entry, change } of turns)
          if (entry !== undefined) current.fold({ seq: entry.seq, body: change.entry ?? "" });
        current.adoptHead(turns.at(-1)?.change.cursor ?? NO_CURSOR, undefined);
        if (turn.retry !== undefined) current.tryAgain(turn.retry);
      }
      return { turns, halted: undefined };
    }

    it("finds the message of a process that is the cause, and applies all others once", () => {
      for (const position of [0, 3, 6]) {
        mailbox = new Mailbox();
        const envelopes = Array.from({ length: 7 }, (_, n) => add(`${n}`, n === position ? 13 : 1));
        const { turns, halted } = runAll(mailbox.of(...envelopes));
        expect(halted).to.equal(undefined);
        const sum = turns.flatMap(({ entry }) => entry?.batches ?? []).length;
        expect(sum).to.equal(6);
        const [quarantined, ...others] = turns.flatMap(({ change }) => change.quarantined ?? []);
        expect(others).to.deep.equal([]);
        expect(parseEnvelope(parseQuarantined(quarantined ?? "").body).id).to.equal(`${position}`);
        const replies = turns.flatMap((turn) => turn.replies);
        expect(replies.map((reply) => reply.id)).to.deep.equal(envelopes.map((envelope) => envelope.id));
        expect(replies[position]?.reply).to.deep.equal(QUARANTINED_REPLY);
        expect(turns.at(-1)?.change.cursor).to.equal("0-7");
      }
    });

    it("stops at the message of another actor, with the messages before it", () => {
      const broken = { source: other, seq: 9, commands: [{ kind: "add", n: 13 }] };
      const { turns, halted } = runAll(mailbox.of(add("a"), add("b"), broken, add("c")));
      expect(halted).to.be.instanceOf(TypeError);
      expect(turns.at(-1)?.change.cursor).to.equal("0-2");
      expect(turns.flatMap(({ change }) => change.quarantined ?? [])).to.deep.equal([]);
    });

    it("blames no message for a tick", () => {
      const alarm = ask("x", { kind: "alarm", atMs: 1_300 });
      const [first, second] = mailbox.of(alarm, add("y"));
      if (first === undefined || second === undefined) throw new Error("a message is missing");
      const current = Instance.create(failing, id);
      current.run([first], 100);
      const body = packEntry({
        actor: id,
        seq: 1,
        cursor: "0-1",
        sources: {},
        answers: [],
        batches: [{ ts: 100, deltas: [{ type: "alarm", atMs: 1_300 }] }],
      });
      const { retry } = current.run([second], 1_313);
      expect(retry).to.include({ most: 0, isCause: false });
      const again = Instance.create(failing, id);
      again.fold({ seq: 1, body });
      again.adoptHead("0-1", 1_300);
      if (retry !== undefined) again.tryAgain(retry);
      const turn = again.run([second], 1_313);
      expect([turn.retry, turn.handled]).to.deep.equal([undefined, 0]);
      expect(turn.fault).to.be.instanceOf(TypeError);
    });
  });

  it("sends the messages of an entry to one actor in one envelope, in order", () => {
    const third = "market:c" as ActorId;
    const turn = run(
      100,
      ask("x", { kind: "send", to: other, numbers: [1, 2] }),
      ask("y", { kind: "send", to: third, numbers: [3] }),
      ask("z", { kind: "send", to: other, numbers: [4] }),
    );
    if (turn.entry === undefined) throw new Error("no entry");
    const receive = (n: number): CounterCommand => ({ kind: "receive", from: id, n });
    const envelope = (...commands: CounterCommand[]): Envelope => ({
      source: id,
      seq: 1,
      commands,
      format: LATEST_FORMAT,
    });
    const outgoing = instance.outgoing(turn.entry);
    expect(outgoing).to.deep.equal([
      { to: other, envelope: envelope(receive(1), receive(2), receive(4)) },
      { to: third, envelope: envelope(receive(3)) },
    ]);
    expect(outgoing.map(packDispatch)).to.deep.equal(
      outgoing.map(({ to, envelope: sent }) => ({ to, body: packEnvelope(sent) })),
    );
  });

  describe("recovered", () => {
    const command: fc.Arbitrary<CounterCommand> = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), n: fc.integer({ min: -9, max: 9 }) }),
      fc.record({ kind: fc.constant("read" as const) }),
      fc.record({ kind: fc.constant("send" as const), to: fc.constant(other), numbers: fc.array(fc.nat(9)) }),
      fc.record({ kind: fc.constant("alarm" as const), atMs: fc.integer({ min: 0, max: 60_000 }) }),
    );
    const envelope: fc.Arbitrary<Envelope> = fc.oneof(
      fc.record({
        id: fc.constantFrom("a", "b", "c", "d"),
        replyTo: fc.constant("g"),
        commands: fc.tuple(command),
        rememberMs: fc.constantFrom(0, 1_000, 20_000),
      }),
      fc.record({
        source: fc.constantFrom("market:s" as ActorId, "market:t" as ActorId),
        seq: fc.nat(20),
        commands: fc.array(command, { maxLength: 3 }),
      }),
    );
    const life = fc.array(fc.tuple(fc.nat(20_000), fc.array(envelope, { maxLength: 4 })), { maxLength: 20 });

    it("equals the live actor, from the first entry or from any snapshot", () => {
      fc.assert(
        fc.property(life, fc.nat(20), (turns, cut) => {
          const box = new Mailbox();
          const live = Instance.create(counter, id);
          let copy = Instance.create(counter, id);
          let now = 0;
          for (const [index, [wait, envelopes]] of turns.entries()) {
            now += wait;
            const turn = live.run(box.of(...envelopes), now);
            if (turn.change.entry !== undefined) {
              const folded = copy.fold({ seq: copy.seq + 1, body: turn.change.entry });
              expect(copy.outgoing(folded)).to.deep.equal(turn.entry && live.outgoing(turn.entry));
            }
            if (index === cut) copy = cut % 2 === 0 ? inParts(copy) : asOneValue(copy);
            copy.adoptHead(turn.change.cursor, live.deadline);
          }
          expect([copy.seq, copy.cursor, copy.deadline]).to.deep.equal([
            live.seq,
            live.cursor,
            live.deadline,
          ]);
          expect(counter.saveWhole(copy.state as CounterState)).to.deep.equal(
            counter.saveWhole(live.state as CounterState),
          );
          // Both have forgotten the same answers, so the next messages have the same results.
          const next = ["a", "b", "c", "d"].map((name) => ask(name, { kind: "add", n: 1 }));
          const messages = box.of(...next, from("market:s", 10, 1));
          expect(copy.run(messages, now + 60_000).change).to.deep.equal(
            live.run(messages, now + 60_000).change,
          );
        }),
        { numRuns: 300 },
      );
    });

    it("takes a message that is handed over as it takes the same one from the mailbox", () => {
      const received = envelope.filter(({ source }) => source !== undefined);
      fc.assert(
        fc.property(fc.array(received, { maxLength: 12 }), (envelopes) => {
          const [reader, receiver] = [Instance.create(counter, id), Instance.create(counter, id)];
          const read = reader.run(new Mailbox().of(...envelopes), 100);
          const passed = receiver.run(
            envelopes.map((sent) => ({ to: id, envelope: sent })),
            100,
          );
          expect(passed.entry && { ...passed.entry, cursor: "" }).to.deep.equal(
            read.entry && { ...read.entry, cursor: "" },
          );
          expect([passed.handled, passed.change.cursor]).to.deep.equal([read.handled, NO_CURSOR]);
          expect(passed.skipped.map(({ error }) => error.message)).to.deep.equal(
            read.skipped.map(({ error }) => error.message),
          );
          expect(receiver.saveWhole()).to.deep.equal(reader.saveWhole());
        }),
        { numRuns: 300 },
      );
    });

    it("does not fold an entry that is not the next, or is unreadable", () => {
      const turn = run(100, ask("x", { kind: "add", n: 2 }));
      const body = turn.change.entry ?? "";
      expect(() => Instance.create(counter, id).fold({ seq: 2, body })).to.throw(CorruptLog);
      expect(() => Instance.create(counter, id).fold({ seq: 1, body: body.slice(1) })).to.throw(CorruptLog);
    });
  });
});

describe("an inbox", () => {
  it("forgets expired answers in whatever order they were given, and never a valid one", () => {
    const inbox = new Inbox();
    inbox.remember({ id: "short", reply: 1, untilMs: 1_000 });
    inbox.remember({ id: "long", reply: 2, untilMs: 100_000 });
    for (let n = 0; n < 1_000; n += 1) inbox.remember({ id: `after ${n}`, reply: n, untilMs: 2_000 + n });
    inbox.remember({ id: "again", reply: 3, untilMs: 2_000 });
    inbox.remember({ id: "again", reply: 4, untilMs: 60_000 });
    inbox.forgetExpired(50_000);
    expect(inbox.answers).to.equal(2);
    expect(inbox.answerTo("short", 50_000)).to.equal(undefined);
    expect(inbox.answerTo("after 7", 50_000)).to.equal(undefined);
    expect(inbox.answerTo("long", 50_000)).to.have.property("reply", 2);
    expect(inbox.answerTo("again", 60_000)).to.have.property("reply", 4);
    expect(inbox.answerTo("again", 60_001)).to.equal(undefined);
    expect(inbox.save(60_001).answers).to.deep.equal([["long", "2", 100_000]]);
    inbox.forgetExpired(102_000);
    expect(inbox.answers).to.equal(0);
  });

  it("returns each answer as it was given, whatever its length and characters", () => {
    const reply = fc.oneof(fc.jsonValue(), fc.string({ unit: "binary", maxLength: 3_000 }));
    const answers = fc.array(fc.record({ reply, untilMs: fc.nat({ max: 2_999 }) }), { maxLength: 20 });
    fc.assert(
      fc.property(answers, (given) => {
        const inbox = new Inbox();
        for (const [n, answer] of given.entries()) inbox.remember({ id: String(n), ...answer });
        const restored = new Inbox(wholeInbox(inbox.save(0)));
        for (const [n, answer] of given.entries()) {
          const expected = {
            id: String(n),
            ...answer,
            reply: JSON.parse(JSON.stringify(answer.reply)) as unknown,
          };
          expect(inbox.answerTo(String(n), 0)).to.deep.equal(expected);
          expect(restored.answerTo(String(n), 0)).to.deep.equal(expected);
        }
      }),
    );
  });

  it("is saved in short parts, of which few change when answers expire", () => {
    const inbox = new Inbox();
    for (let n = 0; n < 2_000; n += 1)
      inbox.remember({ id: `batch ${n}`, reply: "x".repeat(3_000), untilMs: 1_000 * n });
    const before = [...inboxParts(inbox.save(0))];
    expect(Math.max(...before.map((part) => part.length))).to.be.below(512 * 1024);
    const after = [...inboxParts(inbox.save(300_500))];
    expect(after.filter((part) => !before.includes(part))).to.have.length.at.most(1);
    const restored = new Inbox();
    for (const part of after) restored.addPart(part);
    expect(restored.save(0)).to.deep.equal(inbox.save(300_500));
  });

  it("starts empty", () => {
    const inbox = new Inbox();
    expect([inbox.hasApplied(other, 0), inbox.hasApplied(other, 1), inbox.lastSeqOf(other)]).to.deep.equal([
      true,
      false,
      0,
    ]);
    expect(NO_CURSOR).to.equal(cursorAt(0));
  });
});

import { expect } from "chai";
import type * as projection from "../../../db/projection/batch.js";
import { type ActorId, ledgerActor, marketActor } from "../../../actors/actor.js";
import { FORMATS, LATEST_FORMAT, OLDEST_FORMAT } from "../../../actors/format.js";
import type { Snapshot } from "../../../stream/log/log.js";
import * as packing from "../../../stream/log/packing.js";
import type { Entry } from "../../../stream/log/ports.js";
import * as actors from "../../../stream/runtime/actors.js";
import * as instances from "../../../stream/runtime/instance.js";
import type { AnyActor, SavedParts, SavedWhole } from "../../../stream/runtime/instance.js";
import { oldModule } from "../../support/old-build.js";

const { CorruptLog, NewerFormat, packEntry, packEnvelope, packSnapshot } = packing;
const { parseEntry, parseEnvelope, parseSnapshot } = packing;

const TS = 1_000;
const WALLET = { type: "wallet", wallet: "w", trader: "t" };

function entryOf(actor: ActorId, format: Entry["format"]): Entry<unknown> {
  const answers = [{ id: "x", reply: { ok: true, kind: "done" }, untilMs: 9_000 }];
  const batches = [{ ts: TS, deltas: [WALLET] }];
  return { actor, seq: 1, cursor: "0-1", sources: { "market:m": 4 }, answers, batches, format };
}

/** The instances of the old build, which save and restore themselves as one value. */
interface OldInstances {
  readonly Instance: {
    create(actor: AnyActor, id: ActorId): instances.Instance & { snapshot(): Snapshot };
    restore(actor: AnyActor, id: ActorId, snapshot: Snapshot): instances.Instance & { snapshot(): Snapshot };
  };
}

/** Format of a newer build. */
const NEWER = LATEST_FORMAT + 1;

describe("the stored form", () => {
  const actor = ledgerActor(3);
  const saved = { state: { value: 7 }, inbox: { sources: {}, answers: [] }, lastTs: 5 };
  const fromActor = { source: marketActor("m"), seq: 4, commands: [{ kind: "report" }] };
  const fromProcess = {
    commands: [{ kind: "report" }],
    id: "x",
    replyTo: "replies:p",
    rememberMs: 0,
    notAfterMs: 7_000,
  };

  for (const format of FORMATS) {
    it(`of format ${format} is read as it was written`, () => {
      const entry = entryOf(actor, format);
      expect(parseEntry(actor, { seq: 1, body: packEntry(entry) })).to.deep.equal(entry);
      expect(parseSnapshot(actor, packSnapshot(9, "0-1", saved, format))).to.deep.equal({ format, saved });
      for (const envelope of [fromActor, fromProcess])
        expect(parseEnvelope(packEnvelope({ ...envelope, format }))).to.deep.include({ ...envelope, format });
    });
  }

  it("has unfinished work with the command that has begun it, beside a new incarnation or alone", () => {
    const entry = { ...entryOf(actor, LATEST_FORMAT), unfinished: [{ kind: "report" }], unfinishedOf: "x" };
    for (const more of [{}, { resumed: { after: 0, lineage: "r@0@1" } }])
      expect(parseEntry(actor, { seq: 1, body: packEntry({ ...entry, ...more }) })).to.deep.equal({
        ...entry,
        ...more,
      });
  });

  it("has no form in format 1 for what format 1 does not know", () => {
    const entry = entryOf(actor, OLDEST_FORMAT);
    expect(() => packEntry({ ...entry, unfinished: [] })).to.throw("has no form in format 1");
    expect(() => packEntry({ ...entry, resumed: { after: 1, lineage: "" } })).to.throw("no form in format 1");
  });

  it("of a format of a newer build is refused by name", () => {
    const newerEntry = { seq: 17, body: JSON.stringify(["0-1", {}, [], { any: "form" }, NEWER]) };
    expect(() => parseEntry(actor, newerEntry)).to.throw(
      NewerFormat,
      `entry 17 of ledger:3 has format ${NEWER}, and this build reads formats up to ${LATEST_FORMAT}: run a build that reads it`,
    );
    const snapshot = packSnapshot(17, "0-1", { format: NEWER }, OLDEST_FORMAT);
    expect(() => parseSnapshot(actor, snapshot)).to.throw(NewerFormat, "the snapshot of ledger:3 at 17");
    const envelope = JSON.stringify({ source: "market:m", seq: 4, format: NEWER, any: "form" });
    expect(() => parseEnvelope(envelope)).to.throw(NewerFormat, `message 4 of market:m has format ${NEWER}`);
    const command = JSON.stringify({ id: "x", commands: [], format: NEWER });
    expect(() => parseEnvelope(command)).to.throw(NewerFormat, `command x has format ${NEWER}`);
  });

  it("of an unknown format that is no number is refused too", () => {
    const body = JSON.stringify(["0-1", {}, [], [], "2"]);
    expect(() => parseEntry(actor, { seq: 1, body })).to.throw(NewerFormat);
    expect(() => parseEntry(actor, { seq: 1, body: "{}" }))
      .to.throw(CorruptLog)
      .with.property("name", "CorruptLog");
  });
});

describe("an actor that receives a message of a newer build", () => {
  for (const [sender, from] of [
    ["another actor", { source: "market:m", seq: 4 }],
    ["a process", { id: "x", replyTo: "replies:p", notAfterMs: TS }],
  ] as const)
    it(`stops, and keeps the message of ${sender}`, () => {
      const id = ledgerActor(3);
      const instance = instances.Instance.create(actors.actorOf(id), id);
      const body = JSON.stringify({ ...from, format: NEWER, commands: [] });
      const turn = instance.run([{ id: "0-1", body }], TS);
      expect(turn.fault).to.be.instanceOf(NewerFormat);
      expect([turn.handled, turn.skipped]).to.deep.equal([0, []]);
      expect(instance.cursor).to.equal("0-0");
    });
});

describe("the build before formats", () => {
  const shard = ledgerActor(3);
  const id = marketActor("m");
  let old: { packing: typeof packing; actors: typeof actors; instances: OldInstances };

  before(async () => {
    old = {
      packing: await oldModule("stream/log/packing.js"),
      actors: await oldModule("stream/runtime/actors.js"),
      instances: await oldModule("stream/runtime/instance.js"),
    };
  });

  it("has written the bytes that this build writes in format 1", () => {
    const entry = entryOf(shard, OLDEST_FORMAT);
    expect(packEntry(entry)).to.equal(old.packing.packEntry(entry));
    const saved = { state: { value: 7 } };
    const snapshot = packSnapshot(9, "0-1", saved, OLDEST_FORMAT);
    expect(snapshot).to.deep.equal(old.packing.packSnapshot(9, "0-1", saved, OLDEST_FORMAT));
    for (const envelope of [
      { source: id, seq: 1, commands: [{ kind: "report" }] },
      { id: "x", replyTo: "f", rememberMs: 0, notAfterMs: 5, commands: [{ kind: "report" }] },
    ])
      expect(packEnvelope({ ...envelope, format: OLDEST_FORMAT })).to.equal(
        old.packing.packEnvelope(envelope),
      );
  });

  it("is read, and what it saved too", () => {
    const entry = entryOf(shard, undefined);
    const read = parseEntry(shard, { seq: 1, body: old.packing.packEntry(entry) });
    expect(read).to.deep.equal({ ...entry, format: OLDEST_FORMAT });
    const instance = old.instances.Instance.create(old.actors.actorOf(shard), shard);
    instance.fold({ seq: 1, body: old.packing.packEntry(entry) });
    const snapshot = instance.snapshot();
    const { format, saved } = parseSnapshot(shard, snapshot);
    const origin = { ...snapshot, format };
    const whole = saved as SavedWhole;
    const restored = instances.Instance.restoreWhole(actors.actorOf(shard), shard, origin, whole);
    expect(restored.seq).to.equal(1);
    const again = packSnapshot(1, restored.cursor, restored.saveWhole(), OLDEST_FORMAT);
    const back = old.instances.Instance.restore(old.actors.actorOf(shard), shard, again);
    expect(back.snapshot(), "the snapshot of this build, as the old one reads it").to.deep.equal(snapshot);
  });

  for (const actor of [shard, id]) {
    it(`stops ${actor} at an entry, a message and a snapshot of the latest format`, () => {
      const entry = { ...entryOf(actor, LATEST_FORMAT), batches: [] };
      const instance = old.instances.Instance.create(old.actors.actorOf(actor), actor);
      expect(() => instance.fold({ seq: 1, body: packEntry(entry) })).to.throw("unexpected value");

      const saved: SavedParts = { parts: { inbox: [], state: [] }, lastTs: 0 };
      const own = packSnapshot(0, "0-0", saved, LATEST_FORMAT);
      expect(() => old.instances.Instance.restore(old.actors.actorOf(actor), actor, own)).to.throw();

      const receiver = old.instances.Instance.create(old.actors.actorOf(actor), actor);
      const body = packEnvelope({
        source: id,
        seq: 4,
        commands: [{ kind: "report" }],
        format: LATEST_FORMAT,
      });
      const turn = receiver.run([{ id: "0-1", body }], TS);
      expect(turn.fault).to.be.an("error");
      expect(turn.handled).to.equal(0);
      expect(receiver.cursor).to.equal("0-0");
      expect(turn.entry).to.equal(undefined);
    });
  }

  it("answers the command of a process in the latest format that it knows", () => {
    const receiver = old.instances.Instance.create(old.actors.actorOf(shard), shard);
    const body = packEnvelope({
      id: "x",
      replyTo: "f",
      commands: [{ kind: "report" }],
      format: LATEST_FORMAT,
    });
    expect(receiver.run([{ id: "0-1", body }], TS).replies).to.have.length(1);
  });

  it("does not project an entry of the latest format, and frees its lock for a newer projector", async () => {
    const { ProjectionBatch } = await oldModule<typeof projection>("db/projection/batch.js");
    const stored = { seq: 1, body: packEntry({ ...entryOf(shard, LATEST_FORMAT), batches: [] }) };
    const entry = old.packing.parseEntry(shard, stored) as Entry;
    expect(() => new ProjectionBatch(new Map()).take(entry)).to.throw(/format/);
  });
});

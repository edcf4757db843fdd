/**
 * Bugs planted in the runtime from outside: by a store that returns or writes wrong values, by a connection that changes
 * commits, or by a method that is replaced during one simulation. Each must be caught within some seeds.
 */

import { LATEST_FORMAT } from "../../actors/format.js";
import { FormatAnnouncer, isAnnounced } from "../../stream/log/formats.js";
import { SignedPlacements, type SignedPlacementsParts } from "../../http/trading/signed-placements.js";
import { HandOverGuard } from "../../stream/runtime/hand-over-guard.js";
import { Inbox } from "../../stream/runtime/inbox.js";
import { type AnyActor, Instance } from "../../stream/runtime/instance.js";
import { KnownIds } from "../../actors/ledger/ids/known.js";
import { BOUNDS } from "../../actors/limits.js";
import { Fields } from "../../actors/packed/fields.js";
import { sweep } from "../../actors/market/book/sweep.js";
import type { MarketCommand } from "../../actors/market/commands.js";
import type { MarketState } from "../../actors/market/state.js";
import type { Order } from "../../actors/market/types.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import {
  type Change,
  type Commit,
  cursorAt,
  type Departure,
  type Listener,
  positionOf,
} from "../../stream/log/log.js";
import { packEnvelope, parseEnvelope } from "../../stream/log/packing.js";
import { MemoryLog } from "../support/log/memory-log.js";
import { MemoryStore } from "../support/log/memory-store.js";
import { Partition } from "../../stream/runtime/partition.js";
import { EngineClock } from "../../stream/services/engine-clock.js";
import { HeartbeatGap } from "../support/log/memory-heartbeat.js";
import { Relay } from "../../stream/runtime/relay.js";
import { isMarket, KEYS } from "./journal.js";
import type { Call } from "./machine/network.js";
import type { Mutation } from "./simulation.js";
import { Tables } from "./tables.js";

export interface Mutant {
  readonly name: string;
  readonly mutation: Mutation;
}

type Current = () => Call | undefined;

/** Makes the store return a wrong value for one field during some operations. */
function wrongRead(answer: (call: Call, key: string, field: string) => string | undefined): Mutation {
  class WrongReadStore extends MemoryStore {
    readonly #current: Current;

    constructor(current: Current) {
      super();
      this.#current = current;
    }

    override get(key: string, field: string): string | undefined {
      const call = this.#current();
      return (call === undefined ? undefined : answer(call, key, field)) ?? super.get(key, field);
    }
  }
  return { store: (current) => new WrongReadStore(current) };
}

function epochOf(store: MemoryStore, key: string): string | undefined {
  return MemoryStore.prototype.get.call(store, key, "epoch");
}

/** Appends an entry without checking its seq. */
class UncheckedStore extends MemoryStore {
  readonly #current: Current;

  constructor(current: Current) {
    super();
    this.#current = current;
  }

  override get(key: string, field: string): string | undefined {
    const change = this.#current()?.commit?.changes.find(({ actor }) => key.endsWith(`head:${actor}`));
    return change !== undefined && field === "seq" ? String(change.expectedSeq) : super.get(key, field);
  }

  override append(key: string, body: string, id?: number): number {
    const { last } = this.stream(key);
    return super.append(key, body, id === undefined || id > last ? id : last + 1);
  }
}

/** Ignores every change of an epoch after the first. */
class OneEpochStore extends MemoryStore {
  override set(key: string, field: string, value: string | undefined): void {
    if (field === "epoch" && epochOf(this, key) !== undefined) return;
    super.set(key, field, value);
  }
}

/** Marks every entry as relayed as soon as it is written. */
class EarlyRelayedStore extends MemoryStore {
  readonly #current: Current;

  constructor(current: Current) {
    super();
    this.#current = current;
  }

  override set(key: string, field: string, value: string | undefined): void {
    super.set(key, field, value);
    if (field === "seq" && this.#current()?.operation === "commit") super.set(key, "relayed", value);
  }
}

/** Lets a removed actor lose its seq, so that it begins again. */
class ForgetfulRemovalStore extends MemoryStore {
  override set(key: string, field: string, value: string | undefined): void {
    super.set(key, field, value);
    if (field === "removed" && value !== undefined) super.set(key, "seq", undefined);
  }
}

/** Changes the messages that leave with commits, on a single server. */
function changingDepartures(change: (departures: readonly Departure[]) => readonly Departure[]): Mutation {
  return {
    changeCommit: ({ departures = [], ...commit }) => ({ ...commit, departures: change(departures) }),
    oneGroup: true,
  };
}

/** Returns a message as a process would send it, which nobody recognizes as a repeat. */
function withoutSource(departure: Departure): Departure {
  const envelope = { ...parseEnvelope(departure.body), source: undefined, seq: undefined };
  return { ...departure, body: packEnvelope(envelope) };
}

function changingCommits(change: (change: Change) => Change): Mutation {
  return {
    changeCommit: (commit: Commit) => ({ ...commit, changes: commit.changes.map(change) }),
  };
}

/** Replaces methods of a class during a simulation. */
function replacingMethods<Class extends object>(
  prototype: Class,
  methods: Partial<Class>,
): Required<Pick<Mutation, "patch">> {
  return {
    patch: () => {
      const names = Object.keys(methods);
      const originals = names.map(
        (name) => [name, Object.getOwnPropertyDescriptor(prototype, name)] as const,
      );
      Object.assign(prototype, methods);
      return () => {
        for (const [name, descriptor] of originals)
          if (descriptor !== undefined) Object.defineProperty(prototype, name, descriptor);
      };
    },
  };
}

/** Original methods, for the replacements that call them. */
const commitOf = Object.getOwnPropertyDescriptor(MemoryLog.prototype, "commit")?.value as MemoryLog["commit"];
const append = Object.getOwnPropertyDescriptor(MemoryLog.prototype, "append")?.value as MemoryLog["append"];
const listen = Object.getOwnPropertyDescriptor(MemoryLog.prototype, "listen")?.value as MemoryLog["listen"];
const writeSnapshot = Object.getOwnPropertyDescriptor(MemoryLog.prototype, "writeSnapshot")
  ?.value as MemoryLog["writeSnapshot"];
const save = Object.getOwnPropertyDescriptor(Inbox.prototype, "save")?.value as Inbox["save"];

const fold = Object.getOwnPropertyDescriptor(Inbox.prototype, "fold")?.value as Inbox["fold"];
const announce = Object.getOwnPropertyDescriptor(MemoryLog.prototype, "announce")
  ?.value as MemoryLog["announce"];
const outgoing = Object.getOwnPropertyDescriptor(Instance.prototype, "outgoing")
  ?.value as Instance["outgoing"];
const unpackFee = Object.getOwnPropertyDescriptor(Fields.prototype, "unpackFee")
  ?.value as Fields["unpackFee"];
/** The class of the fields that repeat their last value. */
const REPEATED = Object.getPrototypeOf(new Fields().wallet) as Fields["wallet"];
const packText = Object.getOwnPropertyDescriptor(REPEATED, "pack")?.value as Fields["wallet"]["pack"];
const run = Object.getOwnPropertyDescriptor(Instance.prototype, "run")?.value as Instance["run"];
const place = Object.getOwnPropertyDescriptor(SignedPlacements.prototype, "place")
  ?.value as SignedPlacements["place"];

const HOUR_MS = 3_600_000;

function knownIdsMethod<Name extends "orderOf" | "forget" | "parts">(name: Name): KnownIds[Name] {
  return Object.getOwnPropertyDescriptor(KnownIds.prototype, name)?.value as KnownIds[Name];
}

const orderOf = knownIdsMethod("orderOf");
const forget = knownIdsMethod("forget");
const parts = knownIdsMethod("parts");

/** Returns an actor that does unfinished work at its ticks, and takes other commands in between. */
function finishingInTicks(actor: AnyActor): AnyActor {
  const waiting = new WeakMap<object, readonly unknown[]>();
  const waitingOf = (state: unknown): readonly unknown[] => waiting.get(state as object) ?? [];
  let ticks = 0;
  return {
    ...actor,
    deadline: (state) => (waitingOf(state).length > 0 ? ticks : actor.deadline(state)),
    decide: (state, command, nowMs, format, bounds) => {
      const isTick = (command as { kind: string }).kind === "tick";
      const [next = command, ...others] = isTick ? waitingOf(state) : [command, ...waitingOf(state)];
      const { deltas, reply, unfinished = [] } = actor.decide(state, next, nowMs, format, bounds);
      waiting.set(state as object, isTick ? [...unfinished, ...others] : [...others, ...unfinished]);
      if (isTick) ticks += 1;
      return { deltas, reply };
    },
  };
}

/** Returns a market that judges a `FOK` order by the first piece of its sweep. */
function judgingFirstPiece(actor: AnyActor): AnyActor {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds = BOUNDS) => {
      const entering = command as MarketCommand;
      if (entering.kind !== "enter" || entering.order.tif !== "FOK")
        return actor.decide(state, command, nowMs, format, bounds);
      const { order } = entering;
      const { resting, definition } = state as MarketState;
      const ladders = resting.ladders[order.currency];
      const { more } = sweep(ladders, order, order.qty, definition?.ticks ?? [], bounds.atOnce);
      const judged = more ? { ...entering, order: { ...order, tif: "IOC" } } : entering;
      return actor.decide(state, judged, nowMs, format, bounds);
    },
  };
}

/** Returns a market that emits the delta of a transition before its orders are canceled. */
function transitionFirst(actor: AnyActor): AnyActor {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      const decision = actor.decide(state, command, nowMs, format, bounds);
      const [next] = (decision.unfinished ?? []) as { kind: string; actions?: readonly string[] }[];
      if (next?.actions?.[0] !== "close") return decision;
      const { lifecycleSeq } = state as MarketState;
      const closed = { type: "lifecycle", seq: lifecycleSeq + 1, kind: "CLOSE", status: "CLOSED" };
      actor.evolve(state, closed, nowMs);
      return { ...decision, deltas: [...decision.deltas, closed] };
    },
  };
}

/** Returns a ledger that keeps the orders that it has sent to a market, and changes them with each fill. */
function changingSentOrders(actor: AnyActor): AnyActor {
  const sent = new Map<string, { qty: number }>();
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      const decision = actor.decide(state, command, nowMs, format, bounds);
      for (const delta of decision.deltas as LedgerDelta[]) {
        if (delta.type === "accepted") sent.set(delta.order.orderId, delta.order);
        if (delta.type !== "order" || delta.kind !== "fill") continue;
        const order = sent.get(delta.orderId);
        if (order !== undefined) order.qty = delta.remaining;
      }
      return decision;
    },
  };
}

/** Returns a ledger that sends orders without an end with a time that the packed form does not have. */
function sendingEndlessOrders(actor: AnyActor): AnyActor {
  return {
    ...actor,
    route: (id, batch) =>
      actor.route(id, batch).map((outgoing) => {
        const { order, ...command } = outgoing.command as { order?: Order };
        if (order === undefined) return outgoing;
        const endless = { ...order, notAfter: order.notAfter ?? Infinity };
        return { ...outgoing, command: { ...command, order: endless } };
      }),
  };
}

/** Packs a text only once in an entry. */
function leavingOutTexts(): Mutation {
  const packed = new WeakSet<object>();
  return replacingMethods(REPEATED, {
    pack(this: typeof REPEATED, value) {
      if (packed.has(this)) return 0;
      packed.add(this);
      return packText.call(this, value);
    },
  });
}

const isHead = (key: string): boolean => key.includes(":head:");

/** Returns a ledger that ignores what a client has looked up. */
function withoutLookUp(actor: AnyActor): AnyActor {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      const { lookedUp, ...rest } = command as { lookedUp?: unknown };
      const ids = Array.isArray(lookedUp) ? lookedUp.map((id: object) => ({ ...id, first: undefined })) : {};
      const changed = lookedUp === undefined ? command : { ...rest, lookedUp: ids };
      return actor.decide(state, changed, nowMs, format, bounds);
    },
  };
}

/** Drops the notifications of messages that are published by commits, with their numbers. */
class SilentCommitStore extends MemoryStore {
  readonly #current: Current;

  constructor(current: Current) {
    super();
    this.#current = current;
  }

  #isSilent(channel: string): boolean {
    return this.#current()?.operation === "commit" && channel.endsWith(":rings:commands");
  }

  override set(key: string, field: string, value: string | undefined): void {
    if (!this.#isSilent(key)) super.set(key, field, value);
  }

  override publish(channel: string, text: string): void {
    if (!this.#isSilent(channel)) super.publish(channel, text);
  }
}

/** Returns a ledger that answers for the orders that it was sent, and not for the others of the request. */
function withoutOwnAnswers(actor: AnyActor): AnyActor {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      const decision = actor.decide(state, command, nowMs, format, bounds);
      const { reply } = decision;
      if ((command as { kind: string }).kind !== "place" || reply === undefined) return decision;
      return { ...decision, reply: { ...reply, own: undefined } };
    },
  };
}

/** Returns a ledger that knows no restrictions while it decides a command of these kinds. */
function unrestricted(actor: AnyActor, kinds: readonly string[]): AnyActor {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      const { restricted } = state as LedgerState;
      if (!kinds.includes((command as { kind: string }).kind))
        return actor.decide(state, command, nowMs, format, bounds);
      const known = [...restricted];
      restricted.clear();
      const decision = actor.decide(state, command, nowMs, format, bounds);
      for (const [trader, restriction] of known) restricted.set(trader, restriction);
      return decision;
    },
  };
}

/** Returns a ledger that cancels the orders of the first wallet of a trader whom it restricts. */
function restrictingOneWallet(actor: AnyActor): AnyActor {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      const { kind, wallets = [] } = command as { kind: string; wallets?: readonly string[] };
      const changed =
        kind === "restrict" ? { ...(command as object), wallets: wallets.slice(0, 1) } : command;
      return actor.decide(state, changed, nowMs, format, bounds);
    },
  };
}

/** Returns a ledger whose snapshots lack the restrictions. */
function savingNoRestrictions(actor: AnyActor): AnyActor {
  return {
    ...actor,
    *save(state) {
      for (const part of actor.save(state)) if (!part.startsWith('["restricted"')) yield part;
    },
  };
}

export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: "a ledger places the orders of a restricted trader",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : unrestricted(actor, ["place"])) },
  },
  {
    name: "a ledger replaces the orders of a restricted trader",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : unrestricted(actor, ["amend"])) },
  },
  {
    name: "a restriction leaves the orders of the other wallets open",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : restrictingOneWallet(actor)) },
  },
  {
    name: "a snapshot lacks the restrictions",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : savingNoRestrictions(actor)) },
  },
  {
    name: "a ledger forgets the answers of the gateway",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : withoutOwnAnswers(actor)) },
  },
  {
    name: "a gateway refuses a request without asking for an earlier answer",
    mutation: replacingMethods(SignedPlacements.prototype, { recall: () => Promise.resolve(undefined) }),
  },
  {
    name: "a gateway does not send a request of which it refuses all orders",
    mutation: replacingMethods(SignedPlacements.prototype, {
      async place(this: SignedPlacements, request) {
        const { parts } = this as unknown as { readonly parts: SignedPlacementsParts };
        const send: SignedPlacementsParts["send"] = async (sent, prepared, remembers) =>
          prepared.passed.length === 0
            ? { reply: { ok: true, kind: "placed", results: [], own: prepared.own }, repeated: false }
            : parts.send(sent, prepared, remembers);
        return place.call(new SignedPlacements({ ...parts, send }), request);
      },
    }),
  },
  {
    name: "a worker does not say that an answer is repeated",
    mutation: replacingMethods(Instance.prototype, {
      run(this: Instance, messages, nowMs, format) {
        const turn = run.call(this, messages, nowMs, format);
        return { ...turn, replies: turn.replies.map(({ to, id, reply }) => ({ to, id, reply })) };
      },
    }),
  },
  {
    name: "the filter forgets an id that leaves the memory",
    mutation: replacingMethods(KnownIds.prototype, {
      orderOf(this: KnownIds, wallet, clientId) {
        const known = orderOf.call(this, wallet, clientId);
        return known === "uncertain" ? "new" : known;
      },
    }),
  },
  {
    name: "the filters are dropped with the recent ids",
    mutation: replacingMethods(KnownIds.prototype, {
      forget(this: KnownIds, { recentBefore }) {
        forget.call(this, { recentBefore, rememberedBefore: recentBefore + 2 * HOUR_MS });
      },
    }),
  },
  {
    name: "a snapshot lacks the filters of ids",
    mutation: replacingMethods(KnownIds.prototype, {
      *parts(this: KnownIds) {
        for (const part of parts.call(this)) if (part[0] === "recent") yield part;
      },
    }),
  },
  {
    name: "uncertain ids are looked up in tables that are behind",
    mutation: replacingMethods(Tables.prototype, { haveAll: () => true }),
  },
  {
    name: "a ledger ignores what was looked up",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : withoutLookUp(actor)) },
  },
  {
    name: "a commit is not fenced by its epoch",
    mutation: wrongRead(({ commit }, key, field) => {
      const ownership = commit?.ownerships.find(({ partition }) => key === KEYS.lease(partition));
      return ownership !== undefined && field === "epoch" ? String(ownership.epoch) : undefined;
    }),
  },
  {
    name: "a message is handed over past one that is on its way to the mailbox",
    mutation: replacingMethods(HandOverGuard.prototype, { isAwaited: () => false }),
  },
  {
    name: "a message is not deduplicated by source and seq",
    mutation: replacingMethods(Inbox.prototype, { hasApplied: () => false }),
  },
  {
    name: "an entry is appended without a check of its seq",
    mutation: { store: (current) => new UncheckedStore(current) },
  },
  {
    name: "a command is not deduplicated by its id",
    mutation: replacingMethods(Inbox.prototype, { answerTo: () => undefined }),
  },
  {
    name: "a restored actor begins again at the first seq",
    mutation: { store: () => new ForgetfulRemovalStore() },
  },
  { name: "a new owner does not raise the epoch", mutation: { store: () => new OneEpochStore() } },
  {
    name: "the relay cursor advances before messages are sent",
    mutation: { store: (current) => new EarlyRelayedStore(current) },
  },
  {
    name: "the entries of the previous owner are not relayed",
    mutation: wrongRead(({ operation }, key, field) =>
      operation === "scan" && isHead(key) && field === "relayed" ? "1000000" : undefined,
    ),
  },
  {
    name: "a snapshot lacks the inbox",
    mutation: replacingMethods(Inbox.prototype, { save: () => ({ sources: {}, answers: [] }) }),
  },
  {
    name: "a snapshot lacks the answers",
    mutation: replacingMethods(Inbox.prototype, {
      save(this: Inbox, nowMs: number) {
        return { ...save.call(this, nowMs), answers: [] };
      },
    }),
  },
  {
    name: "the inbox is not folded from the entries",
    mutation: replacingMethods(Inbox.prototype, { fold: () => undefined }),
  },
  {
    name: "the cursor of applied messages does not advance",
    mutation: changingCommits((change) => ({ ...change, cursor: cursorAt(0) })),
  },
  {
    name: "the cursor of applied messages is one too far",
    mutation: changingCommits((change) => ({ ...change, cursor: cursorAt(positionOf(change.cursor) + 1) })),
  },
  {
    name: "a commit does not write the deadline",
    mutation: changingCommits(({ deadlineMs: _deadlineMs, ...change }) => change),
  },
  {
    name: "a trim removes entries that are not projected",
    mutation: wrongRead(({ operation }, key, field) =>
      operation === "trim" && isHead(key) && field === "projected" ? "1000000" : undefined,
    ),
  },
  {
    name: "a trim removes entries that are not relayed",
    mutation: wrongRead(({ operation }, key, field) =>
      operation === "trim" && isHead(key) && field === "relayed" ? "1000000" : undefined,
    ),
  },
  {
    name: "the log switches to a snapshot before it has the parts",
    mutation: replacingMethods(MemoryLog.prototype, {
      writeParts: () => Promise.resolve(true),
      writeSnapshot(this: MemoryLog, partition, epoch, actor, snapshot) {
        return writeSnapshot.call(this, partition, epoch, actor, snapshot);
      },
    }),
  },
  {
    name: "the parts of the previous snapshot are removed",
    mutation: wrongRead(({ operation }, key, field) =>
      operation === "removeParts" && key.includes(":snapshot:previous:") && field === "parts"
        ? ""
        : undefined,
    ),
  },
  {
    name: "a trim removes entries that the previous snapshot needs",
    mutation: wrongRead(({ operation }, key, field) =>
      operation === "trim" && isHead(key) && field === "previous" ? "1000000" : undefined,
    ),
  },
  { name: "the log answers before its writes are on the disk", mutation: { answersEarly: true } },
  {
    name: "a ledger changes an order that it has handed over",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : changingSentOrders(actor)) },
  },
  {
    name: "an order that is handed over differs from its packed form",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? actor : sendingEndlessOrders(actor)) },
  },
  {
    name: "a packed text is left out although the last one was another",
    mutation: leavingOutTexts(),
  },
  {
    name: "a fee that is packed as that of the last order is read as none",
    mutation: replacingMethods(Fields.prototype, {
      unpackFee(this: Fields, packed) {
        return unpackFee.call(this, packed === 0 ? [0, 0, "ALWAYS"] : packed);
      },
    }),
  },
  {
    name: "a command is taken between two pieces of another",
    mutation: { changeActor: finishingInTicks },
  },
  {
    name: "the delta of a transition comes before its last piece",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? transitionFirst(actor) : actor) },
  },
  {
    name: "a recovery forgets unfinished work",
    mutation: replacingMethods(Inbox.prototype, {
      fold(this: Inbox, entry) {
        fold.call(this, { ...entry, unfinished: [] });
      },
    }),
  },
  {
    name: "a FOK order is judged by the first piece of its sweep",
    mutation: { changeActor: (actor, id) => (isMarket(id) ? judgingFirstPiece(actor) : actor) },
  },
  {
    name: "an actor goes on with the state in which it failed on a message in quarantine",
    mutation: replacingMethods(Partition.prototype, { reload: () => undefined }),
  },
  {
    name: "the messages after one that is left unfinished count as handled",
    mutation: {
      orders: 1,
      ...replacingMethods(Instance.prototype, {
        run(this: Instance, messages, nowMs, format) {
          return { ...run.call(this, messages, nowMs, format), handled: messages.length };
        },
      }),
    },
  },
  {
    name: "silence counts as the latest format",
    mutation: replacingMethods(MemoryLog.prototype, {
      async announce(this: MemoryLog, role, aliveMs) {
        const announcements = await announce.call(this, role, aliveMs);
        return { ...announcements, roles: announcements.roles.filter(isAnnounced) };
      },
    }),
  },
  {
    name: "a writer ignores the announced formats",
    mutation: replacingMethods(FormatAnnouncer.prototype, { active: () => LATEST_FORMAT }),
  },
  {
    name: "the active format rises without a stable time",
    mutation: replacingMethods(MemoryLog.prototype, {
      async announce(this: MemoryLog, role, aliveMs) {
        const announcements = await announce.call(this, role, aliveMs);
        const since = announcements.nowMs - 1_000;
        return { ...announcements, record: announcements.record.replace(/^1 .*/, `1 ${since}`) };
      },
    }),
  },
  {
    name: "a message follows in the latest format from an entry of an earlier one",
    mutation: replacingMethods(Instance.prototype, {
      outgoing(this: Instance, entry) {
        return outgoing.call(this, { ...entry, format: LATEST_FORMAT });
      },
    }),
  },
  {
    name: "a commit is acknowledged before its outcome is known",
    mutation: {
      changeOutcome: (outcome) => {
        outcome.catch(() => undefined);
        return Promise.resolve({ kind: "ok" });
      },
    },
  },
  {
    name: "messages to one partition are sent in reverse order",
    mutation: replacingMethods(MemoryLog.prototype, {
      append(this: MemoryLog, partition, deliveries, ...rest) {
        return append.call(this, partition, deliveries.toReversed(), ...rest);
      },
    }),
  },
  {
    name: "a hand-over ignores all messages in the mailbox",
    mutation: replacingMethods(HandOverGuard.prototype, { allows: () => true }),
  },
  {
    name: "a hand-over counts as the end of the relay",
    mutation: replacingMethods(Relay.prototype, { isRelayed: () => true }),
  },
  {
    name: "the messages of a commit are appended although the commit is refused",
    mutation: {
      ...replacingMethods(MemoryLog.prototype, {
        async commit(this: MemoryLog, commit) {
          const outcome = await commitOf.call(this, commit);
          if (outcome.kind !== "ok")
            for (const { partition, ...delivery } of commit.departures ?? [])
              await append.call(this, partition, [delivery]);
          return outcome;
        },
      }),
      oneGroup: true,
    },
  },
  {
    name: "a message that leaves with a commit is appended twice, and counts twice",
    mutation: changingDepartures((departures) => [...departures, ...departures.map(withoutSource)]),
  },
  {
    name: "a message that leaves with a commit is lost",
    mutation: changingDepartures((departures) => departures.slice(1)),
  },
  {
    name: "the messages of a commit are appended in reverse order",
    mutation: changingDepartures((departures) => departures.toReversed()),
  },
  {
    name: "nobody is notified of the messages of a commit",
    mutation: { store: (current) => new SilentCommitStore(current), oneGroup: true },
  },
  {
    name: "a later message is handed over before one that has left with a commit",
    mutation: {
      ...replacingMethods(HandOverGuard.prototype, { messageQueued: () => undefined }),
      oneGroup: true,
    },
  },
  {
    name: "a commit writes to only one of its partitions",
    mutation: {
      changeCommit: ({ ownerships, changes, ...rest }) => ({
        ...rest,
        ownerships,
        changes: changes.filter(({ partition }) => partition === ownerships[0]?.partition),
      }),
    },
  },
  {
    name: "a failed relay counts as a success",
    mutation: replacingMethods(MemoryLog.prototype, {
      append(this: MemoryLog, partition, deliveries, capacity, fences) {
        const sent = append.call(this, partition, deliveries, capacity, fences);
        return capacity === undefined ? sent.catch(() => deliveries.map(() => "appended" as const)) : sent;
      },
    }),
  },
  {
    name: "a source is forgotten before it is removed",
    mutation: replacingMethods(MemoryLog.prototype, {
      append(this: MemoryLog, partition, deliveries, ...rest) {
        const forgetting = deliveries.flatMap(({ to, body }) => {
          const { source, seq = 0 } = parseEnvelope(body);
          const forgotten = source && { [source]: seq };
          return [
            { to, body },
            ...(forgotten ? [{ to, body: packEnvelope({ commands: [], forgotten }) }] : []),
          ];
        });
        const sent = append.call(this, partition, forgetting, ...rest);
        return sent.then(() => deliveries.map(() => "appended" as const));
      },
    }),
  },
  {
    name: "a stall of the log counts as time without a heartbeat",
    mutation: replacingMethods(HeartbeatGap.prototype, {
      counted(this: HeartbeatGap) {
        return Math.max(0, this.ms);
      },
    }),
  },
  {
    name: "engine time follows every step of the log's clock",
    mutation: replacingMethods(EngineClock.prototype, { judge: () => "adopt" }),
  },
];

/** Bugs that need more traffic between few actors than an exchange has. The counters of `chaos.ts` send it. */
interface PatchedMutant {
  readonly name: string;
  readonly patch: () => () => void;
}

/** Watches partitions, and asks for their scans before the subscriptions have begun. */
function scanningFirst(
  this: MemoryLog,
  ...[kind, onNotification]: Parameters<MemoryLog["listen"]>
): Listener {
  const scanned = new Set<string>();
  const inner = listen.call(this, kind, (notification) => {
    if (!notification.scanAll || !scanned.delete(notification.partition)) onNotification(notification);
  });
  let known: readonly string[] = [];
  return {
    watch: (partitions) => {
      const added = partitions.filter((partition) => !known.includes(partition));
      known = partitions;
      inner.watch(partitions);
      for (const partition of added) {
        scanned.add(partition);
        onNotification({ partition, notices: [], scanAll: true });
      }
    },
    close: () => inner.close(),
  };
}

/** Watches for ever the partitions that are watched first. */
function watchingTheFirst(inner: Listener): Listener {
  let first: readonly string[] | undefined;
  return {
    watch: (partitions) => inner.watch((first ??= partitions)),
    close: () => inner.close(),
  };
}

/** Bugs of interests that change, searched in `../stream/log/interests.ts`. */
export const INTEREST_MUTANTS: readonly PatchedMutant[] = [
  {
    name: "an interest begins between the scan and the subscription",
    ...replacingMethods(MemoryLog.prototype, { listen: scanningFirst }),
  },
  {
    name: "the notifications of a partition that has moved go to its former owner",
    ...replacingMethods(MemoryLog.prototype, {
      listen(this: MemoryLog, kind, onNotification) {
        const inner = listen.call(this, kind, onNotification);
        return kind === "commands" ? watchingTheFirst(inner) : inner;
      },
    }),
  },
  {
    name: "a lost notification is found only by a later one",
    ...replacingMethods(MemoryLog.prototype, {
      countsOf: (channels: readonly string[]) => Promise.resolve(channels.map(() => 0)),
    }),
  },
  {
    name: "a gap in the numbers of notifications is ignored",
    ...replacingMethods(MemoryLog.prototype, {
      listen(this: MemoryLog, kind, onNotification) {
        const scans = new Map<string, number>();
        return listen.call(this, kind, (notification) => {
          const { partition, scanAll } = notification;
          if (scanAll) scans.set(partition, (scans.get(partition) ?? 0) + 1);
          if (!scanAll || scans.get(partition) === 1) onNotification(notification);
        });
      },
    }),
  },
];

export const COUNTER_MUTANTS: readonly PatchedMutant[] = [
  {
    name: "a hand-over ignores the messages that the previous owner left in the mailbox",
    ...replacingMethods(HandOverGuard.prototype, { reset: () => undefined }),
  },
  {
    name: "a mailbox is read before the relayed messages are in it",
    ...replacingMethods(Relay.prototype, { isWaiting: () => false }),
  },
  {
    name: "a message that leaves with a commit overtakes those that the relay holds",
    ...replacingMethods(Relay.prototype, { isRelayed: () => true }),
  },
];

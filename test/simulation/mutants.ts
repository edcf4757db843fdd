/**
 * Bugs planted in the runtime, from outside: by a store that lies, by a connection that tampers, or by a method that
 * is replaced for the time of one simulation. Each must be caught within some seeds.
 */

import { HandOverGuard } from "../../stream/runtime/hand-over-guard.js";
import { Inbox } from "../../stream/runtime/inbox.js";
import { type Change, type Commit, cursorAt, positionOf } from "../../stream/log/log.js";
import { MemoryLog } from "../support/log/memory-log.js";
import { MemoryStore } from "../support/log/memory-store.js";
import { Relay } from "../../stream/runtime/relay.js";
import { KEYS } from "./journal.js";
import type { Call } from "./machine/network.js";
import type { Sabotage } from "./simulation.js";

export interface Mutant {
  readonly name: string;
  readonly sabotage: Sabotage;
}

type Current = () => Call | undefined;

/** A store whose answer to one question is wrong, for some operations. */
function lying(answer: (call: Call, key: string, field: string) => string | undefined): Sabotage {
  class LyingStore extends MemoryStore {
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
  return { store: (current) => new LyingStore(current) };
}

function epochOf(store: MemoryStore, key: string): string | undefined {
  return MemoryStore.prototype.get.call(store, key, "epoch");
}

/** Writes an entry whatever the seq is, at the end. */
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

/** Never raises an epoch after the first. */
class OneEpochStore extends MemoryStore {
  override set(key: string, field: string, value: string | undefined): void {
    if (field === "epoch" && epochOf(this, key) !== undefined) return;
    super.set(key, field, value);
  }
}

/** Holds every entry for relayed as soon as it is written. */
class HastyStore extends MemoryStore {
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

function changing(change: (change: Change) => Change): Sabotage {
  return {
    tamper: (commit: Commit) => ({ ...commit, changes: commit.changes.map(change) }),
  };
}

/** Replaces methods of a class for the time of a simulation. */
function replacing<Class extends object>(prototype: Class, methods: Partial<Class>): Sabotage {
  return {
    patch: () => {
      const names = Object.keys(methods);
      const plain = names.map((name) => [name, Object.getOwnPropertyDescriptor(prototype, name)] as const);
      Object.assign(prototype, methods);
      return () => {
        for (const [name, descriptor] of plain)
          if (descriptor !== undefined) Object.defineProperty(prototype, name, descriptor);
      };
    },
  };
}

/** The whole of an append, so that a replaced one can still call it. */
const append = Object.getOwnPropertyDescriptor(MemoryLog.prototype, "append")?.value as MemoryLog["append"];
const save = Object.getOwnPropertyDescriptor(Inbox.prototype, "save")?.value as Inbox["save"];

const isHead = (key: string): boolean => key.includes(":head:");

export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: "the fence removed",
    sabotage: lying(({ commit }, key, field) => {
      const ownership = commit?.ownerships.find(({ partition }) => key === KEYS.lease(partition));
      return ownership !== undefined && field === "epoch" ? String(ownership.epoch) : undefined;
    }),
  },
  {
    name: "the dedupe by (source, seq) removed",
    sabotage: replacing(Inbox.prototype, { hasApplied: () => false }),
  },
  {
    name: "the sequence check removed",
    sabotage: { store: (current) => new UncheckedStore(current) },
  },
  {
    name: "the dedupe by command id removed",
    sabotage: replacing(Inbox.prototype, { answerTo: () => undefined }),
  },
  { name: "a tenure without an epoch of its own", sabotage: { store: () => new OneEpochStore() } },
  {
    name: "the relay cursor advanced before sending",
    sabotage: { store: (current) => new HastyStore(current) },
  },
  {
    name: "what the last owner left is not relayed",
    sabotage: lying(({ operation }, key, field) =>
      operation === "scan" && isHead(key) && field === "relayed" ? "1000000" : undefined,
    ),
  },
  {
    name: "a snapshot without the inbox",
    sabotage: replacing(Inbox.prototype, { save: () => ({ sources: {}, answers: [] }) }),
  },
  {
    name: "a snapshot without the answers",
    sabotage: replacing(Inbox.prototype, {
      save(this: Inbox, nowMs: number) {
        return { ...save.call(this, nowMs), answers: [] };
      },
    }),
  },
  {
    name: "the inbox not folded from entries",
    sabotage: replacing(Inbox.prototype, { fold: () => undefined }),
  },
  {
    name: "the cursor of applied messages not advanced",
    sabotage: changing((change) => ({ ...change, cursor: cursorAt(0) })),
  },
  {
    name: "the cursor of applied messages one too far",
    sabotage: changing((change) => ({ ...change, cursor: cursorAt(positionOf(change.cursor) + 1) })),
  },
  {
    name: "the deadline not written with the commit",
    sabotage: changing(({ deadlineMs: _deadlineMs, ...change }) => change),
  },
  {
    name: "a trim that forgets the projector",
    sabotage: lying(({ operation }, key, field) =>
      operation === "trim" && isHead(key) && field === "projected" ? "1000000" : undefined,
    ),
  },
  {
    name: "a trim that forgets the relay",
    sabotage: lying(({ operation }, key, field) =>
      operation === "trim" && isHead(key) && field === "relayed" ? "1000000" : undefined,
    ),
  },
  {
    name: "a trim that forgets the snapshot before the latest",
    sabotage: lying(({ operation }, key, field) =>
      operation === "trim" && isHead(key) && field === "previous" ? "1000000" : undefined,
    ),
  },
  { name: "answers before the disk has it", sabotage: { answersEarly: true } },
  {
    name: "answers before the commit is through",
    sabotage: {
      believe: (outcome) => {
        outcome.catch(() => undefined);
        return Promise.resolve({ kind: "ok" });
      },
    },
  },
  {
    name: "messages to one partition in the wrong order",
    sabotage: replacing(MemoryLog.prototype, {
      append(this: MemoryLog, partition, deliveries, capacity) {
        return append.call(this, partition, deliveries.toReversed(), capacity);
      },
    }),
  },
  {
    name: "a hand-over past what the last owner left in the mailbox",
    sabotage: replacing(HandOverGuard.prototype, { reset: () => undefined }),
  },
  {
    name: "a hand-over past whatever is in the mailbox",
    sabotage: replacing(HandOverGuard.prototype, { allows: () => true }),
  },
  {
    name: "a mailbox read before what was relayed is in it",
    sabotage: replacing(Relay.prototype, { isWaiting: () => false }),
  },
  {
    name: "what was handed over held for all there was to relay",
    sabotage: replacing(Relay.prototype, { isRelayed: () => true }),
  },
  {
    name: "a commit of a part of its partitions",
    sabotage: {
      tamper: ({ ownerships, changes, ...rest }) => ({
        ...rest,
        ownerships,
        changes: changes.filter(({ partition }) => partition === ownerships[0]?.partition),
      }),
    },
  },
  {
    name: "a lost relay taken for a success",
    sabotage: replacing(MemoryLog.prototype, {
      append(this: MemoryLog, partition, deliveries, capacity) {
        const sent = append.call(this, partition, deliveries, capacity);
        return capacity === undefined ? sent.catch(() => deliveries.map(() => true)) : sent;
      },
    }),
  },
];

/** A small actor with every ability of an actor: it counts, sends, receives, has a deadline, and fails. */

import { type Actor, type ActorId, type AnyOutgoing, malformed } from "../../../actors/actor.js";
import { unreachable } from "../../../actors/unreachable.js";

export type CounterCommand =
  | { readonly kind: "add"; readonly n: number }
  /** Adds `n` one by one, each in a piece of its own. The piece fails in which `breaksAt` are left. */
  | { readonly kind: "climb"; readonly n: number; readonly breaksAt?: number }
  /** Answers, and changes nothing. */
  | { readonly kind: "read" }
  /** Sends numbers to another counter, each in a command of its own. */
  | { readonly kind: "send"; readonly to: ActorId; readonly numbers: readonly number[] }
  | { readonly kind: "receive"; readonly from: ActorId; readonly n: number }
  | { readonly kind: "alarm"; readonly atMs: number }
  | { readonly kind: "break" }
  | { readonly kind: "skip"; readonly count: number }
  | { readonly kind: "tick" };

export type CounterDelta =
  | { readonly type: "added"; readonly n: number }
  | { readonly type: "sent"; readonly to: ActorId; readonly n: number }
  | { readonly type: "received"; readonly from: ActorId; readonly n: number }
  | { readonly type: "alarm"; readonly atMs: number }
  | { readonly type: "skipped"; readonly count: number }
  | { readonly type: "ticked"; readonly atMs: number };

export interface CounterState {
  readonly id: ActorId;
  value: number;
  alarmMs: number | undefined;
  readonly tickedMs: number[];
  readonly received: Record<string, number[]>;
}

export interface CounterReply {
  readonly value: number;
}

function evolve(state: CounterState, delta: CounterDelta): void {
  switch (delta.type) {
    case "added":
      state.value += delta.n;
      break;
    case "sent":
    case "skipped":
      break;
    case "received":
      (state.received[delta.from] ??= []).push(delta.n);
      break;
    case "alarm":
      state.alarmMs = delta.atMs;
      break;
    case "ticked":
      state.alarmMs = undefined;
      state.tickedMs.push(delta.atMs);
      break;
    default:
      unreachable(delta);
  }
}

function broken(state: CounterState): never {
  state.value += 1_000_000;
  throw new Error("the invariant is broken on request");
}

function deltasOf(state: CounterState, command: CounterCommand, nowMs: number): readonly CounterDelta[] {
  switch (command.kind) {
    case "add":
      return [{ type: "added", n: command.n }];
    case "climb":
      if (command.n === command.breaksAt) return broken(state);
      return [{ type: "added", n: 1 }];
    case "read":
      return [];
    case "send":
      return command.numbers.map((n) => ({ type: "sent", to: command.to, n }));
    case "receive":
      return [{ type: "received", from: command.from, n: command.n }];
    case "alarm":
      return [{ type: "alarm", atMs: command.atMs }];
    case "skip":
      return [{ type: "skipped", count: command.count }];
    case "tick":
      return [{ type: "ticked", atMs: nowMs }];
    case "break":
      return broken(state);
    default:
      return malformed(command);
  }
}

export const counter: Actor<CounterState, CounterCommand, CounterDelta, CounterReply, AnyOutgoing> = {
  create: (id) => ({ id, value: 0, alarmMs: undefined, tickedMs: [], received: {} }),
  decide(state, command, nowMs) {
    const deltas = deltasOf(state, command, nowMs);
    for (const delta of deltas) evolve(state, delta);
    const reply = { value: state.value };
    if (command.kind !== "climb" || command.n === 1) return { deltas, reply };
    return { deltas, reply, unfinished: [{ ...command, n: command.n - 1 }] };
  },
  evolve,
  deadline: (state) => state.alarmMs,
  tick: { kind: "tick" },
  skip: (count) => ({ kind: "skip", count }),
  route: (id, { deltas }) =>
    deltas.flatMap((delta) =>
      delta.type === "sent" ? [{ to: delta.to, command: { kind: "receive", from: id, n: delta.n } }] : [],
    ),
  *save({ received, ...state }) {
    yield JSON.stringify(state);
    for (const source of Object.entries(received)) yield JSON.stringify(source);
  },
  restore: (id) => {
    const state: CounterState = { id, value: 0, alarmMs: undefined, tickedMs: [], received: {} };
    return {
      add(part) {
        const saved = JSON.parse(part) as Omit<CounterState, "received"> | [from: string, numbers: number[]];
        if (!Array.isArray(saved)) Object.assign(state, saved);
        else state.received[saved[0]] = saved[1];
      },
      finish: () => state,
    };
  },
  saveWhole: (state) => JSON.parse(JSON.stringify(state)) as unknown,
  restoreWhole: (_id, saved) => ({
    alarmMs: undefined,
    ...(structuredClone(saved) as Omit<CounterState, "alarmMs">),
  }),
};

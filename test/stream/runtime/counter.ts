/** The smallest actor that does all an actor can: counts, sends, receives, keeps time, refuses and breaks. */

import { type Actor, type ActorId, type AnyOutgoing, MalformedCommand } from "../../../actors/actor.js";

export type CounterCommand =
  | { readonly kind: "add"; readonly n: number }
  /** Answers and changes nothing. */
  | { readonly kind: "read" }
  /** Sends numbers to another counter, each as a message of its own. */
  | { readonly kind: "send"; readonly to: ActorId; readonly numbers: readonly number[] }
  | { readonly kind: "receive"; readonly from: ActorId; readonly n: number }
  | { readonly kind: "alarm"; readonly atMs: number }
  | { readonly kind: "break" }
  | { readonly kind: "tick" };

export type CounterDelta =
  | { readonly type: "added"; readonly n: number }
  | { readonly type: "sent"; readonly to: ActorId; readonly n: number }
  | { readonly type: "received"; readonly from: ActorId; readonly n: number }
  | { readonly type: "alarm"; readonly atMs: number }
  | { readonly type: "rang"; readonly atMs: number };

export interface CounterState {
  readonly id: ActorId;
  value: number;
  alarmMs: number | undefined;
  readonly rangMs: number[];
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
      break;
    case "received":
      (state.received[delta.from] ??= []).push(delta.n);
      break;
    case "alarm":
      state.alarmMs = delta.atMs;
      break;
    case "rang":
      state.alarmMs = undefined;
      state.rangMs.push(delta.atMs);
      break;
    default:
      delta satisfies never;
  }
}

function deltasOf(state: CounterState, command: CounterCommand, nowMs: number): readonly CounterDelta[] {
  switch (command.kind) {
    case "add":
      return [{ type: "added", n: command.n }];
    case "read":
      return [];
    case "send":
      return command.numbers.map((n) => ({ type: "sent", to: command.to, n }));
    case "receive":
      return [{ type: "received", from: command.from, n: command.n }];
    case "alarm":
      return [{ type: "alarm", atMs: command.atMs }];
    case "tick":
      return [{ type: "rang", atMs: nowMs }];
    case "break":
      state.value += 1_000_000;
      throw new Error("invariant broken: told to break");
    default:
      command satisfies never;
      throw new MalformedCommand("no such command");
  }
}

export const counter: Actor<CounterState, CounterCommand, CounterDelta, CounterReply, AnyOutgoing> = {
  create: (id) => ({ id, value: 0, alarmMs: undefined, rangMs: [], received: {} }),
  decide(state, command, nowMs) {
    const deltas = deltasOf(state, command, nowMs);
    for (const delta of deltas) evolve(state, delta);
    return { deltas, reply: { value: state.value } };
  },
  evolve,
  deadline: (state) => state.alarmMs,
  tick: { kind: "tick" },
  route: (id, { deltas }) =>
    deltas.flatMap((delta) =>
      delta.type === "sent" ? [{ to: delta.to, command: { kind: "receive", from: id, n: delta.n } }] : [],
    ),
  save: (state) => JSON.parse(JSON.stringify(state)) as unknown,
  restore: (_id, saved) => ({
    alarmMs: undefined,
    ...(structuredClone(saved) as Omit<CounterState, "alarmMs">),
  }),
};

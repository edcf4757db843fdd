/**
 * Safety of a wallet: the dead-man switch, order groups, collateral policies, restrictions of traders (contract sections
 * 3.4, 5.18 and 8.3).
 */

import { MAX_GROUPS } from "../limits.js";
import { CURRENCIES } from "../market/types.js";
import { cancelGroup, cancelOf } from "./canceling.js";
import type { LedgerCommand, LedgerReply } from "./commands.js";
import type { Emitter } from "./emitter.js";
import { available } from "./state.js";
import type { Group } from "./state.js";
import { RESTRICTIONS_FORMAT } from "./types.js";

type Of<Kind extends LedgerCommand["kind"]> = Extract<LedgerCommand, { kind: Kind }>;

const DONE: LedgerReply = { ok: true, kind: "done" };

/** Arms the dead-man switch, or turns it off with a time-out of 0. */
export function setDeadman(emitter: Emitter, { wallet, trader, timeoutMs }: Of<"deadman">): LedgerReply {
  emitter.wallet(wallet, trader);
  const dueMs = timeoutMs === 0 ? undefined : emitter.nowMs + timeoutMs;
  emitter.emit({ type: "deadman", wallet, timeoutMs, dueMs });
  return DONE;
}

/** Cancels the orders of all wallets whose dead-man switch is due, and turns these switches off. */
export function runDeadmanSwitches(emitter: Emitter): void {
  const { state, nowMs } = emitter;
  for (
    let due = state.deadlines.first();
    due !== undefined && due.at <= nowMs;
    due = state.deadlines.first()
  ) {
    if (emitter.room <= 0) {
      emitter.goOn({ kind: "tick" });
      return;
    }
    const wallet = due.subject;
    emitter.emit({ type: "deadman", wallet, timeoutMs: 0 });
    cancelOf(emitter, wallet, {}, "DISCONNECTED");
  }
}

/** Creates a group, or changes its bounds. The count of fills starts again. Refuses one group too many. */
export function setGroup(emitter: Emitter, command: Of<"setGroup">): LedgerReply {
  const { wallet, trader, groupId, maxFilledQty, windowMs } = command;
  const groups = emitter.state.wallets.get(wallet)?.groups;
  if (groups !== undefined && groups.size >= MAX_GROUPS && !groups.has(groupId))
    return { ok: false, refusal: "GROUP_COUNT_EXCEEDED" };
  emitter.wallet(wallet, trader);
  emitter.emit({ type: "group", wallet, groupId, group: { maxFilledQty, windowMs, tripped: false } });
  return DONE;
}

/** Removes a group but not its orders, or resets a tripped group so that it takes orders again. */
export function changeGroup(
  emitter: Emitter,
  { kind, wallet, groupId }: Of<"removeGroup" | "resetGroup">,
): LedgerReply {
  const group = emitter.state.wallets.get(wallet)?.groups.get(groupId);
  if (group === undefined) return { ok: false, refusal: "GROUP_NOT_FOUND" };
  emitter.emit({
    type: "group",
    wallet,
    groupId,
    group: kind === "removeGroup" ? undefined : bounds(group, false),
  });
  return DONE;
}

/** Trips a group whose fills exceed its bound: cancels its orders, and refuses new ones until the group is reset. */
export function checkGroup(emitter: Emitter, wallet: string, groupId: string): void {
  const group = emitter.state.wallets.get(wallet)?.groups.get(groupId);
  if (group === undefined || group.tripped) return;
  if (group.fills.sum <= group.maxFilledQty) return;
  emitter.emit({ type: "group", wallet, groupId, group: bounds(group, true) });
  cancelGroup(emitter, wallet, groupId);
}

function bounds({ maxFilledQty, windowMs }: Group, tripped: boolean): Omit<Group, "fills"> {
  return { maxFilledQty, windowMs, tripped };
}

export function listGroups(emitter: Emitter, wallet: string): LedgerReply {
  const groups = emitter.state.wallets.get(wallet)?.groups ?? [];
  return {
    ok: true,
    kind: "groups",
    groups: [...groups].map(([groupId, group]) => ({ groupId, ...bounds(group, group.tripped) })),
  };
}

/**
 * Restricts a trader: refuses placements from now on, and cancels the orders of the wallets. Without a restriction, the
 * trader may place orders again. In an earlier format, which has no form for restrictions, only cancels the orders.
 */
export function restrict(emitter: Emitter, { trader, wallets, restriction }: Of<"restrict">): LedgerReply {
  if (emitter.format >= RESTRICTIONS_FORMAT && emitter.state.restricted.get(trader) !== restriction)
    emitter.emit({ type: "restricted", trader, restriction });
  if (restriction !== undefined) for (const wallet of wallets) cancelOf(emitter, wallet, {}, undefined);
  return DONE;
}

/** Changes the collateral policy of a wallet. Refuses a policy that needs more money than is available. */
export function setPolicy(
  emitter: Emitter,
  { wallet: walletId, trader, policy }: Of<"setPolicy">,
): LedgerReply {
  const wallet = emitter.wallet(walletId, trader);
  for (const currency of CURRENCIES) {
    let more = 0;
    for (const account of wallet.accounts.values()) {
      if (account.currency === currency) more += account.reserve(policy) - account.reserved;
    }
    if (more > Math.max(0, available(wallet, currency)))
      return { ok: false, refusal: "INSUFFICIENT_BALANCE" };
  }
  emitter.emit({ type: "policy", wallet: walletId, policy });
  return DONE;
}

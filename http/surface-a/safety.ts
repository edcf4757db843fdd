/** The dead-man switch and order groups of a wallet (contract section 5, `/v3/safety`). */

import { contracts } from "../../actors/units.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { KeyCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { keyEndpoint } from "../request/route.js";
import { Group, GroupBody, Groups, GroupsRemoved, Heartbeat, HeartbeatBody } from "./schemas/safety.js";
import { idFrom } from "../auth/signatures.js";
import { askLedger, sendToLedger } from "../trading/ledger-client.js";
import { walletOf } from "./orders.js";

/** Groups that a wallet may have. */
const MAX_GROUPS = 100;

export function safetyEndpoints({ exchange }: { readonly exchange: Exchange }) {
  const groupsOf = async (caller: KeyCaller): Promise<readonly Group[]> => {
    const { traderId, wallet } = walletOf(caller);
    return (await askLedger(exchange, traderId, { kind: "groups", wallet }, "groups")).groups;
  };

  const groupOf = async (caller: KeyCaller, groupId: string): Promise<Group> => {
    const group = (await groupsOf(caller)).find((one) => one.groupId === groupId);
    if (group === undefined) throw new Refused("GROUP_NOT_FOUND");
    return group;
  };

  const heartbeat = keyEndpoint({
    body: HeartbeatBody,
    answer: Heartbeat,
    run: async ({ caller, body }) => {
      const { traderId, wallet } = walletOf(caller);
      const { timeoutMs } = body;
      const command = { kind: "deadman", wallet, trader: traderId, timeoutMs } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: { timeoutMs } };
    },
  });

  const createGroup = keyEndpoint({
    status: 201,
    body: GroupBody,
    answer: Group,
    run: async ({ caller, body }) => {
      const { traderId, wallet } = walletOf(caller);
      const { maxFilledQty, windowMs, groupId = idFrom(caller.commandId, "group") } = body;
      const others = (await groupsOf(caller)).filter((group) => group.groupId !== groupId);
      if (others.length >= MAX_GROUPS) {
        throw new Refused("INVALID_REQUEST", `a wallet has at most ${MAX_GROUPS} groups; remove one first`);
      }
      const bounds = { groupId, maxFilledQty: contracts(maxFilledQty), windowMs };
      const command = { kind: "setGroup", wallet, trader: traderId, ...bounds } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: { ...bounds, tripped: false } };
    },
  });

  const listGroups = keyEndpoint({
    answer: Groups,
    run: async ({ caller }) => ({ body: [...(await groupsOf(caller))] }),
  });

  const oneGroup = keyEndpoint({
    answer: Group,
    run: async ({ caller, id }) => ({ body: await groupOf(caller, id("groupId")) }),
  });

  const resetGroup = keyEndpoint({
    answer: Group,
    run: async ({ caller, id }) => {
      const { traderId, wallet } = walletOf(caller);
      const groupId = id("groupId");
      const command = { kind: "resetGroup", wallet, groupId } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: await groupOf(caller, groupId) };
    },
  });

  const removeGroup = keyEndpoint({
    status: 204,
    run: async ({ caller, id }) => {
      const { traderId, wallet } = walletOf(caller);
      const command = { kind: "removeGroup", wallet, groupId: id("groupId") } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: undefined };
    },
  });

  const removeGroups = keyEndpoint({
    answer: GroupsRemoved,
    run: async ({ caller }) => {
      const { traderId, wallet } = walletOf(caller);
      const groups = await groupsOf(caller);
      for (const { groupId } of groups) {
        const command = { kind: "removeGroup", wallet, groupId } as const;
        await sendToLedger(exchange, traderId, command, "done", idFrom(caller.commandId, groupId));
      }
      return { body: { removed: groups.length } };
    },
  });

  return { heartbeat, createGroup, listGroups, oneGroup, resetGroup, removeGroup, removeGroups };
}

/** The dead-man switch and order groups of a wallet (contract section 5.18). */

import { contracts } from "../../actors/units.js";
import type { Exchange } from "../../stream/log/ports.js";
import { idFrom } from "../request/command-ids.js";
import { IDS } from "../docs/examples.js";
import { signedBy } from "../request/access.js";
import type { KeyCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { ACCOUNT, RATED_FREE } from "../request/metering.js";
import { route } from "../request/route.js";
import { askLedger, sendToLedger } from "../trading/ledger-client.js";
import { Group, GroupBody, Groups, GroupsRemoved, Heartbeat, HeartbeatBody } from "./schemas/safety.js";
import { walletOf } from "./subaccounts.js";

export function safetyRoutes({ exchange }: { readonly exchange: Exchange }) {
  const groupsOf = async (caller: KeyCaller): Promise<readonly Group[]> => {
    const { traderId, wallet } = walletOf(caller);
    return (await askLedger(exchange, traderId, { kind: "groups", wallet }, "groups")).groups;
  };

  const groupOf = async (caller: KeyCaller, groupId: string): Promise<Group> => {
    const group = (await groupsOf(caller)).find((one) => one.groupId === groupId);
    if (group === undefined) throw new Refused("GROUP_NOT_FOUND");
    return group;
  };

  const heartbeat = route("POST /v3/safety/heartbeat", {
    access: signedBy(["trading"]),
    metering: RATED_FREE,
    body: HeartbeatBody,
    answer: Heartbeat,
    docs: {
      summary: "Arm the dead-man switch",
      description:
        "Cancels all orders of the wallet unless another call follows within `timeoutMs`. A `timeoutMs` of 0 disarms the switch.",
      exampleBody: { timeoutMs: 30_000 },
    },
    run: async ({ caller, body }) => {
      const { traderId, wallet } = walletOf(caller);
      const { timeoutMs } = body;
      const command = { kind: "deadman", wallet, trader: traderId, timeoutMs } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: { timeoutMs } };
    },
  });

  const createGroup = route("POST /v3/safety/groups", {
    access: signedBy(["trading"]),
    metering: ACCOUNT,
    status: 201,
    body: GroupBody,
    answer: Group,
    docs: {
      summary: "Create an order group",
      description:
        "Creates a group of orders, or changes the bounds of an existing one. When more than `maxFilledQty` contracts fill within `windowMs`, the orders of the group are canceled and further ones are refused until the group is reset.",
      refuses: ["GROUP_COUNT_EXCEEDED"],
      exampleBody: { groupId: IDS.groupId, maxFilledQty: 1_000, windowMs: 10_000 },
    },
    run: async ({ caller, body }) => {
      const { traderId, wallet } = walletOf(caller);
      const { maxFilledQty, windowMs, groupId = idFrom(caller.commandId, "group") } = body;
      const bounds = { groupId, maxFilledQty: contracts(maxFilledQty), windowMs };
      const command = { kind: "setGroup", wallet, trader: traderId, ...bounds } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: { ...bounds, tripped: false } };
    },
  });

  const listGroups = route("GET /v3/safety/groups", {
    access: signedBy(["trading"]),
    metering: ACCOUNT,
    answer: Groups,
    docs: {
      summary: "List order groups",
    },
    run: async ({ caller }) => ({ body: [...(await groupsOf(caller))] }),
  });

  const oneGroup = route("GET /v3/safety/groups/:groupId", {
    access: signedBy(["trading"]),
    metering: ACCOUNT,
    answer: Group,
    docs: {
      summary: "Retrieve an order group",
      refuses: ["GROUP_NOT_FOUND"],
    },
    run: async ({ caller, id }) => ({ body: await groupOf(caller, id("groupId")) }),
  });

  const resetGroup = route("POST /v3/safety/groups/:groupId/reset", {
    access: signedBy(["trading"]),
    metering: ACCOUNT,
    answer: Group,
    docs: {
      summary: "Reset an order group",
      description: "Accepts orders of the group again after it has reached its limit.",
      refuses: ["GROUP_NOT_FOUND"],
    },
    run: async ({ caller, id }) => {
      const { traderId, wallet } = walletOf(caller);
      const groupId = id("groupId");
      const command = { kind: "resetGroup", wallet, groupId } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: await groupOf(caller, groupId) };
    },
  });

  const removeGroup = route("DELETE /v3/safety/groups/:groupId", {
    access: signedBy(["trading"]),
    metering: ACCOUNT,
    status: 204,
    docs: {
      summary: "Remove an order group",
      description: "Removes the group. Its orders stay on the book.",
      refuses: ["GROUP_NOT_FOUND"],
    },
    run: async ({ caller, id }) => {
      const { traderId, wallet } = walletOf(caller);
      const command = { kind: "removeGroup", wallet, groupId: id("groupId") } as const;
      await sendToLedger(exchange, traderId, command, "done", caller.commandId);
      return { body: undefined };
    },
  });

  const removeGroups = route("DELETE /v3/safety/groups", {
    access: signedBy(["trading"]),
    metering: ACCOUNT,
    answer: GroupsRemoved,
    docs: {
      summary: "Remove all order groups",
      description: "Removes every group of the wallet, and returns their number.",
      refuses: ["GROUP_NOT_FOUND"],
    },
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

  return [heartbeat, createGroup, listGroups, oneGroup, resetGroup, removeGroup, removeGroups];
}

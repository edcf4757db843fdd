/** Resources for requests that use theirs up, or must find it in some state: each call creates another one. */

import { randomUUID } from "node:crypto";
import { requestApproval } from "../../db/queries/operator/approvals.js";
import type { IDS } from "../../http/docs/examples.js";
import { makeKey } from "./keys.js";
import { addOperator, queried } from "../support/operators.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import type { Stack } from "../support/stack.js";
import { newMarket } from "../support/traders.js";
import type { Calls } from "./calls.js";
import { poison } from "./poison.js";
import { send } from "./requests.js";
import { until } from "../support/until.js";

export type Ids = { -readonly [Name in keyof typeof IDS]: string };

export interface ResourceParts {
  readonly stack: Stack;
  readonly operator: Calls;
  /** Approves grades; needed where a settlement takes two operators. */
  readonly second?: Calls;
  readonly manager: Calls;
  readonly trading: Calls;
  readonly client: Calls;
  /** Trading key of the subaccount that resources belong to. */
  readonly keyId: string;
  readonly marketId: string;
  readonly outcomeId: string;
}

/** Returns one id of a successful answer. Throws when there is none. */
export function idOf({ status, text, json }: Awaited<ReturnType<Calls>>, name: string): string {
  const id = json[name];
  if (typeof id !== "string") throw new Error(`no ${name} in ${status} ${text}`);
  return id;
}

export type Resource = keyof ReturnType<typeof resources>;

/** Creates resources; each function returns the ids by which a request names what it created. */
export function resources(parts: ResourceParts) {
  const { stack, operator, second, manager, trading, client, keyId, marketId, outcomeId } = parts;
  let strike = 2.5;
  const market = async () => {
    const made = await newMarket(stack);
    return { eventId: made.eventId, marketId: made.marketId, outcomeId: made.outcomes[0] };
  };
  const graded = async () => {
    const made = await market();
    idOf(
      await operator(`POST /admin/v1/markets/${made.marketId}/grade`, { winner: made.outcomeId }),
      "marketId",
    );
    return made;
  };
  return {
    market,
    /** Market with a grade that pays, or that waits for its approval where a settlement takes two operators. */
    graded,
    settled: async () => {
      const made = await graded();
      const path = `/admin/v1/markets/${made.marketId}`;
      if (second !== undefined) idOf(await second(`POST ${path}/settlement/approve`), "marketId");
      await until(
        () => operator(`GET ${path}`),
        ({ json }) => json["status"] === "SETTLED",
      );
      return made;
    },
    key: async () => {
      const { publicKey, algorithm } = makeKey();
      return {
        keyId: idOf(await manager("POST /v3/keys", { name: "reader", publicKey, algorithm }), "keyId"),
      };
    },
    /** Subaccount that holds nothing. */
    subaccount: async () => {
      const { publicKey, algorithm } = makeKey();
      const body = { label: "empty", publicKey, algorithm };
      return { keyId: idOf(await manager("POST /v3/account/subaccounts", body), "keyId") };
    },
    /** Account of a trader who does nothing. */
    trader: async () => {
      const account = { email: `${randomUUID()}@example.com`, password: "a long password" };
      const registered = await send(stack.url, {
        method: "POST",
        target: "/v3/session/register",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(account),
      });
      return { traderId: idOf(registered, "traderId") };
    },
    order: async () => {
      const body = { outcomeId, price: "0.100", qty: 100, tif: "GTC" };
      const orderId = idOf(await trading("POST /v3/orders", body), "orderId");
      await until(
        () => trading(`GET /v3/orders/${orderId}`),
        ({ json }) => json["status"] === "OPEN",
      );
      return { orderId };
    },
    group: async () => {
      const bounds = { maxFilledQty: 1, windowMs: 1_000 };
      return { groupId: idOf(await trading("POST /v3/safety/groups", bounds), "groupId") };
    },
    client: async () => {
      const body = { subaccountKeyId: keyId, name: "maker" };
      return { clientId: idOf(await operator("POST /admin/v1/emm-clients", body), "clientId") };
    },
    /** Command that is in the quarantine. */
    message: async () => ({ messageId: await poison(stack, operator) }),
    /** Jump of the clock of Redis by a millisecond, which waits for its confirmation. */
    jump: async () => {
      const log = await RedisLog.open({ url: stack.redisUrl });
      try {
        await log.holdTime(await log.time({ name: "test", confirmed: 0 }), 1);
      } finally {
        await log.close();
      }
      return {};
    },
    operator: async () => ({ operatorId: (await addOperator(stack, "support")).traderId }),
    /** Change of a role that waits for a second operator; its author is nobody who can sign in. */
    approval: async () => {
      const { traderId: subject } = await addOperator(stack, "support");
      const approvalId = randomUUID();
      const action = { action: "operator.role", role: "viewer" } as const;
      const request = { approvalId, subject, action, requestedBy: randomUUID(), requestedTs: Date.now() };
      await queried(stack, (db) => requestApproval(db, request));
      return { approvalId };
    },
    request: async () => {
      strike += 1;
      const body = { marketId, strike };
      return {
        requestId: idOf(await client(`POST /${stack.prefix}/v2/emm/strike-requests`, body), "requestId"),
      };
    },
  };
}

/** Requests that use their resource up, besides deletions of what their path ends with. */
const CONSUMES: Readonly<Record<string, Resource>> = {
  "PATCH /v3/orders/:orderId": "order",
  "DELETE /v3/orders": "order",
  "DELETE /v3/orders/batch": "order",
  "POST /svc/v2/emm/orders/cancel": "order",
  "DELETE /svc/v2/emm/orders/batch": "order",
  "DELETE /svc/v2/emm/orders": "order",
  "DELETE /svc/v2/emm/kill": "order",
  "POST /admin/v1/events/:eventId/status": "market",
  "POST /admin/v1/markets/:marketId/status": "market",
  "POST /admin/v1/markets/:marketId/remediate": "settled",
  "POST /admin/v1/emm-clients/:clientId/rotate": "client",
  "PATCH /admin/v1/operators/:operatorId": "operator",
  "POST /admin/v1/operators/:operatorId/sessions/end": "operator",
  "POST /admin/v1/approvals/:approvalId/approve": "approval",
  "POST /admin/v1/strike-requests/:requestId": "request",
  "POST /admin/v1/traders/:traderId/state": "trader",
  "POST /admin/v1/traders/:traderId/sessions/end": "trader",
  "POST /admin/v1/traders/:traderId/kyc": "trader",
  "POST /admin/v1/clock": "jump",
  "DELETE /v3/account/subaccounts/:keyId": "subaccount",
};

const DELETED: Readonly<Record<string, Resource>> = {
  key: "key",
  order: "order",
  group: "group",
  client: "client",
  message: "message",
  approval: "approval",
};

/** Returns the kind of resource that a request to a route uses up: a deletion uses up what its path ends with. */
export function consumedBy(line: string): Resource | undefined {
  const deleted = /^DELETE .*\/:(\w+)Id$/.exec(line)?.[1];
  return CONSUMES[line] ?? (deleted === undefined ? undefined : DELETED[deleted]);
}

/** Requests that remove what other requests need. */
const LAST: readonly string[] = [
  "DELETE /v3/orders",
  "DELETE /svc/v2/emm/orders",
  "DELETE /svc/v2/emm/kill",
  "DELETE /svc/v2/emm/orders/event/:eventId",
  "DELETE /svc/v2/emm/orders/market/:marketId",
  "DELETE /v3/safety/groups",
  "PUT /admin/v1/ticks",
  "POST /admin/v1/maintenance",
  "POST /v3/session/self-exclusion",
  "DELETE /v3/session",
  "DELETE /v3/sessions",
  "POST /v3/session/password",
];

/** Returns a rank to sort by, so that the requests that remove what others need are sent last. */
export function sentLast(line: string): number {
  return LAST.indexOf(line);
}

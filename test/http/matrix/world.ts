/** Set-up of the matrix: every credential, and a resource of each kind for each owner. */

import { randomUUID } from "node:crypto";
import { makeKey } from "../keys.js";
import { ServiceTokens } from "../../../http/surface-b/auth/tokens.js";
import { WebTokens } from "../../../http/auth/web-tokens.js";
import { login, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { newMarket, newTrader, type TestKey, type TestTrader } from "../../support/traders.js";
import { bearerCalls, callsOf, type Calls } from "../calls.js";
import { askToken, newClient } from "../surface-b/client.js";
import { signed, type Raw } from "../requests.js";
import { idOf, resources } from "../resources.js";
import type { Credential, Whose } from "./contract.js";

/** Adds a credential to a request. */
export type Bearer = (raw: Raw) => Raw;

const MISSING = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
const OTHER_SECRET = "the secret of another environment, long enough";
/** Lifetime of the key that is expired when the tests begin. */
const SHORT_MS = 1_000;

export interface World {
  readonly stack: Stack;
  readonly trader: TestTrader;
  readonly credentials: ReadonlyMap<Credential, Bearer>;
  readonly resources: ReturnType<typeof resources>;
  /** Returns the id for a path parameter of a route. */
  readonly id: (parameter: string, whose: Whose) => string;
  /** Returns everything that a refused request could have changed, as text. */
  state(): Promise<string>;
}

const bySignature =
  (key: TestKey): Bearer =>
  (raw) =>
    signed(key, raw);

export function byToken(token: string): Bearer {
  return (raw) => {
    const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
    return { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } };
  };
}

/** Signs with the scheme line of another brand, under the header names of this brand. */
function byOtherBrand({ key, brand }: TestKey): Bearer {
  return (raw) => {
    const { headers = {} } = signed({ key, brand: "Other" }, raw);
    const renamed = Object.entries(headers).map(([name, value]): [string, string] => [
      name.replace("Other", brand),
      String(value),
    ]);
    return { ...raw, headers: Object.fromEntries(renamed) };
  };
}

/** Mints a read key with the management key of a trader; `of` names the subaccount of a `trading::read` key. */
async function mint(manager: Calls, brand: string, of?: string, expiresAt?: number): Promise<TestKey> {
  const pair = makeKey(of === undefined ? "Ed25519" : "P-256");
  const { publicKey, algorithm, privateKey } = pair;
  const body = { name: "reader", publicKey, algorithm, ...(expiresAt === undefined ? {} : { expiresAt }) };
  const answer =
    of === undefined
      ? await manager("POST /v3/keys", body)
      : await manager(`POST /v3/account/subaccounts/${of}/keys`, { ...body, scope: "trading::read" });
  return { key: { keyId: idOf(answer, "keyId"), algorithm, privateKey }, brand };
}

/** Opens another subaccount and moves some of the money of the first one there. */
async function siblingOf(manager: Calls, brand: string, first: string): Promise<TestKey> {
  const { publicKey, algorithm, privateKey } = makeKey();
  const opened = await manager("POST /v3/account/subaccounts", { label: "sibling", publicKey, algorithm });
  const keyId = idOf(opened, "keyId");
  await manager(`POST /v3/account/subaccounts/${first}/transfer`, { direction: "defund", amount: "20" });
  await manager(`POST /v3/account/subaccounts/${keyId}/transfer`, { direction: "fund", amount: "20" });
  return { key: { keyId, algorithm, privateKey }, brand };
}

/** Creates an order, a group and a transfer of a wallet. */
async function holdings(manager: Calls, trading: Calls, keyId: string, outcomeId: string) {
  const order = { outcomeId, price: "0.020", qty: 1, tif: "GTC" };
  const group = { maxFilledQty: 10, windowMs: 1_000 };
  const transfer = { direction: "defund", amount: "1" };
  return {
    orderId: idOf(await trading("POST /v3/orders", order), "orderId"),
    groupId: idOf(await trading("POST /v3/safety/groups", group), "groupId"),
    transferId: idOf(await manager(`POST /v3/account/subaccounts/${keyId}/transfer`, transfer), "transferId"),
  };
}

/** Creates the world of the matrix on an empty exchange. */
export async function makeWorld(stack: Stack): Promise<World> {
  const { brand, url, prefix } = stack;
  const operatorToken = await stack.operatorToken();
  const operator = bearerCalls(url, operatorToken);
  const [trader, foreign, third] = [await newTrader(stack), await newTrader(stack), await newTrader(stack)];
  const market = await newMarket(stack);
  const hidden = await newMarket(stack, "PUSH", false);
  const [manager, trading] = [callsOf(url, trader.management), callsOf(url, trader.trading)];
  const [foreignManager, foreignTrading] = [callsOf(url, foreign.management), callsOf(url, foreign.trading)];
  const sibling = await siblingOf(manager, brand, trader.trading.key.keyId);
  const reader = await mint(manager, brand);
  const tradingReader = await mint(manager, brand, trader.trading.key.keyId);
  const expired = await mint(manager, brand, undefined, Date.now() + SHORT_MS);
  const expiredAt = Date.now() + SHORT_MS;

  const [outcomeId] = market.outcomes;
  const own = await holdings(manager, trading, trader.trading.key.keyId, outcomeId);
  const siblings = await holdings(manager, callsOf(url, sibling), sibling.key.keyId, outcomeId);
  const foreigns = await holdings(foreignManager, foreignTrading, foreign.trading.key.keyId, outcomeId);

  const thirdManager = callsOf(url, third.management);
  await thirdManager(`DELETE /v3/keys/${third.trading.key.keyId}`);
  const session = await login(url, trader.account);
  const ended = await login(url, trader.account);
  await bearerCalls(url, ended)("DELETE /v3/session");

  const client = await newClient(stack, trader);
  const deleted = await newClient(stack, trader);
  const tokenOf = async (credentials: typeof client): Promise<string> => {
    const { body } = await askToken(url, credentials, {}, prefix);
    return (body as { readonly access_token: string }).access_token;
  };
  const clientToken = await tokenOf(client);
  const deletedToken = await tokenOf(deleted);
  await operator(`DELETE /admin/v1/emm-clients/${deleted.clientId}`);

  const elsewhere = new WebTokens(OTHER_SECRET, Date.now);
  const elsewhereB = new ServiceTokens({ signing: OTHER_SECRET, accepted: [] }, Date.now);
  const me = await operator("GET /v3/session");
  const unknown: TestKey = { key: { ...makeKey(), keyId: randomUUID() }, brand };
  const { key: tradingKey } = trader.trading;
  const stolen: TestKey = { key: { ...tradingKey, privateKey: foreign.trading.key.privateKey }, brand };
  const credentials = new Map<Credential, Bearer>([
    ["management", bySignature(trader.management)],
    ["management::read", bySignature(reader)],
    ["trading", bySignature(trader.trading)],
    ["trading::read", bySignature(tradingReader)],
    ["session", byToken(session)],
    ["operator", byToken(operatorToken)],
    ["client", byToken(clientToken)],
    [
      "none",
      (raw) => (raw.body === undefined ? raw : { ...raw, headers: { "Content-Type": "application/json" } }),
    ],
    ["revoked key", bySignature(third.trading)],
    ["expired key", bySignature(expired)],
    ["key of another environment", bySignature(unknown)],
    ["key of another brand", byOtherBrand(trader.trading)],
    ["signature by another's key", bySignature(stolen)],
    ["ended session", byToken(ended)],
    ["session of another environment", byToken(elsewhere.mint(trader.account.traderId, "trader").token)],
    ["deleted client", byToken(deletedToken)],
    [
      "client token of another environment",
      byToken(elsewhereB.mint({ clientId: client.clientId, secretVersion: 1 })),
    ],
    [
      "operator token of another environment",
      byToken(elsewhere.mint(idOf(me, "traderId"), "operator").token),
    ],
  ]);

  const create = resources({
    stack,
    operator,
    manager,
    trading,
    client: bearerCalls(url, clientToken),
    keyId: trader.trading.key.keyId,
    marketId: market.marketId,
    outcomeId,
  });
  const settled = await create.settled();
  const { requestId } = await create.request();
  const { messageId } = await create.message();
  const { operatorId } = await create.operator();
  const { approvalId } = await create.approval();
  const ids: Readonly<Record<Exclude<Whose, "missing">, Readonly<Record<string, string>>>> = {
    own: {
      ...own,
      readerId: reader.key.keyId,
      keyId: trader.trading.key.keyId,
      eventId: market.eventId,
      marketId: market.marketId,
      outcomeId,
      settledId: settled.marketId,
      traderId: third.account.traderId,
      subaccountKeyId: third.trading.key.keyId,
      clientId: client.clientId,
      requestId,
      messageId,
      operatorId,
      approvalId,
    },
    sibling: { ...siblings, keyId: sibling.key.keyId },
    foreign: {
      ...foreigns,
      readerId: foreign.trading.key.keyId,
      keyId: foreign.trading.key.keyId,
      eventId: hidden.eventId,
      marketId: hidden.marketId,
    },
  };
  const callers = [trading, callsOf(url, sibling), foreignTrading];
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, expiredAt - Date.now())));
  return {
    stack,
    trader,
    credentials,
    resources: create,
    id: (parameter, whose) => {
      const id = whose === "missing" ? MISSING : ids[whose][parameter];
      if (id === undefined) throw new Error(`there is no ${parameter} that is ${whose}`);
      return id;
    },
    async state() {
      // On busy cores a trader may have to wait for the lists before these.
      const served = (call: Calls, line: string): ReturnType<Calls> =>
        until(
          () => call(line),
          ({ status }) => status !== 429,
        );
      const asked = [
        ...["/money", "/traders", "/events", "/markets", "/ticks", "/geo", "/maintenance", "/emm-clients"],
        ...["/strike-requests", "/players", "/audit-log", "/quarantine"],
        ...["/operators", "/approvals"],
      ].map((path) => served(operator, `GET /admin/v1${path}`));
      const held = callers.flatMap((call) =>
        ["/v3/orders?status=OPEN,PENDING,FILLED,CANCELED,REJECTED", "/v3/account/orders", "/v3/safety/groups"]
          .concat("/v3/account/positions")
          .map((path) => served(call, `GET ${path}`)),
      );
      const managed = [manager, foreignManager, thirdManager].flatMap((call) =>
        ["/v3/keys", "/v3/account/subaccounts"].map((path) => call(`GET ${path}`)),
      );
      const names = ["sports", "leagues", "markets"].map((name) => trading(`GET /v3/types/${name}`));
      const answers = await Promise.all([
        ...asked,
        ...held,
        ...managed,
        ...names,
        bearerCalls(url, session)("GET /v3/session"),
        trading("GET /v3/public/changelog"),
      ]);
      const failed = answers.find(({ status }) => status !== 200);
      if (failed !== undefined) throw new Error(`the state cannot be read: ${failed.text}`);
      return answers.map(({ text }) => text.replace(/"lastUsedAt":(\d+|null)/g, "")).join("\n");
    },
  };
}

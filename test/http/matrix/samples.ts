/** A good request to each route, for resources of anybody's. */

import { randomUUID } from "node:crypto";
import { generateKey } from "../../../http/client/signer.js";
import { login, OPERATOR } from "../../support/stack.js";
import { bearerCalls } from "../calls.js";
import type { Raw } from "../requests.js";
import type { Credential, Rule, Whose } from "./contract.js";
import { makers, type World } from "./world.js";

/** The resources that a route can be asked for. */
export function whoseOf({ line, elsewhere }: Rule): readonly Whose[] {
  const [, path = ""] = line.split(" ");
  if (elsewhere === undefined) return ["own"];
  if (path.startsWith("/admin/")) return ["own", "missing"];
  if (path.startsWith("/svc/") && !path.endsWith("/orders/cancel")) return ["own", "missing"];
  // What is foreign about an event or a market is that it is hidden.
  if (/\/keys\/:keyId$|\/catalog\//.test(path)) return ["own", "foreign", "missing"];
  return ["own", "sibling", "foreign", "missing"];
}

const freshKey = (): object => {
  const { publicKey, algorithm } = generateKey();
  return { publicKey, algorithm };
};
const order = ({ outcomes }: World): object => ({
  outcomeId: outcomes[0],
  price: "0.010",
  qty: 1,
  tif: "GTC",
});
const name = (): string => `n ${randomUUID()}`;
const email = (): string => `${randomUUID()}@example.com`;

type Made = (world: World, whose: Whose, orderId: string) => unknown;

/** The bodies; a route without one here takes none. */
export const BODIES: Readonly<Record<string, Made>> = {
  "POST /v3/echo": () => ({ any: randomUUID() }),
  "POST /v3/keys": () => ({ name: "made", ...freshKey() }),
  "POST /v3/account/subaccounts": () => ({ label: "made", ...freshKey() }),
  "PATCH /v3/account/subaccounts/:keyId": () => ({ label: "main" }),
  "POST /v3/account/subaccounts/:keyId/keys": () => ({ name: "made", scope: "trading::read", ...freshKey() }),
  "POST /v3/account/subaccounts/:keyId/transfer": () => ({ direction: "defund", amount: "0.00001" }),
  "POST /v3/orders": order,
  "POST /v3/orders/preview": order,
  "POST /v3/orders/batch": (world) => ({ orders: [order(world)] }),
  "DELETE /v3/orders/batch": (_world, _whose, orderId) => ({ orderIds: [orderId] }),
  "PATCH /v3/orders/:orderId": () => ({ qty: 1 }),
  "POST /v3/safety/heartbeat": () => ({ timeoutMs: 0 }),
  "POST /v3/safety/groups": () => ({ maxFilledQty: 5, windowMs: 1_000 }),
  "POST /v3/ws/tickets": ({ id }) => ({ keyId: id("keyId", "own") }),
  "POST /v3/session/register": () => ({ email: email(), password: "a long password" }),
  "POST /v3/session": ({ trader }) => ({ email: trader.account.email, password: trader.account.password }),
  "POST /v3/session/location": () => ({ region: "US-NY" }),
  "POST /admin/v1/events": () => ({
    sport: "FOOTBALL",
    league: "NFL",
    type: "Game",
    description: "Ants at Bees",
    startsTs: Date.now() + 3_600_000,
  }),
  "POST /admin/v1/events/:eventId/status": () => ({ action: "close" }),
  "POST /admin/v1/markets": ({ id }) => ({
    eventId: id("eventId", "own"),
    marketType: "MONEY",
    description: name(),
    voids: "PUSH",
    outcomes: [{ name: "Ants" }, { name: "Bees" }],
  }),
  "PATCH /admin/v1/markets/:marketId": () => ({ description: "Who wins" }),
  "POST /admin/v1/markets/:marketId/status": () => ({ action: "pause" }),
  "POST /admin/v1/markets/:marketId/grade": () => ({ push: true }),
  "POST /admin/v1/markets/:marketId/remediate": () => ({ reason: "wrong" }),
  "POST /admin/v1/traders/:traderId/kyc": () => ({ status: "VERIFIED" }),
  "POST /admin/v1/traders/:traderId/state": () => ({ state: "ACTIVE", reason: "fine" }),
  "POST /admin/v1/traders/:traderId/transactions": () => ({
    kind: "DEPOSIT",
    amount: "1",
    currency: "CASH",
    reason: "a deposit",
  }),
  "POST /admin/v1/traders/:traderId/collateral": ({ id }) => ({
    policy: "net",
    subaccountKeyId: id("subaccountKeyId", "own"),
  }),
  "PUT /admin/v1/ticks": () => ({ prices: ["0.010", "0.500", "0.990"] }),
  "PUT /admin/v1/geo": () => ({ restrictedRegions: ["US-WA"], networks: [] }),
  "POST /admin/v1/maintenance": () => ({ action: "end" }),
  "POST /admin/v1/changelog": () => ({ title: "news", body: "a change", effectiveTs: Date.now() }),
  "POST /admin/v1/operators": () => ({ email: email(), password: "a long password" }),
  "POST /admin/v1/emm-clients": ({ id }) => ({ subaccountKeyId: id("keyId", "own"), name: "maker" }),
  "POST /admin/v1/strike-requests/:requestId": () => ({ approve: false }),
  "POST /admin/v1/players": () => ({ name: name() }),
  "POST /admin/v1/leagues": () => ({ name: name() }),
  "POST /admin/v1/market-types": () => ({ name: name() }),
  "POST /svc/v2/emm/strike-requests": ({ id }) => ({
    marketId: id("marketId", "own"),
    strike: Math.round(Math.random() * 1e6) / 2,
  }),
  "POST /svc/v2/emm/orders/place": ({ outcomes }) => [
    { outcomeId: outcomes[0], price: 0.01, qty: 1, currency: "CASH" },
  ],
  "POST /svc/v2/emm/orders/cancel": (_world, _whose, orderId) => ({ orderIds: [orderId] }),
};

function queryOf({ line }: Rule, { outcomes }: World): string {
  if (line.endsWith("/candles")) return `?outcome=${outcomes[0]}&interval=1m&from=0&to=60000`;
  return line.endsWith("/getMarketsByEvent/:eventId") ? "?currency=CASH" : "";
}

/** By which name the world knows the parameter of a path. */
function parameterOf(line: string, parameter: string): string {
  if (line.endsWith("/v3/keys/:keyId")) return "readerId";
  return /\/settlement|\/remediate$/.test(line) && parameter === "marketId" ? "settledId" : parameter;
}

/** What a request takes away or changes for good, and so needs one of its own. */
function consumed(line: string, world: World): (() => Promise<string>) | undefined {
  const make = makers(world);
  const emm = (): Promise<string> => make.strikeRequest(emmOf(world), world.id("marketId", "own"));
  const makes: Readonly<Record<string, () => Promise<string>>> = {
    "DELETE /v3/keys/:keyId": make.key,
    "DELETE /v3/orders/:orderId": make.order,
    "PATCH /v3/orders/:orderId": make.order,
    "DELETE /v3/orders/batch": make.order,
    "POST /svc/v2/emm/orders/cancel": make.order,
    "DELETE /v3/safety/groups/:groupId": make.group,
    "POST /admin/v1/events/:eventId/status": make.event,
    "POST /admin/v1/markets/:marketId/status": make.market,
    "POST /admin/v1/markets/:marketId/grade": make.market,
    "POST /admin/v1/markets/:marketId/remediate": make.settled,
    "POST /admin/v1/emm-clients/:clientId/rotate": make.client,
    "DELETE /admin/v1/emm-clients/:clientId": make.client,
    "POST /admin/v1/strike-requests/:requestId": emm,
  };
  return makes[line];
}

function emmOf({ stack, credentials }: World): ReturnType<typeof bearerCalls> {
  const { headers = {} } = credentials.get("E")?.({ target: "/" }) ?? {};
  const { Authorization = "" } = headers as Readonly<Record<string, string>>;
  return bearerCalls(stack.url, Authorization.slice("Bearer ".length));
}

/** A request for somebody's resource; with `fresh`, for one that nothing else needs. */
export async function sampleOf(rule: Rule, world: World, whose: Whose, fresh: boolean): Promise<Raw> {
  const { line } = rule;
  const [method = "", path = ""] = line.split(" ");
  const made = fresh && whose === "own" ? await consumed(line, world)?.() : undefined;
  const id = (parameter: string): string => {
    // A transfer is looked for in one's own subaccount.
    const wanted = line.includes(":transferId") && parameter === "keyId" ? "own" : whose;
    return world.id(parameterOf(line, parameter), wanted);
  };
  const filled = path.replace(/:(\w+)/g, (_, parameter: string) => made ?? id(parameter));
  const target = filled.replace(/^\/svc\//, `/${world.stack.prefix}/`) + queryOf(rule, world);
  const inBody = rule.elsewhere !== undefined && !path.includes(":");
  const body = BODIES[line]?.(world, whose, made ?? (inBody ? world.id("orderId", whose) : ""));
  return { method, target, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

/** The credential for a request that ends it: a session that signs out is one of its own. */
export async function spent(
  { line }: Rule,
  credential: Credential,
  { stack, trader }: World,
): Promise<string | undefined> {
  if (line !== "DELETE /v3/session") return undefined;
  return login(stack.url, credential === "O" ? OPERATOR : trader.account);
}

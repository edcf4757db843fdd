/** Good requests to each route, for resources of each owner, made from the examples of the OpenAPI document. */

import { randomUUID } from "node:crypto";
import { makeKey } from "../keys.js";
import { IDS, PUBLIC_KEY } from "../../../http/docs/examples.js";
import { login, OPERATOR } from "../../support/stack.js";
import type { Raw } from "../requests.js";
import { consumedBy } from "../resources.js";
import { EmmClient, newClient } from "../surface-b/client.js";
import type { Credential, Rule, Whose } from "./contract.js";
import { ROUTES } from "./routes.js";
import type { World } from "./world.js";

/** Returns the owners that a request to the route can name a resource of. */
export function whoseOf({ line, elsewhere }: Rule): readonly Whose[] {
  const [, path = ""] = line.split(" ");
  if (elsewhere === undefined) return ["own"];
  if (path.startsWith("/admin/")) return ["own", "missing"];
  if (path.startsWith("/svc/") && !/\/orders\/(?:cancel|batch|:orderId)$/.test(path))
    return ["own", "missing"];
  // A foreign event or market is a hidden one.
  if (/\/keys\/:keyId$|\/catalog\//.test(path)) return ["own", "foreign", "missing"];
  return ["own", "sibling", "foreign", "missing"];
}

/** Bodies whose example does not do here: it would disturb later requests, or names what this world does not have. */
const BODIES: Readonly<Record<string, (world: World) => unknown>> = {
  "POST /v3/account/subaccounts/:keyId/transfer": () => ({ direction: "defund", amount: "0.00001" }),
  "POST /v3/safety/heartbeat": () => ({ timeoutMs: 0 }),
  "POST /v3/session": ({ trader }) => ({ email: trader.account.email, password: trader.account.password }),
  "POST /v3/session/password": ({ trader: { account } }) => ({
    password: account.password,
    newPassword: "another long password",
  }),
  "POST /admin/v1/markets/:marketId/grade": () => ({ push: true }),
  "POST /admin/v1/traders/:traderId/collateral": ({ id }) => ({
    policy: "net",
    subaccountKeyId: id("subaccountKeyId", "own"),
  }),
  "PUT /admin/v1/ticks": () => ({ prices: ["0.100", "0.335", "0.500", "0.665", "0.900"] }),
  "POST /admin/v1/maintenance": () => ({ action: "end" }),
  "POST /admin/v1/clock": () => ({ action: "confirm" }),
};

/** Replaces the ids of the examples by ids of the world, and what has to be unique by something new. */
function real(text: string, idOf: (name: keyof typeof IDS) => string): string {
  const names = Object.keys(IDS) as (keyof typeof IDS)[];
  return names
    .reduce(
      (whole, name) => (whole.includes(IDS[name]) ? whole.replaceAll(IDS[name], idOf(name)) : whole),
      text,
    )
    .replace(JSON.stringify(PUBLIC_KEY), () => JSON.stringify(makeKey().publicKey))
    .replace(/"email":"[^"]*"/, () => `"email":"${randomUUID()}@example.com"`);
}

/** Returns whether a request to the route has a body. */
export function hasBody(line: string): boolean {
  return ROUTES.get(line)?.docs.exampleBody !== undefined;
}

function exampleOf(line: string, idOf: (name: keyof typeof IDS) => string): { query: string; body?: string } {
  const { exampleQuery = {}, exampleBody } = ROUTES.get(line)?.docs ?? {};
  // Elsewhere a query only narrows what the request does, or previews it.
  const reads = line.startsWith("GET ") || line === "POST /v3/orders/preview";
  const pairs = reads ? Object.entries(exampleQuery) : [];
  const query = pairs.map(([name, value]) => `${name}=${real(value, idOf).replaceAll(",", "%2C")}`).join("&");
  return exampleBody === undefined ? { query } : { query, body: real(JSON.stringify(exampleBody), idOf) };
}

/** Returns the name by which the world knows a parameter of a path. */
function parameterOf(line: string, parameter: string): string {
  if (line.endsWith("/v3/keys/:keyId")) return "readerId";
  if (line.includes("/traders/:traderId/") && parameter === "keyId") return "subaccountKeyId";
  return /\/settlement|\/remediate$/.test(line) && parameter === "marketId" ? "settledId" : parameter;
}

/** Creates the resource that a request is going to use up. */
async function created(line: string, { resources }: World): Promise<Readonly<Record<string, string>>> {
  const resource = line.endsWith("/grade") ? "market" : consumedBy(line);
  return resource === undefined ? {} : resources[resource]();
}

/** Returns a request for somebody's resource; `fresh` makes it one that no other request needs. */
export async function sampleOf(
  { line, elsewhere }: Rule,
  world: World,
  whose: Whose,
  fresh: boolean,
): Promise<Raw> {
  const [method = "", path = ""] = line.split(" ");
  const made = fresh && whose === "own" ? await created(line, world) : {};
  const filled = path.replace(/:(\w+)/g, (_, parameter: string) => {
    // A transfer is looked for in one's own subaccount.
    const wanted = line.includes(":transferId") && parameter === "keyId" ? "own" : whose;
    const example = ROUTES.get(line)?.docs.examplePath?.[parameter];
    return made[parameter] ?? example ?? world.id(parameterOf(line, parameter), wanted);
  });
  // A body names the resource of a request whose path does not.
  const named = elsewhere !== undefined && !path.includes(":") ? whose : "own";
  const example = exampleOf(line, (name) => made[name] ?? world.id(parameterOf(line, name), named));
  const body = BODIES[line] === undefined ? example.body : JSON.stringify(BODIES[line](world));
  const target = filled.replace(/^\/svc\//, `/${world.stack.prefix}/`);
  return {
    method,
    target: example.query === "" ? target : `${target}?${example.query}`,
    ...(body === undefined ? {} : { body }),
  };
}

/** Returns a token of its own for a request that ends its session, or uses up the kill switch of its client. */
export async function spent(
  { line }: Rule,
  credential: Credential,
  { stack, trader }: World,
): Promise<string | undefined> {
  if (line === "DELETE /svc/v2/emm/kill")
    return new EmmClient(stack.url, await newClient(stack, trader), stack.prefix).token();
  if (!["DELETE /v3/session", "DELETE /v3/sessions", "POST /v3/session/password"].includes(line))
    return undefined;
  return login(stack.url, credential === "operator" ? OPERATOR : trader.account);
}

import { expect } from "chai";
import { z } from "zod";
import type { Call } from "../../../http/client/calls.js";
import {
  Connection,
  type RawAnswer,
  type RawRequest,
  type PlatformSocket,
} from "../../../http/client/connection.js";
import { NodeSigner } from "../../../http/client/node/signer.js";
import { PublicClient } from "../../../http/client/rest/catalog.js";
import { OperatorClient } from "../../../http/client/rest/operator.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Session } from "../../../http/client/rest/session.js";
import { BatchAnswer, CancelAnswer } from "../../../http/client/wire/orders.js";
import type { Incoming } from "../../../http/edge/incoming.js";
import type { Route } from "../../../http/request/route.js";
import { makeKey } from "../keys.js";
import { ROUTES } from "../matrix/routes.js";
import { fieldsOf, sampleOf, type JsonSchema } from "./schemas.js";

const ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
const ORDER = { outcomeId: ID, price: "0.500", qty: 1, tif: "GTC", clientId: ID } as const;
const CREDENTIALS = { email: "trader@example.com", password: "a long password" };

function answerOf(route: Route): JsonSchema {
  if (route.answer === undefined) throw new Error(`${route.path} has no shape of its answer`);
  return z.toJSONSchema(route.answer, { io: "output" }) as JsonSchema;
}

/** Stands for the exchange: answers each request with a sample of what its route may answer. */
class Sampled extends Connection {
  override readonly signsUpgrades = true;
  /** Samples with all fields, or with the required ones alone. */
  full = true;
  /** Member of a union of answers. */
  option = 0;
  last: { line: string; request: Pick<Incoming, "target" | "body"> } | undefined;

  override attempt({ method, target, body }: RawRequest): Promise<RawAnswer> {
    const [path = "", query = ""] = target.split("?");
    const [line, route] = routeOf(method, path);
    this.last = { line, request: { target: { path, query }, body: Buffer.from(body) } };
    const sample = sampleFrom(route, this.full, this.option);
    return Promise.resolve({ status: 200, headers: {}, body: JSON.stringify(sample ?? null) });
  }

  override openSocket(): PlatformSocket {
    throw new Error("no route opens a socket");
  }

  override close(): void {
    return undefined;
  }
}

/** Returns a sample of an answer; a list ends at its first page. */
function sampleFrom(route: Route, full: boolean, option: number): unknown {
  if (route.answer === undefined) return undefined;
  const schema = answerOf(route);
  const sample = sampleOf(schema.anyOf?.[option] ?? schema, full);
  if (sample === null || typeof sample !== "object" || Array.isArray(sample)) return sample;
  return Object.fromEntries(Object.entries(sample).filter(([name]) => name !== "next"));
}

/** Returns the route of a path; one without parameters wins. */
function routeOf(method: string, path: string): [string, Route] {
  const found = [...ROUTES].filter(([line]) => {
    const [verb, pattern = ""] = line.split(" ");
    return verb === method && new RegExp(`^${pattern.replaceAll(/:\w+/g, "[^/]+")}$`).test(path);
  });
  const [first] = found.sort(([a], [b]) => a.split(":").length - b.split(":").length);
  if (first === undefined) throw new Error(`${method} ${path} is no route`);
  return first;
}

const connection = new Sampled("http://127.0.0.1:1");
/** Shapes with which the clients check answers, and prices that they expect, by the line of the route. */
const shapes = new Map<string, Set<z.core.$ZodType>>([
  ["POST /v3/orders/batch", new Set([BatchAnswer])],
  ["DELETE /v3/orders/batch", new Set([CancelAnswer])],
]);
const prices = new Map<string, Call["price"]>();

function noteShape({ method, path }: Call, shape: z.core.$ZodType): void {
  const [line] = routeOf(method, path);
  shapes.set(line, (shapes.get(line) ?? new Set()).add(shape));
}

class NotedRest extends RestClient {
  protected override call<T>(shape: z.core.$ZodType<T>, call: Call): Promise<T> {
    noteShape(call, shape);
    return super.call(shape, call);
  }
  protected override send(call: Call): Promise<RawAnswer> {
    const [line] = routeOf(call.method, call.path);
    prices.set(line, call.price);
    return super.send(call);
  }
}

class NotedSession extends Session {
  protected override call<T>(shape: z.core.$ZodType<T>, call: Call): Promise<T> {
    noteShape(call, shape);
    return super.call(shape, call);
  }
}

class NotedPublic extends PublicClient {
  protected override call<T>(shape: z.core.$ZodType<T>, call: Call): Promise<T> {
    noteShape(call, shape);
    return super.call(shape, call);
  }
}

const signer = new NodeSigner({ keyId: ID, ...makeKey() });
const rest = new NotedRest(connection, signer);
const session = new NotedSession(connection, CREDENTIALS);
const visitor = new NotedPublic(connection);
const operator = new OperatorClient(connection, CREDENTIALS);
const candles = { outcome: ID, interval: "1h", from: 0, to: 1 } as const;

/** A call of each route of surface A, by its line; of a union of answers one for each member. */
const CALLS: Readonly<Record<string, (() => Promise<unknown>) | (() => Promise<unknown>)[]>> = {
  "POST /v3/echo": () => rest.echo({ hello: "world" }),
  // A client of its own, because the sampled buckets are tiny.
  "GET /v3/limits": () => new NotedRest(connection, signer).limits(),
  "GET /v3/public/status": () => visitor.status(),
  "GET /v3/keys": () => rest.keys(),
  "POST /v3/keys": () => rest.createKey({ name: "key", publicKey: "PEM", algorithm: "Ed25519" }),
  "GET /v3/keys/:keyId": () => rest.key(ID),
  "DELETE /v3/keys/:keyId": () => rest.revokeKey(ID),
  "GET /v3/account/subaccounts": () => rest.subaccounts(),
  "POST /v3/account/subaccounts": () => rest.openSubaccount("main", "PEM", "Ed25519"),
  "PATCH /v3/account/subaccounts/:keyId": () => rest.relabelSubaccount(ID, "other"),
  "DELETE /v3/account/subaccounts/:keyId": () => rest.closeSubaccount(ID),
  "GET /v3/account/subaccounts/:keyId/balance": () => rest.balance(),
  "POST /v3/account/subaccounts/:keyId/keys": () =>
    rest.issueKey(ID, { name: "key", publicKey: "PEM", algorithm: "P-256", scope: "trading" }),
  "POST /v3/account/subaccounts/:keyId/transfer": () => rest.transfer(ID, "fund", "1", ID, "COIN"),
  "GET /v3/account/subaccounts/:keyId/transfers/:transferId": () => rest.readTransfer(ID, ID),
  "GET /v3/account/subaccounts/:keyId/transactions": () => rest.transactionsPage(ID),
  "GET /v3/account/orders": () => rest.openOrders(),
  "GET /v3/account/positions": () => rest.heldPositions(),
  "GET /v3/portfolio/fills": () => rest.fillsPage(),
  "GET /v3/portfolio/positions": () => rest.positions(),
  "GET /v3/catalog/events": () => rest.eventsPage(),
  "GET /v3/catalog/events/:eventId": () => rest.event(ID),
  "GET /v3/catalog/markets": () => rest.marketsPage(),
  "GET /v3/catalog/markets/:marketId": () => rest.market(ID),
  "GET /v3/catalog/markets/:marketId/lifecycle": () => rest.lifecycle(ID),
  "GET /v3/catalog/markets/:marketId/book": () => rest.bookPage(ID),
  "GET /v3/catalog/markets/:marketId/trades": () => rest.tradesPage(ID),
  "GET /v3/catalog/markets/:marketId/candles": () => rest.candles(ID, candles),
  "GET /v3/catalog/prices": () => rest.prices([ID]),
  "GET /v3/types/sports": () => rest.sports(),
  "GET /v3/types/leagues": () => rest.leagues(),
  "GET /v3/types/markets": () => rest.marketTypes(),
  "GET /v3/types/event-statuses": () => rest.eventStatuses(),
  "GET /v3/ticks": () => rest.ticks(),
  "GET /v3/history/markets": () => rest.historyPage(),
  "GET /v3/public/catalog/events": () => visitor.eventsPage(),
  "GET /v3/public/catalog/events/:eventId": () => visitor.event(ID),
  "GET /v3/public/catalog/markets": () => visitor.marketsPage(),
  "GET /v3/public/catalog/markets/:marketId": () => visitor.market(ID),
  "GET /v3/public/catalog/markets/:marketId/lifecycle": () => visitor.lifecycle(ID),
  "GET /v3/public/catalog/markets/:marketId/book": () => visitor.bookPage(ID),
  "GET /v3/public/catalog/markets/:marketId/trades": () => visitor.tradesPage(ID),
  "GET /v3/public/catalog/markets/:marketId/candles": () => visitor.candles(ID, candles),
  "GET /v3/public/catalog/prices": () => visitor.prices([ID]),
  "GET /v3/public/types/sports": () => visitor.sports(),
  "GET /v3/public/types/leagues": () => visitor.leagues(),
  "GET /v3/public/types/markets": () => visitor.marketTypes(),
  "GET /v3/public/types/event-statuses": () => visitor.eventStatuses(),
  "GET /v3/public/ticks": () => visitor.ticks(),
  "GET /v3/public/changelog": () => visitor.changelogPage(),
  "GET /v3/public/demo": () => visitor.demo(),
  "POST /v3/orders": () => rest.placeOrder(ORDER),
  "DELETE /v3/orders": () => rest.cancelAll({ market: ID }),
  "GET /v3/orders": [() => rest.orderOfClient(ID), () => rest.ordersPage()],
  "POST /v3/orders/batch": () => rest.placeOrders([ORDER]),
  "DELETE /v3/orders/batch": () => rest.cancelOrders([ID]),
  "POST /v3/orders/preview": () => rest.preview(ORDER),
  "PATCH /v3/orders/:orderId": () => rest.amendOrder(ID, { qty: 2 }),
  "DELETE /v3/orders/:orderId": () => rest.cancelOrder(ID),
  "GET /v3/orders/:orderId": () => rest.order(ID),
  "POST /v3/safety/heartbeat": () => rest.heartbeat(5_000),
  "POST /v3/safety/groups": () => rest.createGroup({ maxFilledQty: 1, windowMs: 1_000 }),
  "GET /v3/safety/groups": () => rest.groups(),
  "DELETE /v3/safety/groups": () => rest.removeGroups(),
  "GET /v3/safety/groups/:groupId": () => rest.group(ID),
  "DELETE /v3/safety/groups/:groupId": () => rest.removeGroup(ID),
  "POST /v3/safety/groups/:groupId/reset": () => rest.resetGroup(ID),
  "POST /v3/ws/tickets": () => rest.ticket(),
  "POST /v3/session/register": () => session.register(),
  "POST /v3/session": () => session.login(),
  "GET /v3/session": () => session.me(),
  "DELETE /v3/session": () => session.logout(),
  "DELETE /v3/sessions": () => session.logoutEverywhere(),
  "POST /v3/session/password": () => session.changePassword("another password"),
  "POST /v3/session/totp": [() => session.offerSecondFactor(), () => session.confirmSecondFactor("123456")],
  "POST /v3/session/self-exclusion": () => session.excludeSelf(1),
  "POST /v3/session/location": () => session.checkIn("US-NY"),
  "GET /v3/session/location": () => session.location(),
  "POST /v3/session/faucet": () => session.faucet(),
};

/** Routes whose client returns a part of the answer. */
const PARTS = new Set([
  "GET /v3/catalog/markets/:marketId/lifecycle",
  "GET /v3/public/catalog/markets/:marketId/lifecycle",
  "GET /v3/catalog/markets/:marketId/candles",
  "GET /v3/public/catalog/markets/:marketId/candles",
  "GET /v3/catalog/prices",
  "GET /v3/public/catalog/prices",
  "GET /v3/ticks",
  "GET /v3/public/ticks",
  "POST /v3/orders/batch",
  "POST /v3/session/totp",
]);

describe("client: completeness", () => {
  it("has a call for every route of surface A", () => {
    const lines = [...ROUTES.keys()].filter((line) => /^\w+ \/v3\//.test(line));
    expect(Object.keys(CALLS)).to.have.members(lines);
  });

  for (const [line, calls] of Object.entries(CALLS)) {
    it(`${line}: no field is lost, and only what the exchange always sends is required`, async () => {
      const route = ROUTES.get(line);
      if (route === undefined) throw new Error("there is no such route");
      for (const [option, call] of [calls].flat().entries()) {
        for (const full of [true, false]) {
          Object.assign(connection, { full, option });
          const result = await call();
          expect(connection.last?.line).to.equal(line);
          if (typeof result === "object" && full && !PARTS.has(line))
            expect(result).to.deep.equal(sampleFrom(route, full, option));
        }
      }
      const used = [...(shapes.get(line) ?? [])];
      if (route.answer === undefined || used.length === 0) return;
      const ours = used.flatMap((shape) => [
        ...fieldsOf(z.toJSONSchema(shape, { io: "output" }) as JsonSchema),
      ]);
      expect([...new Set(ours)]).to.have.members([...fieldsOf(answerOf(route))]);
    });

    if (line.includes("/session") || line.includes("/public/")) continue;
    it(`${line}: takes its tokens before it is sent`, () => {
      const price = connection.last && ROUTES.get(line)?.metering.price(connection.last.request);
      const expected = price === undefined ? undefined : { bucket: price.bucket, cost: price.base };
      expect(prices.get(line)).to.deep.equal(expected);
    });
  }

  it("returns events and markets of the operator with all their fields", async () => {
    Object.assign(connection, { full: true, option: 0 });
    for (const [line, call] of [
      ["GET /admin/v1/events/:eventId", () => operator.event(ID)],
      ["GET /admin/v1/markets/:marketId", () => operator.market(ID)],
    ] as const) {
      const route = ROUTES.get(line);
      if (route === undefined) throw new Error(`${line} is gone`);
      expect(await call()).to.deep.equal(sampleFrom(route, true, 0));
    }
  });
});

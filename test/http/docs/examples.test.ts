import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { format } from "prettier";
import { makeKey } from "../keys.js";
import type { Json, OpenApiDocument, Operation } from "../../../http/docs/json.js";
import { IDS, PUBLIC_KEY } from "../../../http/docs/examples.js";
import { Contract } from "../../support/documented.js";
import { addOperator } from "../../support/operators.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { bearerCalls, callsOf } from "../calls.js";
import { consumedBy, idOf, resources, sentLast, type Ids } from "../resources.js";
import { RULES } from "../matrix/contract.js";
import { askToken, EmmClient, newClient } from "../surface-b/client.js";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { until } from "../../support/until.js";

/**
 * Recorded answers, which the document shows. With `UPDATE_EXAMPLES=1` the test records the answers that are missing or
 * no longer match the document, with `UPDATE_EXAMPLES=all` every answer.
 */
const ANSWERS = "http/docs/answers.json";
const RECORDING = process.env["UPDATE_EXAMPLES"];

function recordedAnswers(): Readonly<Record<string, Json>> {
  return JSON.parse(readFileSync(ANSWERS, "utf8")) as Readonly<Record<string, Json>>;
}

const NOW_MS = 1_790_000_000_000;
const SHOWN_ITEMS = 2;
const OPAQUE: Readonly<Record<string, string>> = {
  token: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl",
  ticket: "dGhlIHRpY2tldA",
  clientSecret: "the secret",
  secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
  uri: "otpauth://totp/Svc:operator%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Svc",
  next: "WzE3OTAwMDAwMDAwMDAsMl0",
  fingerprint: `sha256:${"0a1b2c3d".repeat(8)}`,
  email: "trader@example.com",
};

/** Replaces ids, times and secrets by fixed values, so that an answer is the same at every run. */
class Illustration {
  readonly #ids = new Map<string, string>();

  of(value: unknown, known: ReadonlyMap<string, string>, name = ""): unknown {
    if (typeof value === "string") return OPAQUE[name] ?? this.#text(value, known);
    if (typeof value === "number") return value > 1e12 ? NOW_MS : value;
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.slice(0, SHOWN_ITEMS).map((item) => this.of(item, known, name));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.#text(key, known), this.of(item, known, key)]),
    );
  }

  #text(text: string, known: ReadonlyMap<string, string>): string {
    return text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, new Date(NOW_MS).toISOString())
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => known.get(id) ?? this.#other(id));
  }

  #other(id: string): string {
    const known =
      this.#ids.get(id) ??
      `5f0c3f0e-9d7a-4b0e-8f51-${(0x0d6a3c1f8000 + this.#ids.size).toString(16).padStart(12, "0")}`;
    this.#ids.set(id, known);
    return known;
  }
}

/** Returns a line of the document in the notation of the routes, such as `GET /v3/keys/:keyId`. */
function routeOf(line: string): string {
  return line.replaceAll(/\{(\w+)\}/g, ":$1");
}

describe("the examples of the OpenAPI document", function () {
  this.timeout(120_000);
  let stack: Stack;
  let document: OpenApiDocument;
  let contract: Contract;
  let trader: TestTrader;
  let ids: Ids;
  let secret = "";
  let tokens: Readonly<Record<"trader" | "operator" | "second" | "client" | "killer", string>>;
  let create: ReturnType<typeof resources>;

  /** Returns the resource that the example of a route uses up, or has to find in some state. */
  const freshFor = async (line: string): Promise<Partial<Ids>> => {
    const route = routeOf(line);
    if (route.includes("/settlement")) return create.graded();
    if (route === "GET /v3/keys/:keyId") return { keyId: trader.management.key.keyId };
    const resource = consumedBy(route);
    return resource === undefined ? {} : create[resource]();
  };

  before(async () => {
    stack = await startStack({ settlementApprovals: 2 });
    document = (await (await fetch(`${stack.url}/openapi.json`)).json()) as OpenApiDocument;
    contract = new Contract(document);
    trader = await newTrader(stack);
    const operator = bearerCalls(stack.url, await stack.operatorToken());
    const second = await addOperator(stack, "settlement");
    const credentials = await newClient(stack, trader);
    const killer = new EmmClient(stack.url, await newClient(stack, trader), stack.prefix);
    const token = (await askToken(stack.url, credentials)).body as { access_token: string };
    secret = credentials.clientSecret;
    tokens = {
      trader: await login(stack.url, trader.account),
      operator: await stack.operatorToken(),
      second: await login(stack.url, second),
      client: token.access_token,
      killer: await killer.token(),
    };
    const trading = callsOf(stack.url, trader.trading);
    const manager = callsOf(stack.url, trader.management);
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const { keyId } = trader.trading.key;
    create = resources({
      stack,
      operator,
      second: bearerCalls(stack.url, tokens.second),
      manager,
      trading,
      client: bearerCalls(stack.url, tokens.client),
      keyId,
      marketId,
      outcomeId: outcomes[0],
    });
    const { traderId } = trader.account;
    const transfer = { direction: "defund", amount: "1" };
    const order = { outcomeId: outcomes[0], price: "0.700", qty: 100, tif: "GTC" };
    ids = {
      eventId,
      marketId,
      outcomeId: outcomes[0],
      keyId,
      clientId: credentials.clientId,
      traderId,
      transferId: idOf(
        await manager(`POST /v3/account/subaccounts/${keyId}/transfer`, transfer),
        "transferId",
      ),
      orderId: idOf(await trading("POST /v3/orders", order), "orderId"),
      ...(await create.group()),
      ...(await create.request()),
      ...(await create.message()),
      ...(await create.operator()),
      ...(await create.approval()),
      playerId: randomUUID(),
    };
    const deposit = { kind: "DEPOSIT", amount: "50", currency: "CASH", reason: "more" };
    idOf(await operator(`POST /admin/v1/traders/${traderId}/transactions`, deposit), "transactionId");
    const taker = callsOf(stack.url, (await newTrader(stack)).trading);
    await taker("POST /v3/orders", { outcomeId: outcomes[1], price: "0.300", qty: 40, tif: "IOC" });
    const filled = await until(
      () => trading("GET /v3/portfolio/fills"),
      ({ json }) => (json["items"] as unknown[]).length > 0,
    );
    expect(filled.json["items"]).to.have.lengthOf(1);
    const change = { title: "Soon", body: "More leagues.", effectiveTs: NOW_MS };
    idOf(await operator("POST /admin/v1/changelog", change), "changeId");
    await create.settled();
  });

  after(() => stack.stop());

  /** Replaces the ids, key and secret of the examples by real ones. */
  const real = (text: string, known: Ids): string => {
    const pairs = Object.entries(IDS).map(([name, id]): [string, string] => [id, known[name as keyof Ids]]);
    return [
      ...pairs,
      [JSON.stringify(PUBLIC_KEY), JSON.stringify(makeKey().publicKey)] as const,
      ["the secret", secret] as const,
    ].reduce((whole, [from, to]) => whole.replaceAll(from, to), text);
  };

  const requestOf = (line: string, operation: Operation, known: Ids): Raw => {
    const [verb = "", template = ""] = line.split(" ");
    const parameters = operation.parameters as readonly {
      name: string;
      in: string;
      example?: string | number;
    }[];
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      return String(parameters.find((one) => one.name === name)?.example ?? "");
    });
    const query = parameters
      .filter((one) => one.in === "query" && one.example !== undefined)
      .map(({ name, example = "" }) => `${name}=${String(example).replaceAll(",", "%2C")}`)
      .join("&");
    const content = (operation.requestBody?.["content"] ?? {}) as Readonly<Record<string, Json>>;
    const example = content["application/json"]?.["example"];
    return {
      method: verb,
      target: real(query === "" ? path : `${path}?${query}`, known),
      ...(example === undefined ? {} : { body: real(JSON.stringify(example), known) }),
    };
  };

  const sendAs = async (line: string, { security }: Operation, raw: Raw): Promise<Answer> => {
    const bearer = (token: string): Promise<Answer> =>
      send(stack.url, { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } });
    const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
    const [first = {}] = security;
    if ("signature" in first) {
      const takesTrading = RULES.get(routeOf(line))?.callers.includes("trading") === true;
      return send(stack.url, signed(takesTrading ? trader.trading : trader.management, raw));
    }
    // Both routes of the kill switch share a rate of one request, so one of them is called by another client.
    if (line.endsWith("/kill")) return bearer(tokens.killer);
    if ("clientCredentials" in first) return bearer(tokens.client);
    if (!("webSession" in first)) return send(stack.url, { ...raw, headers: type });
    if (line.includes("settlement/approve")) return bearer(tokens.second);
    // The trader signs out before.
    if (line.endsWith("/sessions") || line.endsWith("/session/password"))
      return bearer(await login(stack.url, trader.account));
    return bearer(/\/admin\/|\/totp$/.test(line) ? tokens.operator : tokens.trader);
  };

  it("of requests are answered as the document says", async () => {
    const lines = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
      ),
    );
    const inOrder = lines.toSorted(([a], [b]) => sentLast(a) - sentLast(b));
    const wrong: string[] = [];
    const illustration = new Illustration();
    const shown: Record<string, Json> = {};
    let sent = 0;
    for (const [line, operation] of inOrder) {
      const known = { ...ids, ...(await freshFor(line)) };
      const raw = requestOf(line, operation, known);
      const { status, headers, text } = await sendAs(line, operation, raw);
      sent += 1;
      const succeeded = status < 300;
      const body = Buffer.from(text);
      const target = raw.target;
      const fault = contract.fault({
        method: raw.method ?? "",
        target,
        status,
        headers: Object.fromEntries(headers),
        body,
      });
      if (
        (headers.get("content-type") ?? "").startsWith("application/json") &&
        /\/v3\/|\/v1\/(?!auth)|\/emm\//.test(line) &&
        text !== ""
      ) {
        const names = new Map(Object.entries(known).map(([name, id]) => [id, IDS[name as keyof Ids]]));
        shown[line] = { [status]: illustration.of(JSON.parse(text), names) };
      }
      if (!succeeded || fault !== undefined)
        wrong.push(`${line}: ${status} ${fault ?? text}\n${String(raw.body)}`);
    }
    expect(wrong.join("\n")).to.equal("");
    if (RECORDING !== undefined) {
      const recorded = Object.entries(shown).map(([line, answer]) => {
        const known = recordedAnswers()[line];
        return [line, RECORDING === "all" || isOutdated(line, known, answer) ? answer : known];
      });
      const text = JSON.stringify(Object.fromEntries(recorded));
      writeFileSync(ANSWERS, await format(text, { parser: "json", printWidth: 110 }));
    }
    expect(Object.keys(recordedAnswers()).toSorted(), "run it with UPDATE_EXAMPLES=1").to.deep.equal(
      Object.keys(shown).toSorted(),
    );
    expect(sent).to.equal(lines.length);
  });

  /** Returns why a recorded answer does not match the document, or `undefined`. */
  const faultOf = (line: string, answer: Json): string | undefined => {
    const [method = "", path = ""] = line.split(" ");
    const [status = "", ...others] = Object.keys(answer);
    if (others.length > 0) return "an example has one status";
    return contract.fault({
      method,
      target: path,
      status: Number(status),
      headers: { "content-type": "application/json", "x-request-id": "1" },
      body: Buffer.from(JSON.stringify(answer[status])),
    });
  };

  /** Returns whether a recorded answer is missing, has another status, or does not match the document. */
  const isOutdated = (line: string, known: Json | undefined, answer: Json): boolean =>
    known === undefined ||
    Object.keys(known).join() !== Object.keys(answer).join() ||
    faultOf(line, known) !== undefined;

  it("of answers match the document", () => {
    const answers = Object.entries(recordedAnswers());
    expect(answers.length).to.be.greaterThan(90);
    for (const [line, answer] of answers) expect(faultOf(line, answer), line).to.equal(undefined);
  });

  it("have every required body and parameter", () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { requestBody, parameters }] of Object.entries(methods)) {
        const content = (requestBody?.["content"] ?? {}) as Readonly<Record<string, Json>>;
        if (requestBody !== undefined)
          expect(content["application/json"], `${method} ${path}`).to.have.property("example");
        const needed = parameters.filter(({ required }) => required === true);
        for (const parameter of needed) expect(parameter, `${method} ${path}`).to.have.property("example");
      }
    }
  });
});

import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { format } from "prettier";
import { generateKey } from "../../../http/client/signer.js";
import type { Json, OpenApiDocument, Operation } from "../../../http/docs/json.js";
import { IDS, PUBLIC_KEY } from "../../../http/docs/examples.js";
import { Contract } from "../../support/documented.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { bearerCalls, callsOf, eventually, type Calls } from "../calls.js";
import { askToken, newClient } from "../surface-b/client.js";
import { send, signed, type Answer, type Raw } from "../requests.js";

type Ids = { -readonly [Name in keyof typeof IDS]: string };

/** With `UPDATE_EXAMPLES` the answers become those of the document. */
const ANSWERS = "http/docs/answers.json";
const NOW_MS = 1_790_000_000_000;
const SHOWN_ITEMS = 2;
const OPAQUE: Readonly<Record<string, string>> = {
  token: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl",
  ticket: "dGhlIHRpY2tldA",
  clientSecret: "the secret",
  next: "WzE3OTAwMDAwMDAwMDAsMl0",
  fingerprint: `sha256:${"0a1b2c3d".repeat(8)}`,
  email: "trader@example.com",
};

/** Makes an answer the same at every run: ids, times and secrets are those of the document. */
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

/** After the others: what they need is gone then. */
const LAST = ["PUT /admin/v1/ticks", "POST /admin/v1/maintenance", "DELETE /v3/session"];
const SECOND_OPERATOR = { email: "other@example.com", password: "another long password" };

describe("the examples of the OpenAPI document", function () {
  this.timeout(120_000);
  let stack: Stack;
  let document: OpenApiDocument;
  let contract: Contract;
  let trader: TestTrader;
  let ids: Ids;
  let secret = "";
  let tokens: Readonly<Record<"trader" | "operator" | "second" | "client", string>>;
  let operator: Calls;
  let trading: Calls;
  let managing: Calls;
  let client: Calls;

  /** The answer to a call that prepares another one. */
  const made = async (answer: Promise<Answer>): Promise<Readonly<Record<string, string>>> => {
    const { status, text, json } = await answer;
    if (status >= 300) throw new Error(`${status} ${text}`);
    return json as Readonly<Record<string, string>>;
  };

  const idOf = async (answer: Promise<Answer>, name: string): Promise<string> =>
    (await made(answer))[name] ?? "";

  const newOrder = (price = "0.100"): Promise<string> =>
    idOf(trading("POST /v3/orders", { outcomeId: ids.outcomeId, price, qty: 100, tif: "GTC" }), "orderId");

  const grade = async (marketId: string, winner: string): Promise<void> => {
    await made(operator(`POST /admin/v1/markets/${marketId}/grade`, { winner }));
  };

  const settled = async (): Promise<Partial<Ids>> => {
    const { marketId, outcomes } = await newMarket(stack);
    await grade(marketId, outcomes[0]);
    await made(
      bearerCalls(stack.url, tokens.second)(`POST /admin/v1/markets/${marketId}/settlement/approve`),
    );
    await eventually(
      () => operator(`GET /admin/v1/markets/${marketId}`),
      ({ json }) => json["status"] === "SETTLED",
    );
    return { marketId, outcomeId: outcomes[0] };
  };
  const waiting = async (): Promise<Partial<Ids>> => {
    const { marketId, outcomes } = await newMarket(stack);
    await grade(marketId, outcomes[0]);
    return { marketId };
  };
  const untouched = async (): Promise<Partial<Ids>> => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    return { eventId, marketId, outcomeId: outcomes[0] };
  };
  const ordered = async (): Promise<Partial<Ids>> => ({ orderId: await newOrder() });
  const grouped = async (): Promise<Partial<Ids>> => {
    const bounds = { maxFilledQty: 1, windowMs: 1_000 };
    return { groupId: await idOf(trading("POST /v3/safety/groups", bounds), "groupId") };
  };
  const readKey = async (): Promise<Partial<Ids>> => {
    const { publicKey, algorithm } = generateKey();
    return {
      keyId: await idOf(managing("POST /v3/keys", { name: "second", publicKey, algorithm }), "keyId"),
    };
  };
  const managementKey = (): Promise<Partial<Ids>> => Promise.resolve({ keyId: trader.management.key.keyId });
  const emmClient = async (): Promise<Partial<Ids>> => ({
    clientId: (await newClient(stack, trader)).clientId,
  });
  const strike = async (): Promise<Partial<Ids>> => ({
    requestId: await idOf(
      client("POST /svc/v2/emm/strike-requests", { marketId: ids.marketId, strike: 3 }),
      "requestId",
    ),
  });

  /** What an example needs for itself, because it uses it up or must find it in some state. */
  const FRESH: Readonly<Record<string, () => Promise<Partial<Ids>>>> = {
    "GET /v3/keys/{keyId}": managementKey,
    "DELETE /v3/keys/{keyId}": readKey,
    "PATCH /v3/orders/{orderId}": ordered,
    "DELETE /v3/orders/{orderId}": ordered,
    "DELETE /v3/orders/batch": ordered,
    "POST /svc/v2/emm/orders/cancel": ordered,
    "GET /v3/safety/groups/{groupId}": grouped,
    "POST /v3/safety/groups/{groupId}/reset": grouped,
    "DELETE /v3/safety/groups/{groupId}": grouped,
    "POST /admin/v1/events/{eventId}/status": untouched,
    "POST /admin/v1/markets/{marketId}/status": untouched,
    "GET /admin/v1/markets/{marketId}/settlement": waiting,
    "POST /admin/v1/markets/{marketId}/settlement/approve": waiting,
    "DELETE /admin/v1/markets/{marketId}/settlement": waiting,
    "POST /admin/v1/markets/{marketId}/remediate": settled,
    "POST /admin/v1/emm-clients/{clientId}/rotate": emmClient,
    "DELETE /admin/v1/emm-clients/{clientId}": emmClient,
    "POST /admin/v1/strike-requests/{requestId}": strike,
  };

  before(async () => {
    stack = await startStack({ settlementApprovals: 2 });
    document = (await (await fetch(`${stack.url}/openapi.json`)).json()) as OpenApiDocument;
    contract = new Contract(document);
    trader = await newTrader(stack);
    operator = bearerCalls(stack.url, await stack.operatorToken());
    await made(operator("POST /admin/v1/operators", SECOND_OPERATOR));
    const credentials = await newClient(stack, trader);
    const token = (await askToken(stack.url, credentials)).body as { access_token: string };
    secret = credentials.clientSecret;
    tokens = {
      trader: await login(stack.url, trader.account),
      operator: await stack.operatorToken(),
      second: await login(stack.url, SECOND_OPERATOR),
      client: token.access_token,
    };
    trading = callsOf(stack.url, trader.trading);
    managing = callsOf(stack.url, trader.management);
    client = bearerCalls(stack.url, tokens.client);
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const { keyId } = trader.trading.key;
    const transfer = managing(`POST /v3/account/subaccounts/${keyId}/transfer`, {
      direction: "defund",
      amount: "1",
    });
    ids = {
      eventId,
      marketId,
      outcomeId: outcomes[0],
      keyId,
      clientId: credentials.clientId,
      traderId: trader.account.traderId,
      transferId: await idOf(transfer, "transferId"),
      groupId: randomUUID(),
      requestId: randomUUID(),
      playerId: randomUUID(),
      orderId: "",
    };
    ids.orderId = await newOrder("0.700");
    const deposit = { kind: "DEPOSIT", amount: "50", currency: "CASH", reason: "more" };
    await made(operator(`POST /admin/v1/traders/${ids.traderId}/transactions`, deposit));
    const taker = callsOf(stack.url, (await newTrader(stack)).trading);
    await made(taker("POST /v3/orders", { outcomeId: outcomes[1], price: "0.300", qty: 40, tif: "IOC" }));
    await eventually(
      () => trading("GET /v3/portfolio/fills"),
      ({ json }) => (json["items"] as unknown[]).length > 0,
    );
    await made(
      operator("POST /admin/v1/changelog", { title: "Soon", body: "More leagues.", effectiveTs: NOW_MS }),
    );
    await settled();
    await strike();
    await grouped();
  });

  after(() => stack.stop());

  /** A text of the document with what is real here. */
  const real = (text: string, known: Ids): string => {
    const pairs = Object.entries(IDS).map(([name, id]): [string, string] => [id, known[name as keyof Ids]]);
    return [
      ...pairs,
      [JSON.stringify(PUBLIC_KEY), JSON.stringify(generateKey().publicKey)] as const,
      ["the secret", secret] as const,
    ].reduce((whole, [from, to]) => whole.replaceAll(from, to), text);
  };

  const requestOf = (line: string, operation: Operation, known: Ids): Raw => {
    const [verb = "", template = ""] = line.split(" ");
    const parameters = operation.parameters as readonly { name: string; in: string; example?: string }[];
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      return parameters.find((one) => one.name === name)?.example ?? "";
    });
    const query = parameters
      .filter((one) => one.in === "query" && one.example !== undefined)
      .map(({ name, example = "" }) => `${name}=${example.replaceAll(",", "%2C")}`)
      .join("&");
    const content = (operation.requestBody?.["content"] ?? {}) as Readonly<Record<string, Json>>;
    const example = content["application/json"]?.["example"];
    return {
      method: verb,
      target: real(query === "" ? path : `${path}?${query}`, known),
      ...(example === undefined ? {} : { body: real(JSON.stringify(example), known) }),
    };
  };

  const sendAs = (line: string, { security, description }: Operation, raw: Raw): Promise<Answer> => {
    const bearer = (token: string): Promise<Answer> =>
      send(stack.url, { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } });
    const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
    const [first = {}] = security;
    if ("signature" in first) {
      const wantsTrading = description.includes("`trading`");
      return send(stack.url, signed(wantsTrading ? trader.trading : trader.management, raw));
    }
    if ("clientCredentials" in first) return bearer(tokens.client);
    if (!("webSession" in first)) return send(stack.url, { ...raw, headers: type });
    if (line.includes("settlement/approve")) return bearer(tokens.second);
    return bearer(line.includes("/admin/") ? tokens.operator : tokens.trader);
  };

  it("are sent, and answered as documented", async () => {
    const lines = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
      ),
    );
    const inOrder = lines.toSorted(([a], [b]) => LAST.indexOf(a) - LAST.indexOf(b));
    const wrong: string[] = [];
    const illustration = new Illustration();
    const shown: Record<string, unknown> = {};
    let sent = 0;
    for (const [line, operation] of inOrder) {
      // A websocket is not an answer.
      if (line === "GET /v3/ws") continue;
      const known = { ...ids, ...(await FRESH[line]?.()) };
      const raw = requestOf(line, operation, known);
      const { status, headers, text } = await sendAs(line, operation, raw);
      sent += 1;
      const succeeded = status < 300 || (status === 410 && line.includes("/auth/token"));
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
    if (process.env["UPDATE_EXAMPLES"] !== undefined) {
      writeFileSync(ANSWERS, await format(JSON.stringify(shown), { parser: "json", printWidth: 110 }));
    }
    const kept = JSON.parse(readFileSync(ANSWERS, "utf8")) as Json;
    expect(Object.keys(kept).toSorted(), "run it with UPDATE_EXAMPLES=1").to.deep.equal(
      Object.keys(shown).toSorted(),
    );
    expect(sent).to.equal(lines.length - 1);
  });

  it("of answers are as documented themselves", () => {
    const answers = Object.entries(JSON.parse(readFileSync(ANSWERS, "utf8")) as Json);
    expect(answers.length).to.be.greaterThan(90);
    for (const [line, byStatus] of answers) {
      const [method = "", path = ""] = line.split(" ");
      const [status = "", ...others] = Object.keys(byStatus as Json);
      expect(others, line).to.deep.equal([]);
      const fault = contract.fault({
        method,
        target: path,
        status: Number(status),
        headers: { "content-type": "application/json", "x-request-id": "1" },
        body: Buffer.from(JSON.stringify((byStatus as Json)[status])),
      });
      expect(fault, line).to.equal(undefined);
    }
  });

  it("send a body wherever one is needed", () => {
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

import asyncApiSpecs from "@asyncapi/specs";
import { Ajv, type ValidateFunction } from "ajv";
import { expect } from "chai";
import { asyncApi } from "../../../http/docs/asyncapi.js";
import { CHANNELS } from "../../../stream/ws/channels.js";
import { type Json, serve, trader } from "../../stream/ws/support/client.js";
import { ids, TestExchange } from "../../stream/ws/support/exchange.js";
import { startStack, type Stack } from "../../support/stack.js";

interface Document {
  readonly info: Json;
  readonly servers: Readonly<Record<string, Json>>;
  readonly channels: { readonly stream: { readonly messages: Readonly<Record<string, Json>> } };
  readonly operations: Readonly<
    Record<
      string,
      { action: string; description: string; messages: Reference[]; reply?: { messages: Reference[] } }
    >
  >;
  readonly components: {
    readonly messages: Readonly<Record<string, { examples?: { payload: unknown }[] }>>;
    readonly schemas: Readonly<Record<string, Json>>;
  };
}

interface Reference {
  readonly $ref: string;
}

const ADDRESS = { host: "127.0.0.1:8080", secure: false };
const document = asyncApi({ brand: "Svc", sandbox: true })(ADDRESS) as unknown as Document;

/** Compiles the messages of the document to validators. */
function validators({ components }: Document): (name: string) => ValidateFunction {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "document", components });
  return (name) => ajv.compile({ $ref: `document#/components/schemas/${name}` });
}

/** Returns every `$ref` in the document. */
function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "$ref" && typeof inner === "string" ? [inner] : references(inner),
  );
}

const lastOf = (ref: string): string => ref.split("/").at(-1) ?? "";

describe("the AsyncAPI document", () => {
  it("conforms to the schema of AsyncAPI 3.0.0", () => {
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
    const validate = ajv.compile(asyncApiSpecs.schemasWithoutId["3.0.0"] as Json);
    validate(document);
    expect(validate.errors).to.equal(null);
    expect(validate({ ...document, channels: [] })).to.equal(false);
  });

  it("has no dangling reference and no unused component", () => {
    const refs = new Set(references(document));
    for (const ref of refs) {
      const found = ref
        .slice(2)
        .split("/")
        .reduce<unknown>((value, step) => (value as Json | undefined)?.[step], document);
      expect(found, ref).to.be.an("object");
    }
    for (const name of Object.keys(document.components.schemas))
      expect(refs, name).to.include(`#/components/schemas/${name}`);
    for (const name of Object.keys(document.components.messages)) {
      expect(refs, name).to.include(`#/components/messages/${name}`);
      expect(refs, name).to.include(`#/channels/stream/messages/${name}`);
    }
  });

  it("has an operation for every verb, faults only in a sandbox, and valid examples", () => {
    const verbs = [
      "subscribe",
      "unsubscribe",
      "snapshot",
      "status",
      "query_markets",
      "query_events",
      "place",
      "cancel",
      "cancel_all",
      "safety",
    ];
    expect(Object.keys(document.operations)).to.have.members([
      ...verbs,
      "fault",
      "sendDeltas",
      "sendHeartbeats",
    ]);
    const production = asyncApi({ brand: "Acme", sandbox: false })({ host: "h", secure: true });
    expect(Object.keys(production["operations"] as Json)).to.have.members([
      ...verbs,
      "sendDeltas",
      "sendHeartbeats",
    ]);
    expect(JSON.stringify(production)).to.include("Acme-Signature").and.to.include('"wss"');
    const validatorOf = validators(document);
    let examples = 0;
    for (const operation of Object.values(document.operations)) expect(operation.description).to.match(/\.$/);
    expect(JSON.stringify(document.components.schemas)).to.not.contain('"default":');
    for (const [name, message] of Object.entries(document.components.messages)) {
      for (const { payload } of message.examples ?? []) {
        expect(validatorOf(name)(payload), name).to.equal(true);
        examples += 1;
      }
    }
    expect(examples).to.be.above(4);
  });

  it("describes the requests and frames of a real session", async () => {
    const [ann = "", bob = ""] = ids(2);
    const exchange = new TestExchange();
    for (const traderId of [ann, bob]) exchange.fund(traderId);
    const server = await serve(exchange, { heartbeatMs: 250, sandbox: true });
    const validatorOf = validators(document);
    const { marketId, eventId, outcomes } = exchange.createMarket(2);
    const [yes = "", no = ""] = outcomes.map(({ outcomeId }) => outcomeId);
    const client = await server.connect(trader(ann));
    const answered = new Set<string>();
    const ask = async (verb: string, payload: unknown): Promise<void> => {
      const request = { nonce: 1, [verb]: payload };
      const fits = validatorOf(verb);
      expect(fits(request), JSON.stringify([request, fits.errors])).to.equal(true);
      const reply = await client.request(verb, payload);
      const kinds = (document.operations[verb]?.reply?.messages ?? []).map(({ $ref }) => lastOf($ref));
      const matching = kinds.filter((kind) => validatorOf(kind)(reply));
      expect(matching, JSON.stringify(reply)).to.have.length(1);
      answered.add(`${verb} ${matching[0] ?? ""}`);
    };
    await ask("subscribe", { markets: { [marketId]: [...CHANNELS] }, private: ["orders", "positions"] });
    await ask("place", { orders: [{ outcomeId: yes, price: "0.600", qty: 10, tif: "GTC" }] });
    await exchange.place(trader(bob), [{ outcomeId: no, price: "0.450", qty: 4, tif: "IOC" }], false);
    exchange.operate(marketId, { kind: "lifecycle", actions: ["golive"] });
    exchange.commit();
    await client.next((frame) => frame["positions"] !== undefined && frame["delta"] !== undefined);
    await client.next((frame) => frame["heartbeat"] !== undefined);
    const since = { [`market:${marketId}`]: { book: 1, trades: 0 }, orders: 0, positions: 10_000 };
    await ask("subscribe", { markets: { [marketId]: "book" }, private: ["orders", "positions"], since });
    await ask("subscribe", { events: { [eventId]: "bbo" }, currency: "COIN" });
    await ask("snapshot", { markets: { [marketId]: "trades" } });
    await ask("snapshot", { markets: {} });
    await ask("status", {});
    await ask("query_events", { league: ["NFL"], limit: 10 });
    await ask("cancel", { orderIds: [yes] });
    await ask("cancel_all", { market: marketId });
    await ask("safety", { cancelOnDisconnect: true });
    await ask("unsubscribe", [`market:${marketId}`, `event:${eventId}`, "PRIVATE"]);
    await ask("fault", { dropFrames: 0.5 });
    const kinds = [
      ...(document.operations["sendDeltas"]?.messages ?? []),
      ...(document.operations["sendHeartbeats"]?.messages ?? []),
    ];
    const pushed = client.frames.filter((frame) => frame["nonce"] === undefined);
    for (const frame of pushed) {
      const matching = kinds.map(({ $ref }) => lastOf($ref)).filter((kind) => validatorOf(kind)(frame));
      expect(matching, JSON.stringify(frame)).to.have.length(1);
    }
    expect([...answered]).to.include.members(["snapshot Snapshot", "snapshot Error", "query_events Error"]);
    await client.close();
    await server.close();
    expect(server.errors).to.deep.equal([]);
  });
});

describe("GET /asyncapi.json", function () {
  this.timeout(60_000);
  let stack: Stack;
  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  it("returns the document with the address of the gateway", async () => {
    const response = await fetch(`${stack.url}/asyncapi.json`);
    expect(response.status).to.equal(200);
    const served = (await response.json()) as Document;
    const { host, hostname } = new URL(stack.url);
    expect(served).to.deep.equal({ ...document, info: served.info, servers: served.servers });
    expect(served.servers["gateway"]).to.include({ host, protocol: "ws" });
    expect(served.info).to.deep.include({
      license: { name: "MIT", url: "https://spdx.org/licenses/MIT.html" },
      contact: {
        name: "The operator of this exchange",
        url: `${stack.url}/docs`,
        email: `support@${hostname}`,
      },
    });
  });
});

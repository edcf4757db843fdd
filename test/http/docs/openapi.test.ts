import { Validator } from "@seriousme/openapi-schema-validator";
import { expect } from "chai";
import { ERRORS, wireCode } from "../../../http/request/errors.js";
import type { OpenApiDocument, Operation } from "../../../http/docs/json.js";
import { Contract, type Sent } from "../../support/documented.js";
import { startStack, type Stack } from "../../support/stack.js";

const BRANDS = [
  { signatureBrand: "Svc", servicePrefix: "svc" },
  { signatureBrand: "Acme", servicePrefix: "abc" },
] as const;

async function documentOf(stack: Stack): Promise<OpenApiDocument> {
  const response = await fetch(`${stack.url}/openapi.json`);
  expect(response.headers.get("content-type")).to.match(/^application\/json/);
  return (await response.json()) as OpenApiDocument;
}

interface PlaceOrderSchema {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, { readonly description?: string }>>;
}

/** Returns every object inside a value, which contains all of its schemas. */
function schemasIn(value: unknown): Readonly<Record<string, unknown>>[] {
  if (Array.isArray(value)) return value.flatMap(schemasIn);
  if (value === null || typeof value !== "object") return [];
  return [value as Readonly<Record<string, unknown>>, ...Object.values(value).flatMap(schemasIn)];
}

function operationsOf(document: OpenApiDocument): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
}

for (const { signatureBrand, servicePrefix } of BRANDS) {
  describe(`the OpenAPI document of ${signatureBrand}`, () => {
    let stack: Stack;
    let document: OpenApiDocument;

    before(async () => {
      stack = await startStack({ signatureBrand, servicePrefix });
      document = await documentOf(stack);
    });

    after(() => stack.stop());

    it("is valid OpenAPI 3.1", async () => {
      expect(await new Validator().validate({ ...document })).to.deep.equal({ valid: true });
      expect(document.openapi).to.equal("3.1.0");
    });

    it("has a summary, the authentication and the cost of every operation", () => {
      const operations = operationsOf(document);
      expect(operations.length).to.be.greaterThan(110);
      for (const [line, { summary, description, tags }] of operations) {
        expect(summary, line).not.to.equal("");
        expect(tags, line).to.have.lengthOf(1);
        if (!/\/v3\/|\/admin\/|emm\//.test(line)) continue;
        expect(description, line).to.contain("Authentication: ");
        expect(description, line).to.match(/Cost: (?:\d+ tokens? of `\w+`|free)|Rate per client: \d/);
      }
      expect(new Set(operations.map(([, { operationId }]) => operationId))).to.have.lengthOf(
        operations.length,
      );
    });

    it("contains the configured brand and prefix, and no other", () => {
      const text = JSON.stringify(document);
      const other = BRANDS.find((one) => one.signatureBrand !== signatureBrand);
      expect(text).to.contain(`${signatureBrand}-Signature`);
      expect(text).to.contain(`${signatureBrand.toUpperCase()}-V3`);
      expect(Object.keys(document.paths)).to.include(`/${servicePrefix}/v2/emm/ticks`);
      expect(text).not.to.contain(`${other?.signatureBrand ?? ""}-`);
      expect(text).not.to.contain(`/${other?.servicePrefix ?? ""}/`);
      expect(text).not.to.contain("{brand}");
    });

    it("lists every code with its status, and has each code at an operation", () => {
      const { description } = document.info as { description: string };
      const text = JSON.stringify([document.paths, document.components]);
      for (const { code, status } of ERRORS) {
        expect(description)
          .to.contain(`| ${status} |`)
          .and.to.contain(`\`${wireCode(code)}\``);
        expect(text, code).to.contain(`"${wireCode(code)}"`);
      }
    });

    it("names its license, and its components in words", () => {
      expect(document.info["license"]).to.deep.equal({ name: "MIT", identifier: "MIT" });
      const { schemas, responses } = document.components as Readonly<Record<string, object>>;
      const names = [...Object.keys(schemas ?? {}), ...Object.keys(responses ?? {})];
      expect(names).to.include.members(["Market", "EmmMarket", "MarketTypeNotFound", "EmmOrderNotFound"]);
      for (const name of names) expect(name).to.match(/^[A-Z][A-Za-z]+$/);
      const text = JSON.stringify([document.paths, schemas]);
      for (const name of names) expect(text, "a component that is used").to.contain(`/${name}"`);
    });

    it("has whole numbers as examples of whole numbers, and defaults in words", () => {
      const parameters = operationsOf(document).flatMap(([, operation]) => operation.parameters);
      const whole = parameters.filter(({ schema }) => (schema as { type?: unknown }).type === "integer");
      expect(whole.filter(({ example }) => typeof example === "number").length).to.be.greaterThan(20);
      for (const { name, example } of whole)
        if (example !== undefined) expect(example, String(name)).to.be.a("number");
      // Generators of clients take a field with a default for one that is always there.
      expect(schemasIn(document).filter((schema) => "default" in schema)).to.deep.equal([]);
      const { PlaceOrder } = document.components["schemas"] as Readonly<Record<string, PlaceOrderSchema>>;
      expect(PlaceOrder?.required).to.not.include("selfTrade");
      expect(PlaceOrder?.properties["selfTrade"]?.description).to.equal("The default is `wash`.");
    });

    it("has patterns that mean the same with and without the flag u", () => {
      const patterns = new Set(
        schemasIn(document).flatMap(({ pattern }) => (typeof pattern === "string" ? [pattern] : [])),
      );
      expect(patterns.size).to.be.greaterThan(5);
      const texts = ["", "abc", "Zoë ☕ 😀", "\u0007", "\u0085", "\n", "0.665", "12.50000", "US-NY"];
      for (const pattern of patterns) {
        const [plain, unicode] = [new RegExp(pattern), new RegExp(pattern, "u")];
        for (const text of texts) expect(plain.test(text), pattern).to.equal(unicode.test(text));
      }
      const ofText = [...patterns].filter((pattern) => new RegExp(pattern).test("Zoë ☕ 😀"));
      expect(ofText).to.have.lengthOf(1);
      for (const text of ["\u0000", "\u0007", "\n", "\u007f", "\u0085"])
        expect(new RegExp(ofText[0] ?? "").test(text), JSON.stringify(text)).to.equal(false);
    });

    it("has no reference to a missing component", () => {
      const text = JSON.stringify(document);
      const refs = new Set(
        [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)].map(([whole]) => whole),
      );
      expect(refs.size).to.be.greaterThan(50);
      for (const whole of refs) {
        const [, kind = "", name = ""] = /components\/(\w+)\/([^"]+)"/.exec(whole) ?? [];
        expect((document.components[kind] as object | undefined) ?? {}, whole).to.have.property(name);
      }
    });
  });
}

describe("answers validated with the document", () => {
  let stack: Stack;
  let contract: Contract;
  const good: Sent = {
    method: "GET",
    target: "/v3/public/types/sports?",
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8", "x-request-id": "1" },
    body: Buffer.from('["FOOTBALL"]'),
  };

  before(async () => {
    stack = await startStack();
    contract = new Contract(await documentOf(stack));
  });

  after(() => stack.stop());

  it("pass when they match it", () => {
    expect(contract.fault(good)).to.equal(undefined);
  });

  const wrong: readonly (readonly [string, Partial<Sent>, RegExp])[] = [
    ["a status that is not declared", { status: 418 }, /status is not declared/],
    ["a path that is not declared", { target: "/v3/public/types/colors" }, /no such operation/],
    ["a method that is not declared", { method: "POST" }, /no such operation/],
    ["another shape", { body: Buffer.from('[{"name":"FOOTBALL"}]') }, /must be string/],
    [
      "a body where none is declared",
      { method: "DELETE", target: "/v3/session", status: 204 },
      /body is not declared/,
    ],
    [
      "another content type",
      { headers: { ...good.headers, "content-type": "text/html" } },
      /type text\/html is not declared/,
    ],
    ["a header too many", { headers: { ...good.headers, "x-color": "red" } }, /x-color is not declared/],
    [
      "a header too few",
      { headers: { "content-type": "application/json" } },
      /header X-Request-Id is missing/,
    ],
    [
      "a code that the route does not have",
      {
        status: 503,
        headers: { ...good.headers, "retry-after": "1" },
        body: Buffer.from('{"code":"MARKET_CLOSED","message":"no"}'),
      },
      /allowed values/,
    ],
    [
      "a field too many",
      {
        status: 404,
        target: "/v3/public/catalog/markets/5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a02",
        body: Buffer.from('{"code":"MARKET_NOT_FOUND","message":"no","stack":"at"}'),
      },
      /additional properties/,
    ],
  ];
  for (const [name, change, fault] of wrong) {
    it(`fail for ${name}`, () => {
      expect(contract.fault({ ...good, ...change })).to.match(fault);
    });
  }
});

describe("the page of the document", () => {
  let stack: Stack;

  before(async () => {
    stack = await startStack();
  });

  after(() => stack.stop());

  it("loads no file of another origin, and allows no inline script", async () => {
    const page = await fetch(`${stack.url}/docs`);
    expect(page.status).to.equal(200);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).to.contain("script-src 'self'").and.not.to.contain("unsafe");
    const html = await page.text();
    expect(html).not.to.match(/<script(?![^>]* src="\/docs\/)/);
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = ""]) => file);
    expect(files).to.have.lengthOf.greaterThan(4);
    for (const file of files) {
      expect(file).to.match(/^\//);
      expect((await fetch(`${stack.url}${file}`)).status, file).to.equal(200);
    }
  });
});

import { expect } from "chai";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { ApiError, readAnswer, UnknownOutcome } from "../../../http/client/connection.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Connection, Signer } from "../../../http/client/client.js";
import { canonicalText } from "../../../http/auth/canonical.js";
import { bodyDigest, verifyText } from "../../../http/auth/signing.js";
import { makeKey } from "../keys.js";
import { createPublicKey } from "node:crypto";

interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  readonly signature: string;
  readonly timestamp: string;
  readonly body: string;
}

type Respond = (received: ReceivedRequest, response: http.ServerResponse, attempt: number) => void;

const KEY_ID = "00000000-0000-4000-8000-000000000001";
const ORDER = { outcomeId: KEY_ID, price: "0.500", qty: 1, tif: "GTC" } as const;

function answer(response: http.ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

describe("client: retries", () => {
  let server: http.Server;
  let connection: Connection;
  let client: RestClient;
  let received: ReceivedRequest[];
  let respond: Respond;
  const pair = makeKey();

  beforeEach(async () => {
    received = [];
    server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const one = {
          method: request.method ?? "",
          target: request.url ?? "",
          signature: String(request.headers["svc-signature"]),
          timestamp: String(request.headers["svc-timestamp"]),
          body: Buffer.concat(chunks).toString(),
        };
        received.push(one);
        respond(one, response, received.length);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    connection = new Connection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    client = new RestClient(connection, new Signer({ keyId: KEY_ID, ...pair }), 3_000);
  });

  afterEach(async () => {
    connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("send the same signed bytes again when the answer to a placement is lost", async () => {
    respond = (_, response, attempt) => {
      if (attempt < 3) response.destroy();
      else answer(response, 201, { orderId: "o" });
    };
    expect(await client.placeOrder(ORDER)).to.deep.equal({ orderId: "o" });
    expect(received).to.have.length(3);
    expect(new Set(received.map(({ signature }) => signature)).size).to.equal(1);
  });

  it("sign again when the order has a clientId", async () => {
    respond = (_, response, attempt) => {
      if (attempt < 2) response.destroy();
      else answer(response, 200, { orderId: "o", clientId: KEY_ID });
    };
    await client.placeOrder({ ...ORDER, clientId: KEY_ID });
    expect(new Set(received.map(({ timestamp }) => timestamp)).size).to.equal(2);
  });

  it("wait for Retry-After, and continue while the first request is in progress", async () => {
    respond = (_, response, attempt) => {
      if (attempt === 1) answer(response, 503, { code: "UNAVAILABLE", message: "" }, { "Retry-After": "1" });
      else if (attempt === 2) answer(response, 409, { code: "REQUEST_IN_PROGRESS", message: "" });
      else answer(response, 201, { orderId: "o" });
    };
    const began = Date.now();
    await client.placeOrder(ORDER);
    expect(Date.now() - began).to.be.at.least(1_000);
    expect(received).to.have.length(3);
  });

  it("stop at refusals, which are thrown with their code", async () => {
    respond = (_, response) => answer(response, 422, { code: "INSUFFICIENT_BALANCE", message: "too little" });
    const problem = await client.placeOrder(ORDER).catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(ApiError).and.include({ status: 422, code: "INSUFFICIENT_BALANCE" });
    expect(received).to.have.length(1);
  });

  it("stop at refusals of the edge, which get a code from their status", async () => {
    respond = (_, response) => {
      response.writeHead(403, { "Content-Type": "text/html" });
      response.end("<h1>no</h1>");
    };
    const problem = await client.placeOrder(ORDER).catch((error: unknown) => error);
    expect(problem).to.include({ code: "HTTP_403" });
  });

  it("end with UnknownOutcome when no answer arrives in time", async () => {
    respond = (_, response) => response.destroy();
    const unreachableClient = new RestClient(connection, new Signer({ keyId: KEY_ID, ...pair }), 200);
    const problem = await unreachableClient.placeOrder(ORDER).catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(UnknownOutcome);
  });

  it("never repeat a request that a repeat would double, unless it reached no server", async () => {
    respond = (_, response) => response.destroy();
    const request = { method: "POST", target: "/x", headers: {}, body: Buffer.from("{}") };
    const options = { repeat: "never", patienceMs: 1_000 } as const;
    const problem = await connection.send(() => request, options).catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(UnknownOutcome);
    expect(received).to.have.length(1);
  });

  it("never sign again once an earlier attempt may have taken effect, even after a 429", async () => {
    respond = (_, response, attempt) => {
      if (attempt === 1) response.destroy();
      else if (attempt === 2) answer(response, 429, { code: "RATE_LIMIT_EXCEEDED", message: "" });
      else answer(response, 201, { orderId: "o" });
    };
    expect(await client.placeOrder(ORDER)).to.deep.equal({ orderId: "o" });
    expect(received).to.have.length(3);
    expect(new Set(received.map(({ signature }) => signature)).size).to.equal(1);
  });

  it("sign again after a 429, and end with it, while no attempt can have taken effect", async () => {
    respond = (_, response) => answer(response, 429, { code: "RATE_LIMIT_EXCEEDED", message: "" });
    const problem = await client.placeOrder(ORDER).catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(ApiError).and.include({ status: 429 });
    expect(new Set(received.map(({ signature }) => signature)).size).to.equal(received.length);
    expect(received.length).to.be.above(1);
  });

  for (const status of [500, 502, 504]) {
    it(`take ${status} for a lost answer, because the request may have taken effect`, async () => {
      respond = (_, response, attempt) => {
        if (attempt === 1) answer(response, status, { code: "INTERNAL", message: "" });
        else answer(response, 201, { orderId: "o" });
      };
      expect(await client.placeOrder(ORDER)).to.deep.equal({ orderId: "o" });
      expect(new Set(received.map(({ signature }) => signature)).size).to.equal(1);
      respond = (_, response) => answer(response, status, { code: "INTERNAL", message: "" });
      const request = { method: "POST", target: "/x", headers: {}, body: Buffer.from("{}") };
      const options = { repeat: "never", patienceMs: 1_000 } as const;
      const problem = await connection.send(() => request, options).catch((error: unknown) => error);
      expect(problem).to.be.instanceOf(UnknownOutcome);
      expect(received).to.have.length(3);
    });
  }

  it("return accepted and refused orders of a batch", async () => {
    const rejected = [{ index: 1, outcomeId: KEY_ID, reason: "no" }];
    respond = (_, response) =>
      answer(response, 207, {
        code: "BATCH_PARTIALLY_REJECTED",
        message: "",
        accepted: [{ orderId: "o" }],
        rejected,
      });
    expect(await client.placeOrders([ORDER, ORDER])).to.deep.equal({
      accepted: [{ orderId: "o" }],
      rejected,
    });
    respond = (_, response) => answer(response, 409, { code: "MARKET_CLOSED", message: "", rejected });
    expect(await client.placeOrders([ORDER, ORDER])).to.deep.equal({ accepted: [], rejected });
    const problem = await client.placeOrders([ORDER, ORDER], true).catch((error: unknown) => error);
    expect(problem).to.include({ code: "MARKET_CLOSED" });
  });

  it("read all pages of a list", async () => {
    const fill = {
      fillId: "f",
      orderId: "o",
      marketId: "m",
      outcomeId: "x",
      qty: 1,
      cost: "1",
      taker: true,
      ts: 1,
    };
    respond = ({ target }, response) =>
      answer(
        response,
        200,
        target.includes("after=p2") ? { items: [fill] } : { items: [fill, fill], next: "p2" },
      );
    expect(await client.fills({ market: "m" })).to.have.length(3);
    expect(received[1]?.target).to.equal("/v3/portfolio/fills?market=m&after=p2");
  });

  it("throw when an answer has another shape than expected", async () => {
    respond = (_, response) => answer(response, 200, { other: 1 });
    const request = { method: "GET", target: "/x", headers: {}, body: new Uint8Array(0) };
    const raw = await connection.send(() => request, { repeat: "anew", patienceMs: 1_000 });
    expect(() => readAnswer(raw, z.object({ wanted: z.string() }))).to.throw();
  });
});

describe("client: signing", () => {
  for (const algorithm of ["Ed25519", "P-256"] as const) {
    it(`makes signatures with ${algorithm} that the server verifies`, async () => {
      const pair = makeKey(algorithm);
      const signer = new Signer({ keyId: KEY_ID, ...pair }, "Acme");
      const headers = await signer.headers(
        "POST",
        "/v3/orders",
        "b=2&a=1",
        Buffer.from("{}"),
        1_700_000_000_000,
      );
      const text = canonicalText({
        brand: "Acme",
        timestamp: headers["Acme-Timestamp"] ?? "",
        method: "POST",
        path: "/v3/orders",
        query: "a=1&b=2",
        bodyDigest: bodyDigest(Buffer.from("{}")),
      });
      const signature = Buffer.from(headers["Acme-Signature"] ?? "", "base64");
      expect(await verifyText(text, signature, createPublicKey(pair.publicKey), algorithm)).to.equal(true);
      expect(headers["Acme-Key-Id"]).to.equal(KEY_ID);
    });
  }

  it("never signs the same text twice, so two equal orders are two orders", async () => {
    const signer = new Signer({ keyId: KEY_ID, ...makeKey() });
    const headersOfThree = await Promise.all(
      Array.from({ length: 3 }, () => signer.headers("POST", "/v3/orders", "", Buffer.from("{}"), 5_000)),
    );
    expect(headersOfThree.map((headers) => headers["Svc-Timestamp"])).to.deep.equal(["5000", "5001", "5002"]);
    const other = await signer.headers("POST", "/v3/orders", "", Buffer.from("[]"), 5_002);
    expect(other["Svc-Timestamp"]).to.equal("5002");
  });
});

import { once } from "node:events";
import { expect } from "chai";
import { WebSocket } from "ws";
import { freePort } from "../../../scripts/embedded/ports.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader, upgradeHeaders } from "../../support/traders.js";
import { send, signed } from "../requests.js";

const OPERATIONS = ["/healthz", "/readyz", "/metrics"];
const DESK = "https://desk.example.com";

describe("the ports of a gateway", function () {
  this.timeout(60_000);
  let stack: Stack;
  let operations: string;
  let admin: string;

  before(async () => {
    const otherPorts = { operations: await freePort(), admin: await freePort() };
    stack = await startStack({ otherPorts, adminOrigins: [DESK] });
    operations = `http://127.0.0.1:${otherPorts.operations}`;
    admin = `http://127.0.0.1:${otherPorts.admin}`;
  });
  after(() => stack.stop());

  async function statusOf(base: string, path: string, headers = {}): Promise<number> {
    return (await fetch(`${base}${path}`, { headers })).status;
  }

  async function signIn(base: string): Promise<string> {
    const answer = await fetch(`${base}/v3/session`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(stack.operatorLogin),
    });
    return ((await answer.json()) as { token: string }).token;
  }

  /** Returns the origins whose pages may read the answer to a preflight of a page of `origin`. */
  async function allowedOrigin(base: string, path: string, origin: string): Promise<string | null> {
    const headers = { Origin: origin, "Access-Control-Request-Method": "GET" };
    const answer = await fetch(`${base}${path}`, { method: "OPTIONS", headers });
    return answer.headers.get("access-control-allow-origin");
  }

  for (const path of OPERATIONS) {
    it(`serve ${path} on the port of operations alone`, async () => {
      expect(await statusOf(operations, path)).to.equal(200);
      expect(await statusOf(stack.url, path)).to.equal(404);
      expect(await statusOf(admin, path)).to.equal(404);
    });
  }

  it("serve nothing else on the port of operations, not even the stream", async () => {
    for (const path of ["/v3/public/types/sports", "/docs", "/openapi.json", "/v3/session"])
      expect(await statusOf(operations, path), path).to.equal(404);
    const { trading } = await newTrader(stack);
    const socket = new WebSocket(`${operations.replace("http", "ws")}/v3/ws`, {
      headers: upgradeHeaders(trading),
    });
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).to.include("404");
  });

  it("serve the operators' routes and their login on their port, and the routes not to clients", async () => {
    const token = await signIn(admin);
    const headers = { Authorization: `Bearer ${token}` };
    expect(await statusOf(admin, "/admin/v1/events", headers)).to.equal(200);
    expect(await statusOf(admin, "/v3/session", headers)).to.equal(200);
    const ended = await fetch(`${admin}/v3/sessions`, { method: "DELETE", headers });
    expect(ended.status, "the end of all sessions of the operator").to.equal(204);
    expect(await statusOf(stack.url, "/admin/v1/events", headers)).to.equal(404);
    for (const path of ["/v3/public/status", "/v3/public/changelog"])
      expect(await statusOf(admin, path), path).to.equal(200);
    expect(await statusOf(admin, "/v3/public/types/sports")).to.equal(404);
    const { trading } = await newTrader(stack);
    const limits = signed(trading, { target: "/v3/limits" });
    expect((await send(admin, limits)).status).to.equal(404);
    expect((await send(stack.url, limits)).status).to.equal(200);
  });

  it("let the pages of the configured origins alone call the operators' routes", async () => {
    for (const path of ["/admin/v1/events", "/v3/session"]) {
      expect(await allowedOrigin(admin, path, DESK), path).to.equal(DESK);
      expect(await allowedOrigin(admin, path, "https://elsewhere.example"), path).to.equal(null);
    }
    expect(await allowedOrigin(stack.url, "/v3/session", "https://elsewhere.example")).to.equal("*");
  });

  it("answer a target that is no path, on every port", async () => {
    for (const base of [stack.url, operations, admin])
      expect((await send(base, { target: "/healthz/../readyz" })).status, base).to.equal(404);
  });
});

describe("one port of a gateway", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack({ adminOrigins: [DESK] });
  });
  after(() => stack.stop());

  it("serves every path, and the operators' routes to the pages of the configured origins", async () => {
    for (const path of OPERATIONS) expect((await fetch(`${stack.url}${path}`)).status, path).to.equal(200);
    const preflight = async (origin: string): Promise<string | null> => {
      const headers = { Origin: origin, "Access-Control-Request-Method": "GET" };
      const answer = await fetch(`${stack.url}/admin/v1/events`, { method: "OPTIONS", headers });
      return answer.headers.get("access-control-allow-origin");
    };
    expect(await preflight(DESK)).to.equal(DESK);
    expect(await preflight("https://elsewhere.example")).to.equal(null);
  });
});

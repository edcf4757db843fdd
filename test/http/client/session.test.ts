import { expect } from "chai";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { Connection, OperatorClient, Session } from "../../../http/client/client.js";

const TRADER = "00000000-0000-4000-8000-000000000001";
const CREDENTIALS = { email: "one@example.com", password: "a long password" };

const ME = {
  traderId: TRADER,
  email: CREDENTIALS.email,
  role: "x",
  kyc: "x",
  state: "x",
  stateReason: null,
  selfExcludedUntil: null,
  totp: false,
  cash: { CASH: "0", COIN: "0" },
  location: null,
};

/** An answer; `undefined` loses it. */
type Reply = readonly [status: number, body: object] | undefined;

describe("client: web sessions", () => {
  let server: http.Server;
  let connection: Connection;
  let received: string[];
  let reply: (request: string, times: number) => Reply;

  const timesOf = (request: string): number => received.filter((one) => one === request).length;

  beforeEach(async () => {
    received = [];
    server = http.createServer((incoming, response) => {
      const request = `${incoming.method} ${incoming.url}`;
      received.push(request);
      const answer = reply(request, timesOf(request));
      if (answer === undefined) {
        response.destroy();
        return;
      }
      response.writeHead(answer[0], { "Content-Type": "application/json" });
      response.end(JSON.stringify(answer[1]));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    connection = new Connection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  afterEach(async () => {
    connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const login: Reply = [201, { token: "t", expiresAt: 1 }];

  it("repeat reads and deletes after a lost answer, and no other request of an unnamed route", async () => {
    reply = (request, times) => {
      if (request === "POST /v3/session") return login;
      return times === 1 ? undefined : [200, {}];
    };
    const session = new Session(connection, CREDENTIALS);
    for (const method of ["GET", "DELETE"]) await session.request(method, "/x", z.object({}));
    for (const method of ["POST", "PUT", "PATCH"]) {
      const problem = await session.request(method, "/x", z.object({})).catch((error: unknown) => error);
      expect(problem).to.have.property("name", "UnknownOutcome");
      expect(timesOf(`${method} /x`)).to.equal(1);
    }
    await session.request("POST", "/x", z.object({}), { repeat: "anew" });
    expect([timesOf("GET /x"), timesOf("DELETE /x")]).to.deep.equal([2, 2]);
  });

  it("never repeat a login with a one-time password", async () => {
    reply = () => undefined;
    const session = new Session(connection, { ...CREDENTIALS, code: () => "123456" });
    const problem = await session.login().catch((error: unknown) => error);
    expect(problem).to.have.property("name", "UnknownOutcome");
    expect(received).to.deep.equal(["POST /v3/session"]);
  });

  it("log in after a lost registration, and register again when that is refused", async () => {
    let isRegistered = true;
    reply = (request, times) => {
      if (request === "POST /v3/session/register") {
        return times === 1 ? undefined : [201, { traderId: TRADER, email: CREDENTIALS.email }];
      }
      if (request === "GET /v3/session") return [200, ME];
      return isRegistered ? login : [401, { code: "INVALID_CREDENTIALS", message: "" }];
    };
    expect(await new Session(connection, CREDENTIALS).register()).to.include({ traderId: TRADER });
    expect(timesOf("POST /v3/session/register")).to.equal(1);
    [isRegistered, received] = [false, []];
    expect(await new Session(connection, CREDENTIALS).register()).to.include({ traderId: TRADER });
    expect(timesOf("POST /v3/session/register")).to.equal(2);
  });

  it("take NO_CHANGE of a verification for success, because an earlier one has taken effect", async () => {
    reply = (request, times) => {
      if (request === "POST /v3/session") return login;
      return times === 1 ? undefined : [409, { code: "NO_CHANGE", message: "" }];
    };
    await new OperatorClient(connection, CREDENTIALS).verifyTrader(TRADER);
    expect(timesOf(`POST /admin/v1/traders/${TRADER}/kyc`)).to.equal(2);
  });
});

import { expect } from "chai";
import { startProxy, type Proxy } from "../../support/proxy.js";
import { startStack, type Stack } from "../../support/stack.js";
import { until, untilWithin } from "../../support/until.js";
import { bearerCalls, type Calls } from "../calls.js";
import { send, type Answer } from "../requests.js";

describe("the public status", function () {
  this.timeout(60_000);
  let stack: Stack;
  let redis: Proxy | undefined;
  let postgres: Proxy | undefined;
  let operator: Calls;

  const status = (): Promise<Answer> => send(stack.url, { target: "/v3/public/status" });
  const up = (): Promise<boolean> => untilWithin(15_000, async () => (await status()).json["state"] === "UP");

  before(async () => {
    stack = await startStack({
      via: {
        redis: async (url) => (redis = await startProxy(url)).url,
        database: async (url) => (postgres = await startProxy(url)).url,
      },
    });
    operator = bearerCalls(stack.url, await stack.operatorToken());
    const planned = {
      title: "Planned maintenance",
      body: "An hour on Monday.",
      effectiveTs: 1_900_000_000_000,
    };
    expect((await operator("POST /admin/v1/changelog", planned)).status).to.equal(201);
    await up();
  });
  after(async () => {
    redis?.heal();
    postgres?.heal();
    await stack.stop();
    await redis?.close();
    await postgres?.close();
  });

  it("shows that everything works, and what is announced", async () => {
    const { status: code, json } = await until(status, ({ text }) => text.includes("Planned"));
    expect(code).to.equal(200);
    expect(json).to.include({
      state: "UP",
      trading: "OPEN",
      lists: "CURRENT",
      accounts: true,
      maintenance: null,
    });
    expect(json["announcements"]).to.have.nested.property("[0].title", "Planned maintenance");
  });

  it("shows maintenance and its message", async () => {
    await operator("POST /admin/v1/maintenance", { action: "begin", message: "back at noon" });
    const { json } = await until(status, ({ json: seen }) => seen["state"] === "MAINTENANCE");
    expect(json)
      .to.include({ trading: "CANCELS" })
      .and.have.nested.property("maintenance.message", "back at noon");
    await operator("POST /admin/v1/maintenance", { action: "end" });
    await up();
  });

  it("answers without Postgres, with the announcements that were read before", async () => {
    postgres?.cut();
    try {
      const { status: code, json } = await until(status, ({ json: seen }) => seen["lists"] === "AWAY");
      expect(code).to.equal(200);
      expect(json).to.include({ state: "DEGRADED", trading: "OPEN", accounts: false });
      expect(json["announcements"]).to.have.nested.property("[0].title", "Planned maintenance");
    } finally {
      postgres?.heal();
    }
    await up();
  });

  it("answers without Redis", async () => {
    redis?.cut();
    try {
      const { status: code, json } = await until(status, ({ json: seen }) => seen["trading"] === "CLOSED");
      expect(code).to.equal(200);
      expect(json).to.include({ state: "DOWN", lists: "AWAY", lag: null });
    } finally {
      redis?.heal();
    }
    await up();
  });
});

describe("the public status without workers", function () {
  this.timeout(60_000);
  let stack: Stack;
  before(async () => {
    stack = await startStack({ actors: "elsewhere" });
  });
  after(() => stack.stop());

  it("says that nobody can trade", async () => {
    const { status, json } = await send(stack.url, { target: "/v3/public/status" });
    expect(status).to.equal(200);
    expect(json).to.include({ state: "DOWN", trading: "CLOSED" });
  });
});

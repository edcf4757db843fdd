import { expect } from "chai";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { eq } from "drizzle-orm";
import { connect, disconnect } from "../../../db/database.js";
import { deviceLocations } from "../../../db/schema/accounts.js";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { send, signed } from "../requests.js";
import { mmdb } from "../../support/mmdb.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestKey, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const DAY_MS = 86_400_000;

describe("a location check", function () {
  this.timeout(60_000);
  let stack: Stack;
  let directory: string;
  let operator: Calls;
  let trader: TestTrader;
  let device: Calls;
  let order: object;

  /** Sends a request through the trusted proxy, from this address. */
  const from = (ip: string, key: TestKey, line: string, body?: object) => {
    const [method = "", target = ""] = line.split(" ");
    const raw = signed(key, {
      method,
      target,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const headers = { ...(raw.headers as Record<string, string>), "X-Forwarded-For": ip };
    return send(stack.urls[1] ?? "", { ...raw, headers });
  };
  const geo = async (restrictedRegions: string[], networks: object[] = []): Promise<void> => {
    const answer = await operator("PUT /admin/v1/geo", { restrictedRegions, networks });
    expect(answer.status, answer.text).to.equal(200);
  };

  before(async () => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
    const file = path.join(directory, "all.mmdb");
    fs.writeFileSync(
      file,
      mmdb({
        "203.0.113.0/24": { country: { iso_code: "US" }, subdivisions: [{ iso_code: "WA" }] },
        "198.51.100.0/24": { is_tor_exit_node: true },
        "192.0.2.0/24": { is_anonymous: true, is_hosting_provider: true },
      }),
    );
    stack = await startStack({ gateways: 2, trustProxy: 1, geoIpFiles: [file] });
    operator = await operatorCalls(stack);
    trader = await newTrader(stack);
    device = bearerCalls(stack.url, await login(stack.url, trader.account));
    const { outcomes } = await newMarket(stack);
    order = { outcomeId: outcomes[0], price: "0.200", qty: 1, tif: "GTC" };
  });
  after(async () => {
    await stack.stop();
    fs.rmSync(directory, { recursive: true });
  });
  afterEach(async () => {
    await geo([]);
    await device("POST /v3/session/location", { region: "US-NY" });
    const calls = callsOf(stack.urls[1] ?? "", trader.trading);
    await until(
      () => calls("GET /v3/limits"),
      ({ status }) => status === 200,
    );
  });

  describe("of a device", () => {
    const cases: [string, object, string][] = [
      ["that found no location", { failed: true }, "GEOLOCATION_FAILED"],
      ["that names no region", {}, "INVALID_GEOLOCATION_REGION"],
      ["in a restricted region", { region: "US-WA" }, "RESTRICTED_GEOLOCATION_REGION"],
      ["in a restricted country", { region: "KP-01" }, "RESTRICTED_GEOLOCATION_REGION"],
    ];
    for (const [name, checkIn, code] of cases) {
      it(`${name} refuses reads and placements with 451, and no cancels, at every gateway`, async () => {
        await geo(["US-WA", "KP"]);
        expect(resultOf(await device("POST /v3/session/location", checkIn))).to.equal("200");
        for (const url of stack.urls) {
          const calls = callsOf(url, trader.trading);
          const refused = await until(
            () => calls("GET /v3/limits"),
            ({ status }) => status === 451,
          );
          expect(resultOf(refused)).to.equal(`451 ${code}`);
          expect(resultOf(await calls("POST /v3/orders", order))).to.equal(`451 ${code}`);
          expect(resultOf(await calls("DELETE /v3/orders"))).to.equal("200");
          expect(resultOf(await calls("DELETE /v3/orders/batch", { orderIds: [] }))).to.equal(
            "400 EMPTY_BATCH",
          );
        }
        expect(resultOf(await callsOf(stack.url, trader.management)("GET /v3/keys"))).to.equal(`451 ${code}`);
        expect(resultOf(await device("GET /v3/keys")), "a web session is no signed request").to.equal("200");
      });
    }

    it("that never checked in refuses every signed request but cancels", async () => {
      const db = connect(stack.databaseUrl);
      const fresh = await newTrader(stack);
      await db.delete(deviceLocations).where(eq(deviceLocations.traderId, fresh.account.traderId));
      await disconnect(db);
      const calls = callsOf(stack.urls[1] ?? "", fresh.trading);
      const refused = await calls("GET /v3/limits");
      expect(resultOf(refused)).to.equal("451 GEOLOCATION_EXPIRED");
      expect(refused.json["message"]).to.match(/3-day window/);
      expect(resultOf(await calls("POST /v3/orders", order))).to.equal("451 GEOLOCATION_EXPIRED");
      expect(resultOf(await calls("DELETE /v3/orders"))).to.equal("200");
    });

    it("that checked in more than three days ago refuses placements, and no reads", async () => {
      const db = connect(stack.databaseUrl);
      const place = async (ageMs: number): Promise<string> => {
        const late = await newTrader(stack);
        const { traderId } = late.account;
        await db
          .update(deviceLocations)
          .set({ ts: Date.now() - ageMs })
          .where(eq(deviceLocations.traderId, traderId));
        const calls = callsOf(stack.urls[1] ?? "", late.trading);
        expect(resultOf(await calls("GET /v3/limits"))).to.equal("200");
        return resultOf(await calls("POST /v3/orders", order));
      };
      expect(await place(3 * DAY_MS + 1_000)).to.equal("451 GEOLOCATION_EXPIRED");
      expect(await place(3 * DAY_MS - 60_000)).to.equal("201");
      await disconnect(db);
    });
  });

  describe("of a network", () => {
    it("in the files refuses Tor and restricted regions, and no data center", async () => {
      await geo(["US-WA"]);
      const limits = async (ip: string): Promise<string> =>
        resultOf(await from(ip, trader.trading, "GET /v3/limits"));
      expect(await limits("198.51.100.9")).to.equal("451 ANONYMIZED_NETWORK");
      expect(await limits("203.0.113.9")).to.equal("451 RESTRICTED_NETWORK_REGION");
      expect(await limits("192.0.2.9")).to.equal("200");
      expect(await limits("8.8.8.8")).to.equal("200");
      expect(await limits("127.0.0.1")).to.equal("200");
      expect(resultOf(await from("198.51.100.9", trader.trading, "DELETE /v3/orders"))).to.equal("200");
      expect(resultOf(await from("198.51.100.9", trader.trading, "POST /v3/orders", order))).to.equal(
        "451 ANONYMIZED_NETWORK",
      );
    });

    it("in the rules of the operator is in force at every gateway without a restart", async () => {
      await geo(
        ["US-WA"],
        [
          { cidr: "10.0.0.0/8", kind: "VPN" },
          { cidr: "2001:db8::/32", kind: "PROXY" },
          { cidr: "127.0.0.0/8", kind: "REGION", region: "US-WA" },
          { cidr: "203.0.113.0/25", kind: "REGION", region: "US-NY" },
        ],
      );
      const limits = async (ip: string): Promise<string> =>
        resultOf(await from(ip, trader.trading, "GET /v3/limits"));
      await until(
        () => from("10.1.2.3", trader.trading, "GET /v3/limits"),
        ({ status }) => status === 451,
      );
      expect(await limits("10.1.2.3")).to.equal("451 ANONYMIZED_NETWORK");
      expect(await limits("2001:db8::1")).to.equal("451 ANONYMIZED_NETWORK");
      expect(await limits("127.0.0.1")).to.equal("451 RESTRICTED_NETWORK_REGION");
      expect(await limits("203.0.113.1"), "the rules know better than the files").to.equal("200");
      expect(await limits("203.0.113.200")).to.equal("451 RESTRICTED_NETWORK_REGION");
      expect(await limits("11.0.0.1")).to.equal("200");
      await geo([]);
      const free = await until(
        () => from("10.1.2.3", trader.trading, "GET /v3/limits"),
        ({ status }) => status === 200,
      );
      expect(free.status).to.equal(200);
    });

    it("comes before that of the device", async () => {
      await device("POST /v3/session/location", { failed: true });
      expect(resultOf(await from("198.51.100.9", trader.trading, "GET /v3/limits"))).to.equal(
        "451 ANONYMIZED_NETWORK",
      );
    });
  });

  describe("by rules", () => {
    it("returns the rules as they were published, and records their author", async () => {
      const rules = {
        restrictedRegions: ["KP", "US-WA"],
        networks: [
          { cidr: "10.0.0.0/8", kind: "VPN" },
          { cidr: "10.0.0.0/9", kind: "REGION", region: "US-NY" },
          { cidr: "2001:db8::/32", kind: "TOR" },
        ],
      };
      const put = await operator("PUT /admin/v1/geo", rules);
      expect(put.json).to.deep.equal(rules);
      expect((await operator("GET /admin/v1/geo")).json).to.deep.equal(rules);
      const audit = await operator("GET /admin/v1/audit-log?limit=1");
      expect(audit.json["items"]).to.have.nested.property("[0].action", "geo.publish");
    });

    it("refuses malformed rules with the reason", async () => {
      const put = (networks: object[], restrictedRegions = ["US-WA"]) =>
        operator("PUT /admin/v1/geo", { restrictedRegions, networks });
      const refused: [object[], RegExp][] = [
        [[{ cidr: "10.0.0.1/8", kind: "VPN" }], /networks\[0\].cidr.* has bits/],
        [[{ cidr: "10.0.0.0/33", kind: "VPN" }], /CIDR/],
        [[{ cidr: "10.0.0.0/8", kind: "REGION" }], /region is missing/],
        [[{ cidr: "10.0.0.0/8", kind: "VPN", region: "US-NY" }], /leave it out/],
        [[{ cidr: "10.0.0.0/8", kind: "CLOUD" }], /networks\[0\].kind must be VPN/],
      ];
      for (const [networks, message] of refused) {
        const answer = await put(networks);
        expect(resultOf(answer)).to.equal("400 INVALID_BODY");
        expect(answer.json["message"]).to.match(message);
      }
      expect(resultOf(await put([], ["Washington"]))).to.equal("400 INVALID_BODY");
    });
  });
});

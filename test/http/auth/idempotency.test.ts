import { expect } from "chai";
import { type Format, LATEST_FORMAT } from "../../../actors/format.js";
import { Redis } from "ioredis";
import { bearerCalls, callsOf, operatorCalls, resultOf } from "../calls.js";
import { makeKey } from "../keys.js";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

/** Format in which the gateways keep all first answers, and the one in which the ledgers remember those of placements. */
const FORMATS_OF_ANSWERS: readonly Format[] = [2, LATEST_FORMAT];

for (const format of FORMATS_OF_ANSWERS)
  describe(`the same signed bytes at two gateways in format ${format}`, function () {
    this.timeout(60_000);
    let stack: Stack;
    let trader: TestTrader;
    let redis: Redis;
    before(async () => {
      stack = await startStack({ gateways: 2, metered: true, format });
      trader = await newTrader(stack);
      redis = new Redis(stack.redisUrl);
    });
    after(async () => {
      redis.disconnect();
      await stack.stop();
    });

    const place = (outcomeId: string, more: object = {}) =>
      signed(trader.trading, {
        method: "POST",
        target: "/v3/orders",
        body: JSON.stringify({ outcomeId, price: "0.200", qty: 5, tif: "GTC", ...more }),
      });
    const at = (index: number): string => stack.urls[index % stack.urls.length] ?? "";
    const openOrders = async (): Promise<unknown> =>
      (await callsOf(stack.url, trader.trading)("GET /v3/account/orders")).json["open"];
    const bodyOf = ({ status, text }: Answer): string => `${status} ${text}`;
    /** Removes the kept answer, as if the gateway had died after the effect and before it kept the answer. */
    const forgetAnswer = async (): Promise<void> => {
      for (const key of await redis.keys("*answers:*")) {
        await redis.hdel(key, "answer");
        await redis.hset(key, "owner", "a gateway that is gone", "untilMs", 0);
      }
    };

    beforeEach(async () => {
      for (const key of await redis.keys("*answers:*")) await redis.del(key);
      await callsOf(stack.url, trader.trading)("DELETE /v3/orders");
    });

    it("have one effect, one charge and one answer when they are sent a hundred times at once", async () => {
      const { outcomes } = await newMarket(stack);
      const calls = callsOf(stack.url, trader.trading);
      const before = (await calls("GET /v3/limits")).json["place"] as { remaining: number };
      const raw = place(outcomes[0]);
      const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => send(at(index), raw)));
      const first = answers.filter(({ status, headers }) => status === 201 && !headers.has("x-replayed"));
      expect(first).to.have.length(1);
      for (const answer of answers) {
        if (answer.status === 409) expect(resultOf(answer)).to.equal("409 REQUEST_IN_PROGRESS");
        else expect(answer.text).to.equal(first[0]?.text);
      }
      expect(await openOrders()).to.have.length(1);
      for (const url of stack.urls) {
        const again = await send(url, raw);
        expect(bodyOf(again)).to.equal(`201 ${first[0]?.text ?? ""}`);
        expect(again.headers.get("x-replayed")).to.equal("true");
        expect(again.headers.get("x-request-id")).to.not.equal(first[0]?.headers.get("x-request-id"));
      }
      const after = (await calls("GET /v3/limits")).json["place"] as { remaining: number };
      expect(after.remaining).to.be.within(before.remaining - 1, before.remaining + 10);
    });

    it("get the refusal of the route again after the cause is removed", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const operator = await operatorCalls(stack);
      await operator(`POST /admin/v1/markets/${marketId}/status`, { action: "pause" });
      const raw = place(outcomes[0]);
      const refused = await until(
        () => send(at(0), place(outcomes[0])),
        ({ status }) => status === 409,
      );
      expect(resultOf(refused)).to.equal("409 MARKET_PAUSED");
      const first = await send(at(0), raw);
      await operator(`POST /admin/v1/markets/${marketId}/status`, { action: "resume" });
      const fresh = await until(
        () => send(at(1), place(outcomes[0], { qty: 6 })),
        ({ status }) => status === 201,
      );
      expect(fresh.status).to.equal(201);
      const again = await send(at(1), raw);
      expect(bodyOf(again)).to.equal(bodyOf(first));
      expect(again.headers.get("x-replayed")).to.equal("true");
    });

    it("may be sent again after a refusal of the shape of the body", async () => {
      const { outcomes } = await newMarket(stack);
      const raw = place(outcomes[0]);
      const headers = raw.headers as Readonly<Record<string, string>>;
      const wrong = await send(at(0), { ...raw, headers: { ...headers, "Content-Type": "text/plain" } });
      expect(resultOf(wrong)).to.equal("400 INVALID_REQUEST");
      const right = await send(at(1), raw);
      expect(right.status, right.text).to.equal(201);
      expect(right.headers.has("x-replayed")).to.equal(false);
      for (const repeat of [raw, { ...raw, headers: { ...headers, "Content-Type": "text/plain" } }]) {
        const again = await send(at(0), repeat);
        expect(bodyOf(again)).to.equal(bodyOf(right));
        expect(again.headers.get("x-replayed")).to.equal("true");
      }
    });

    it("may be sent again after a refusal before the route", async () => {
      const { outcomes } = await newMarket(stack);
      const operator = await operatorCalls(stack);
      const path = `POST /admin/v1/traders/${trader.account.traderId}/state`;
      await operator(path, { state: "LOCKED", reason: "test" });
      const raw = place(outcomes[0]);
      await until(
        () => send(at(1), place(outcomes[0])),
        ({ status }) => status === 423,
      );
      expect(resultOf(await send(at(1), raw))).to.equal("423 ACCOUNT_LOCKED");
      await operator(path, { state: "ACTIVE", reason: "test" });
      const placed = await until(
        () => send(at(1), raw),
        ({ status }) => status === 201,
      );
      expect(placed.headers.has("x-replayed")).to.equal(false);
    });

    it("place an order once when a gateway dies before it answers, even if the market has changed since", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const operator = await operatorCalls(stack);
      const single = place(outcomes[0]);
      const first = await send(at(0), single);
      await forgetAnswer();
      expect(bodyOf(await send(at(1), single))).to.equal(bodyOf(first));
      expect(await openOrders()).to.have.length(1);

      const order = { outcomeId: outcomes[0], price: "0.200", qty: 5, tif: "GTC" };
      const batch = signed(trader.trading, {
        method: "POST",
        target: "/v3/orders/batch",
        body: JSON.stringify({ orders: [order, { ...order, price: "0.201" }, order] }),
      });
      const placed = await send(at(0), batch);
      expect(placed.status).to.equal(207);
      await operator(`POST /admin/v1/markets/${marketId}/status`, { action: "close" });
      await forgetAnswer();
      const again = await send(at(1), batch);
      expect(again.status, again.text).to.equal(207);
      expect(again.json["accepted"]).to.deep.equal(placed.json["accepted"]);
      expect(again.json["rejected"]).to.have.nested.property("[0].index", 1);
      await forgetAnswer();
      expect(bodyOf(await send(at(1), single))).to.equal(bodyOf(first));
    });

    it("take effect once on every other route that creates something", async () => {
      const operator = await operatorCalls(stack);
      const { traderId } = trader.account;
      await operator(`POST /admin/v1/traders/${traderId}/transactions`, {
        kind: "DEPOSIT",
        amount: "10",
        currency: "CASH",
        reason: "test",
      });
      const { keyId } = trader.trading.key;
      const once = async (method: string, target: string, key: TestTrader["trading"], body?: object) => {
        const raw = signed(key, {
          method,
          target,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const first = await send(at(0), raw);
        const second = await send(at(1), raw);
        expect(bodyOf(second), target).to.equal(bodyOf(first));
        expect(second.headers.get("x-replayed"), target).to.equal("true");
        await forgetAnswer();
        const third = await send(at(1), raw);
        expect(third.json["transferId"], target).to.equal(first.json["transferId"]);
        return first;
      };
      const transfer = `/v3/account/subaccounts/${keyId}/transfer`;
      const moved = await once("POST", transfer, trader.management, { direction: "fund", amount: "2.5" });
      expect(moved.status).to.equal(202);
      const balance = await callsOf(
        stack.url,
        trader.trading,
      )(`GET /v3/account/subaccounts/${keyId}/balance`);
      expect(balance.json["balance"]).to.equal("102.50000");
      const label = { label: "renamed" };
      expect(
        (await once("PATCH", `/v3/account/subaccounts/${keyId}`, trader.management, label)).status,
      ).to.equal(200);
      const bounds = { maxFilledQty: 1, windowMs: 1_000 };
      expect((await once("POST", "/v3/safety/groups", trader.trading, bounds)).status).to.equal(201);
      expect((await callsOf(stack.url, trader.trading)("GET /v3/safety/groups")).text).to.match(
        /^\[\{[^{]*\}\]$/,
      );
      const echo = signed(trader.trading, { method: "POST", target: "/v3/echo", body: '{"same": 1}' });
      const echoed = await send(at(0), echo);
      const echoedAgain = await send(at(1), echo);
      expect(bodyOf(echoedAgain)).to.equal(bodyOf(echoed));
      expect(echoedAgain.headers.get("x-replayed")).to.equal("true");
      expect(echoed.headers.has("x-replayed")).to.equal(false);
    });

    it("are kept under the hash tag of the key, and no longer than they can be repeated", async () => {
      const { keyId } = trader.management.key;
      const target = `/v3/account/subaccounts/${trader.trading.key.keyId}`;
      const body = JSON.stringify({ label: "kept" });
      await send(at(0), signed(trader.management, { method: "PATCH", target, body }));
      const [key = "", ...others] = await redis.keys("*answers:*");
      expect(others).to.deep.equal([]);
      expect(key).to.include(`{answers:${keyId}}`);
      expect(await redis.pttl(key)).to.be.within(60_000, 65_000);
    });

    it("may be sent again after a refusal of the location, the identity or the rate", async () => {
      const { outcomes } = await newMarket(stack);
      const operator = await operatorCalls(stack);
      const device = bearerCalls(stack.url, await login(stack.url, trader.account));
      const kyc = (status: string) =>
        operator(`POST /admin/v1/traders/${trader.account.traderId}/kyc`, { status, reason: "test" });
      const locate = (body: object) => device("POST /v3/session/location", body);
      const buckets = (): Promise<string[]> => redis.keys("*throttle:payer:*");
      const open = (): Raw => {
        const { publicKey, algorithm } = makeKey();
        const body = JSON.stringify({ label: "other", publicKey, algorithm });
        return signed(trader.management, { method: "POST", target: "/v3/account/subaccounts", body });
      };
      /** Leaves debts of 60 tokens; a level is stored in millionths of a token. */
      const owe = async (): Promise<void> => {
        await send(at(0), place(outcomes[0]));
        for (const bucket of await buckets()) await redis.set(bucket, `-60000000 ${Date.now()}000`);
      };
      const refusals: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
        ["451 GEOLOCATION_FAILED", () => locate({ failed: true }), () => locate({ region: "US-NY" })],
        ["403 KYC_REQUIRED", () => kyc("PENDING"), () => kyc("VERIFIED")],
        // The last one, because the first gateway goes on to refuse for a second.
        ["429 RATE_LIMIT_EXCEEDED", owe, async () => redis.del(await buckets())],
      ];
      for (const [result, refuse, admit] of refusals) {
        await refuse();
        await until(
          () => send(at(0), place(outcomes[0])),
          (answer) => resultOf(answer) === result,
        );
        const raws = [place(outcomes[0]), open()];
        for (const raw of raws) expect(resultOf(await send(at(0), raw)), raw.target).to.equal(result);
        await admit();
        for (const raw of raws) {
          const served = await until(
            () => send(at(1), raw),
            ({ status }) => status === 201,
          );
          expect(served.headers.has("x-replayed"), `${raw.target} after ${result}`).to.equal(false);
        }
      }
    });
  });

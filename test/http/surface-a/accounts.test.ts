import { expect } from "chai";
import jwt from "jsonwebtoken";
import { makeKey } from "../keys.js";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { operatorCalls } from "../calls.js";

const CREDENTIALS = { email: "Ann@Example.com", password: "a long password" };

function bearing(token: string, raw: Raw): Raw {
  const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
  return { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } };
}

function said({ status, json }: Answer): string {
  return `${status} ${String(json["code"])}`;
}

describe("web sessions", function () {
  this.timeout(60_000);
  let stack: Stack;
  const post = (target: string, body: object): Promise<Answer> =>
    send(stack.url, {
      method: "POST",
      target,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });

  before(async () => {
    stack = await startStack({ gateways: 2 });
  });
  after(() => stack.stop());

  it("need a registration, which an address has once in any letter case", async () => {
    const first = await post("/v3/session/register", CREDENTIALS);
    expect(first.status).to.equal(201);
    expect(first.json["email"]).to.equal("ann@example.com");
    expect(said(await post("/v3/session/register", { ...CREDENTIALS, email: "ANN@example.com" }))).to.equal(
      "409 EMAIL_TAKEN",
    );
    expect(said(await post("/v3/session/register", { email: "b@example.com", password: "short" }))).to.equal(
      "400 INVALID_BODY",
    );
    expect(
      said(await post("/v3/session/register", { email: "nobody", password: "a long password" })),
    ).to.equal("400 INVALID_BODY");
  });

  it("show the account, and end at every gateway with the sign-out", async () => {
    const token = await login(stack.url, CREDENTIALS);
    const me = await send(stack.url, bearing(token, { target: "/v3/session" }));
    expect(me.json).to.deep.include({
      email: "ann@example.com",
      role: "trader",
      kyc: "NONE",
      state: "ACTIVE",
      cash: { CASH: "0.00000", COIN: "0.00000" },
      location: null,
    });
    const [, other = ""] = stack.urls;
    expect((await send(other, bearing(token, { target: "/v3/session" }))).status).to.equal(200);
    const out = await send(stack.url, bearing(token, { method: "DELETE", target: "/v3/session" }));
    expect(out.status).to.equal(204);
    expect(said(await send(stack.url, bearing(token, { target: "/v3/session" })))).to.equal(
      "401 UNAUTHENTICATED",
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(said(await send(other, bearing(token, { target: "/v3/session" })))).to.equal(
      "401 UNAUTHENTICATED",
    );
  });

  it("end on every device with one request, and a new sign-in begins another", async () => {
    const [phone, desk] = [await login(stack.url, CREDENTIALS), await login(stack.url, CREDENTIALS)];
    const ended = await send(stack.url, bearing(phone, { method: "DELETE", target: "/v3/sessions" }));
    expect(ended.status).to.equal(204);
    for (const token of [phone, desk])
      expect(said(await send(stack.url, bearing(token, { target: "/v3/session" })))).to.equal(
        "401 UNAUTHENTICATED",
      );
    const again = await login(stack.url, CREDENTIALS);
    expect((await send(stack.url, bearing(again, { target: "/v3/session" }))).status).to.equal(200);
  });

  it("end too when they began a moment before, right after all earlier ones ended", async () => {
    for (let round = 0; round < 3; round += 1) {
      const [phone, desk] = [await login(stack.url, CREDENTIALS), await login(stack.url, CREDENTIALS)];
      await send(stack.url, bearing(phone, { method: "DELETE", target: "/v3/sessions" }));
      expect(said(await send(stack.url, bearing(desk, { target: "/v3/session" })))).to.equal(
        "401 UNAUTHENTICATED",
      );
    }
  });

  it("are refused alike for a wrong password and for an unknown address", async () => {
    const wrong = await post("/v3/session", { ...CREDENTIALS, password: "another password" });
    const unknown = await post("/v3/session", { email: "nobody@example.com", password: "another password" });
    expect(said(wrong)).to.equal("401 INVALID_CREDENTIALS");
    expect(unknown.text).to.equal(wrong.text);
  });

  it("record a device check-in", async () => {
    const token = await login(stack.url, CREDENTIALS);
    const body = JSON.stringify({ region: "US-NY", latitude: 40.7, longitude: -74 });
    const raw = bearing(token, { method: "POST", target: "/v3/session/location", body });
    expect((await send(stack.url, raw)).json).to.deep.include({
      region: "US-NY",
      failed: false,
      latitude: 40.7,
    });
    const kept = await send(stack.url, bearing(token, { target: "/v3/session/location" }));
    expect(kept.json["region"]).to.equal("US-NY");
  });

  it("open subaccounts and create their keys, once the identity is verified", async () => {
    const key = () => ({ publicKey: makeKey("Ed25519").publicKey, algorithm: "Ed25519" });
    const token = await login(stack.url, CREDENTIALS);
    const by = (method: string, target: string, body: object): Promise<Answer> =>
      send(stack.url, bearing(token, { method, target, body: JSON.stringify(body) }));
    const open = (label: string): Promise<Answer> =>
      by("POST", "/v3/account/subaccounts", { label, ...key() });
    expect(said(await open("early"))).to.equal("403 KYC_REQUIRED");
    const { traderId } = (await send(stack.url, bearing(token, { target: "/v3/session" }))).json;
    await (
      await operatorCalls(stack)
    )(`POST /admin/v1/traders/${String(traderId)}/kyc`, {
      status: "VERIFIED",
    });
    const opened = await until(
      () => open("page"),
      ({ status }) => status !== 403,
    );
    expect(opened.status, opened.text).to.equal(201);
    expect(opened.json).to.include({ label: "page", balance: "0.00000" });
    const path = `/v3/account/subaccounts/${String(opened.json["keyId"])}/keys`;
    const reading = await by("POST", path, { name: "reader", scope: "trading::read", ...key() });
    expect(reading.status).to.equal(201);
    expect(said(await by("POST", path, { name: "second", scope: "trading", ...key() }))).to.equal(
      "409 TRADING_KEY_EXISTS",
    );
    const other = await newTrader(stack);
    const foreign = `/v3/account/subaccounts/${other.account.tradingKey.keyId}/keys`;
    expect(said(await by("POST", foreign, { name: "x", scope: "trading", ...key() }))).to.equal(
      "404 SUBACCOUNT_NOT_FOUND",
    );
  });

  it("read what the read keys of their trader may, and change nothing", async () => {
    const [trader, other] = [await newTrader(stack), await newTrader(stack)];
    const { outcomes, marketId } = await newMarket(stack);
    const order = { outcomeId: outcomes[0], price: "0.250", qty: 4, tif: "GTC" };
    const body = JSON.stringify(order);
    const placed = await send(
      stack.url,
      signed(trader.trading, { method: "POST", target: "/v3/orders", body }),
    );
    const orderId = String(placed.json["orderId"]);
    const token = await login(stack.url, trader.account);
    const { keyId } = trader.trading.key;
    const reads = [
      "/v3/limits",
      "/v3/account/subaccounts",
      `/v3/account/subaccounts/${keyId}/balance`,
      `/v3/account/subaccounts/${keyId}/transactions`,
      "/v3/history/markets",
      `/v3/catalog/markets/${marketId}`,
      "/v3/ticks",
      ...["account/orders", "account/positions", "portfolio/fills", "portfolio/positions", "orders"].map(
        (path) => `/v3/${path}?subaccount=${keyId}`,
      ),
      `/v3/orders/${orderId}?subaccount=${keyId}`,
    ];
    for (const target of reads) {
      const answer = await send(stack.url, bearing(token, { target }));
      expect(answer.status, `${target} ${answer.text}`).to.equal(200);
    }
    const open = await send(stack.url, bearing(token, { target: `/v3/account/orders?subaccount=${keyId}` }));
    expect(open.json["open"]).to.have.nested.property("[0].orderId", orderId);
    const preview = { method: "POST", target: `/v3/orders/preview?subaccount=${keyId}`, body };
    expect((await send(stack.url, bearing(token, preview))).json).to.have.property("reserve", "0.01000");

    const wrong: readonly (readonly [string, string])[] = [
      ["", "400 INVALID_QUERY"],
      [`?subaccount=${other.trading.key.keyId}`, "404 SUBACCOUNT_NOT_FOUND"],
      [`?subaccount=${trader.management.key.keyId}`, "400 NOT_A_SUBACCOUNT_KEY"],
    ];
    for (const [query, result] of wrong)
      expect(
        said(await send(stack.url, bearing(token, { target: `/v3/account/orders${query}` }))),
        query,
      ).to.equal(result);
    const own = await send(
      stack.url,
      signed(trader.trading, { target: `/v3/account/orders?subaccount=${keyId}` }),
    );
    expect(own.json["open"]).to.have.length(1);

    const changes: readonly Raw[] = [
      { method: "POST", target: "/v3/orders", body },
      { method: "PATCH", target: `/v3/orders/${orderId}`, body: '{"qty":1}' },
      { method: "DELETE", target: `/v3/orders/${orderId}` },
      { method: "DELETE", target: "/v3/orders" },
      { method: "POST", target: "/v3/safety/heartbeat", body: '{"timeoutMs":0}' },
    ];
    for (const raw of changes)
      expect(said(await send(stack.url, bearing(token, raw))), raw.target).to.equal("401 SIGNATURE_REJECTED");
  });

  it("of a trader do not reach the operator's routes, and forged tokens reach no route", async () => {
    const token = await login(stack.url, CREDENTIALS);
    const claims = jwt.decode(token) as jwt.JwtPayload;
    expect(said(await send(stack.url, bearing(token, { target: "/admin/v1/money" })))).to.equal(
      "403 FORBIDDEN",
    );
    const unsigned = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const operatorClaims = { ...claims, role: "operator" };
    const forged = [
      `${unsigned({ alg: "none", typ: "web+jwt" })}.${unsigned(operatorClaims)}.`,
      jwt.sign(operatorClaims, "another secret that is long enough too", {
        header: { alg: "HS256", typ: "web+jwt" },
      }),
      `${token}x`,
    ];
    for (const attempt of forged) {
      const answer = await send(stack.url, bearing(attempt, { target: "/admin/v1/money" }));
      expect(said(answer)).to.equal("401 UNAUTHENTICATED");
    }
  });
});

describe("keys, subaccounts and transfers", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  const manage = (method: string, target: string, body?: object): Promise<Answer> =>
    send(
      stack.url,
      signed(trader.management, {
        method,
        target,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const key = () => ({ publicKey: makeKey("Ed25519").publicKey, algorithm: "Ed25519" });

  before(async () => {
    stack = await startStack();
    trader = await newTrader(stack);
  });
  after(() => stack.stop());

  it("list the live keys", async () => {
    const keys = (await manage("GET", "/v3/keys")).json as unknown as {
      scope: string;
      restriction: string | null;
    }[];
    expect(keys.map(({ scope, restriction }) => [scope, restriction])).to.deep.equal([
      ["management", null],
      ["trading", "main"],
    ]);
  });

  it("let a management key create read keys with a future expiry, and refuse a second management key", async () => {
    const minted = await manage("POST", "/v3/keys", { name: "reader", ...key() });
    expect(minted.status).to.equal(201);
    const one = await manage("GET", `/v3/keys/${String(minted.json["keyId"])}`);
    expect(one.json).to.include({ scope: "management::read", fingerprint: minted.json["fingerprint"] });
    const late = { name: "late", ...key(), expiresAt: Date.now() - 1_000 };
    expect(said(await manage("POST", "/v3/keys", late))).to.equal("400 INVALID_BODY");
    const token = await login(stack.url, trader.account);
    const body = JSON.stringify({ name: "second", ...key() });
    const second = await send(stack.url, bearing(token, { method: "POST", target: "/v3/keys", body }));
    expect(said(second)).to.equal("409 MANAGEMENT_KEY_EXISTS");
    const expiring = JSON.stringify({ name: "second", ...key(), expiresAt: Date.now() + 60_000 });
    const refused = await send(
      stack.url,
      bearing(token, { method: "POST", target: "/v3/keys", body: expiring }),
    );
    expect(said(refused)).to.equal("400 INVALID_REQUEST");
  });

  it("refuse a public key that is live already, and create one key from the same signed bytes", async () => {
    const material = key();
    const raw = signed(trader.management, {
      method: "POST",
      target: "/v3/keys",
      body: JSON.stringify({ name: "once", ...material }),
    });
    const first = await send(stack.url, raw);
    const second = await send(stack.url, raw);
    expect(`${second.status} ${second.text}`).to.equal(`201 ${first.text}`);
    expect(said(await manage("POST", "/v3/keys", { name: "again", ...material }))).to.equal("409 KEY_EXISTS");
  });

  it("replace the trading key of a subaccount after its revocation", async () => {
    const { keyId } = trader.account.tradingKey;
    const mint = (scope: string): Promise<Answer> =>
      manage("POST", `/v3/account/subaccounts/${keyId}/keys`, { name: scope, scope, ...key() });
    expect(said(await mint("trading"))).to.equal("409 TRADING_KEY_EXISTS");
    expect((await mint("trading::read")).status).to.equal(201);
    const { keyId: management } = trader.account.managementKey;
    const wrong = await manage("POST", `/v3/account/subaccounts/${management}/keys`, {
      name: "x",
      scope: "trading",
      ...key(),
    });
    expect(said(wrong)).to.equal("400 NOT_A_SUBACCOUNT_KEY");
  });

  it("allow five subaccounts, and answer for another trader's as for a missing one", async () => {
    for (let i = 2; i <= 5; i += 1) {
      expect((await manage("POST", "/v3/account/subaccounts", { label: `s${i}`, ...key() })).status).to.equal(
        201,
      );
    }
    const sixth = await manage("POST", "/v3/account/subaccounts", { label: "s6", ...key() });
    expect(said(sixth)).to.equal("400 INVALID_REQUEST");
    const other = await newTrader(stack);
    const foreign = await manage("GET", `/v3/account/subaccounts/${other.account.tradingKey.keyId}/balance`);
    const missing = await manage(
      "GET",
      "/v3/account/subaccounts/6f9619ff-8b86-4011-b42d-00c04fc964ff/balance",
    );
    expect(said(foreign)).to.equal("404 SUBACCOUNT_NOT_FOUND");
    expect(foreign.text).to.equal(missing.text);
  });

  it("change a label, and let a trading key reach its own subaccount only", async () => {
    const { keyId } = trader.account.tradingKey;
    const relabelled = await manage("PATCH", `/v3/account/subaccounts/${keyId}`, { label: "renamed" });
    expect(relabelled.json).to.deep.equal({ keyId, label: "renamed", balance: "100.00000" });
    const list = (await manage("GET", "/v3/account/subaccounts")).json as unknown as {
      keyId: string;
      label: string;
    }[];
    const second = list.find(({ label }) => label === "s2")?.keyId ?? "";
    const raw = signed(trader.trading, { target: `/v3/account/subaccounts/${second}/balance` });
    expect(said(await send(stack.url, raw))).to.equal("403 SIGNATURE_REJECTED");
  });

  it("list settled markets of visible events only", async () => {
    const operator = await operatorCalls(stack);
    const [shown, hidden] = [await newMarket(stack), await newMarket(stack, "PUSH", false)];
    for (const { marketId } of [shown, hidden]) {
      await operator(`POST /admin/v1/markets/${marketId}/grade`, { push: true });
      await until(
        () => operator(`GET /admin/v1/markets/${marketId}`),
        ({ json }) => json["status"] === "SETTLED",
      );
    }
    const { json } = await send(stack.url, signed(trader.trading, { target: "/v3/history/markets" }));
    const ids = (json["items"] as { marketId: string }[]).map(({ marketId }) => marketId);
    expect(ids).to.deep.equal([shown.marketId]);
  });

  it("list the transactions of both currencies, unless one is named", async () => {
    const both = await newTrader(stack);
    const { keyId } = both.trading.key;
    const deposit = {
      kind: "DEPOSIT",
      amount: "7",
      currency: "COIN",
      reason: "test",
      subaccountKeyId: keyId,
    };
    const operator = await operatorCalls(stack);
    const path = `POST /admin/v1/traders/${both.account.traderId}/transactions`;
    expect((await operator(path, deposit)).status).to.equal(201);
    const listed = async (query: string): Promise<unknown[]> => {
      const target = `/v3/account/subaccounts/${keyId}/transactions${query}`;
      const { json } = await send(stack.url, signed(both.trading, { target }));
      return (json["items"] as { kind: string; currency?: string }[]).map(({ kind, currency }) => [
        kind,
        currency,
      ]);
    };
    const [coin, cash] = [
      ["DEPOSIT", "COIN"],
      ["TRANSFER_IN", undefined],
    ];
    expect(await listed("")).to.deep.equal([coin, cash]);
    expect(await listed("?currency=COIN")).to.deep.equal([coin]);
    expect(await listed("?currency=CASH")).to.deep.equal([cash]);
  });

  it("move exactly the amount of a transfer or reject it, once per client id", async () => {
    const { keyId } = trader.account.tradingKey;
    const target = `/v3/account/subaccounts/${keyId}/transfer`;
    const first = await manage("POST", target, {
      direction: "defund",
      amount: "0.00001",
      clientTransferId: "a",
    });
    expect(first.status).to.equal(202);
    expect(first.json).to.include({ status: "Applied", amount: "0.00001", actualBalance: null });
    const again = await manage("POST", target, {
      direction: "defund",
      amount: "0.00001",
      clientTransferId: "a",
    });
    expect(again.json).to.deep.equal(first.json);
    const read = await manage(
      "GET",
      `/v3/account/subaccounts/${keyId}/transfers/${String(first.json["transferId"])}`,
    );
    expect(read.json).to.deep.equal({ ...first.json, subaccountKeyId: keyId });
    const tooMuch = await manage("POST", target, { direction: "fund", amount: "5000" });
    expect(tooMuch.json).to.include({ status: "Rejected", actualBalance: "0.00001" });
    for (const amount of ["0", "-1", "0.000001", "1e2", "", "1,5"]) {
      expect(said(await manage("POST", target, { direction: "fund", amount })), amount).to.equal(
        "400 INVALID_BODY",
      );
    }
  });
});

describe("transfers of COIN", function () {
  this.timeout(60_000);

  /** Returns the calls of a trader whose own wallet holds 7 COIN. */
  const holderOfCoins = async (stack: Stack) => {
    const { account, management } = await newTrader(stack);
    const operator = await operatorCalls(stack);
    const deposit = { kind: "DEPOSIT", amount: "7", currency: "COIN", reason: "test" };
    const path = `POST /admin/v1/traders/${account.traderId}/transactions`;
    expect((await operator(path, deposit)).status).to.equal(201);
    const base = `/v3/account/subaccounts/${account.tradingKey.keyId}`;
    const transfer = (body: object): Promise<Answer> =>
      send(
        stack.url,
        signed(management, { method: "POST", target: `${base}/transfer`, body: JSON.stringify(body) }),
      );
    const read = (path: string): Promise<Answer> =>
      send(stack.url, signed(management, { target: `${base}${path}` }));
    return { transfer, read };
  };

  it("move COIN and no CASH, and say so", async () => {
    const stack = await startStack();
    try {
      const { transfer, read } = await holderOfCoins(stack);
      const moved = await transfer({ direction: "fund", amount: "5", currency: "COIN" });
      expect(moved.json).to.include({ status: "Applied", amount: "5.00000", currency: "COIN" });
      const one = await read(`/transfers/${String(moved.json["transferId"])}`);
      expect(one.json).to.include({ ...moved.json });
      expect((await read("/balance?currency=COIN")).json).to.include({ balance: "5.00000" });
      expect((await read("/balance")).json).to.include({ balance: "100.00000" });
      const tooMuch = await transfer({ direction: "fund", amount: "3", currency: "COIN" });
      expect(tooMuch.json).to.include({ status: "Rejected", actualBalance: "2.00000", currency: "COIN" });
      const cash = await transfer({ direction: "defund", amount: "1", currency: "CASH" });
      expect(cash.json).to.include({ status: "Applied" }).and.not.to.have.property("currency");
      expect((await transfer({ direction: "fund", amount: "1", currency: "USD" })).status).to.equal(400);
    } finally {
      await stack.stop();
    }
  });

  it("wait while a role reads no currency in transfers", async () => {
    const stack = await startStack({ format: 3 });
    try {
      const { transfer, read } = await holderOfCoins(stack);
      const refused = await transfer({ direction: "fund", amount: "5", currency: "COIN" });
      expect(said(refused)).to.equal("503 UNAVAILABLE");
      expect((await read("/balance?currency=COIN")).json).to.include({ balance: "0.00000" });
      const cash = await transfer({ direction: "defund", amount: "1" });
      expect(cash.json).to.include({ status: "Applied" });
    } finally {
      await stack.stop();
    }
  });
});

describe("buckets of a key", function () {
  this.timeout(60_000);
  let stack: Stack;
  before(async () => {
    stack = await startStack({ metered: true });
  });
  after(() => stack.stop());

  it("grant their capacity, and then refuse with the time to wait", async () => {
    const trader = await newTrader(stack);
    const read = (): Promise<Answer> =>
      send(stack.url, signed(trader.trading, { target: "/v3/types/sports" }));
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 200 }, read));
    const seconds = (performance.now() - began) / 1_000;
    const granted = answers.filter(({ status }) => status === 200);
    expect(granted.length).to.be.within(64, 65 + 16 * seconds);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json["code"]).to.equal("RATE_LIMIT_EXCEEDED");
    expect(refused?.headers.get("retry-after")).to.equal("1");
    expect(refused?.headers.get("x-ratelimit-cost")).to.equal("0");
  });

  it("are charged after the check of the scope and before the check of the account", async () => {
    const trader = await newTrader(stack);
    const target = "/v3/types/sports";
    await Promise.all(Array.from({ length: 90 }, () => send(stack.url, signed(trader.trading, { target }))));
    const orders = await send(stack.url, signed(trader.management, { target: "/v3/orders" }));
    expect(said(orders)).to.equal("403 SIGNATURE_REJECTED");
  });
});

import { type ChildProcess, fork } from "node:child_process";
import { createHash } from "node:crypto";
import path from "node:path";
import { expect } from "chai";
import pg from "pg";
import { WebSocket } from "ws";
import { median } from "../../../scripts/bench/table.js";
import { codeAt } from "../../../http/auth/totp.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { TokenBuckets } from "../../../stream/services/token-buckets.js";
import { login, OPERATOR as FIRST_OPERATOR, startStack, type Stack } from "../../support/stack.js";
import { newTrader } from "../../support/traders.js";
import { until, untilWithin } from "../../support/until.js";
import { bearerCalls, operatorCalls, resultOf, type Calls } from "../calls.js";
import { send, type Answer } from "../requests.js";

interface Login {
  readonly email: string;
  readonly password: string;
  readonly code?: string;
}

/** Signs in from an address, which the only proxy in front of the gateway reports. */
function signIn(url: string, body: Login, from = "198.51.100.1"): Promise<Answer> {
  return send(url, {
    method: "POST",
    target: "/v3/session",
    headers: { "Content-Type": "application/json", "X-Forwarded-For": from },
    body: JSON.stringify(body),
  });
}

/** Time of the flood, in s; `SIGN_IN_FLOOD_SECONDS=60` is the long form, with the passwords of production. */
const FLOOD_SECONDS = Number(process.env["SIGN_IN_FLOOD_SECONDS"] ?? 0);
const FAILURES_PER_SECOND = 500;
/** Rate at which the guesses are sent. Of the long form, those whose answers are on their way have not failed yet. */
const GUESSES_PER_SECOND = FLOOD_SECONDS > 0 ? 520 : 150;
/** Longest sign-in of the operator, in ms, and the median beside other tests, which take most of the cores. */
const OPERATOR_MS = FLOOD_SECONDS > 0 ? 1_000 : 2_000;
const OPERATOR = { email: FIRST_OPERATOR.email, password: FIRST_OPERATOR.password };
const GUESS = { email: OPERATOR.email, password: "guess guess" };

/** Guesses of a process of its own. */
class Guesses {
  readonly #child: ChildProcess;
  /** Number of each answer. */
  answers: Readonly<Record<string, number>> = {};

  constructor(url: string, email: string) {
    const entry = path.join(import.meta.dirname, "guesses.ts");
    // Beside other tests a process that yields would send next to nothing.
    const priority = FLOOD_SECONDS > 0 ? "yields" : "equal";
    this.#child = fork(entry, [url, email, String(GUESSES_PER_SECOND), priority], {
      execArgv: ["--import", "tsx"],
      detached: true,
    });
    this.#child.on("message", (answers: Readonly<Record<string, number>>) => (this.answers = answers));
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get count(): number {
    return Object.values(this.answers).reduce((sum, one) => sum + one, 0);
  }

  stop(): void {
    this.#child.kill();
  }
}

/** Prints how long the operator waited at other addresses. */
function report(failuresPerSecond: number, times: readonly number[]): void {
  console.log(
    `${Math.round(failuresPerSecond)} failures/s from 50 addresses, ${times.length} sign-ins of the operator from others: ` +
      `p50 ${Math.round(median(times))} ms, longest ${Math.round(Math.max(...times))} ms`,
  );
}

describe("the failures of sign-ins", function () {
  this.timeout(300_000 + 3_000 * FLOOD_SECONDS);
  let stack: Stack;

  beforeEach(async () => {
    stack = await startStack({ trustProxy: 1, realPasswords: FLOOD_SECONDS > 0 });
  });
  afterEach(() => stack.stop());

  it(`at ${GUESSES_PER_SECOND} a second from 50 addresses do not keep an operator out at another one`, async () => {
    const guesses = new Guesses(stack.url, GUESS.email);
    const times: number[] = [];
    try {
      await untilWithin(50_000, () => guesses.count >= GUESSES_PER_SECOND);
      const [start, before] = [performance.now(), guesses.count];
      for (let address = 51; address < 51 + Math.max(5, FLOOD_SECONDS); address += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        const began = performance.now();
        expect(resultOf(await signIn(stack.url, OPERATOR, `192.0.2.${address}`))).to.equal("200");
        times.push(performance.now() - began);
      }
      const answered = guesses.count;
      await untilWithin(5_000, () => guesses.count > answered);
      expect(guesses.isRunning, "the flood goes on").to.equal(true);
      const failuresPerSecond = ((guesses.count - before) * 1_000) / (performance.now() - start);
      if (FLOOD_SECONDS > 0) {
        report(failuresPerSecond, times);
        expect(failuresPerSecond).to.be.at.least(FAILURES_PER_SECOND);
      }
    } finally {
      guesses.stop();
    }
    expect(FLOOD_SECONDS > 0 ? Math.max(...times) : median(times)).to.be.below(OPERATOR_MS);
    // A guess that finds no place in the queue of passwords is not counted as a failure of the account.
    const { "401 INVALID_CREDENTIALS": checked = 0, ...refused } = guesses.answers;
    expect(["429 RATE_LIMIT_EXCEEDED", "503 UNAVAILABLE"]).to.include.members(Object.keys(refused));
    expect(checked, "ten of each address, and a few more in time").to.be.within(
      FLOOD_SECONDS > 0 ? 1 : 100,
      600 + 2 * FLOOD_SECONDS,
    );
  });

  it("are counted by account and address, of which an IPv6 network of 64 bits is one", async () => {
    const results: string[] = [];
    for (let i = 1; i <= 12; i += 1) results.push(resultOf(await signIn(stack.url, GUESS, `2001:db8::${i}`)));
    expect(results.slice(0, 10)).to.deep.equal(Array(10).fill("401 INVALID_CREDENTIALS"));
    expect(results.at(-1)).to.equal("429 RATE_LIMIT_EXCEEDED");
    expect(resultOf(await signIn(stack.url, OPERATOR, "2001:db8::ffff"))).to.equal("429 RATE_LIMIT_EXCEEDED");
    expect(resultOf(await signIn(stack.url, OPERATOR, "2001:db8:0:1::1"))).to.equal("200");
    expect(resultOf(await signIn(stack.url, { ...GUESS, email: "x@example.com" }, "2001:db8::1"))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
  });

  it("use up the rate of an account from everywhere but the addresses that the account knows", async () => {
    expect(resultOf(await signIn(stack.url, OPERATOR, "203.0.113.1"))).to.equal("200");
    const services = new ServiceConnection({ url: stack.redisUrl });
    const account = createHash("sha256").update(OPERATOR.email).digest("base64url");
    const bucket = { name: "failures of an account", capacity: 1_000, refill: 120, periodMs: 60_000 };
    const spendings = [{ bucket, cost: 1_000, owed: true }];
    await new TokenBuckets(services).spend(`web-account:${account}`, spendings);
    services.close();
    expect(resultOf(await signIn(stack.url, OPERATOR, "203.0.113.2"))).to.equal("429 RATE_LIMIT_EXCEEDED");
    expect(resultOf(await signIn(stack.url, OPERATOR, "203.0.113.1"))).to.equal("200");
  });

  it("do not include the sign-ins that succeed, nor those without a code", async () => {
    for (let i = 0; i < 15; i += 1) expect(resultOf(await signIn(stack.url, OPERATOR))).to.equal("200");
  });
});

describe("the password of an account", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack({ gateways: 2 });
  });
  after(() => stack.stop());

  it("changes, which ends every other session on every gateway, and their sockets", async () => {
    const { account, trading } = await newTrader(stack);
    const [first, second] = [await login(stack.url, account), await login(stack.url, account)];
    const other = bearerCalls(stack.urls[1] ?? "", second);
    const ticket = await other("POST /v3/ws/tickets", { keyId: trading.key.keyId });
    const socket = new WebSocket(
      `${(stack.urls[1] ?? "").replace("http", "ws")}/v3/ws?ticket=${String(ticket.json["ticket"])}`,
    );
    const closed = new Promise<string>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", (code, reason) => resolve(`${code} ${reason.toString()}`));
    });
    await new Promise((resolve) => socket.on("open", resolve));

    const calls = bearerCalls(stack.url, first);
    const body = { password: account.password, newPassword: "quite another password" };
    expect(resultOf(await calls("POST /v3/session/password", { ...body, password: "wrong" }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
    expect(resultOf(await calls("POST /v3/session/password", { ...body, newPassword: "short" }))).to.equal(
      "400 INVALID_BODY",
    );
    expect(resultOf(await other("GET /v3/session"))).to.equal("200");
    const changed = await calls("POST /v3/session/password", body);
    expect(resultOf(changed)).to.equal("200");

    expect(resultOf(await calls("GET /v3/session"))).to.equal("401 UNAUTHENTICATED");
    await until(
      () => other("GET /v3/session"),
      (answer) => resultOf(answer) === "401 UNAUTHENTICATED",
    );
    expect(await closed).to.equal("1008 SESSION_ENDED");
    for (const url of stack.urls) {
      const anew = bearerCalls(url, String(changed.json["token"]));
      expect(resultOf(await anew("GET /v3/session"))).to.equal("200");
    }
    const { email, password } = account;
    expect(resultOf(await signIn(stack.url, { email, password }))).to.equal("401 INVALID_CREDENTIALS");
    const token = await login(stack.url, { ...account, password: body.newPassword });
    expect(resultOf(await bearerCalls(stack.url, token)("GET /v3/session"))).to.equal("200");
  });

  it("of an operator changes with a record in the audit log, which has no password", async () => {
    const operator = await operatorCalls(stack);
    const made = { email: "third@example.com", password: "the first password", role: "viewer" };
    const { json } = await operator("POST /admin/v1/operators", made);
    const calls = bearerCalls(stack.url, await login(stack.url, made));
    const body = { password: made.password, newPassword: "the second password" };
    expect(resultOf(await calls("POST /v3/session/password", body))).to.equal("200");
    const log = await operator(`GET /admin/v1/audit-log?subject=${String(json["traderId"])}`);
    const [record] = log.json["items"] as readonly Readonly<Record<string, unknown>>[];
    expect(record).to.include({ action: "operator.password", operatorId: json["traderId"], before: null });
    expect(log.text).to.not.include("the second password");
  });
});

describe("an operator who is not active", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack({ gateways: 2 });
  });
  after(() => stack.stop());

  it("is out of every gateway at once, and cannot sign in", async () => {
    const operator = await operatorCalls(stack);
    const second = { email: "second@example.com", password: "another long password" };
    const made = await operator("POST /admin/v1/operators", { ...second, role: "viewer" });
    const token = await login(stack.url, second);
    const read = (url: string): Promise<Answer> => bearerCalls(url, token)("GET /admin/v1/money");
    for (const url of stack.urls) expect(resultOf(await read(url))).to.equal("200");
    const database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
    try {
      const set = "update traders set state = $1 where trader_id = $2";
      await database.query(set, ["LOCKED", made.json["traderId"]]);
      // No gateway receives an invalidation, and none may rely on it.
      for (const url of stack.urls) expect(resultOf(await read(url))).to.equal("401 UNAUTHENTICATED");
      expect(resultOf(await signIn(stack.url, second))).to.equal("423 ACCOUNT_LOCKED");
      await database.query(set, ["ACTIVE", made.json["traderId"]]);
      expect(resultOf(await signIn(stack.url, second))).to.equal("200");
    } finally {
      await database.end();
    }
  });
});

describe("the second factor of an operator", function () {
  this.timeout(60_000);
  let stack: Stack;
  let secret = "";
  let recoveryCodes: readonly string[] = [];
  /** Time of the one-time passwords; each is of another time step, because each may be used once. */
  let nowMs = 0;

  const calls = async (login_: Login): Promise<Calls> =>
    bearerCalls(stack.url, String((await signIn(stack.url, login_)).json["token"]));
  const nextCode = (): string => {
    nowMs += 30_000;
    return codeAt(secret, nowMs);
  };

  before(async () => {
    stack = await startStack({ exchangeEnv: "production", trustProxy: 1 });
    nowMs = Date.now() - 30_000;
  });
  after(() => stack.stop());

  it("is needed in production: before it is enrolled, an operator may do nothing else", async () => {
    const operator = await calls(OPERATOR);
    for (const line of ["GET /admin/v1/money", "GET /v3/session/location"])
      expect(resultOf(await operator(line)), line).to.equal("403 TOTP_NOT_ENROLLED");
    const body = { password: OPERATOR.password, newPassword: "another long password" };
    expect(resultOf(await operator("POST /v3/session/password", body))).to.equal("403 TOTP_NOT_ENROLLED");
    expect((await operator("GET /v3/session")).json).to.include({ role: "operator", totp: false });
  });

  it("is not offered to a trader, nor without the password", async () => {
    const trader = { email: "trader@example.com", password: "a long password" };
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify(trader);
    await send(stack.url, { method: "POST", target: "/v3/session/register", headers, body });
    const asked = { password: trader.password };
    expect(resultOf(await (await calls(trader))("POST /v3/session/totp", asked))).to.equal("403 FORBIDDEN");
    const operator = await calls(OPERATOR);
    expect(resultOf(await operator("POST /v3/session/totp", { password: "wrong" }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
    expect(resultOf(await operator("POST /v3/session/totp", { code: "123456" }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
  });

  it("is enrolled by a one-time password of the offered secret, which ends the sessions without it", async () => {
    const operator = await calls(OPERATOR);
    const offer = await operator("POST /v3/session/totp", { password: OPERATOR.password });
    secret = String(offer.json["secret"]);
    expect(String(offer.json["uri"])).to.include(`secret=${secret}`);
    expect(resultOf(await operator("POST /v3/session/totp", { code: "000000" }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
    expect(resultOf(await operator("GET /admin/v1/money"))).to.equal("403 TOTP_NOT_ENROLLED");
    const enrolled = await operator("POST /v3/session/totp", { code: nextCode() });
    recoveryCodes = enrolled.json["recoveryCodes"] as readonly string[];
    expect(recoveryCodes).to.have.length(10);
    expect(resultOf(await operator("GET /v3/session"))).to.equal("401 UNAUTHENTICATED");
    const anew = bearerCalls(stack.url, String(enrolled.json["token"]));
    expect(resultOf(await anew("GET /admin/v1/money"))).to.equal("200");
    expect((await anew("GET /v3/session")).json).to.include({ totp: true });
    const { json } = await anew("GET /admin/v1/audit-log?limit=1");
    expect(json).to.have.nested.property("items[0].action", "operator.totp");
  });

  it("is needed to sign in, and each one-time password works once", async () => {
    expect(resultOf(await signIn(stack.url, OPERATOR))).to.equal("401 TOTP_REQUIRED");
    expect(resultOf(await signIn(stack.url, { ...OPERATOR, code: "000000" }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
    const code = nextCode();
    expect(resultOf(await signIn(stack.url, { ...OPERATOR, password: "wrong", code }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
    const both = await Promise.all([1, 2].map(() => signIn(stack.url, { ...OPERATOR, code })));
    expect(both.map(resultOf).toSorted()).to.deep.equal(["200", "401 INVALID_CREDENTIALS"]);
  });

  it("has recovery codes, each of which works once", async () => {
    const [first = "", second = ""] = recoveryCodes;
    const by = (code: string): Promise<Answer> => signIn(stack.url, { ...OPERATOR, code });
    expect(resultOf(await by(first.toLowerCase()))).to.equal("200");
    expect(resultOf(await by(first))).to.equal("401 INVALID_CREDENTIALS");
    expect(resultOf(await by(second.replaceAll("-", "")))).to.equal("200");
  });

  it("is replaced with a code of the earlier one", async () => {
    const [, , third = "", fourth = ""] = recoveryCodes;
    const operator = await calls({ ...OPERATOR, code: third });
    const { password } = OPERATOR;
    expect(resultOf(await operator("POST /v3/session/totp", { password }))).to.equal("401 TOTP_REQUIRED");
    const offer = await operator("POST /v3/session/totp", { password, code: fourth });
    const code = codeAt(String(offer.json["secret"]), Date.now());
    const enrolled = await operator("POST /v3/session/totp", { code });
    expect(resultOf(enrolled)).to.equal("200");
    expect(resultOf(await signIn(stack.url, { ...OPERATOR, code: recoveryCodes[5] ?? "" }))).to.equal(
      "401 INVALID_CREDENTIALS",
    );
    const [fresh = ""] = enrolled.json["recoveryCodes"] as readonly string[];
    expect(resultOf(await signIn(stack.url, { ...OPERATOR, code: fresh }))).to.equal("200");
    recoveryCodes = (enrolled.json["recoveryCodes"] as readonly string[]).slice(1);
  });

  it("is not guessed by someone who has the password and many addresses, and keeps nobody out at a known one", async () => {
    const [first = "", second = ""] = recoveryCodes;
    const results: string[] = [];
    for (let i = 1; i <= 11; i += 1)
      results.push(resultOf(await signIn(stack.url, { ...OPERATOR, code: "000000" }, `2001:db8:${i}::1`)));
    expect(results).to.deep.equal([
      ...Array<string>(10).fill("401 INVALID_CREDENTIALS"),
      "429 RATE_LIMIT_EXCEEDED",
    ]);
    const right = { ...OPERATOR, code: first };
    expect(resultOf(await signIn(stack.url, right, "2001:db8:ff::1"))).to.equal("429 RATE_LIMIT_EXCEEDED");
    expect(resultOf(await signIn(stack.url, { ...OPERATOR, code: second }))).to.equal("200");
  });

  it("is encrypted in Postgres, and its recovery codes are digests", async () => {
    const database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
    try {
      const { rows } = await database.query<{ row: string }>("select t::text as row from traders t");
      const kept = rows.map(({ row }) => row).join("\n");
      for (const hidden of [
        secret,
        ...recoveryCodes,
        ...recoveryCodes.map((code) => code.replaceAll("-", "")),
      ])
        expect(kept.includes(hidden)).to.equal(false);
    } finally {
      await database.end();
    }
  });
});

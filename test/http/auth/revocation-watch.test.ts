import { expect } from "chai";
import pg from "pg";
import { WebSocket } from "ws";
import type { SigningKey } from "../../../http/client/client.js";
import { makeKey } from "../keys.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newTrader, upgradeHeaders, type TestTrader } from "../../support/traders.js";
import { send, signed } from "../requests.js";

/** Time within which the contract closes the sockets of a revoked caller, in ms. */
const PROMISED_MS = 5_000;

interface Open {
  readonly socket: WebSocket;
  readonly closed: Promise<string>;
}

describe("a socket whose caller is revoked", function () {
  this.timeout(60_000);
  let stack: Stack;
  let database: pg.Client;
  let trader: TestTrader;
  const sockets: WebSocket[] = [];

  before(async () => {
    stack = await startStack({ gateways: 2 });
    database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
  });

  beforeEach(async () => {
    trader = await newTrader(stack);
  });

  after(async () => {
    for (const socket of sockets) socket.terminate();
    await database.end();
    await stack.stop();
  });

  async function open(socket: WebSocket): Promise<Open> {
    sockets.push(socket);
    const closed = new Promise<string>((resolve) => {
      socket.on("close", (code, reason) => resolve(`${code} ${reason.toString()}`));
    });
    await new Promise((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return { socket, closed };
  }

  /** Opens a socket at the second gateway; the revocation is sent to the first. */
  function byKey(key: SigningKey): Promise<Open> {
    const headers = upgradeHeaders({ key, brand: stack.brand });
    return open(new WebSocket(`${(stack.urls[1] ?? "").replace("http", "ws")}/v3/ws`, { headers }));
  }

  async function post(target: string, token: string, body: object): Promise<number> {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    return (await send(stack.url, { method: "POST", target, headers, body: JSON.stringify(body) })).status;
  }

  /** Runs `end`, and returns the close reason of a socket after it has checked that the socket closed in time. */
  async function endOf(closed: Promise<string>, end: () => Promise<unknown>): Promise<string> {
    const began = Date.now();
    await end();
    const how = await closed;
    expect(Date.now() - began).to.be.below(PROMISED_MS);
    return how;
  }

  async function readKey(expiresInMs?: number): Promise<SigningKey> {
    const pair = makeKey();
    const target = `/v3/account/subaccounts/${trader.trading.key.keyId}/keys`;
    const { publicKey, algorithm } = pair;
    const expiresAt = expiresInMs === undefined ? {} : { expiresAt: Date.now() + expiresInMs };
    const body = { name: "reader", publicKey, algorithm, scope: "trading::read", ...expiresAt };
    const raw = { method: "POST", target, body: JSON.stringify(body) };
    const { json } = await send(stack.url, signed(trader.management, raw));
    return { ...pair, keyId: String(json["keyId"]) };
  }

  it("is closed when its key is revoked, and other sockets are not", async () => {
    const [own, other] = [await byKey(trader.trading.key), await byKey(await readKey())];
    const target = `/v3/keys/${trader.trading.key.keyId}`;
    const how = endOf(own.closed, () =>
      send(stack.url, signed(trader.management, { method: "DELETE", target })),
    );
    expect(await how).to.equal("1008 KEY_REVOKED");
    expect(other.socket.readyState).to.equal(WebSocket.OPEN);
  });

  it("is closed when its key expires", async () => {
    const { closed } = await byKey(await readKey(1_500));
    expect(await endOf(closed, () => Promise.resolve())).to.equal("1008 KEY_EXPIRED");
  });

  it("stays open while the account is excluded, and is closed when it is locked", async () => {
    const { traderId } = trader.account;
    const operator = await stack.operatorToken();
    const set = (state: string) =>
      post(`/admin/v1/traders/${traderId}/state`, operator, { state, reason: "a test" });
    const { socket, closed } = await byKey(trader.trading.key);
    await set("SELF_EXCLUDED");
    await set("EXCLUDED");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(socket.readyState).to.equal(WebSocket.OPEN);
    expect(await endOf(closed, () => set("LOCKED"))).to.equal("1008 ACCOUNT_LOCKED");
    await set("ACTIVE");
  });

  it("is closed when a device check-in fails", async () => {
    const token = await login(stack.url, trader.account);
    const { closed } = await byKey(trader.trading.key);
    const how = endOf(closed, () => post("/v3/session/location", token, { failed: true }));
    expect(await how).to.equal("1008 GEOLOCATION_FAILED");
  });

  it("is closed when its session ends, and stays open when another session ends", async () => {
    const tokens = [await login(stack.url, trader.account), await login(stack.url, trader.account)];
    const opened = await Promise.all(
      tokens.map(async (token) => {
        const headers = { Authorization: `Bearer ${token}` };
        const { json } = await send(stack.url, { method: "POST", target: "/v3/ws/tickets", headers });
        const url = `${(stack.urls[1] ?? "").replace("http", "ws")}/v3/ws?ticket=${String(json["ticket"])}`;
        return open(new WebSocket(url));
      }),
    );
    const [own, other] = opened;
    const headers = { Authorization: `Bearer ${tokens[0] ?? ""}` };
    const logout = (): Promise<unknown> =>
      send(stack.url, { method: "DELETE", target: "/v3/session", headers });
    expect(await endOf(own?.closed ?? Promise.reject(new Error()), logout)).to.equal("1008 SESSION_ENDED");
    expect(other?.socket.readyState).to.equal(WebSocket.OPEN);
  });

  it("is closed also when the invalidation is lost", async () => {
    const changes = [
      "insert into device_locations (trader_id, failed, ts) values ($1, true, $2) on conflict (trader_id) do update set failed = true, ts = $2",
      "update keys set revoked_ts = $2 where trader_id = $1",
    ];
    const hows = changes.map(async (sql) => {
      const { account, trading } = await newTrader(stack);
      const { closed } = await byKey(trading.key);
      return endOf(closed, () => database.query(sql, [account.traderId, Date.now()]));
    });
    expect(await Promise.all(hows)).to.deep.equal(["1008 GEOLOCATION_FAILED", "1008 KEY_REVOKED"]);
  });
});

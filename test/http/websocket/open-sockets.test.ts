import { once } from "node:events";
import { Socket } from "node:net";
import { expect } from "chai";
import { WebSocket } from "ws";
import { OpenSockets, SOCKET_CAPS } from "../../../http/websocket/open-sockets.js";
import type { Caller } from "../../../stream/ws/ports.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader, upgradeHeaders } from "../../support/traders.js";
import { until } from "../../support/until.js";

describe("the caps on open sockets", () => {
  let open: OpenSockets;
  const held: Socket[] = [];

  beforeEach(() => {
    open = new OpenSockets({ key: 2, trader: 3, address: 4 });
  });
  afterEach(() => {
    for (const socket of held.splice(0)) socket.destroy();
  });

  const callerOf = (keyId: string, traderId: string, address: string): Caller => ({
    keyId,
    payer: keyId,
    traderId,
    wallet: traderId,
    scope: "trading::read",
    address,
  });
  const hold = (keyId: string, traderId: string, address: string): Socket => {
    const socket = new Socket();
    held.push(socket);
    open.hold(callerOf(keyId, traderId, address), socket);
    return socket;
  };

  it("count a key, a trader with all keys, and an address with all traders", () => {
    hold("a", "t", "192.0.2.1");
    hold("a", "t", "192.0.2.1");
    expect(() => hold("a", "t", "192.0.2.2")).to.throw("this key has 2 open sockets");
    hold("b", "t", "192.0.2.1");
    expect(() => hold("c", "t", "192.0.2.2")).to.throw("this trader has 3 open sockets");
    hold("d", "u", "192.0.2.1");
    expect(() => hold("e", "v", "192.0.2.1")).to.throw("this address has 4 open sockets");
    hold("e", "v", "192.0.2.2");
  });

  it("count the /64 network of an IPv6 address as one", () => {
    for (const [index, id] of ["a", "b", "c", "d"].entries()) hold(id, id, `2001:db8::${index + 1}`);
    expect(() => hold("e", "e", "2001:db8::ffff:1")).to.throw("this address has 4 open sockets");
    hold("e", "e", "2001:db8:0:1::1");
  });

  it("end with the connection, and a refused upgrade counts for nothing", async () => {
    const first = hold("a", "t", "192.0.2.1");
    hold("a", "t", "192.0.2.1");
    for (let i = 0; i < 5; i += 1) expect(() => hold("a", "t", "192.0.2.1")).to.throw();
    first.destroy();
    await once(first, "close");
    hold("a", "t", "192.0.2.1");
    expect(() => hold("a", "t", "192.0.2.1")).to.throw();
    open.hold(callerOf("b", "u", "192.0.2.9"), first);
    for (let i = 0; i < 2; i += 1) hold("b", "u", "192.0.2.9");
  });
});

describe("a key that opens too many sockets", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  it("gets 429 for the next upgrade, and a socket once another one has closed", async () => {
    const { trading } = await newTrader(stack);
    const connect = (): WebSocket =>
      new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, { headers: upgradeHeaders(trading) });
    const sockets = Array.from({ length: SOCKET_CAPS.key }, connect);
    await Promise.all(sockets.map((socket) => once(socket, "open")));
    const [refused] = (await once(connect(), "error")) as [Error];
    expect(refused.message).to.include("429");
    const [closed, ...others] = sockets;
    closed?.close();
    await until(async () => {
      const again = connect();
      const opened = await new Promise<boolean>((resolve) => {
        again.once("open", () => resolve(true));
        again.once("error", () => resolve(false));
      });
      again.close();
      return opened;
    });
    for (const socket of others) socket.close();
  });
});

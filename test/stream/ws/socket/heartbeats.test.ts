import { once } from "node:events";
import { mock } from "node:test";
import { expect } from "chai";
import { WebSocket } from "ws";
import { Client, serve, type TestServer, trader } from "../support/client.js";
import { ids, TestExchange } from "../support/exchange.js";
import { until } from "../../../support/until.js";

const [ann = ""] = ids(1);

describe("every 15 s", () => {
  let server: TestServer;

  beforeEach(() => mock.timers.enable({ apis: ["setInterval"] }));
  afterEach(async () => {
    await server.close();
    mock.timers.reset();
  });

  it("a socket receives a heartbeat, and a ping when it was silent, and is dropped when it does not answer", async () => {
    const exchange = new TestExchange();
    server = await serve(exchange);
    const { marketId } = exchange.createMarket(2);
    const client = await server.connect(trader(ann));
    await client.request("subscribe", { markets: { [marketId]: "bbo" } });
    const silent = new Client(new WebSocket(client.socket.url, { autoPong: false }));
    await once(silent.socket, "open");
    let pings = 0;
    client.socket.on("ping", () => (pings += 1));
    const heartbeats = () => client.frames.filter((frame) => frame["heartbeat"] !== undefined).length;

    mock.timers.tick(14_999);
    await client.request("status", {});
    expect([heartbeats(), pings]).to.deep.equal([0, 0]);
    mock.timers.tick(1);
    await until(() => heartbeats() === 1);

    mock.timers.tick(14_999);
    expect(silent.socket.readyState).to.equal(WebSocket.OPEN);
    mock.timers.tick(1);
    expect((await silent.closed).code).to.equal(1006);
    await until(() => heartbeats() === 2 && pings === 1);

    // The answer to the ping counts, so no ping follows at once.
    mock.timers.tick(15_000);
    await until(() => heartbeats() === 3);
    expect([pings, client.socket.readyState]).to.deep.equal([1, WebSocket.OPEN]);
  });
});

import { once } from "node:events";
import type { Socket } from "node:net";
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { WebSocket, WebSocketServer } from "ws";
import {
  DROP_PUBLIC_BYTES,
  joinFrames,
  MAX_UNSENT_BYTES,
  Outbox,
  textFrame,
} from "../../../../stream/ws/socket/outbox.js";
import { FlushScheduler } from "../../../../stream/ws/socket/flush-scheduler.js";
import { until } from "../../../support/until.js";

interface Pair {
  readonly outbox: Outbox;
  readonly server: WebSocket;
  readonly connection: Socket;
  readonly client: WebSocket;
  readonly received: string[];
}

describe("an outbox", () => {
  const closing: (() => void)[] = [];

  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  async function pair(): Promise<Pair> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
    closing.push(() => server.close());
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const client = new WebSocket(`ws://127.0.0.1:${address.port}`, { perMessageDeflate: false });
    closing.push(() => client.terminate());
    const received: string[] = [];
    client.on("message", (data: Buffer) => received.push(data.toString()));
    client.on("error", () => undefined);
    const [[socket, request]] = await Promise.all([
      once(server, "connection") as Promise<[WebSocket, { socket: Socket }]>,
      once(client, "open"),
    ]);
    const outbox = new Outbox(socket, request.socket, new FlushScheduler());
    return { outbox, server: socket, connection: request.socket, client, received };
  }

  it("encodes texts of every length for a websocket client, between frames of ws itself", async () => {
    const { outbox, server, received, client } = await pair();
    const pings: string[] = [];
    client.on("ping", (data: Buffer) => pings.push(data.toString()));
    const texts = [0, 1, 125, 126, 65_535, 65_536, 70_000].map((length) =>
      "é".repeat(length / 2).padEnd(length, "x"),
    );
    for (const [index, text] of texts.entries()) {
      outbox.send(text);
      if (index === 3) {
        outbox.flush();
        server.ping("between");
      }
    }
    await until(() => received.length === texts.length);
    expect(received).to.deep.equal(texts);
    expect(pings).to.deep.equal(["between"]);
  });

  it("writes the frames of one tick at once", async () => {
    const { outbox, connection, received } = await pair();
    let writes = 0;
    const write = connection.write.bind(connection);
    connection.write = ((...args: Parameters<typeof write>) => {
      writes += 1;
      return write(...args);
    }) as typeof connection.write;
    for (let i = 0; i < 100; i += 1) outbox.send(String(i));
    outbox.deliver(Buffer.concat([textFrame("a"), textFrame("b")]));
    await until(() => received.length === 102);
    expect(writes).to.equal(1);
    expect(received.at(-1)).to.equal("b");
  });

  it("joins frames into buffers of 64 KiB, or of one frame", () => {
    const sizes = [30_000, 30_000, 10_000, 200_000, 60_000, 5_536, 1];
    const joined = joinFrames(sizes.map((size) => Buffer.alloc(size)));
    expect(joined.map(({ length }) => length)).to.deep.equal([60_000, 10_000, 200_000, 65_536, 1]);
    expect(joinFrames([])).to.deep.equal([]);
  });

  it("writes market frames in the same turn as private ones", async () => {
    const { outbox, connection, received } = await pair();
    let turn = 0;
    const turns: number[] = [];
    const write = connection.write.bind(connection);
    connection.write = ((...args: Parameters<typeof write>) => {
      turns.push(turn);
      return write(...args);
    }) as typeof connection.write;
    outbox.deliver(textFrame("market"));
    outbox.sendPrivate("private");
    while (received.length < 2) {
      await new Promise((resolve) => setImmediate(resolve));
      turn += 1;
    }
    expect(received).to.deep.equal(["private", "market"]);
    expect(turns).to.have.length(2);
    expect(turns[0]).to.equal(turns[1]);
  });

  it("writes a part of a large answer before it closes", async () => {
    const { outbox, client, received } = await pair();
    const frames = Array.from({ length: 1_000 }, () => textFrame("x".repeat(20_000)));
    outbox.answer("answer", frames);
    const closed = once(client, "close");
    outbox.close(1003, "no more");
    const [code] = (await closed) as [number];
    expect(code).to.equal(1003);
    expect(received[0]).to.equal("answer");
    expect(received.length).to.be.within(50, 60);
  });

  it("writes every private frame before it closes", async () => {
    const { outbox, client, received } = await pair();
    client.pause();
    for (let i = 0; i < 60; i += 1) outbox.sendPrivate("x".repeat(100_000));
    const closed = once(client, "close");
    outbox.close(1012, "restart");
    client.resume();
    const [code] = (await closed) as [number];
    expect(code).to.equal(1012);
    expect(received).to.have.length(60);
  });

  for (const bytes of [20_000, 70_000]) {
    it(`writes a large answer of frames of ${bytes} bytes in several turns of the event loop`, async () => {
      const { outbox, connection, received } = await pair();
      let turn = 0;
      const bytesByTurn = new Map<number, number>();
      const write = connection.write.bind(connection);
      connection.write = ((...args: Parameters<typeof write>) => {
        bytesByTurn.set(turn, (bytesByTurn.get(turn) ?? 0) + args[0].length);
        return write(...args);
      }) as typeof connection.write;
      const frames = Array.from({ length: 4_000_000 / bytes }, () => textFrame("x".repeat(bytes)));
      outbox.answer("answer", frames);
      while (received.length <= frames.length) {
        await new Promise((resolve) => setImmediate(resolve));
        turn += 1;
      }
      expect(Math.max(...bytesByTurn.values())).to.be.at.most(100_000);
    });
  }

  it("drops public frames of a slow consumer, keeps private ones, and closes it over 8 MiB", async () => {
    const { outbox, client, server, received } = await pair();
    client.pause();
    const chunk = textFrame(randomBytes(128 * 1024).toString("hex"));
    for (let i = 0; outbox.droppedChunks === 0; i += 1) {
      if (i > 1_000) throw new Error("no frame was dropped");
      outbox.deliver(chunk);
      outbox.flush();
    }
    expect(outbox.unsentBytes).to.be.within(DROP_PUBLIC_BYTES, MAX_UNSENT_BYTES);
    outbox.sendPrivate("private");
    outbox.flush();
    expect(server.readyState).to.equal(WebSocket.OPEN);
    const closed = once(client, "close");
    for (let i = 0; server.readyState === WebSocket.OPEN; i += 1) {
      if (i > 100) throw new Error("the socket was not closed");
      outbox.send("x".repeat(256 * 1024));
      outbox.flush();
    }
    client.resume();
    const [code, reason] = (await closed) as [number, Buffer];
    expect(received).to.include("private");
    expect([code, reason.toString()]).to.deep.equal([1008, "SLOW_CONSUMER"]);
  });

  it("lets a client receive an answer of more than 8 MiB", async () => {
    const { outbox, received, client } = await pair();
    client.pause();
    outbox.answer("x".repeat(MAX_UNSENT_BYTES + 4_000_000));
    outbox.flush();
    outbox.deliver(textFrame("public"));
    client.resume();
    await until(() => received.length === 2);
    expect(received[1]).to.equal("public");
  });

  it("counts frames beside an answer, and all frames once the answer is received", async () => {
    const { outbox, received, client, server } = await pair();
    client.pause();
    outbox.answer("x".repeat(MAX_UNSENT_BYTES), [textFrame("the end")]);
    outbox.flush();
    client.resume();
    await until(() => received.length === 2);
    client.pause();
    for (let i = 0; server.readyState === WebSocket.OPEN; i += 1) {
      if (i > 100) throw new Error("the socket was not closed");
      outbox.send("x".repeat(256 * 1024));
      outbox.flush();
    }
  });

  it("lets replies and private frames overtake waiting market frames, but never snapshots", async () => {
    const { outbox, client, received } = await pair();
    client.pause();
    const market = (n: number): void => {
      outbox.deliver(textFrame(`market ${n} ${"x".repeat(200_000)}`));
      outbox.flush();
    };
    for (let i = 0; outbox.droppedChunks === 0; i += 1) market(i);
    outbox.answer("a snapshot", [textFrame("resumed batches")]);
    outbox.send("a heartbeat");
    outbox.sendPrivate("a fill");
    outbox.reply("a reply");
    outbox.flush();
    client.resume();
    await until(() => received.includes("a heartbeat"));
    const order = received.map((text) => text.split(" ").slice(0, 2).join(" "));
    const markets = order.filter((text) => text.startsWith("market"));
    expect(markets).to.deep.equal(markets.map((_, n) => `market ${n}`));
    expect(order.slice(markets.length)).to.deep.equal([
      "a snapshot",
      "resumed batches",
      "a fill",
      "a reply",
      "a heartbeat",
    ]);
    client.pause();
    received.length = 0;
    for (let i = 0; i < 40; i += 1) market(i);
    outbox.reply("a reply");
    outbox.sendPrivate("a fill");
    client.resume();
    await until(() => received.length === 42);
    expect(received.indexOf("a reply")).to.be.below(30);
    expect(received.indexOf("a fill")).to.equal(received.indexOf("a reply") + 1);
  });

  it("keeps a socket open that makes progress within 15 s or has nothing to receive", async () => {
    const { outbox, client, server } = await pair();
    outbox.checkProgress(1_000);
    outbox.checkProgress(30_000);
    client.pause();
    for (let i = 0; i < 60; i += 1) outbox.send("x".repeat(100_000));
    outbox.flush();
    await until(() => outbox.unsentBytes > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    outbox.checkProgress(31_000);
    outbox.checkProgress(45_900);
    expect(server.readyState).to.equal(WebSocket.OPEN);
    client.resume();
    await until(() => outbox.unsentBytes === 0);
    outbox.checkProgress(46_100);
    outbox.checkProgress(99_000);
    expect(server.readyState).to.equal(WebSocket.OPEN);
  });

  describe("on a slow connection", () => {
    const BYTES = 1_000;
    /** Makes an outbox whose connection takes bytes when `take` is called. */
    function slow() {
      let [unsent, closed] = [0, false];
      const connection = {
        on: () => undefined as unknown as Socket,
        write: (frame: string | Uint8Array) => {
          unsent += frame.length;
          return true;
        },
        get writableLength() {
          return unsent;
        },
        writableNeedDrain: false,
      };
      const socket = {
        readyState: WebSocket.OPEN,
        close: () => {
          closed = true;
        },
        terminate: () => undefined,
      };
      const outbox = new Outbox(socket, connection, new FlushScheduler());
      const queue = (bytes: number): void => {
        outbox.deliver(Buffer.alloc(bytes));
        outbox.flush();
      };
      const take = (bytes: number): number => (unsent -= bytes);
      return { outbox, queue, take, isClosed: () => closed };
    }

    it("keeps a client that is never at the end, but takes every byte within 15 s", () => {
      const { outbox, queue, take, isClosed } = slow();
      queue(14 * BYTES);
      for (let second = 1; second <= 120; second += 1) {
        outbox.checkProgress(1_000 * second);
        queue(BYTES);
        take(BYTES);
      }
      expect(outbox.unsentBytes).to.equal(14 * BYTES);
      expect(isClosed()).to.equal(false);
    });

    it("closes a client that takes something every second, and has a byte unsent for 15 s", () => {
      const { outbox, queue, take, isClosed } = slow();
      queue(20 * BYTES);
      for (let second = 1; second <= 15; second += 1) {
        outbox.checkProgress(1_000 * second);
        take(BYTES);
      }
      expect(isClosed()).to.equal(false);
      outbox.checkProgress(16_000);
      expect(isClosed()).to.equal(true);
    });
  });

  it("closes a socket without progress for 15 s, with the reason", async () => {
    const { outbox, client, server } = await pair();
    client.pause();
    for (let i = 0; i < 60; i += 1) outbox.deliver(textFrame("x".repeat(100_000)));
    outbox.flush();
    await new Promise((resolve) => setTimeout(resolve, 100));
    outbox.checkProgress(1_000);
    outbox.checkProgress(15_999);
    expect(server.readyState).to.equal(WebSocket.OPEN);
    outbox.checkProgress(16_000);
    expect(server.readyState).to.equal(WebSocket.CLOSING);
    const closed = once(client, "close");
    client.resume();
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, reason.toString()]).to.deep.equal([1008, "SLOW_CONSUMER"]);
  });
});

import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { loadConfig } from "../../../scripts/config.js";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const PUBLIC = "/v3/public/types/sports";
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("the default settings of the edge", () => {
  it("are the limits of the contract", () => {
    const { edge, server, trustProxy } = loadConfig({});
    expect(edge).to.deep.equal({
      ratePerSecond: 2_000,
      burst: 4_000,
      publicRatePerSecond: 50,
      publicBurst: 200,
      bodyBytes: 65_536,
    });
    expect(server).to.deep.equal({ connections: 20_000, headersMs: 5_000, requestMs: 10_000 });
    expect(trustProxy).to.equal(undefined);
  });

  for (const value of ["true", "yes", "0", "*", "0.0.0.0/x", "loopback,true"]) {
    it(`refuse TRUST_PROXY=${value}`, () => {
      expect(() => loadConfig({ TRUST_PROXY: value })).to.throw(/TRUST_PROXY/);
    });
  }
});

describe("the edge", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  const sockets = new Set<Socket>();

  const dial = (): Socket => {
    const { port, hostname } = new URL(stack.url);
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    socket.on("error", () => undefined);
    return socket;
  };
  /** Collects all bytes that the server sends until the connection ends. */
  const everythingOf = (socket: Socket): Promise<string> =>
    new Promise((resolve) => {
      let got = "";
      socket.on("data", (data) => (got += data.toString("latin1")));
      socket.on("close", () => resolve(got));
    });
  const exchange = (bytes: string): Promise<string> => {
    const socket = dial();
    const answer = everythingOf(socket);
    socket.write(bytes, "latin1");
    return answer;
  };

  before(async () => {
    stack = await startStack({
      edge: { bodyBytes: 200_000, publicBurst: 20, publicRatePerSecond: 1 },
      server: { connections: 12, headersMs: 700, requestMs: 1_200 },
      trustProxy: 1,
    });
    trader = await newTrader(stack);
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await pause(20);
  });
  after(() => stack.stop());

  const isHtmlRefusal = ({ status, text, headers }: Answer): boolean =>
    status === 403 &&
    (headers.get("content-type") ?? "").startsWith("text/html") &&
    !/"(code|message)"/.test(text);

  it("closes a connection whose headers do not end", async () => {
    const socket = dial();
    const began = Date.now();
    const all = everythingOf(socket);
    socket.write(`GET ${PUBLIC} HTTP/1.1\r\nHost: x\r\n`);
    const dripping = setInterval(() => socket.write("X-Slow: 1\r\n"), 100);
    expect(await all).to.match(/^HTTP\/1\.1 408 /);
    clearInterval(dripping);
    expect(Date.now() - began).to.be.within(500, 2_500);
  });

  it("closes a connection whose body arrives too slowly", async () => {
    const socket = dial();
    const began = Date.now();
    const all = everythingOf(socket);
    socket.write("POST /v3/session HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    const dripping = setInterval(() => socket.write("x"), 100);
    expect(await all).to.match(/^(HTTP\/1\.1 408 |$)/);
    clearInterval(dripping);
    expect(Date.now() - began).to.be.within(900, 3_500);
  });

  it("accepts no more connections than its cap, and a new one when another ends", async () => {
    const open = Array.from({ length: 30 }, dial);
    await until(() => {
      expect(open.some(({ connecting }) => connecting)).to.equal(false);
      const left = open.filter((socket) => !socket.destroyed && socket.readyState === "open");
      expect(left.length).to.be.at.most(12);
    });
    for (const socket of open) socket.destroy();
    await until(async () => expect((await send(stack.url, { target: "/healthz" })).status).to.equal(200));
  });

  describe("ambiguous requests", () => {
    const GET = "GET /healthz HTTP/1.1";
    const POST = "POST /v3/session HTTP/1.1\r\nHost: x";
    const requests: [string, string][] = [
      [
        "Content-Length and Transfer-Encoding",
        `${POST}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      ],
      [
        "Transfer-Encoding and Content-Length",
        `${POST}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
      ],
      ["two lengths", `${POST}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
      ["two equal lengths in one", `${POST}\r\nContent-Length: 2, 2\r\n\r\n{}`],
      ["a signed length", `${POST}\r\nContent-Length: +2\r\n\r\n{}`],
      ["a negative length", `${POST}\r\nContent-Length: -2\r\n\r\n{}`],
      ["a length in hex", `${POST}\r\nContent-Length: 0x2\r\n\r\n{}`],
      ["an encoding before chunked", `${POST}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
      ["an encoding after chunked", `${POST}\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
      ["an unknown coding like chunked", `${POST}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
      ["a space before the colon", `${POST}\r\nContent-Length : 2\r\n\r\n{}`],
      ["a folded header", `${GET}\r\nHost: x\r\nX-A: 1\r\n 2\r\n\r\n`],
      ["a NUL in a header", `${GET}\r\nHost: x\r\nX-A: a\0b\r\n\r\n`],
      ["a lone CR in a header", `${GET}\r\nHost: x\r\nX-A: a\rb\r\n\r\n`],
      ["no Host", `${GET}\r\n\r\n`],
      ["a malformed chunk size", `${POST}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
      [
        "a chunk size that overflows",
        `${POST}\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n`,
      ],
      ["another version", "GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n"],
      ["a header that never ends", `${GET}\r\nHost: x\r\nX-A: ${"a".repeat(20_000)}\r\n\r\n`],
    ];
    const SECOND = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for (const [name, bytes] of requests) {
      it(`are refused, and the bytes after them are not read: ${name}`, async () => {
        const got = await exchange(bytes + SECOND);
        expect(got).to.match(/^HTTP\/1\.1 (400|431|501|505) /);
        expect(got.split("HTTP/1.1 ")).to.have.length(2);
        expect(got).to.not.include('"ok"');
      });
    }

    it("of a good form are answered in order on one connection", async () => {
      const keep = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
      const got = await exchange(keep + keep + SECOND);
      expect(got.split("HTTP/1.1 200")).to.have.length(4);
    });
  });

  it("answers 413 to a body over 100 KiB that is under its own cap, declared or not", async () => {
    const body = `"${"x".repeat(100 * 1_024)}"`;
    const raw = signed(trader.trading, { method: "POST", target: "/v3/echo", body });
    const answer = await send(stack.url, raw);
    expect(`${answer.status} ${String(answer.json["code"])}`).to.equal("413 PAYLOAD_TOO_LARGE");
    const chunk = "x".repeat(60_000);
    const chunked = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    const got = await exchange(
      `POST /v3/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}${chunked}0\r\n\r\n`,
    );
    expect(got)
      .to.match(/^HTTP\/1\.1 413 /)
      .and.include("PAYLOAD_TOO_LARGE");
    const largest = `"${"x".repeat(100 * 1_024 - 2)}"`;
    const good = await send(
      stack.url,
      signed(trader.trading, { method: "POST", target: "/v3/echo", body: largest }),
    );
    expect(good.status).to.equal(200);
  });

  it("answers HTML to a body over its own cap", async () => {
    const body = "x".repeat(200_001);
    expect(isHtmlRefusal(await send(stack.url, { method: "POST", target: "/v3/echo", body }))).to.equal(true);
  });

  describe("an address behind one proxy", () => {
    const from = (forwarded: string): Raw => ({ target: PUBLIC, headers: { "X-Forwarded-For": forwarded } });
    const use = async (raws: readonly Raw[]): Promise<number[]> => {
      const statuses: number[] = [];
      for (const raw of raws) statuses.push((await send(stack.url, raw)).status);
      return statuses;
    };
    const many = (forwarded: (index: number) => string): Raw[] =>
      Array.from({ length: 30 }, (_, index) => from(forwarded(index)));

    it("is the one that the proxy added; the entries of the client have no effect", async () => {
      const statuses = await use(many((index) => `10.9.9.${index}, 203.0.113.1`));
      expect(statuses.filter((status) => status === 403).length).to.be.at.least(8);
      expect((await send(stack.url, from("203.0.113.2"))).status).to.equal(200);
    });

    it("of IPv6 is counted by its /64 network", async () => {
      const statuses = await use(many((index) => `2001:db8::${index.toString(16)}`));
      expect(statuses.filter((status) => status === 403).length).to.be.at.least(8);
      expect((await send(stack.url, from("2001:db8:0:1::1"))).status).to.equal(200);
    });

    it("of IPv4 in its mapped form is counted as that IPv4 address", async () => {
      const statuses = await use(many((index) => `::ffff:198.51.100.${index}`));
      expect(statuses.every((status) => status === 200)).to.equal(true);
    });

    it("over its rate gets HTML, not JSON", async () => {
      await use(many(() => "203.0.113.77"));
      expect(isHtmlRefusal(await send(stack.url, from("203.0.113.77")))).to.equal(true);
    });
  });
});

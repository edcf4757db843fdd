/**
 * Reading process of the stream benches: plain connections that count frames by their headers, so that a thousand
 * readers cost less CPU time than the server that they measure.
 */

import { connect, type Socket } from "node:net";
import type { Channel } from "../../../stream/ws/channels.js";
import { unreachable } from "../../../actors/unreachable.js";
import { MARKET_ID } from "../core/actor.js";
import { serveRequests, type Counted, type ReadersRequest } from "./messages.js";

/** One of this many readers measures the times of its frames. */
const SAMPLED = 4;
/** Offset of the time in a frame of deltas, which begins with `{"ts":`. */
const TS_AT = 6;
const HEAD_BYTES = 40;
const PING = 0x9;
const CLOSE = 0x8;

const readers: Reader[] = [];
let delaysMs: number[] = [];

/** Returns a masked frame; the mask of zeros leaves the payload unchanged. */
function clientFrame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(payload.length < 126 ? 6 : 8);
  head[0] = 0x80 | opcode;
  if (payload.length < 126) head[1] = 0x80 | payload.length;
  else {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(payload.length, 2);
  }
  return Buffer.concat([head, payload]);
}

class Reader {
  readonly #sampled: boolean;
  readonly socket: Socket;
  frames = 0;
  bytes = 0;
  open = true;
  #upgraded = false;
  /** Bytes of the current frame that are yet to arrive and are ignored. */
  #toSkip = 0;
  #rest: Buffer | undefined;
  readonly ready: Promise<void>;
  #onReady: () => void = () => undefined;

  constructor(port: number, channels: readonly Channel[], sampled: boolean) {
    this.#sampled = sampled;
    this.socket = connect(port, "127.0.0.1");
    this.ready = new Promise((resolve) => (this.#onReady = resolve));
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => (this.open = false));
    this.socket.on("data", (chunk) => this.#take(chunk));
    this.socket.write(
      "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    const selection = { markets: { [MARKET_ID]: channels } };
    if (channels.length > 0)
      this.socket.write(clientFrame(1, Buffer.from(JSON.stringify({ nonce: 1, subscribe: selection }))));
  }

  #take(chunk: Buffer): void {
    this.bytes += chunk.length;
    let data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    if (!this.#upgraded) {
      const end = data.indexOf("\r\n\r\n");
      if (end < 0) {
        this.#rest = data;
        return;
      }
      this.#upgraded = true;
      this.#onReady();
      data = data.subarray(end + 4);
    }
    this.#count(data);
  }

  #count(data: Buffer): void {
    let at = this.#toSkip;
    for (;;) {
      if (at >= data.length) {
        this.#toSkip = at - data.length;
        return;
      }
      this.#toSkip = 0;
      const short = (data[at + 1] ?? 0) & 0x7f;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (data.length - at < Math.min(HEAD_BYTES, head + (short < 126 ? short : HEAD_BYTES))) {
        this.#rest = data.subarray(at);
        return;
      }
      const length =
        short < 126
          ? short
          : short === 126
            ? data.readUInt16BE(at + 2)
            : Number(data.readBigUInt64BE(at + 2));
      this.#frame((data[at] ?? 0) & 0xf, data, at + head, length);
      at += head + length;
    }
  }

  #frame(opcode: number, data: Buffer, from: number, length: number): void {
    if (opcode === PING) {
      this.socket.write(clientFrame(0xa, data.subarray(from, from + length)));
      return;
    }
    if (opcode === CLOSE) this.socket.end();
    this.frames += 1;
    if (!this.#sampled) return;
    const text = data.toString("latin1", from + TS_AT, from + HEAD_BYTES - 10);
    const ts = Number.parseFloat(text);
    if (ts > 0) delaysMs.push(performance.timeOrigin + performance.now() - ts);
  }
}

function count(): Counted {
  const counted = {
    frames: readers.reduce((sum, { frames }) => sum + frames, 0),
    bytes: readers.reduce((sum, { bytes }) => sum + bytes, 0),
    delaysMs,
    open: readers.filter(({ open }) => open).length,
  };
  return counted;
}

serveRequests(async (message) => {
  const request = message as ReadersRequest;
  switch (request.kind) {
    case "connect":
      for (let i = 0; i < request.sockets; i += 1)
        readers.push(new Reader(request.port, request.channels, i % SAMPLED === 0));
      await Promise.all(readers.map(({ ready }) => ready));
      return count();
    case "stall":
      for (const { socket } of readers) socket.pause();
      return count();
    case "reset":
      delaysMs = [];
      return count();
    case "count":
      return count();
    default:
      return unreachable(request);
  }
});

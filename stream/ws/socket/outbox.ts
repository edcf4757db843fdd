/** Write side of a socket: collects the frames of one tick of the event loop and writes them at once. */

import type { Socket } from "node:net";
import { WebSocket } from "ws";
import type { Flushable, FlushScheduler } from "./flush-scheduler.js";

/** Unsent bytes above which a socket is closed with 1008 `SLOW_CONSUMER` (contract section 6.12). */
export const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
/** Unsent bytes above which public frames are dropped. The client sees a gap in a seq. */
export const DROP_PUBLIC_BYTES = MAX_UNSENT_BYTES / 2;
/** Age of its oldest unsent byte at which a socket is closed with 1008 `SLOW_CONSUMER`, in ms. */
const MAX_STALL_MS = 15_000;
/** Bytes after which a write ends, and the writes of one turn of the event loop while an answer is unsent. */
const WRITE_BYTES = 64 * 1024;
/** Bytes of an unsent answer after which a close frame follows. */
const CLOSE_BYTES = 1024 * 1024;
/** Time that a client has to receive its close frame before the connection is cut, in ms. */
const CLOSE_GRACE_MS = 1_000;

/** Encodes a complete unmasked text frame, which can be written to any number of sockets. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + length);
  frame[0] = 0x81;
  if (head === 2) frame[1] = length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, head);
  return frame;
}

/** Joins frames into buffers that take one write each: of 64 KiB at most, or of one frame. */
export function joinFrames(frames: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = [];
  for (let from = 0; from < frames.length;) {
    let [bytes, to] = [0, from];
    do {
      bytes += frames[to]?.length ?? 0;
      to += 1;
    } while (to < frames.length && bytes + (frames[to]?.length ?? 0) <= WRITE_BYTES);
    joined.push(Buffer.concat(frames.slice(from, to), bytes));
    from = to;
  }
  return joined;
}

type OutboxSocket = Pick<WebSocket, "readyState" | "close" | "terminate">;
type OutboxConnection = Pick<Socket, "on" | "write" | "writableLength" | "writableNeedDrain">;

/**
 * Queue of the frames of one socket. Frames are already encoded and are written to the connection directly, not through
 * `ws`. Without compression and fragments `ws` also writes whole frames at once, so the two never interleave.
 *
 * While the connection accepts no more, frames wait here: market frames are buffers shared with every other socket, and
 * replies and private frames may overtake them.
 */
export class Outbox implements Flushable {
  readonly #socket: OutboxSocket;
  readonly #connection: OutboxConnection;
  readonly #scheduler: FlushScheduler;
  /** Replies and private frames, and the market frames that must precede one of them. */
  #priority: Buffer[] = [];
  /** Market frames, and frames that must stay in order with them. Each buffer holds whole frames. */
  #ordered: Buffer[] = [];
  #queuedBytes = 0;
  /** Bytes that were ever queued, sent or not. */
  #everQueuedBytes = 0;
  /** Size of the largest answer that is not fully sent, and the value of `#everQueuedBytes` at its end. */
  #answerBytes = 0;
  #answerEnd = 0;
  /** Values of `#everQueuedBytes` at the checks of the progress, oldest first, where some of the bytes are unsent. */
  #checks: { readonly bytes: number; readonly atMs: number }[] = [];
  #droppedChunks = 0;
  /** Share of delta frames to lose, as a sandbox client requested. */
  #lossShare = 0;
  #stallTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: OutboxSocket, connection: OutboxConnection, scheduler: FlushScheduler) {
    this.#socket = socket;
    this.#connection = connection;
    this.#scheduler = scheduler;
    connection.on("drain", () => this.flush());
  }

  /** Number of buffers of market frames that were dropped. */
  get droppedChunks(): number {
    return this.#droppedChunks;
  }

  /** Bytes that the client has not received yet, as far as this process can tell. */
  get unsentBytes(): number {
    return this.#connection.writableLength + this.#queuedBytes;
  }

  /** Queues a reply or an error. It may overtake market frames that were queued before it. */
  reply(json: string): void {
    this.answer(json, [], false);
  }

  /** Queues a private frame, with the priority of a reply. */
  sendPrivate(json: string): void {
    if (!this.#losesNextFrame()) this.#enqueue(this.#priority, textFrame(json));
  }

  /**
   * Queues an answer, and the frames that belong to it. Its size does not count against the client, because the client
   * asked for it. With `inOrder`, as a snapshot needs it, every frame that was queued before the answer is sent before it.
   */
  answer(json: string, frames: readonly Buffer[] = [], inOrder = true): void {
    if (inOrder) {
      for (const frame of this.#ordered) this.#priority.push(frame);
      this.#ordered = [];
    }
    let bytes = 0;
    for (const frame of [textFrame(json), ...frames]) {
      bytes += frame.length;
      this.#enqueue(this.#priority, frame);
    }
    this.#answerBytes = Math.max(this.#unsentAnswerBytes, bytes);
    this.#answerEnd = this.#everQueuedBytes;
  }

  /** Queues whole frames that are never dropped and never overtake the market frames before them. */
  send(frames: string | Buffer): void {
    this.#enqueue(this.#ordered, typeof frames === "string" ? textFrame(frames) : frames);
  }

  /** Queues a buffer of whole market frames, or drops it while the socket is slow. */
  deliver(frames: Buffer): void {
    if (this.#losesNextFrame()) return;
    if (this.#waitingBytes > DROP_PUBLIC_BYTES) this.#droppedChunks += 1;
    else this.#enqueue(this.#ordered, frames);
  }

  /** Drops this share of the frames with deltas from now on (sandbox). */
  loseFrames(share: number): void {
    this.#lossShare = share;
  }

  /** Holds all frames back for `ms`, as a stalled network does (sandbox). */
  stall(ms: number): void {
    this.flush();
    clearTimeout(this.#stallTimer);
    this.#stallTimer = setTimeout(() => {
      this.#stallTimer = undefined;
      this.flush();
    }, ms);
    this.#stallTimer.unref();
  }

  /** Writes what is queued, or a part of an answer. The rest follows in later turns, or when the connection has drained. */
  flush(): void {
    if (this.#stallTimer === undefined && this.#socket.readyState === WebSocket.OPEN) {
      // A connection on the same machine accepts an answer of many MB at once.
      let left = this.#unsentAnswerBytes > 0 ? WRITE_BYTES : Infinity;
      while (left > 0 && this.#canWrite) left -= this.#write(Math.min(left, WRITE_BYTES));
      if (this.#canWrite) this.#scheduler.scheduleOutbox(this);
    }
    if (this.#waitingBytes > MAX_UNSENT_BYTES) this.closeSlow();
  }

  /**
   * Sends the queued frames, then closes. Of a large answer that is unsent, and of what follows it, about 1 MiB is sent: the
   * client has to ask again anyway.
   */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    let left = this.#unsentAnswerBytes > 0 ? CLOSE_BYTES : Infinity;
    if (this.#stallTimer !== undefined) left = 0;
    while (left > 0 && this.#queuedBytes > 0) left -= this.#write(WRITE_BYTES);
    this.#discard();
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS).unref();
  }

  /** Closes with 1008 `SLOW_CONSUMER`. Discards queued market frames, so that the close frame arrives sooner. */
  closeSlow(): void {
    for (const { length } of this.#ordered) this.#queuedBytes -= length;
    this.#ordered = [];
    this.close(1008, "SLOW_CONSUMER");
  }

  /** Closes a socket with a byte that is unsent for 15 s. Must be called about once a second with a clock in ms. */
  checkProgress(nowMs: number): void {
    this.#checks = this.#checks.filter(({ bytes }) => bytes > this.#sentBytes);
    const [oldest] = this.#checks;
    if (oldest !== undefined && nowMs - oldest.atMs >= MAX_STALL_MS) this.closeSlow();
    else if (this.unsentBytes > 0) this.#checks.push({ bytes: this.#everQueuedBytes, atMs: nowMs });
  }

  /** Bytes that were ever sent. Pings are sent past the queue, so those that wait make it less. */
  get #sentBytes(): number {
    return this.#everQueuedBytes - this.unsentBytes;
  }

  /** Size of the largest answer in progress, 0 when all answers are sent. */
  get #unsentAnswerBytes(): number {
    return this.#sentBytes < this.#answerEnd ? this.#answerBytes : 0;
  }

  /** Unsent bytes that count against a slow client. Above the drop limit the answer in progress does not count. */
  get #waitingBytes(): number {
    const unsent = this.unsentBytes;
    return unsent <= DROP_PUBLIC_BYTES ? unsent : unsent - this.#unsentAnswerBytes;
  }

  get #canWrite(): boolean {
    return this.#queuedBytes > 0 && !this.#connection.writableNeedDrain;
  }

  #losesNextFrame(): boolean {
    return this.#lossShare > 0 && Math.random() < this.#lossShare;
  }

  /** Writes queued frames in one write: up to `maxBytes`, and at least one buffer. Returns their bytes. */
  #write(maxBytes: number): number {
    const frames = this.#priority.length > 0 ? this.#priority : this.#ordered;
    const [only] = frames;
    if (only !== undefined && frames.length === 1) {
      frames.pop();
      this.#queuedBytes -= only.length;
      this.#connection.write(only);
      return only.length;
    }
    let bytes = 0;
    let count = 0;
    for (; count < frames.length; count += 1) {
      const more = frames[count]?.length ?? 0;
      if (count > 0 && bytes + more > maxBytes) break;
      bytes += more;
    }
    this.#queuedBytes -= bytes;
    this.#connection.write(Buffer.concat(frames.splice(0, count), bytes));
    return bytes;
  }

  #discard(): void {
    this.#priority = [];
    this.#ordered = [];
    this.#queuedBytes = 0;
  }

  #enqueue(frames: Buffer[], frame: Buffer): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    frames.push(frame);
    this.#queuedBytes += frame.length;
    this.#everQueuedBytes += frame.length;
    this.#scheduler.scheduleOutbox(this);
  }
}

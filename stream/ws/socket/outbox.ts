/** The write side of a socket: frames gather for a tick of the event loop and leave in one write. */

import type { Socket } from "node:net";
import { WebSocket } from "ws";

/** Over this much unsent the socket is closed with 1008 `SLOW_CONSUMER` (contract section 6), bytes. */
export const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
/** Over this much unsent public frames are dropped, which the client sees as a gap in a seq. */
export const DROP_PUBLIC_BYTES = MAX_UNSENT_BYTES / 2;
/** How long a socket may take nothing of what waits before it is closed with 1008 `SLOW_CONSUMER`, ms. */
const MAX_STALL_MS = 15_000;
/** What is handed to a connection at once; it says when it wants more. */
const WRITE_BYTES = 64 * 1024;
/** What a slow consumer gets to take its close frame before the connection is cut. */
const CLOSE_GRACE_MS = 1_000;

/** A whole, unmasked, final text frame: made once and written to any number of sockets. */
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

/** Something that has gathered and is waiting for the end of the tick. */
export interface Flushable {
  flush(): void;
}

/** The end of a tick: first rooms hand what they gathered to their members, then outboxes write. */
export class FlushScheduler {
  readonly #rooms = new Set<Flushable>();
  readonly #outboxes = new Set<Flushable>();
  #scheduled = false;

  scheduleRoom(room: Flushable): void {
    this.#rooms.add(room);
    this.#schedule();
  }

  scheduleOutbox(outbox: Flushable): void {
    this.#outboxes.add(outbox);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      for (const room of this.#rooms) room.flush();
      this.#rooms.clear();
      for (const outbox of this.#outboxes) outbox.flush();
      this.#outboxes.clear();
      this.#scheduled = false;
    });
  }
}

/**
 * What a socket is sent. Frames go past `ws` to its connection: they are framed already, and without compression and
 * fragments `ws` itself writes whole frames at once, so neither cuts into the other's.
 *
 * While the connection takes no more, frames wait here: those of markets are shared with every other socket, and what
 * must not wait for them can go before them.
 */
export class Outbox implements Flushable {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #scheduler: FlushScheduler;
  /** Replies and private frames, and what has to come before one of them. */
  #priority: Buffer[] = [];
  /** What is in line with the frames of markets, in whole frames. */
  #ordered: Buffer[] = [];
  #queuedBytes = 0;
  /** All that was ever gathered. */
  #everQueuedBytes = 0;
  /** The largest answer under way, and where in all that was gathered it ends. */
  #answerBytes = 0;
  #answerEnd = 0;
  #takenBytes = 0;
  #progressAtMs = 0;
  #droppedChunks = 0;
  /** The share of delta frames that a sandbox client wants to lose. */
  #lossShare = 0;
  #stallTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: WebSocket, connection: Socket, pulse: FlushScheduler) {
    this.#socket = socket;
    this.#connection = connection;
    this.#scheduler = pulse;
    connection.on("drain", () => this.flush());
  }

  /** How many chunks of market frames were dropped. */
  get droppedChunks(): number {
    return this.#droppedChunks;
  }

  /** What the client has not taken yet, as far as this process can tell. */
  get unsentBytes(): number {
    return this.#connection.writableLength + this.#queuedBytes;
  }

  /** A reply, or an error. It may come before market frames that gathered before it. */
  reply(json: string): void {
    this.answer([json], false);
  }

  /** A private frame; as a reply. */
  sendPrivate(json: string): void {
    if (!this.#losesNextFrame()) this.#enqueue(this.#priority, textFrame(json));
  }

  /**
   * What the client asked for, however large it is: it is not slow for not having it yet. `inLine`: all that gathered
   * before comes before it, as it must before a snapshot.
   */
  answer(texts: readonly string[], inLine = true): void {
    if (inLine) {
      for (const frame of this.#ordered) this.#priority.push(frame);
      this.#ordered = [];
    }
    let bytes = 0;
    for (const text of texts) {
      const frame = textFrame(text);
      bytes += frame.length;
      this.#enqueue(this.#priority, frame);
    }
    this.#answerBytes = Math.max(this.#unsentAnswerBytes, bytes);
    this.#answerEnd = this.#everQueuedBytes;
  }

  /** What must neither be dropped nor come before the market frames that gathered before it. */
  send(json: string): void {
    this.#enqueue(this.#ordered, textFrame(json));
  }

  /** Market frames, whole ones; dropped while the socket is slow. */
  deliver(frames: Buffer): void {
    if (this.#losesNextFrame()) return;
    if (this.#waitingBytes > DROP_PUBLIC_BYTES) this.#droppedChunks += 1;
    else this.#enqueue(this.#ordered, frames);
  }

  /** From now on this share of the frames with deltas goes missing. */
  loseFrames(share: number): void {
    this.#lossShare = share;
  }

  /** Nothing leaves for `ms`; it gathers, as when the network stalls. */
  stall(ms: number): void {
    this.flush();
    clearTimeout(this.#stallTimer);
    this.#stallTimer = setTimeout(() => {
      this.#stallTimer = undefined;
      this.flush();
    }, ms);
    this.#stallTimer.unref();
  }

  flush(): void {
    if (this.#stallTimer === undefined && this.#socket.readyState === WebSocket.OPEN) {
      while (this.#queuedBytes > 0 && !this.#connection.writableNeedDrain) this.#write(WRITE_BYTES);
    }
    if (this.#waitingBytes > MAX_UNSENT_BYTES) this.closeSlow();
  }

  /** Sends what has gathered, then closes. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#stallTimer === undefined) while (this.#queuedBytes > 0) this.#write(Infinity);
    this.#discard();
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS).unref();
  }

  /** Closes with 1008 `SLOW_CONSUMER`. Market frames that wait are forgotten: the close frame is better news. */
  closeSlow(): void {
    for (const { length } of this.#ordered) this.#queuedBytes -= length;
    this.#ordered = [];
    this.close(1008, "SLOW_CONSUMER");
  }

  /** To be called every second or so, with a clock of ms: gives up on a socket that took nothing for 15 s. */
  checkProgress(nowMs: number): void {
    const taken = this.#connection.bytesWritten - this.#connection.writableLength;
    if (this.#connection.writableLength === 0 || taken !== this.#takenBytes) {
      this.#takenBytes = taken;
      this.#progressAtMs = nowMs;
    } else if (nowMs - this.#progressAtMs >= MAX_STALL_MS) this.closeSlow();
  }

  get #unsentAnswerBytes(): number {
    return this.#everQueuedBytes - this.unsentBytes < this.#answerEnd ? this.#answerBytes : 0;
  }

  /** What a slow client is judged by. */
  get #waitingBytes(): number {
    const unsent = this.unsentBytes;
    return unsent <= DROP_PUBLIC_BYTES ? unsent : unsent - this.#unsentAnswerBytes;
  }

  #losesNextFrame(): boolean {
    return this.#lossShare > 0 && Math.random() < this.#lossShare;
  }

  /** Writes what has gathered at once, up to `maxBytes` of it, and one frame at least. */
  #write(maxBytes: number): void {
    const frames = this.#priority.length > 0 ? this.#priority : this.#ordered;
    const [only] = frames;
    if (only !== undefined && frames.length === 1) {
      frames.pop();
      this.#queuedBytes -= only.length;
      this.#connection.write(only);
      return;
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

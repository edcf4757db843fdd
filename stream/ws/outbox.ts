/** The write side of a socket: frames gather for a tick of the event loop and leave in one write. */

import type { Socket } from "node:net";
import { WebSocket } from "ws";

/** Over this much unsent the socket is closed with 1008 `SLOW_CONSUMER` (contract section 6), bytes. */
export const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
/** Over this much unsent public frames are dropped, which the client sees as a gap in a seq. */
export const DROP_PUBLIC_BYTES = MAX_UNSENT_BYTES / 2;
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
export class Pulse {
  readonly #rooms = new Set<Flushable>();
  readonly #outboxes = new Set<Flushable>();
  #due = false;

  room(room: Flushable): void {
    this.#rooms.add(room);
    this.#schedule();
  }

  outbox(outbox: Flushable): void {
    this.#outboxes.add(outbox);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => {
      for (const room of this.#rooms) room.flush();
      this.#rooms.clear();
      for (const outbox of this.#outboxes) outbox.flush();
      this.#outboxes.clear();
      this.#due = false;
    });
  }
}

/**
 * What a socket is sent. Frames go past `ws` to its connection: they are framed already, and without compression and
 * fragments `ws` itself writes whole frames at once, so neither cuts into the other's.
 */
export class Outbox implements Flushable {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #pulse: Pulse;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  /** The largest answer under way: a client that asked for much is not slow for not having it yet. */
  #answerBytes = 0;
  #takenBytes = 0;
  #dropped = 0;
  /** The share of delta frames that a sandbox client wants to lose. */
  #lost = 0;
  #stalled: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: WebSocket, connection: Socket, pulse: Pulse) {
    this.#socket = socket;
    this.#connection = connection;
    this.#pulse = pulse;
    connection.on("drain", () => {
      this.#answerBytes = 0;
    });
  }

  /** How many chunks of public frames were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  get #unsentBytes(): number {
    return this.#connection.writableLength + this.#gatheredBytes;
  }

  /** Answers, errors, private frames and heartbeats: never dropped. */
  send(json: string): void {
    this.#gather(textFrame(json));
  }

  /** An answer that the client asked for, however large it is. */
  answer(json: string): void {
    const frame = textFrame(json);
    this.#answerBytes = Math.max(this.#answerBytes, frame.length);
    this.#gather(frame);
  }

  /** A private frame. */
  tell(json: string): void {
    if (!this.#isLost()) this.send(json);
  }

  /** Public frames, whole ones; dropped while the socket is slow. */
  deliver(frames: Buffer): void {
    if (this.#isLost()) return;
    if (this.#unsentBytes - this.#answerBytes > DROP_PUBLIC_BYTES) this.#dropped += 1;
    else this.#gather(frames);
  }

  /** From now on this share of the frames with deltas goes missing. */
  lose(share: number): void {
    this.#lost = share;
  }

  /** Nothing leaves for `ms`; it gathers, as when the network stalls. */
  stall(ms: number): void {
    this.flush();
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(() => {
      this.#stalled = undefined;
      this.flush();
    }, ms);
    this.#stalled.unref();
  }

  flush(): void {
    this.#write();
    if (this.#unsentBytes - this.#answerBytes > MAX_UNSENT_BYTES) this.close(1008, "SLOW_CONSUMER");
  }

  /** Sends what has gathered, then closes. */
  close(code: number, reason: string): void {
    this.#write();
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS).unref();
  }

  /** To be called every 15 s: gives up on a socket that has taken nothing of what waits since the last call. */
  checkProgress(): void {
    const taken = this.#connection.bytesWritten - this.#connection.writableLength;
    if (this.#connection.writableLength > 0 && taken === this.#takenBytes) this.close(1008, "SLOW_CONSUMER");
    this.#takenBytes = taken;
  }

  #isLost(): boolean {
    return this.#lost > 0 && Math.random() < this.#lost;
  }

  #write(): void {
    const frames = this.#gathered;
    if (frames.length === 0 || this.#stalled !== undefined) return;
    const bytes = this.#gatheredBytes;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#connection.write(
      frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames, bytes),
    );
  }

  #gather(frame: Buffer): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#gathered.push(frame);
    this.#gatheredBytes += frame.length;
    this.#pulse.outbox(this);
  }
}

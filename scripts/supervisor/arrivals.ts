/**
 * Accepted connections that wait for a gateway, in turn by address and at a pace for each, so that nobody waits for a flood
 * of connections.
 */

import type { Socket } from "node:net";
import { subscriberOf } from "../../http/geo/addresses.js";
import { type BucketSize, MemoryBuckets } from "../../http/request/throttle.js";

/** Connection that waits. `most` is the number of waiting, and of open connections of a gateway, from which on it is closed. */
export interface Arrival {
  readonly socket: Socket;
  readonly most: number;
}

/** Longest wait of a connection, in ms: no request waits longer for its answer. */
const WAIT_MS = 5_000;
/** Connections of an address that a gateway receives: at once, and a second. It takes about half a millisecond for each. */
const PACE: BucketSize = { capacity: 128, refillPerSec: 500 };
/** Time in ms after which connections beyond the pace are tried again. */
const RETRY_MS = 20;

export class Arrivals {
  readonly #pace: MemoryBuckets;
  #retry: NodeJS.Timeout | undefined;
  /** Waiting connections by address; the first address has the next turn. */
  readonly #ofAddress = new Map<string, Set<Arrival>>();
  #size = 0;
  /** Called when `take` may return a connection that it has held back. */
  onDue: () => void = () => undefined;

  constructor(pace = PACE) {
    this.#pace = new MemoryBuckets(pace);
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a connection, which is closed when too many wait, or when its wait takes too long. */
  add(arrival: Arrival): void {
    const { socket, most } = arrival;
    if (this.#size >= most) {
      socket.destroy();
      return;
    }
    const address = subscriberOf(socket.remoteAddress ?? "");
    let waiting = this.#ofAddress.get(address);
    if (waiting === undefined) this.#ofAddress.set(address, (waiting = new Set()));
    waiting.add(arrival);
    this.#size += 1;
    socket.setTimeout(WAIT_MS, () => socket.destroy());
    socket.once("close", () => this.#remove(address, arrival));
  }

  /** Removes and returns the next connection: of an address within its pace, or of any one if `all` may go. */
  take(all = false): Arrival | undefined {
    for (const [address, waiting] of this.#ofAddress) {
      const [next] = waiting;
      if (next === undefined || !(all || this.#pace.charge(address, 1).granted)) continue;
      this.#remove(address, next);
      if (waiting.size > 0) {
        // The address goes behind all others.
        this.#ofAddress.delete(address);
        this.#ofAddress.set(address, waiting);
      }
      next.socket.setTimeout(0);
      return next;
    }
    if (this.#size > 0) this.#retryLater();
    return undefined;
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.onDue();
    }, RETRY_MS).unref();
  }

  #remove(address: string, arrival: Arrival): void {
    const waiting = this.#ofAddress.get(address);
    if (waiting?.delete(arrival) !== true) return;
    this.#size -= 1;
    if (waiting.size === 0) this.#ofAddress.delete(address);
  }
}

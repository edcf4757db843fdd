/** Accepted connections that wait for a gateway, in turn by address, so that nobody waits for a flood of connections. */

import type { Socket } from "node:net";
import { subscriberOf } from "../../http/geo/addresses.js";

/** Connection that waits. `most` is the number of waiting, and of open connections of a gateway, from which on it is closed. */
export interface Arrival {
  readonly socket: Socket;
  readonly most: number;
}

/** Longest wait of a connection, in ms: no request waits longer for its answer. */
const WAIT_MS = 5_000;

export class Arrivals {
  /** Waiting connections by address; the first address has the next turn. */
  readonly #ofAddress = new Map<string, Set<Arrival>>();
  #size = 0;

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

  /** Removes and returns the next connection. */
  take(): Arrival | undefined {
    for (const [address, waiting] of this.#ofAddress) {
      const [next] = waiting;
      if (next === undefined) continue;
      this.#remove(address, next);
      if (waiting.size > 0) {
        // The address goes behind all others.
        this.#ofAddress.delete(address);
        this.#ofAddress.set(address, waiting);
      }
      next.socket.setTimeout(0);
      return next;
    }
    return undefined;
  }

  #remove(address: string, arrival: Arrival): void {
    const waiting = this.#ofAddress.get(address);
    if (waiting?.delete(arrival) !== true) return;
    this.#size -= 1;
    if (waiting.size === 0) this.#ofAddress.delete(address);
  }
}

/** Caps on the open sockets of a key, a trader and an address, as this gateway counts them (contract section 6.5). */

import type { Socket } from "node:net";
import type { Caller } from "../../stream/ws/ports.js";
import { retryAfter } from "../edge/headers.js";
import { subscriberOf } from "../geo/addresses.js";
import { Refused } from "../request/errors.js";

/** Most open sockets. An address is an IPv4 address or a /64 network of IPv6, which one subscriber holds. */
export interface SocketCaps {
  readonly key: number;
  readonly trader: number;
  readonly address: number;
}

export const SOCKET_CAPS: SocketCaps = { key: 100, trader: 400, address: 1_000 };

/** Wait in s that a refusal advises: the time in which a socket whose client has gone is noticed. */
const RETRY_S = 30;

export class OpenSockets {
  readonly #counts = new Map<string, number>();

  constructor(private readonly caps: SocketCaps = SOCKET_CAPS) {}

  /** Counts a socket until its connection closes. Refuses `RATE_LIMIT_EXCEEDED` when one of the caps is reached. */
  hold({ keyId, traderId, address }: Caller, connection: Socket): void {
    // An event of a connection that is closed already would never come.
    if (connection.closed) return;
    const names = { key: keyId, trader: traderId, address: subscriberOf(address) };
    const holders = (["key", "trader", "address"] as const).map((kind) => ({
      kind,
      id: `${kind}:${names[kind]}`,
    }));
    for (const { kind, id } of holders) {
      const cap = this.caps[kind];
      if ((this.#counts.get(id) ?? 0) < cap) continue;
      const message = `this ${kind} has ${cap} open sockets, which is the most; close one of them`;
      throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(RETRY_S));
    }
    for (const { id } of holders) this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    connection.once("close", () => {
      for (const { id } of holders) {
        const left = (this.#counts.get(id) ?? 1) - 1;
        if (left === 0) this.#counts.delete(id);
        else this.#counts.set(id, left);
      }
    });
  }
}

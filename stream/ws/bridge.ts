/** The websocket bridge: takes sockets whose callers are known, and serves them from replicas and feeds. */

import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { EventWatch } from "./market/event-watch.js";
import { FlushScheduler } from "./socket/outbox.js";
import type { Caller, Catalog, Disconnects, Queries, Throttle, Trading } from "./ports.js";
import { MAX_REQUEST_BYTES } from "./socket/protocol.js";
import type { Replicas } from "./market/replica.js";
import { Rooms } from "./market/rooms.js";
import { Session } from "./socket/session.js";
import type { Wallets } from "./wallet/wallets.js";

/** What the websocket server must be made with: the inbound cap, and no compression. */
export const WS_OPTIONS = Object.freeze({ maxPayload: MAX_REQUEST_BYTES, perMessageDeflate: false });

/** How often is looked whether sockets take what they are sent, ms. */
const CHECK_MS = 1_000;

export interface BridgePorts {
  readonly replicas: Replicas;
  /** Started. */
  readonly wallets: Wallets;
  readonly trading: Trading;
  readonly disconnects: Disconnects;
  readonly catalog: Catalog;
  readonly throttle: Throttle;
  readonly queries: Queries;
  /** Reads one JSON document as strictly as the REST bodies. Throws on anything else. */
  readonly readJson: (bytes: Uint8Array) => unknown;
  readonly onError: (error: unknown) => void;
  /** Whether clients may order faults for their own sockets (default no). */
  readonly sandbox?: boolean | undefined;
  /** Between pings and heartbeats, ms (default 15,000). */
  readonly heartbeatMs?: number | undefined;
}

export interface Bridge {
  /** Serves a socket until it closes. Call it as soon as the socket is open: messages before it are lost. */
  open(socket: WebSocket, caller: Caller, connection: Socket): void;
  /** Whose sockets are open, one for each. */
  callers(): Iterable<Caller>;
  /** Closes the sockets of those callers for whom there is a reason, with 1008 and that. */
  expel(reasonFor: (caller: Caller) => string | undefined): void;
  /** Closes the sockets that their wallet's orders go with: this process was taken for dead, and they went. */
  closeArmed(): void;
  /** How many sockets are open. */
  readonly sockets: number;
  /** Closes every socket with 1012 and waits for what they still had to do. Replicas and wallets stay. */
  close(): Promise<void>;
}

export function bridge(ports: BridgePorts): Bridge {
  const { replicas, wallets, catalog, throttle, onError, sandbox = false } = ports;
  const pulse = new FlushScheduler();
  const events = new EventWatch(catalog, onError);
  const shared = { replicas, wallets, catalog, throttle, rooms: new Rooms(pulse), events };
  const sessions = new Set<Session>();
  const watching = setInterval(() => {
    const now = performance.now();
    for (const session of sessions) session.checkProgress(now);
  }, CHECK_MS);
  watching.unref();
  let closing = false;
  return {
    open(socket, caller, connection) {
      const session = new Session(
        { ...ports, shared, scheduler: pulse, sandbox, isClosing: () => closing },
        socket,
        connection,
        caller,
      );
      sessions.add(session);
      void session.ended.finally(() => sessions.delete(session));
      if (closing) session.close(1012, "the server restarts");
    },
    *callers() {
      for (const { caller } of sessions) yield caller;
    },
    expel(reasonFor) {
      for (const session of sessions) {
        const reason = reasonFor(session.caller);
        if (reason !== undefined) session.close(1008, reason);
      }
    },
    closeArmed() {
      for (const session of sessions) if (session.armed) session.close(1012, "the gateway fell silent");
    },
    get sockets() {
      return sessions.size;
    },
    async close() {
      closing = true;
      clearInterval(watching);
      events.close();
      const all = [...sessions];
      for (const session of all) session.close(1012, "the server restarts");
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}

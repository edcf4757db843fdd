/** The websocket bridge: serves sockets of authenticated callers from market replicas and wallet feeds. */

import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { EventWatch } from "./market/event-watch.js";
import { FlushScheduler } from "./socket/flush-scheduler.js";
import type { Caller, Catalog, Disconnects, Queries, Throttle, Trading } from "./ports.js";
import { MAX_REQUEST_BYTES } from "./socket/protocol.js";
import type { LongWork } from "../services/long-work.js";
import type { Replicas } from "./market/replicas.js";
import { Rooms } from "./market/rooms.js";
import { Session } from "./socket/session.js";
import type { Wallets } from "./wallet/wallets.js";

/** Options that the websocket server must be created with: the cap on inbound messages, and no compression. */
export const WS_OPTIONS = Object.freeze({ maxPayload: MAX_REQUEST_BYTES, perMessageDeflate: false });

/** Interval of the slow-consumer check, in ms. */
const SLOW_CHECK_MS = 1_000;
/** Time in ms that the clients have to answer the close frame of a gateway that stops. */
const CLOSE_MS = 300;

/** Everything the bridge depends on; see `ports.ts` for the ports that the HTTP side implements. */
export interface BridgePorts {
  readonly replicas: Replicas;
  /** Must have been started. */
  readonly wallets: Wallets;
  readonly trading: Trading;
  readonly disconnects: Disconnects;
  readonly catalog: Catalog;
  readonly throttle: Throttle;
  /** Runs the parts of requests that take long, of all sockets and of the rest of the process. */
  readonly longWork: LongWork;
  readonly queries: Queries;
  /** Parses one JSON document as strictly as REST bodies are parsed. Throws on any other input. */
  readonly readJson: (bytes: Uint8Array) => unknown;
  readonly onError: (error: unknown) => void;
  /** Lets clients inject faults into their own sockets (default false). */
  readonly sandbox?: boolean | undefined;
  /** Interval of pings and heartbeats, in ms (default 15,000). */
  readonly heartbeatMs?: number | undefined;
}

/** The open sockets of a gateway. */
export interface Bridge {
  /** Serves a socket until it closes. Must be called as soon as the socket is open: earlier messages are lost. */
  open(socket: WebSocket, caller: Caller, connection: Socket): void;
  /** Callers of the open sockets, one for each socket. */
  callers(): Iterable<Caller>;
  /** Closes with 1008 every socket for whose caller `reasonFor` returns a reason, and sends that reason. */
  expel(reasonFor: (caller: Caller) => string | undefined): void;
  /**
   * Closes the sockets that have cancel-on-disconnect armed. Called when this process lost its lease, because the
   * jobs role has then canceled the orders of their wallets.
   */
  closeArmed(): void;
  /** Number of open sockets. */
  readonly sockets: number;
  /** Closes every socket with 1012 and waits until their last work is done. Leaves replicas and wallets open. */
  close(): Promise<void>;
}

/** Creates a bridge that has no sockets yet. */
export function bridge(ports: BridgePorts): Bridge {
  const { replicas, wallets, catalog, throttle, longWork, onError, sandbox = false } = ports;
  const scheduler = new FlushScheduler();
  const events = new EventWatch(catalog, onError);
  const shared = { replicas, wallets, catalog, throttle, longWork, rooms: new Rooms(scheduler), events };
  const sessions = new Set<Session>();
  const slowCheck = setInterval(() => {
    const now = performance.now();
    for (const session of sessions) session.checkProgress(now);
  }, SLOW_CHECK_MS);
  slowCheck.unref();
  let closing = false;
  return {
    open(socket, caller, connection) {
      const session = new Session(
        { ...ports, shared, scheduler, sandbox, isClosing: () => closing },
        socket,
        connection,
        caller,
      );
      sessions.add(session);
      void session.ended.finally(() => sessions.delete(session));
      if (closing) session.close(1012, "the server is restarting; reconnect now");
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
      for (const session of sessions)
        if (session.armed)
          session.close(1012, "this gateway lost its lease, so your orders are canceled; reconnect now");
    },
    get sockets() {
      return sessions.size;
    },
    async close() {
      closing = true;
      clearInterval(slowCheck);
      events.close();
      const all = [...sessions];
      for (const session of all) session.close(1012, "the server is restarting; reconnect now");
      const cut = setTimeout(() => {
        for (const session of all) session.terminate();
      }, CLOSE_MS);
      await Promise.all(all.map(({ ended }) => ended));
      clearTimeout(cut);
    },
  };
}

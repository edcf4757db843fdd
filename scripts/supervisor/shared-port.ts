/**
 * The ports that the gateways of a set share. The supervisor accepts every connection and hands it to the gateway that
 * has fewest, so that long-lived sockets are spread evenly, and evenly again after a restart. No connection is refused
 * while a gateway is replaced, because the listening socket stays open. The alternatives do less: Node 20 lacks
 * `reusePort`, which also resets the connections in the queue of a process that stops; one listening socket for all
 * processes lets the system choose, which leaves most sockets with one of them; and the cluster module distributes in
 * turn and starts its processes itself, without the watcher that ends them with the supervisor.
 */

import type { ChildProcess } from "node:child_process";
import { createServer, type Server, type Socket } from "node:net";
import { RESERVED_CONNECTIONS } from "../../http/server.js";

/** Messages with which the supervisor hands connections over. Its channel keeps their order. */
export const FROM_PORT = {
  /** Comes with a connection. */
  connection: "connection",
  /** Follows the last connection. */
  last: "last connection",
} as const;

/** Messages of a gateway to the supervisor. */
export const TO_PORT = {
  /** The gateway has received the oldest connection that was handed over. */
  received: "connection received",
  /** A connection that the gateway has received is closed. */
  closed: "connection closed",
  /** The gateway wants no more connections; `last` answers. */
  draining: "no more connections",
} as const;

/** Process that serves connections. */
interface Gateway {
  readonly child: ChildProcess;
  /** Number of connections that were handed over and are not closed. */
  open: number;
  /** Connections that the gateway has not received yet, oldest first. */
  readonly onTheirWay: Socket[];
}

/** Longest wait of a connection for a gateway, in ms: no request waits longer for its answer. */
const WAIT_MS = 5_000;

export class SharedPort {
  readonly #gateways = new Set<Gateway>();
  /** Connections that wait because no gateway runs at the moment. */
  readonly #waiting = new Set<Socket>();
  readonly #servers: Server[] = [];
  readonly #connections: number;
  #closesWithLast = false;

  /**
   * `connections` is the number of connections that one gateway keeps open. Those of the further ports are admitted a
   * little above it, so that a flood of clients does not hide the health of the gateways.
   */
  constructor(connections: number) {
    this.#connections = connections;
  }

  /** Begins to accept the connections of a port; a gateway sees the port in each connection. */
  listen(port: number, host: string, use: "clients" | "further" = "clients"): Promise<void> {
    const most = this.#connections + (use === "further" ? RESERVED_CONNECTIONS : 0);
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      // A connection that breaks on its way is the client's affair.
      socket.on("error", () => undefined);
      this.#deliver(socket, most);
    });
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });
  }

  /** Hands connections to a process that is ready, until the process drains or ends. */
  add(child: ChildProcess): void {
    const gateway: Gateway = { child, open: 0, onTheirWay: [] };
    this.#gateways.add(gateway);
    child.on("message", (message: unknown) => {
      if (message === TO_PORT.received) gateway.onTheirWay.shift()?.destroy();
      else if (message === TO_PORT.closed) gateway.open -= 1;
      else if (message === TO_PORT.draining) {
        this.#remove(gateway);
        child.send(FROM_PORT.last, () => undefined);
      }
    });
    child.once("exit", () => {
      this.#remove(gateway);
      // The process may have read a request from them, so no other gateway can serve them.
      for (const socket of gateway.onTheirWay.splice(0)) socket.destroy();
    });
    for (const socket of this.#waiting) {
      this.#waiting.delete(socket);
      socket.setTimeout(0);
      this.#deliver(socket, this.#connections);
    }
  }

  /** Refuses connections from the time on at which the last gateway drains or has ended. */
  closeWithLast(): void {
    this.#closesWithLast = true;
    if (this.#gateways.size === 0) this.#close();
  }

  #remove(gateway: Gateway): void {
    this.#gateways.delete(gateway);
    if (this.#closesWithLast && this.#gateways.size === 0) this.#close();
  }

  #close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#waiting) socket.destroy();
  }

  /** `most`: the number of open connections of a gateway from which on the connection is closed. */
  #deliver(socket: Socket, most: number): void {
    const gateway = this.#idlest();
    if (gateway === undefined) {
      this.#hold(socket);
    } else if (gateway.open >= most) {
      socket.destroy();
    } else {
      gateway.open += 1;
      gateway.onTheirWay.push(socket);
      // Kept open here until the gateway has received it: the end of the gateway must close it.
      gateway.child.send(FROM_PORT.connection, socket, { keepOpen: true }, () => undefined);
    }
  }

  #hold(socket: Socket): void {
    if (this.#waiting.size >= this.#connections) {
      socket.destroy();
      return;
    }
    this.#waiting.add(socket);
    socket.once("close", () => this.#waiting.delete(socket));
    socket.setTimeout(WAIT_MS, () => socket.destroy());
  }

  #idlest(): Gateway | undefined {
    let idlest: Gateway | undefined;
    for (const gateway of this.#gateways) if (gateway.open < (idlest?.open ?? Infinity)) idlest = gateway;
    return idlest;
  }
}

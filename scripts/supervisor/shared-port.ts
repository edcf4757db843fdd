/**
 * The ports that the gateways of a set share. The supervisor accepts every connection and hands it to the gateway that
 * has fewest, so that long-lived sockets are spread evenly, and evenly again after a restart. A gateway receives them one by
 * one, those of each address in its turn, so that no client waits for a flood. No connection is refused while a gateway is
 * replaced, because the listening socket stays open. The alternatives do less: Node 20 lacks `reusePort`, which also resets
 * the connections in the queue of a process that stops; one listening socket for all processes lets the system choose, which
 * leaves most sockets with one of them; and the cluster module distributes in turn and starts its processes itself, without
 * the watcher that ends them with the supervisor.
 */

import type { ChildProcess } from "node:child_process";
import { createServer, type Server, type Socket } from "node:net";
import { listen, RESERVED_CONNECTIONS } from "../../http/server.js";
import { type Arrival, Arrivals } from "./arrivals.js";

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

/** Connections on their way to a gateway. It takes them one by one, so that more would be out of turn. */
const MOST_ON_THEIR_WAY = 4;

export class SharedPort {
  readonly #gateways = new Set<Gateway>();
  /** Connections that wait until a gateway has received earlier ones, or until one runs. */
  readonly #arrivals = new Arrivals();
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
      this.#arrivals.add({ socket, most });
      this.#deliver();
    });
    this.#servers.push(server);
    return listen(server, port, host);
  }

  /** Hands connections to a process that is ready, until the process drains or ends. */
  add(child: ChildProcess): void {
    const gateway: Gateway = { child, open: 0, onTheirWay: [] };
    this.#gateways.add(gateway);
    child.on("message", (message: unknown) => {
      if (message === TO_PORT.received) {
        gateway.onTheirWay.shift()?.destroy();
        this.#deliver();
      } else if (message === TO_PORT.closed) {
        gateway.open -= 1;
      } else if (message === TO_PORT.draining) {
        // No other gateway would take those that wait.
        if (this.#closesWithLast && this.#gateways.size === 1) this.#deliver(Infinity);
        this.#remove(gateway);
        child.send(FROM_PORT.last, () => undefined);
      }
    });
    child.once("exit", () => {
      this.#remove(gateway);
      // The process may have read a request from them, so no other gateway can serve them.
      for (const socket of gateway.onTheirWay.splice(0)) socket.destroy();
    });
    this.#deliver();
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
    for (let next = this.#arrivals.take(); next !== undefined; next = this.#arrivals.take())
      next.socket.destroy();
  }

  /** Hands over the connections that wait, while less than `most` are on their way to a gateway. */
  #deliver(most = MOST_ON_THEIR_WAY): void {
    while (this.#arrivals.size > 0) {
      const gateway = this.#idlest(most);
      const arrival = gateway && this.#arrivals.take();
      if (gateway === undefined || arrival === undefined) return;
      handOver(gateway, arrival);
    }
  }

  /** Returns the gateway with the fewest connections to which less than `most` are on their way. */
  #idlest(most: number): Gateway | undefined {
    let idlest: Gateway | undefined;
    for (const gateway of this.#gateways)
      if (gateway.onTheirWay.length < most && gateway.open < (idlest?.open ?? Infinity)) idlest = gateway;
    return idlest;
  }
}

/** Hands a connection to a gateway, or closes it when that has too many. */
function handOver(gateway: Gateway, { socket, most }: Arrival): void {
  if (gateway.open >= most) {
    socket.destroy();
    return;
  }
  gateway.open += 1;
  gateway.onTheirWay.push(socket);
  // Kept open here until the gateway has received it: the end of the gateway must close it.
  gateway.child.send(FROM_PORT.connection, socket, { keepOpen: true }, () => undefined);
}

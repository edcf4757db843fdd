import type { Server } from "node:http";
import { Socket } from "node:net";
import type { ConnectionSource } from "../../http/server.js";
import { FROM_PORT, TO_PORT } from "../supervisor/shared-port.js";

/** Longest wait in ms for the connections on their way. */
const LAST_MS = 500;

/** Serves the connections that the supervisor accepts on `port` and hands to this process; see `SharedPort`. */
export function handedConnections(port: number): ConnectionSource {
  let onLast: () => void = () => undefined;
  const last = new Promise<void>((resolve) => (onLast = resolve));
  return {
    open(server) {
      process.on("message", (message, socket: unknown) => {
        if (message === FROM_PORT.last) onLast();
        if (message !== FROM_PORT.connection) return;
        tell(TO_PORT.received);
        if (socket instanceof Socket) serve(server, socket);
        else tell(TO_PORT.closed);
      });
      // Node limits the time of requests from this event on, which a server that does not listen lacks.
      server.emit("listening");
      return Promise.resolve(port);
    },
    async close() {
      tell(TO_PORT.draining);
      const late = new Promise((resolve) => setTimeout(resolve, LAST_MS).unref());
      await Promise.race([last, late]);
    },
  };
}

function serve(server: Server, socket: Socket): void {
  socket.once("close", () => tell(TO_PORT.closed));
  // As for the connections that a server of HTTP accepts: a client that has sent all still gets its answer.
  socket.allowHalfOpen = true;
  server.emit("connection", socket);
}

/** Sends a message to the supervisor. Without a supervisor this process drains, and the message has no meaning. */
function tell(message: string): void {
  process.send?.(message, () => undefined);
}

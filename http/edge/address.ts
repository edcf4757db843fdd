/** Address of a caller behind the configured proxies, by the rule that Express uses for `req.ip`. */

import type { IncomingMessage } from "node:http";
import type { Express } from "express";
import proxyAddr from "proxy-addr";

type Trusts = (address: string, hop: number) => boolean;

/** Returns a reader of the address for requests that do not pass through the app, such as upgrades. */
export function addressOf(app: Express): (request: IncomingMessage) => string {
  const trusts = app.get("trust proxy fn") as Trusts;
  // A connection that is gone has no address.
  return (request) => (request.socket.remoteAddress === undefined ? "" : proxyAddr(request, trusts));
}

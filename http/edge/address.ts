/** The address of a caller behind the configured proxies, by the rule that Express uses for `req.ip`. */

import type { IncomingMessage } from "node:http";
import type { Express } from "express";

type Trusts = (address: string, hop: number) => boolean;

/** Reads the address for requests that do not pass through the app, such as upgrades. */
export function addressOf(app: Express): (request: IncomingMessage) => string {
  const trusts = app.get("trust proxy fn") as Trusts;
  return (request) => {
    const forwarded = String(request.headers["x-forwarded-for"] ?? "").split(",");
    const hops = [request.socket.remoteAddress ?? "", ...forwarded.map((hop) => hop.trim()).reverse()];
    const known = hops.filter((hop) => hop !== "");
    return known.find((hop, index) => !trusts(hop, index)) ?? known.at(-1) ?? "";
  };
}

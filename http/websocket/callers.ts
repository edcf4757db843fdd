/**
 * Who opens a socket: a signer, as of any GET, or the bearer of a one-use ticket; and whether they may (contract
 * sections 5 and 6).
 */

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Tickets } from "../../stream/services/tickets.js";
import type { Caller } from "../../stream/ws/ports.js";
import { refuseLocation } from "../geo/locations.js";
import { refuseInactive } from "../request/account-state.js";
import type { AdmissionParts } from "../request/admission.js";
import type { LiveKey } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { REPEATED } from "../edge/incoming.js";
import { readQuery } from "../edge/query.js";
import type { SignedRequest } from "../auth/signatures.js";
import { readTarget } from "../edge/target.js";

export interface StreamCallerParts extends AdmissionParts {
  readonly tickets: Pick<Tickets, "redeem">;
  /** Web pages of these origins may open sockets, besides those that come from this very host. */
  readonly origins: readonly string[];
  /** The caller's address, by the same rule as for requests. */
  readonly addressOf: (request: IncomingMessage) => string;
}

export const STREAM_PATH = "/v3/ws";
/** What an upgrade costs in the `stream` bucket. */
const UPGRADE_COST = 32;

const StreamTicket = z.object({
  keyId: z.string(),
  session: z.object({ sessionId: z.string(), expiresAt: z.number() }).optional(),
});
/** What a ticket stands for: a key, and the web session that it was given to, if it was one. */
export type StreamTicket = z.infer<typeof StreamTicket>;

/** Identifies and charges the caller of an upgrade, or throws `Refused`. */
export async function admitStreamCaller(request: IncomingMessage, parts: StreamCallerParts): Promise<Caller> {
  const target = readTarget(request.url ?? "");
  if (target?.path !== STREAM_PATH || request.method !== "GET") throw new Refused("ROUTE_NOT_FOUND");
  refuseOrigin(request, parts.origins);
  const signed: SignedRequest = {
    method: request.method,
    target,
    body: Buffer.alloc(0),
    ip: parts.addressOf(request),
    receivedMs: Date.now(),
    header: (name) => {
      const values = request.headersDistinct[name];
      return values !== undefined && values.length > 1 ? REPEATED : values?.[0];
    },
  };
  const { key, session } = await identify(signed, parts);
  const { ip: address, receivedMs } = signed;
  const { scope, subaccountId: wallet, traderId, keyId, expiresTs: expiresAt } = key;
  parts.keyUse.note(keyId, receivedMs);
  if ((scope !== "trading" && scope !== "trading::read") || wallet === undefined) {
    throw new Refused("SCOPE_REJECTED", "the stream takes trading and trading::read keys");
  }
  const charge = await parts.throttle.charge(keyId, "stream", UPGRADE_COST);
  if (!charge.granted) {
    throw new Refused("RATE_LIMIT_EXCEEDED", undefined, {}, { "Retry-After": String(charge.retryAfterS) });
  }
  refuseInactive(key.state, false);
  await refuseLocation(parts.locations, { traderId, ip: address, purpose: "read", nowMs: receivedMs });
  return { keyId, traderId, wallet, scope, address, expiresAt, session };
}

async function identify(
  request: SignedRequest,
  parts: StreamCallerParts,
): Promise<{ readonly key: LiveKey; readonly session?: StreamTicket["session"] }> {
  const { signatures, tickets } = parts;
  const { query } = request.target;
  if (query === "" || signatures.isSigned(request)) {
    const { key } = await signatures.identify(request);
    if (query !== "")
      throw new Refused("INVALID_QUERY", "a signed upgrade takes no query parameters; leave them out");
    return { key };
  }
  const { ticket, ...others } = readQuery(query);
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new Refused("INVALID_QUERY", `${other} is not a query parameter of this route; leave it out`);
  const meaning = ticket === undefined ? undefined : await tickets.redeem(ticket);
  if (meaning === undefined)
    throw new Refused("UNAUTHENTICATED", "the ticket is unknown, used or expired; get a new one");
  const { keyId, session } = StreamTicket.parse(JSON.parse(meaning));
  const key = await parts.reference.find(keyId);
  const { receivedMs } = request;
  const ended =
    key === undefined ||
    (key.expiresTs !== undefined && key.expiresTs <= receivedMs) ||
    (session !== undefined &&
      (session.expiresAt <= receivedMs || (await parts.reference.isRevoked(session.sessionId))));
  if (ended)
    throw new Refused(
      "UNAUTHENTICATED",
      "what the ticket was given to has ended; sign in again, or use a live key",
    );
  return { key, session };
}

/**
 * A browser always says which page opens a socket, and lets any page do it: the pages of this host and the allowed
 * ones may. Other programs say nothing, or what they like, and need a signature.
 */
function refuseOrigin(request: IncomingMessage, allowed: readonly string[]): void {
  const { origin, host } = request.headers;
  if (origin === undefined || allowed.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new Refused("FORBIDDEN", "pages of this origin may not open the stream");
}

/**
 * Authenticates and admits the caller of a websocket upgrade, who signs it or presents a one-use ticket (contract
 * section 6.1).
 */

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Tickets } from "../../stream/services/tickets.js";
import type { Caller } from "../../stream/ws/ports.js";
import { retryAfter } from "../edge/headers.js";
import { refuseLocation } from "../geo/locations.js";
import { refuseInactive } from "../request/account-state.js";
import type { AdmissionParts } from "../request/admission.js";
import type { LiveKey } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { REPEATED } from "../edge/incoming.js";
import { readQuery } from "../edge/query.js";
import type { SignedRequest } from "../auth/signatures.js";
import { readTarget } from "../edge/target.js";

/** Everything the admission of an upgrade depends on. */
export interface StreamCallerParts extends AdmissionParts {
  readonly tickets: Pick<Tickets, "redeem">;
  /** Origins whose web pages may open sockets, besides the origin of this host. */
  readonly origins: readonly string[];
  /** Returns the address of the caller, by the same rule as for requests. */
  readonly addressOf: (request: IncomingMessage) => string;
}

/** Path of the stream. */
export const STREAM_PATH = "/v3/ws";
/** Cost of an upgrade in tokens of the `stream` bucket (contract section 6.5). */
const UPGRADE_COST = 32;

const StreamTicket = z.object({
  keyId: z.string(),
  session: z.object({ sessionId: z.string(), expiresAt: z.number() }).optional(),
});
/** Content of a ticket: the key it opens a socket for, and the web session that requested it, if one did. */
export type StreamTicket = z.infer<typeof StreamTicket>;

/** Authenticates, charges and checks the caller of an upgrade. Throws `Refused`. */
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
    throw new Refused(
      "SCOPE_REJECTED",
      "the stream accepts keys with the scope trading or trading::read; use one of those",
    );
  }
  const charge = await parts.throttle.charge(keyId, "stream", UPGRADE_COST);
  if (!charge.granted) {
    throw new Refused("RATE_LIMIT_EXCEEDED", undefined, {}, retryAfter(charge.retryAfterS));
  }
  refuseInactive(key.state, false);
  await refuseLocation(parts.locations, { traderId, ip: address, purpose: "read", nowMs: receivedMs });
  return { keyId, traderId, wallet, scope, address, expiresAt, session };
}

/** Returns the live key of a signature or a ticket. Throws `Refused`. */
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
  const content = ticket === undefined ? undefined : await tickets.redeem(ticket);
  if (content === undefined)
    throw new Refused("UNAUTHENTICATED", "the ticket is unknown, used or expired; get a new one");
  const { keyId, session } = StreamTicket.parse(JSON.parse(content));
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
      "the key or the web session of the ticket has ended; sign in again or use a live key",
    );
  return { key, session };
}

/**
 * Throws `Refused` for web pages of other origins. Browsers send the origin of the page, and let any page open a socket.
 * Other programs may send any origin or none; they need a signature or a ticket.
 */
function refuseOrigin(request: IncomingMessage, allowed: readonly string[]): void {
  const { origin, host } = request.headers;
  if (origin === undefined || allowed.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new Refused(
    "FORBIDDEN",
    "pages of this origin may not open the stream; the operator allows origins with WS_ORIGINS",
  );
}

/**
 * Authenticates and admits the caller of a websocket upgrade, who signs it or presents a one-use ticket (contract
 * section 6.1).
 */

import type { Socket } from "node:net";
import type { Response } from "express";
import { z } from "zod";
import type { Tickets } from "../../stream/services/tickets.js";
import type { Caller } from "../../stream/ws/ports.js";
import { rateLimit, retryAfter } from "../edge/headers.js";
import { refuseLocation } from "../geo/locations.js";
import { refuseInactive } from "../request/account-state.js";
import type { AdmissionParts } from "../request/admission.js";
import { payerOfKey, type LiveKey } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { type Incoming, notesOf } from "../edge/incoming.js";
import { readQuery } from "../edge/query.js";
import { REMEMBER_MS } from "../auth/signatures.js";
import type { OpenSockets } from "./open-sockets.js";

/** Everything the admission of an upgrade depends on. */
export interface StreamCallerParts extends AdmissionParts {
  readonly tickets: Pick<Tickets, "redeem" | "useOnce">;
  readonly openSockets: OpenSockets;
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

/** Authenticates, charges and checks the caller of an upgrade, and counts the connection as a socket. Throws `Refused`. */
export async function admitStreamCaller(
  request: Incoming,
  res: Response,
  connection: Socket,
  parts: StreamCallerParts,
): Promise<Caller> {
  const { key, session, signedId } = await identify(request, parts);
  const { ip: address, receivedMs } = request;
  const { scope, subaccountId: wallet, traderId, keyId, expiresTs: expiresAt } = key;
  notesOf(res).keyId = keyId;
  parts.keyUse.note(keyId, receivedMs);
  if ((scope !== "trading" && scope !== "trading::read") || wallet === undefined) {
    throw new Refused(
      "SCOPE_REJECTED",
      "the stream accepts keys with the scope trading or trading::read; use one of those",
    );
  }
  const payer = payerOfKey(key);
  const charge = await parts.throttle.charge(payer, "stream", UPGRADE_COST);
  res.set(rateLimit("stream", charge.granted ? UPGRADE_COST : 0, charge.remaining));
  if (!charge.granted) {
    throw new Refused("RATE_LIMIT_EXCEEDED", undefined, {}, retryAfter(charge.retryAfterS));
  }
  refuseInactive(key.state, true);
  await refuseLocation(parts.locations, { traderId, ip: address, purpose: "read", nowMs: receivedMs });
  // A web page signs its orders with a key of its own, so the ticket of a session only reads.
  const reach = session === undefined ? scope : "trading::read";
  const caller = { keyId, payer, traderId, wallet, scope: reach, address, expiresAt, session };
  parts.openSockets.hold(caller, connection);
  // An upgrade that was refused may be sent again, so its signature is used up last.
  if (signedId !== undefined && !(await parts.tickets.useOnce(signedId, REMEMBER_MS)))
    throw new Refused("UNAUTHENTICATED", "the signature of this upgrade is used up; sign a new one");
  return caller;
}

/** Caller of an upgrade. `signedId` is the same for the same signed bytes, and absent for a ticket. */
interface Identified {
  readonly key: LiveKey;
  readonly session?: StreamTicket["session"];
  readonly signedId?: string;
}

/** Returns the live key of a signature or a ticket. Throws `Refused`. */
async function identify(request: Incoming, parts: StreamCallerParts): Promise<Identified> {
  const { signatures, tickets } = parts;
  const { query } = request.target;
  if (query === "" || signatures.isSigned(request)) {
    const { key, commandId } = await signatures.identify(request);
    if (query !== "")
      throw new Refused("INVALID_QUERY", "a signed upgrade takes no query parameters; leave them out");
    return { key, signedId: commandId };
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
      (session.expiresAt <= receivedMs || (await parts.reference.isOver(key.traderId, session))));
  if (ended)
    throw new Refused(
      "UNAUTHENTICATED",
      "the key or the web session of the ticket has ended; sign in again or use a live key",
    );
  return { key, session };
}

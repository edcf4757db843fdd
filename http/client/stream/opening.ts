/** Opening of a websocket to the stream, with a signature or with a ticket (contract section 6.1). */

import {
  readAnswer,
  type Connection,
  type PlatformSocket,
  type PlatformSocketEvents,
} from "../connection.js";
import type { Signer } from "../signer.js";
import { TicketAnswer } from "../wire/account.js";

const STREAM_PATH = "/v3/ws";
const TICKETS_PATH = "/v3/ws/tickets";
const NO_BODY = new Uint8Array(0);

/**
 * Returns a new one-use ticket for the stream (contract section 6.1). A rejection with a `code` that is
 * final, as an `ApiError` has it, ends the client; after any other it tries again.
 */
export type TicketProvider = () => Promise<string>;

/** Opens a websocket to the stream, with a signature where upgrades carry headers, else with a ticket. */
export async function openStream(
  connection: Connection,
  credential: Signer | TicketProvider,
  events: PlatformSocketEvents,
): Promise<PlatformSocket> {
  if (typeof credential !== "function" && connection.signsUpgrades) {
    const headers = await credential.headers("GET", STREAM_PATH, "", NO_BODY);
    return connection.openSocket(STREAM_PATH, headers, events);
  }
  const ticket = await (typeof credential === "function"
    ? credential()
    : signedTicket(connection, credential));
  return connection.openSocket(`${STREAM_PATH}?ticket=${encodeURIComponent(ticket)}`, {}, events);
}

/** Gets a ticket for the key of a signer. */
async function signedTicket(connection: Connection, signer: Signer): Promise<string> {
  const prepare = async () => ({
    method: "POST",
    target: TICKETS_PATH,
    headers: await signer.headers("POST", TICKETS_PATH, "", NO_BODY),
    body: NO_BODY,
  });
  const answer = await connection.send(prepare, { repeat: "anew", patienceMs: 0 });
  return readAnswer(answer, TicketAnswer).ticket;
}

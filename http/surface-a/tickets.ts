/** Tickets for browsers, which cannot sign an upgrade (contract section 6). */

import type { Database } from "../../db/database.js";
import { liveKeys } from "../../db/queries/accounts/keys.js";
import type { Tickets } from "../../stream/services/tickets.js";
import { IDS } from "../docs/examples.js";
import { signedOrSession } from "../request/access.js";
import { traderOf, type KeyCaller, type SessionCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { ACCOUNT } from "../request/metering.js";
import { route } from "../request/route.js";
import { readBody } from "../request/validation.js";
import type { StreamTicket } from "../websocket/callers.js";
import { Ticket, TicketBody } from "./schemas/account.js";

export interface TicketParts {
  readonly db: Database;
  readonly tickets: Pick<Tickets, "issue">;
}

const LIFE_MS = 30_000;

export function ticketRoutes({ db, tickets }: TicketParts) {
  /** The live key that a session streams by: the one it names, or the trading key of its only subaccount. */
  const keyOf = async (caller: SessionCaller, named: string | undefined, nowMs: number): Promise<string> => {
    const live = (await liveKeys(db, traderOf(caller), nowMs)).map(({ key }) => key);
    if (named === undefined) {
      const [only, ...others] = live.filter(({ scope }) => scope === "trading");
      if (only !== undefined && others.length === 0) return only.keyId;
      throw new Refused("INVALID_BODY", "keyId is missing; name a live key of the subaccount to stream");
    }
    const key = live.find(({ keyId }) => keyId === named);
    if (key === undefined) throw new Refused("KEY_NOT_FOUND");
    if (key.subaccountId === null) throw new Refused("NOT_A_SUBACCOUNT_KEY");
    return key.keyId;
  };

  const meaningOf = async (
    caller: KeyCaller | SessionCaller,
    named: string | undefined,
    nowMs: number,
  ): Promise<StreamTicket> => {
    if (caller.kind === "session") {
      const { sessionId, expiresAt } = caller;
      return { keyId: await keyOf(caller, named, nowMs), session: { sessionId, expiresAt } };
    }
    const { keyId } = caller.key;
    if (named !== undefined && named !== keyId) {
      throw new Refused("INVALID_BODY", "keyId: a key gets tickets for itself only; leave it out");
    }
    return { keyId };
  };

  const create = route("POST /v3/ws/tickets", {
    access: signedOrSession(["trading"]),
    metering: ACCOUNT,
    anyBody: true,
    answer: Ticket,
    docs: {
      summary: "A ticket for the stream, good once within 30 s: GET /v3/ws?ticket=",
      description: "A web session names the key to stream by, unless the trader has one subaccount only.",
      refuses: ["KEY_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"],
      optionalBody: TicketBody,
      exampleBody: { keyId: IDS.keyId },
    },
    run: async ({ caller, incoming }) => {
      // A key has nothing to say in the body, so it may leave it out.
      const named = incoming.body.length === 0 ? undefined : readBody(TicketBody, incoming)?.keyId;
      const meaning = await meaningOf(caller, named, incoming.receivedMs);
      const expiresAt = Date.now() + LIFE_MS;
      const ticket = await tickets.issue(JSON.stringify(meaning), LIFE_MS);
      return { body: { ticket, expiresAt }, headers: { "Cache-Control": "no-store" } };
    },
  });

  return [create];
}

/** Tickets for browsers, which cannot sign the upgrade to a websocket (contract section 6.1). */

import type { Database } from "../../db/database.js";
import { liveKeys } from "../../db/queries/accounts/keys.js";
import type { Tickets } from "../../stream/services/tickets.js";
import { IDS } from "../docs/examples.js";
import { signedOrSession, TRADING } from "../request/access.js";
import { traderOf, type KeyCaller, type SessionCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { ACCOUNT } from "../request/metering.js";
import { route } from "../request/route.js";
import type { StreamTicket } from "../websocket/callers.js";
import { Ticket, TicketBody } from "./schemas/account.js";

interface TicketParts {
  readonly db: Database;
  readonly tickets: Pick<Tickets, "issue">;
}

const LIFE_MS = 30_000;

export function ticketRoutes({ db, tickets }: TicketParts) {
  /** Returns the live key that a session streams with: the named one, or the trading key of its only subaccount. */
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
      throw new Refused(
        "INVALID_BODY",
        "keyId is not allowed in a signed request, which gets tickets for its own key only; leave it out",
      );
    }
    return { keyId };
  };

  const create = route("POST /v3/ws/tickets", {
    access: { ...signedOrSession(TRADING), whileExcluded: true },
    metering: ACCOUNT,
    body: TicketBody,
    optionalBody: true,
    answer: Ticket,
    docs: {
      summary: "Create a ticket for the stream",
      description: `Returns a ticket for one upgrade at \`GET /v3/ws?ticket=\` within ${LIFE_MS / 1_000} s. A web session names the key to stream with; a trader with one subaccount may leave it out.`,
      refuses: ["KEY_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"],
      exampleBody: { keyId: IDS.keyId },
    },
    run: async ({ caller, body, incoming }) => {
      const meaning = await meaningOf(caller, body.keyId, incoming.receivedMs);
      const expiresAt = incoming.receivedMs + LIFE_MS;
      const ticket = await tickets.issue(JSON.stringify(meaning), LIFE_MS);
      return { body: { ticket, expiresAt }, headers: { "Cache-Control": "no-store" } };
    },
  });

  return [create];
}

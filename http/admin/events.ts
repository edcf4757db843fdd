/** Events: their creation, and the actions of their life cycle (contract sections 4.2 and 8.7). */

import { randomUUID } from "node:crypto";
import { marketActor } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { findLeague } from "../../db/queries/catalog/classification.js";
import type { Competitor } from "../../db/queries/catalog/competitors.js";
import {
  changeEvent,
  createEvent,
  findEvent,
  finishEventAction,
  listEvents,
  marketIdsOfEvents,
  recordFollowed,
  stepEvent,
  type EventRecord,
  type EventStepOutcome,
} from "../../db/queries/catalog/events.js";
import { allMarkets } from "../../db/queries/catalog/markets.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import type { EventStatus } from "../../db/schema/catalog.js";
import { driveEventStep, type EventStep, type EventAction } from "../../stream/jobs/event-actions.js";
import type { SettlementJob } from "../../stream/jobs/settlement.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { Changes } from "../reference/changes.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { route } from "../request/route.js";
import { eventOnWire } from "../surface-a/wire.js";
import type { Freshness } from "../trading/freshness.js";
import { auditedAction, requireChange, type ActionRequest } from "./audit.js";
import { WAITS, type Approvals } from "./operators/approvals.js";
import {
  AdminEvent,
  AdminEventOrApproval,
  AdminEventsQuery,
  AdminEventWithMarkets,
  EventPatchBody,
  EventStatusBody,
  NewEventBody,
} from "./schemas/events.js";

interface AdminEventParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly freshness: Freshness;
  readonly changes: Changes;
  /** Queues the settlement of a graded market. After a failure, the sweep of the jobs queues it again. */
  readonly enqueueSettlement: (job: SettlementJob) => Promise<void>;
}

/** The statuses that each action may be taken from, and the status it leads to (contract section 4.2). */
const STEPS: Readonly<
  Record<EventAction, { readonly from: readonly EventStatus[]; readonly to: EventStatus }>
> = {
  open: { from: ["CLOSED_PREGAME", "DELAYED"], to: "OPEN_PREGAME" },
  close: { from: ["OPEN_PREGAME"], to: "CLOSED_PREGAME" },
  golive: { from: ["OPEN_PREGAME", "CLOSED_PREGAME", "DELAYED"], to: "OPEN_INGAME" },
  unlive: { from: ["OPEN_INGAME"], to: "DELAYED" },
  delay: { from: ["OPEN_PREGAME"], to: "DELAYED" },
  finalise: { from: ["OPEN_INGAME", "DELAYED", "CLOSED_PREGAME"], to: "FINAL" },
  cancel: { from: ["OPEN_PREGAME", "CLOSED_PREGAME", "OPEN_INGAME", "DELAYED"], to: "CANCELED" },
};

function teamOnWire({ competitorId, name, shortName, symbol, mascot }: Competitor) {
  return { id: competitorId, name, shortName, symbol, mascot };
}

function adminEventOnWire(event: EventRecord) {
  const { type, visible, createdTs, game } = event;
  const shown = game && {
    gameId: game.gameId,
    homeTeam: teamOnWire(game.homeTeam),
    awayTeam: teamOnWire(game.awayTeam),
  };
  return { ...eventOnWire(event), type, visible, game: shown, createdTs };
}

/** Applies a recorded step of an event to its markets, and records that the step is finished. */
async function followStep(parts: AdminEventParts, step: EventStep, nowMs: number): Promise<void> {
  const { db, exchange, freshness, changes } = parts;
  const markets = await allMarkets(db, { eventId: step.eventId });
  const steps = { exchange, recordFollowed: recordFollowed.bind(undefined, db) };
  const graded = await driveEventStep(steps, step, markets);
  await finishEventAction(db, step.actionId, nowMs);
  await Promise.allSettled(
    graded.map((job) => parts.enqueueSettlement({ ...job, eventId: step.eventId, remediating: false })),
  );
  await Promise.all(
    markets.map(async ({ marketId }) => {
      await freshness.hasReached(marketActor(marketId));
      await changes.publish("market", marketId);
    }),
  );
}

export function adminEventRoutes(parts: AdminEventParts, approvals: Approvals) {
  const { db, changes } = parts;

  const create = route("POST /admin/v1/events", {
    access: operatorWith("markets"),
    status: 201,
    body: NewEventBody,
    answer: AdminEvent,
    docs: {
      summary: "Create an event",
      exampleBody: {
        sport: "FOOTBALL",
        league: "NFL",
        type: "Game",
        description: "Ants at Bees",
        startsTs: 1_900_000_000_000,
        game: { homeTeam: { name: "Bees", symbol: "BEE" }, awayTeam: { name: "Ants", symbol: "ANT" } },
      },
    },
    run: async ({ body, ...call }) => {
      const { receivedMs: nowTs } = call.incoming;
      requireStart(body.startsTs, nowTs);
      await requireLeague(db, body);
      const event = await db.transaction(async (tx) => {
        const created = await createEvent(tx, { ...body, eventId: randomUUID(), nowTs });
        await recordAudit(
          tx,
          auditedAction(call, { action: "event.create", subject: created.eventId, after: body }),
        );
        return created;
      });
      await changes.publish("event", event.eventId);
      return { body: adminEventOnWire(event) };
    },
  });

  const list = route("GET /admin/v1/events", {
    access: operatorWith("read"),
    query: AdminEventsQuery,
    answer: pageOf(AdminEvent),
    docs: {
      summary: "List events",
      description: "Returns visible and hidden events.",
      exampleQuery: { league: "NFL", status: "OPEN_PREGAME" },
    },
    run: async ({ query }) => {
      const { league, status, ...page } = query;
      const { items, next } = await listEvents(db, { leagues: league, statuses: status }, page);
      return { body: { items: items.map(adminEventOnWire), next } };
    },
  });

  const one = route("GET /admin/v1/events/:eventId", {
    access: operatorWith("read"),
    answer: AdminEventWithMarkets,
    docs: {
      summary: "Retrieve an event",
      description: "Returns the event with the ids of its markets.",
      refuses: ["EVENT_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const eventId = id("eventId");
      const event = await findEvent(db, eventId);
      if (event === undefined) throw new Refused("EVENT_NOT_FOUND");
      const marketIds = (await marketIdsOfEvents(db, [eventId])).get(eventId) ?? [];
      return { body: { ...adminEventOnWire(event), marketIds: [...marketIds] } };
    },
  });

  const change = route("PATCH /admin/v1/events/:eventId", {
    access: operatorWith("markets"),
    body: EventPatchBody,
    answer: AdminEvent,
    docs: {
      summary: "Change an event",
      description:
        "Changes the visibility, the scheduled start or the description. A hidden event and its markets leave the lists and the history of surface A.",
      refuses: ["EVENT_NOT_FOUND", "NO_CHANGE"],
      exampleBody: { description: "Ants at Bees, second leg" },
    },
    run: async ({ body, id, ...call }) => {
      const eventId = id("eventId");
      const { receivedMs: nowTs } = call.incoming;
      if (body.startsTs !== undefined) requireStart(body.startsTs, nowTs);
      const event = await db.transaction(async (tx) => {
        const changed = await changeEvent(tx, eventId, body, nowTs);
        if (changed === undefined) throw new Refused("EVENT_NOT_FOUND");
        const { visible, startsTs, description } = changed.before;
        const before = { visible, startsTs, description };
        requireChange(before, body);
        await recordAudit(
          tx,
          auditedAction(call, { action: "event.change", subject: eventId, before, after: body }),
        );
        return changed.after;
      });
      await changes.publish("event", eventId);
      return { body: adminEventOnWire(event) };
    },
  });

  /** Takes an action of the life cycle. Every market of the event has followed when it resolves. */
  const takeAction = async (
    call: ActionRequest,
    eventId: string,
    action: EventAction,
    reason: string | undefined,
  ) => {
    const nowTs = call.incoming.receivedMs;
    const take = (): Promise<EventStepOutcome> =>
      db.transaction(async (tx) => {
        const before = await findEvent(tx, eventId);
        const outcome = await stepEvent(tx, { eventId, action, ...STEPS[action], nowTs });
        if (outcome.ok) {
          const record = {
            action: `event.${action}`,
            subject: eventId,
            before: { status: before?.status },
            after: { status: outcome.event.status, reason },
          };
          await recordAudit(tx, auditedAction(call, record));
        }
        return outcome;
      });
    let outcome = await take();
    if (!outcome.ok && outcome.refusal === "ACTION_PENDING") {
      // An earlier request did not finish its step. That step is finished first, then this one is taken.
      await followStep(parts, outcome.pending, nowTs);
      outcome = await take();
    }
    if (!outcome.ok) throw refusedStep(outcome.refusal, action);
    await changes.publish("event", eventId);
    await followStep(parts, outcome.pending, nowTs);
    return adminEventOnWire(outcome.event);
  };

  const cancel = approvals.guard("event.cancel", "markets", (call, { subject, action: { reason } }) =>
    takeAction(call, subject, "cancel", reason),
  );

  const setStatus = route("POST /admin/v1/events/:eventId/status", {
    access: operatorWith("markets"),
    body: EventStatusBody,
    answer: AdminEventOrApproval,
    docs: {
      summary: "Change the status of an event",
      description:
        "Opens, closes, starts, delays, ends or cancels an event. Every market of the event has followed when the answer arrives. A cancel may wait for a second operator.",
      refuses: ["EVENT_NOT_FOUND", "INVALID_TRANSITION", "ACTION_PENDING"],
      also: WAITS,
      exampleBody: { action: "close", reason: "the venue is closed" },
    },
    run: async ({ body, id, ...call }) => {
      const eventId = id("eventId");
      const { action, reason } = body;
      if (action !== "cancel") return { body: await takeAction(call, eventId, action, reason) };
      const event = await findEvent(db, eventId);
      if (event === undefined) throw new Refused("EVENT_NOT_FOUND");
      if (!STEPS.cancel.from.includes(event.status)) throw refusedStep("INVALID_TRANSITION", action);
      return cancel(call, eventId, { action: "event.cancel", reason });
    },
  });

  return [create, list, one, change, setStatus];
}

/** Refuses a league that does not exist, and one of another sport. */
async function requireLeague(
  db: Database,
  { league, sport }: { league: string; sport: string },
): Promise<void> {
  const known = await findLeague(db, league);
  if (known === undefined)
    throw new Refused(
      "INVALID_BODY",
      "league is not the name of a league; add it with POST /admin/v1/leagues",
    );
  if (known.sport === sport) return;
  throw new Refused("INVALID_BODY", `sport is not that of the league ${league}; send ${known.sport}`);
}

/** Greatest age of a start, in ms: the clock of an operator may be behind. */
const MAX_LATE_MS = 60_000;
const MAX_YEARS_AHEAD = 10;
const YEAR_MS = 366 * 86_400_000;

/** Refuses a start that lies in the past or far ahead, as a time in another unit than ms does. */
function requireStart(startsTs: number, nowMs: number): void {
  const refusal = (problem: string): Refused => new Refused("INVALID_BODY", `startsTs ${problem}`);
  const isAhead = (ms: number): boolean =>
    ms >= nowMs - MAX_LATE_MS && ms <= nowMs + MAX_YEARS_AHEAD * YEAR_MS;
  if (isAhead(startsTs)) return;
  if (isAhead(startsTs * 1_000)) throw refusal("is a time in seconds; send it in Unix ms");
  if (startsTs < nowMs)
    throw refusal("lies in the past; send the time at which the event begins, in Unix ms");
  throw refusal(`lies more than ${MAX_YEARS_AHEAD} years ahead; send it in Unix ms`);
}

function refusedStep(
  refusal: "EVENT_NOT_FOUND" | "INVALID_TRANSITION" | "ACTION_PENDING",
  action: EventAction,
): Refused {
  if (refusal !== "INVALID_TRANSITION") return new Refused(refusal);
  return new Refused(
    refusal,
    `the event does not allow ${action} in its present status; it is allowed from ${STEPS[action].from.join(", ")}`,
  );
}

/** Creation of an event, once, although its answer may be lost. */

import type { z } from "zod";
import type { NewEventBody } from "../../../admin/schemas/events.js";
import { call, pages } from "../../data/api.js";
import { isRefused } from "../../data/attempts.js";
import type { EventAnswer } from "../answers.js";

export type NewEvent = z.input<typeof NewEventBody>;

/** Returns a function that creates an event. After a lost answer it looks first for the event that the request created. */
export function eventCreation(): (body: NewEvent) => Promise<EventAnswer> {
  let unanswered: NewEvent | undefined;
  return async (body) => {
    const created = unanswered === undefined ? undefined : await findEvent(unanswered);
    if (created !== undefined) return created;
    unanswered = body;
    try {
      return await call<EventAnswer>("POST", "/admin/v1/events", { body });
    } catch (error) {
      if (isRefused(error)) unanswered = undefined;
      throw error;
    }
  };
}

async function findEvent({
  league,
  type,
  description,
  startsTs,
}: NewEvent): Promise<EventAnswer | undefined> {
  const events = await pages<EventAnswer>("/admin/v1/events", { league, limit: 1_000 });
  return events.find(
    (event) => event.type === type && event.description === description && event.startsTs === startsTs,
  );
}

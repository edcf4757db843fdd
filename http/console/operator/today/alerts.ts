/** Alerts of the day: what an operator should look at now, and where. */

import type { z } from "zod";
import type { Health } from "../../../ops/health-route.js";
import { showQuantity } from "../../data/money.js";
import type { EventAnswer, SettlementsAnswer } from "../answers.js";
import { plural } from "../words.js";

export type HealthAnswer = z.infer<typeof Health>;

export interface Alert {
  readonly text: string;
  /** Page that shows more. */
  readonly to?: string;
}

/** Memory and disk below which an operator should act, in per cent. */
const LOW_PERCENT = 20;
/** Lag of the tables, in entries, that people notice. */
const LONG_LAG = 1_000;
/** Time after its start at which an event that still takes orders as before the start is an alert, in ms. */
const LATE_MS = 5 * 60_000;

/** Returns the alerts, the gravest first. */
export function alertsOf(
  nowMs: number,
  {
    health,
    settlements,
    events,
  }: {
    readonly health: HealthAnswer | undefined;
    readonly settlements: SettlementsAnswer | undefined;
    readonly events: readonly EventAnswer[];
  },
): readonly Alert[] {
  const alerts: Alert[] = [];
  if (health !== undefined) alerts.push(...healthAlerts(health));
  const waiting = settlements?.items.filter(({ status }) => status === "PENDING_APPROVAL").length ?? 0;
  if (waiting > 0)
    alerts.push({
      text: `${plural(waiting, "grade")} to be approved by a second operator.`,
      to: "/operator/settlement",
    });
  for (const { status, startsTs, eventId, description } of events)
    if (status === "OPEN_PREGAME" && nowMs > startsTs + LATE_MS)
      alerts.push({
        text: `${description} has started and still trades as before the start.`,
        to: `/operator/events/${eventId}`,
      });
  return alerts;
}

function healthAlerts(health: HealthAnswer): readonly Alert[] {
  const {
    difference,
    redis,
    postgres,
    replica,
    projecting,
    projectorLag,
    halted,
    quarantined,
    room,
    clock,
    strayRows,
  } = health;
  const isOff = difference !== null && [difference.CASH, difference.COIN].some((text) => Number(text) !== 0);
  const found: (string | false)[] = [
    !redis && "Redis does not answer: nothing trades.",
    !postgres && "Postgres does not answer: lists and sign-ins fail.",
    replica === false && "The replica of Postgres does not answer: lists fail.",
    halted.length > 0 && `Stopped at a broken rule: ${halted.join(", ")}.`,
    !projecting && "No projector writes: lists stand still.",
    projectorLag !== null &&
      projectorLag > LONG_LAG &&
      `Lists are ${showQuantity(projectorLag)} entries behind.`,
    room !== null && room.accepts !== "all" && `New orders are refused: ${room.reason ?? "no room"}.`,
    room !== null &&
      room.memoryPercent < LOW_PERCENT &&
      `${room.memoryPercent} % of the memory of Redis is left.`,
    room !== null &&
      room.diskPercent !== null &&
      room.diskPercent < LOW_PERCENT &&
      `${room.diskPercent} % of the disk is left.`,
    strayRows !== null && strayRows > 0 && `${showQuantity(strayRows)} rows have no partition.`,
  ];
  const alerts: Alert[] = found.filter((text) => text !== false).map((text) => ({ text }));
  if (isOff)
    alerts.unshift({
      text: "The money report has a difference: money is missing, or too much.",
      to: "/operator/money",
    });
  if (quarantined !== null && quarantined > 0)
    alerts.push({
      text: `Quarantine holds ${plural(quarantined, "command")}.`,
      to: "/operator/safety?show=quarantine",
    });
  if (clock !== null && clock.heldMs !== 0)
    alerts.push({
      text: "The clock of Redis has jumped; engine time waits for a confirmation.",
      to: "/operator/safety?show=clocks",
    });
  return alerts;
}

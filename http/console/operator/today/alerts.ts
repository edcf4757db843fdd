/** Alerts of the day: what an operator should look at now, and where. */

import type { z } from "zod";
import type { MoneyReport } from "../../../admin/schemas/operator.js";
import type { Health } from "../../../ops/health-route.js";
import { showQuantity } from "../../data/money.js";
import type { EventAnswer, SettlementsAnswer } from "../answers.js";
import { plural } from "../words.js";

export type HealthAnswer = z.infer<typeof Health>;
export type MoneyAnswer = z.infer<typeof MoneyReport>;

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
    money,
    settlements,
    events,
  }: {
    readonly health: HealthAnswer | undefined;
    readonly money: MoneyAnswer | undefined;
    readonly settlements: SettlementsAnswer | undefined;
    readonly events: readonly EventAnswer[];
  },
): readonly Alert[] {
  const alerts: Alert[] = [];
  if (health !== undefined) alerts.push(...healthAlerts(health));
  if (money !== undefined) {
    const isOff = [money.actors, money.postgres].some(({ CASH, COIN }) =>
      [CASH, COIN].some(({ difference }) => Number(difference) !== 0),
    );
    if (isOff) alerts.push({ text: "The money report has a difference." });
    else if (!money.agree) alerts.push({ text: "The actors and Postgres disagree about money." });
  }
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
  const { redis, postgres, replica, projecting, projectorLag, halted, quarantined, room, clock, strayRows } =
    health;
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
    quarantined !== null && quarantined > 0 && `Quarantine holds ${plural(quarantined, "command")}.`,
    clock !== null &&
      clock.heldMs !== 0 &&
      "The clock of Redis has jumped; engine time waits for a confirmation.",
    strayRows !== null && strayRows > 0 && `${showQuantity(strayRows)} rows have no partition.`,
  ];
  return found.filter((text) => text !== false).map((text) => ({ text }));
}

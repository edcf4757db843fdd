/** Health of the exchange: one line a role, and one line a promise. */

import { showMoney, showQuantity } from "../../data/money.js";
import { Table } from "../../parts/table.js";
import type { HealthAnswer, MoneyAnswer } from "./alerts.js";

interface HealthTablesProps {
  readonly health: HealthAnswer;
  readonly money: MoneyAnswer | undefined;
}

interface Line {
  readonly name: string;
  readonly state: string;
}

export function HealthTables({ health, money }: HealthTablesProps) {
  const columns = (title: string) => [
    { title, cell: ({ name }: Line) => name },
    { title: "Now", cell: ({ state }: Line) => state },
  ];
  const keyOf = ({ name }: Line): string => name;
  return (
    <div class="today-health">
      <Table label="Roles" rows={rolesOf(health)} keyOf={keyOf} columns={columns("Role")} />
      <Table label="Promises" rows={promisesOf(health, money)} keyOf={keyOf} columns={columns("Promise")} />
    </div>
  );
}

const ROLES = ["gateway", "worker", "projector", "jobs"] as const;

function rolesOf({ processes, redis, postgres, replica, format }: HealthAnswer): readonly Line[] {
  const answers = (isThere: boolean): string => (isThere ? "answers" : "does not answer");
  const names = [...new Set([...ROLES, ...Object.keys(processes)])];
  return [
    ...names.map((name) => ({ name, state: runningWords(processes[name] ?? []) })),
    { name: "Redis", state: answers(redis) },
    { name: "Postgres", state: answers(postgres) },
    ...(replica === null ? [] : [{ name: "replica for lists", state: answers(replica) }]),
    { name: "format", state: `${format.active}` },
  ];
}

function runningWords(processes: readonly string[]): string {
  if (processes.length === 0) return "none has reported in the last half minute";
  return `${processes.length} running: ${processes.join(", ")}`;
}

function promisesOf(health: HealthAnswer, money: MoneyAnswer | undefined): readonly Line[] {
  const { ready, ledgers, projectorLag, projecting, room, halted, quarantined, clock, reconciled } = health;
  const counted = (count: number | null, noun: string): string =>
    count === null ? "cannot be read" : count === 0 ? `no ${noun}` : `${showQuantity(count)} ${noun}`;
  return [
    { name: "Ready", state: ready ? "yes" : "no" },
    {
      name: "Ledger shards",
      state: `${ledgers} answer${halted.length === 0 ? "" : `, ${halted.length} actors stopped`}`,
    },
    {
      name: "Lag of lists",
      state: projecting ? counted(projectorLag, "entries behind") : "no projector writes",
    },
    { name: "Money difference", state: money === undefined ? "being added up" : moneyWords(money) },
    { name: "Head-room of memory", state: room === null ? "cannot be read" : `${room.memoryPercent} % left` },
    {
      name: "Head-room of disk",
      state: typeof room?.diskPercent === "number" ? `${room.diskPercent} % left` : "not measured here",
    },
    { name: "Accepted commands", state: room === null ? "cannot be read" : room.accepts },
    { name: "Quarantine", state: counted(quarantined, "commands") },
    { name: "Repairs in the last day", state: counted(reconciled, "repairs") },
    {
      name: "Clock",
      state: clock === null ? "cannot be read" : clock.heldMs === 0 ? "agrees" : `held by ${clock.heldMs} ms`,
    },
  ];
}

/** Returns the greatest difference of the report in words. */
function moneyWords({ agree, actors, postgres }: MoneyAnswer): string {
  const off = [actors.CASH, postgres.CASH, actors.COIN, postgres.COIN].find(
    ({ difference }) => Number(difference) !== 0,
  );
  if (off !== undefined) return `${showMoney(off.difference)}; look at the money report`;
  return agree ? "$0.00, actors and Postgres agree" : "actors and Postgres disagree";
}

/** Health of the exchange: one line a role, and one line a promise. */

import { useEffect } from "preact/hooks";
import { showMoney, showQuantity } from "../../data/money.js";
import { Table } from "../../parts/table.js";
import { keepSampling, type Sample } from "../safety/history.js";
import { plural } from "../words.js";
import type { HealthAnswer } from "./alerts.js";
import { Spark } from "./spark.js";

interface HealthTablesProps {
  readonly health: HealthAnswer;
}

interface Line {
  readonly name: string;
  readonly state: string;
  /** Reads the figure of the line from a sample; absent where the line has none. */
  readonly read?: (sample: Sample) => number | null;
}

export function HealthTables({ health }: HealthTablesProps) {
  const columns = (title: string) => [
    { title, cell: ({ name }: Line) => name },
    { title: "Now", cell: ({ state }: Line) => state },
  ];
  const hour = {
    title: "Last hour",
    cell: ({ name, read }: Line) => read && <Spark name={name} read={read} />,
    wide: true,
  };
  useEffect(keepSampling, []);
  const keyOf = ({ name }: Line): string => name;
  return (
    <div class="today-health">
      <Table label="Roles" rows={rolesOf(health)} keyOf={keyOf} columns={columns("Role")} />
      <Table
        label="Promises"
        rows={promisesOf(health)}
        keyOf={keyOf}
        columns={[...columns("Promise"), hour]}
      />
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

function promisesOf(health: HealthAnswer): readonly Line[] {
  const { ready, ledgers, room, halted, quarantined, clock, reconciled } = health;
  const counted = (count: number | null, noun: string): string =>
    count === null ? "cannot be read" : count === 0 ? `no ${noun}s` : plural(count, noun);
  return [
    { name: "Ready", state: ready ? "yes" : "no" },
    {
      name: "Ledger shards",
      state: `${ledgers} ${ledgers === 1 ? "answers" : "answer"}${halted.length === 0 ? "" : `, ${plural(halted.length, "actor")} stopped`}`,
    },
    {
      name: "Lag of lists",
      state: lagWords(health),
      read: ({ lag }) => lag,
    },
    {
      name: "Money difference",
      state: differenceWords(health.difference),
      read: ({ difference }) => difference,
    },
    {
      name: "Head-room of memory",
      state: room === null ? "cannot be read" : `${room.memoryPercent} % left`,
      read: ({ memory }) => memory,
    },
    {
      name: "Head-room of disk",
      state: typeof room?.diskPercent === "number" ? `${room.diskPercent} % left` : "not measured here",
      read: ({ disk }) => disk,
    },
    { name: "Accepted commands", state: room === null ? "cannot be read" : room.accepts },
    { name: "Quarantine", state: counted(quarantined, "command"), read: (sample) => sample.quarantined },
    { name: "Repairs in the last day", state: counted(reconciled, "repair"), read: ({ repairs }) => repairs },
    {
      name: "Clock",
      state: clock === null ? "cannot be read" : clock.heldMs === 0 ? "agrees" : `held by ${clock.heldMs} ms`,
      read: ({ held }) => held,
    },
  ];
}

/** Returns how far the tables behind the lists are behind the ledger, in words. */
function lagWords({ projecting, projectorLag: lag }: HealthAnswer): string {
  if (!projecting) return "no projector writes";
  if (lag === null) return "cannot be read";
  return lag === 0 ? "none" : `${showQuantity(lag)} ${lag === 1 ? "entry" : "entries"} behind`;
}

/** Returns the difference of the money report in words. */
function differenceWords(difference: HealthAnswer["difference"]): string {
  if (difference === null) return "cannot be read";
  const off = [difference.CASH, difference.COIN].find((text) => Number(text) !== 0);
  return off === undefined ? "$0.00" : `${showMoney(off)}; look at the money report`;
}

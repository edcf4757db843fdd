/** Health of the exchange: one line a role, and one line a promise, each with its last hour. */

import { CURRENCIES, type Currency } from "../../../../actors/market/types.js";
import { formatMoney, millicents } from "../../../../actors/units.js";
import { moneyOf, showMoney, showQuantity } from "../../data/money.js";
import { Notice } from "../../parts/notice.js";
import { Table } from "../../parts/table.js";
import { useHistory, type Sample } from "../history.js";
import { plural } from "../words.js";
import type { HealthAnswer } from "./alerts.js";
import { Spark } from "./spark.js";

interface Line {
  readonly name: string;
  readonly state: string;
  /** Reads the figure of the line from a sample. */
  readonly read: (sample: Sample) => number | null;
  readonly range?: readonly [least: number, most: number];
  /** Returns a figure of the last hour in words. */
  readonly words: (value: number) => string;
}

export function HealthTables({ health }: { readonly health: HealthAnswer }) {
  const history = useHistory();
  const columns = (title: string) => [
    { title, cell: ({ name }: Line) => name },
    { title: "Now", cell: ({ state }: Line) => state },
    {
      title: "Last hour",
      cell: ({ name, read, range, words }: Line) => (
        <Spark name={name} history={history.value} read={read} range={range} words={words} />
      ),
    },
  ];
  const keyOf = ({ name }: Line): string => name;
  return (
    <>
      <Notice refusal={history.refusal} />
      <div class="today-health">
        <Table label="Roles" rows={rolesOf(health)} keyOf={keyOf} columns={columns("Role")} />
        <Table label="Promises" rows={promisesOf(health)} keyOf={keyOf} columns={columns("Promise")} />
      </div>
    </>
  );
}

const ROLES = ["gateway", "worker", "projector", "jobs"] as const;
const YES_OR_NO = [0, 1] as const;

/** Returns a line that says yes or no. */
function either(
  name: string,
  isSo: boolean,
  [yes, no]: readonly [yes: string, no: string],
  read: (sample: Sample) => boolean | null,
): Line {
  return {
    name,
    state: isSo ? yes : no,
    read: (sample) => {
      const was = read(sample);
      return was === null ? null : Number(was);
    },
    range: YES_OR_NO,
    words: (value) => (value === 1 ? yes : no),
  };
}

const ANSWERS = ["answers", "does not answer"] as const;

function rolesOf({ processes, redis, postgres, replica, format }: HealthAnswer): readonly Line[] {
  const names = [...new Set([...ROLES, ...Object.keys(processes)])];
  return [
    ...names.map((name) => ({
      name,
      state: runningWords(processes[name] ?? []),
      read: (sample: Sample) => sample.processes[name] ?? 0,
      words: (value: number) => `${value} running`,
    })),
    either("Redis", redis, ANSWERS, (sample) => sample.redis),
    either("Postgres", postgres, ANSWERS, (sample) => sample.postgres),
    ...(replica === null ? [] : [either("replica for lists", replica, ANSWERS, (sample) => sample.replica)]),
    { name: "format", state: String(format.active), read: (sample) => sample.format, words: String },
  ];
}

function runningWords(processes: readonly string[]): string {
  if (processes.length === 0) return "none has reported in the last half minute";
  return `${processes.length} running: ${processes.join(", ")}`;
}

const ACCEPTS = ["nothing", "cancels", "all"] as const;

function promisesOf(health: HealthAnswer): readonly Line[] {
  const { ready, ledgers, room, halted, quarantined, clock, reconciled } = health;
  const counted = (count: number | null, noun: string): string =>
    count === null ? "cannot be read" : count === 0 ? `no ${noun}s` : plural(count, noun);
  const percent = (value: number): string => `${value} % left`;
  return [
    either("Ready", ready, ["yes", "no"], (sample) => sample.ready),
    {
      name: "Ledger shards",
      state: `${ledgers} ${ledgers === 1 ? "answers" : "answer"}${halted.length === 0 ? "" : `, ${plural(halted.length, "actor")} stopped`}`,
      read: (sample) => sample.ledgers,
      words: (value) => `${value} answered`,
    },
    {
      name: "Lag of lists",
      state: lagWords(health),
      read: ({ projectorLag }) => projectorLag,
      words: entries,
    },
    ...CURRENCIES.map((currency) => differenceLine(currency, health.difference)),
    {
      name: "Head-room of memory",
      state: room === null ? "cannot be read" : percent(room.memoryPercent),
      read: ({ memoryPercent }) => memoryPercent,
      words: percent,
    },
    {
      name: "Head-room of disk",
      state: typeof room?.diskPercent === "number" ? percent(room.diskPercent) : "not measured here",
      read: ({ diskPercent }) => diskPercent,
      words: percent,
    },
    {
      name: "Accepted commands",
      state: room === null ? "cannot be read" : room.accepts,
      read: ({ accepts }) => (accepts === null ? null : ACCEPTS.indexOf(accepts)),
      range: [0, ACCEPTS.length - 1],
      words: (value) => ACCEPTS[value] ?? "",
    },
    {
      name: "Quarantine",
      state: counted(quarantined, "command"),
      read: (sample) => sample.quarantined,
      words: (value) => counted(value, "command"),
    },
    {
      name: "Repairs in the last day",
      state: counted(reconciled, "repair"),
      read: (sample) => sample.reconciled,
      words: (value) => counted(value, "repair"),
    },
    {
      name: "Clock",
      state: clock === null ? "cannot be read" : heldWords(clock.heldMs),
      read: ({ heldMs }) => heldMs,
      words: heldWords,
    },
  ];
}

const heldWords = (heldMs: number): string => (heldMs === 0 ? "agrees" : `held by ${heldMs} ms`);

function entries(lag: number): string {
  return lag === 0 ? "none" : `${showQuantity(lag)} ${lag === 1 ? "entry" : "entries"} behind`;
}

/** Returns how far the tables behind the lists are behind the ledger, in words. */
function lagWords({ projecting, projectorLag: lag }: HealthAnswer): string {
  if (!projecting) return "no projector writes";
  return lag === null ? "cannot be read" : entries(lag);
}

/** Returns the line of the difference that the money report has in a currency. */
function differenceLine(currency: Currency, difference: HealthAnswer["difference"]): Line {
  const show = (amount: string): string => showMoney(amount, currency);
  const now = difference?.[currency];
  return {
    name: currency === "CASH" ? "Money difference" : `Difference in ${currency}`,
    state:
      now === undefined
        ? "cannot be read"
        : `${show(now)}${moneyOf(now) === 0 ? "" : "; look at the money report"}`,
    read: (sample) => (sample.difference === null ? null : moneyOf(sample.difference[currency])),
    words: (amount) => show(formatMoney(millicents(amount))),
  };
}

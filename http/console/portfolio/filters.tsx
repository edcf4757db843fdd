/** Filters of the lists, which are part of the address. */

import { useQuery } from "../app/router.js";
import type { Query } from "../data/api.js";
import { TextField } from "../parts/field.js";

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Returns the start of a day in the visitor's zone, in ms since 1970, moved by a number of days. */
function startOf(day: string, later = 0): number | undefined {
  if (!DAY.test(day)) return undefined;
  const date = new Date(`${day}T00:00:00`);
  date.setDate(date.getDate() + later);
  return Number.isNaN(date.getTime()) ? undefined : date.getTime();
}

/** Returns the bounds of a list for the first and the last day of the address. Both bounds of the service are exclusive. */
export function useDays(): Query {
  const [from] = useQuery("from");
  const [to] = useQuery("to");
  const first = startOf(from);
  return { startsAfter: first === undefined ? undefined : first - 1, startsBefore: startOf(to, 1) };
}

/** Fields for the first and the last day of a list. */
export function DayFields() {
  const [from, setFrom] = useQuery("from");
  const [to, setTo] = useQuery("to");
  return (
    <div class="filters-days">
      <TextField label="From day" type="date" value={from} onInput={setFrom} />
      <TextField label="To day" type="date" value={to} onInput={setTo} />
    </div>
  );
}

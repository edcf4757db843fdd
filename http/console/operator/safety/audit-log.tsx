/** Audit log with filters in the address. */

import { useQuery } from "../../app/router.js";
import { pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Choice, TextField } from "../../parts/field.js";
import { AuditRecords } from "./audit-records.js";

interface Operator {
  readonly traderId: string;
  readonly email: string;
}

/** Returns the time of a local date and time of a form, in ms; `undefined` for an empty field. */
function msOf(local: string): number | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : ms;
}

export function AuditLog() {
  const [operator, setOperator] = useQuery("operator");
  const [action, setAction] = useQuery("action");
  const [subject, setSubject] = useQuery("subject");
  const [from, setFrom] = useQuery("from");
  const [to, setTo] = useQuery("to");
  const operators = useResource(
    (signal) => pages<Operator>("/admin/v1/operators", { limit: 500 }, { signal }),
    [],
  );
  const choices = [
    ["", "everybody"] as const,
    ...(operators.value ?? []).map(({ traderId, email }) => [traderId, email] as const),
  ];
  const query = {
    operator,
    action: action.trim(),
    subject: subject.trim(),
    startsAfter: msOf(from),
    startsBefore: msOf(to),
  };
  return (
    <>
      <div class="operator-fields">
        <Choice label="By" value={operator} choices={choices} onChange={setOperator} />
        <TextField
          label="Action"
          type="search"
          value={action}
          onInput={setAction}
          placeholder="market.grade"
        />
        <TextField
          label="Subject"
          type="search"
          value={subject}
          onInput={setSubject}
          hint="An id, in full."
        />
        <TextField label="After" type="datetime-local" value={from} onInput={setFrom} />
        <TextField label="Before" type="datetime-local" value={to} onInput={setTo} />
      </div>
      <AuditRecords query={query} />
    </>
  );
}

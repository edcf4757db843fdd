/** Records of the audit log, newest first. */

import type { z } from "zod";
import type { AuditRecord } from "../../../admin/schemas/audit.js";
import type { Query } from "../../data/api.js";
import type { Column } from "../../parts/table.js";
import { Time } from "../../parts/values.js";
import { useOperatorNames } from "../operators.js";
import { Paged } from "../paged.js";
import "./safety.css";

type Record = z.infer<typeof AuditRecord>;

/** Author of records that no operator has made. */
const MACHINE = "00000000-0000-0000-0000-000000000000";

/** Returns a recorded value in one line. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const columnsWith = (nameOf: (operatorId: string) => string): readonly Column<Record>[] => [
  { title: "At", cell: ({ ts }) => <Time ms={ts} /> },
  { title: "Action", cell: ({ action }) => action },
  {
    title: "Operator",
    cell: ({ operatorId }) => (operatorId === MACHINE ? "the service" : nameOf(operatorId)),
  },
  { title: "Subject", cell: ({ subject }) => <span class="operator-id">{subject}</span>, wide: true },
  { title: "Before", cell: ({ before }) => <code class="audit-value">{shown(before)}</code>, wide: true },
  { title: "After", cell: ({ after }) => <code class="audit-value">{shown(after)}</code>, wide: true },
];

interface AuditRecordsProps {
  /** Filters of the list. */
  readonly query: Query;
  readonly version?: number;
}

export function AuditRecords({ query, version = 0 }: AuditRecordsProps) {
  const nameOf = useOperatorNames();
  return (
    <Paged
      path="/admin/v1/audit-log"
      query={query}
      version={version}
      label="Audit log"
      columns={columnsWith(nameOf)}
      keyOf={({ auditId }: Record) => String(auditId)}
      empty="Nothing is recorded"
    />
  );
}

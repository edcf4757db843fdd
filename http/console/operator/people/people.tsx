/** Operators: their roles and states, and the end of their sessions. */

import { useState } from "preact/hooks";
import { Link } from "../../app/router.js";
import { pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { session } from "../../data/session.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import { Table, type Column } from "../../parts/table.js";
import { Time } from "../../parts/values.js";
import { Frame } from "../frame.js";
import { useOperatorNames } from "../operators.js";
import { whyNot } from "../permission.js";
import { EndSessions, SetRole, SetState, type Operator } from "./changes.js";
import { NewOperator } from "./new-operator.js";

type Dialog =
  { readonly kind: "new" } | { readonly kind: "role" | "state" | "sessions"; readonly of: Operator };

export default function PeoplePage() {
  const operators = useResource(
    (signal) => pages<Operator>("/admin/v1/operators", { limit: 500 }, { signal }),
    [],
  );
  const [open, setOpen] = useState<Dialog>();
  const [done, setDone] = useState<string>();
  const nameOf = useOperatorNames();
  const common = {
    onClose: () => setOpen(undefined),
    onDone: (text: string) => {
      setDone(text);
      operators.reload();
    },
  };
  const mayChange = whyNot("operators");
  const button = (kind: "role" | "state" | "sessions", text: string, of: Operator) => (
    <Button
      kind="quiet"
      reason={mayChange}
      label={`${text}: ${of.email}`}
      onClick={() => setOpen({ kind, of })}
    >
      {text}
    </Button>
  );
  const columns: readonly Column<Operator>[] = [
    {
      title: "E-mail",
      cell: ({ email, traderId }) => (traderId === session.value?.accountId ? `${email} (you)` : email),
    },
    { title: "Role", cell: ({ role }) => role },
    { title: "State", cell: ({ state }) => (state === "ACTIVE" ? "active" : "locked") },
    {
      title: "Created",
      wide: true,
      cell: ({ createdBy, createdTs }) => (
        <>
          <Time ms={createdTs} /> by {createdBy === null ? "the machine of the service" : nameOf(createdBy)}
        </>
      ),
    },
    {
      title: "Change",
      cell: (of) => (
        <>
          {button("role", "Role", of)} {button("state", of.state === "ACTIVE" ? "Lock" : "Unlock", of)}{" "}
          {button("sessions", "End sessions", of)}
        </>
      ),
    },
  ];
  return (
    <Frame
      title="People"
      actions={
        <Button kind="main" reason={mayChange} onClick={() => setOpen({ kind: "new" })}>
          New operator
        </Button>
      }
    >
      <p>
        <Link to="/account">Your password and second factor</Link> ·{" "}
        <Link to="/operator/settlement">What waits for a second operator</Link>
      </p>
      {done !== undefined && <Note kind="done">{done}</Note>}
      <Loaded of={operators} what="the operators">
        {(rows) => (
          <Table stacks label="Operators" columns={columns} rows={rows} keyOf={({ traderId }) => traderId} />
        )}
      </Loaded>
      <Roles />
      {open?.kind === "new" && <NewOperator {...common} />}
      {open?.kind === "role" && <SetRole operator={open.of} {...common} />}
      {open?.kind === "state" && <SetState operator={open.of} {...common} />}
      {open?.kind === "sessions" && <EndSessions operator={open.of} {...common} />}
    </Frame>
  );
}

/** Says what each role may do. */
function Roles() {
  return (
    <section>
      <h2>Roles</h2>
      <dl>
        <dt>viewer</dt>
        <dd>reads everything that operators can read but the list of all wallets</dd>
        <dt>support</dt>
        <dd>sets identity and state of traders, and the clients of market makers</dd>
        <dt>trading</dt>
        <dd>creates and runs events and markets; reference data, maintenance and announcements</dd>
        <dt>settlement</dt>
        <dd>grades markets, approves grades, and takes settlements back</dd>
        <dt>finance</dt>
        <dd>posts transactions, and sets the collateral of subaccounts</dd>
        <dt>owner</dt>
        <dd>everything, and operators, regions, networks and engine time</dd>
      </dl>
    </section>
  );
}

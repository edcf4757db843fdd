/** Dialogs that change an operator. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Account, AccountOrApproval } from "../../../admin/schemas/operators.js";
import { call } from "../../data/api.js";
import { Choice } from "../../parts/field.js";
import { Consequence } from "../consequence.js";
import { ROLES, type Role } from "./roles.js";

export type Operator = z.infer<typeof Account>;

export interface DialogProps {
  readonly onClose: () => void;
  /** Called with what was done, in words. */
  readonly onDone: (done: string) => void;
}

export interface ChangeProps extends DialogProps {
  readonly operator: Operator;
}

function change(operatorId: string, body: { role?: Role; state?: "ACTIVE" | "LOCKED" }) {
  return call<z.infer<typeof AccountOrApproval>>("PATCH", `/admin/v1/operators/${operatorId}`, { body });
}

export function SetRole({ operator, onClose, onDone }: ChangeProps) {
  const choices = ROLES.filter(([role]) => role !== operator.role);
  const [role, setRole] = useState<Role>(choices[0]?.[0] ?? "viewer");
  return (
    <Consequence
      title="Change the role"
      open
      onClose={onClose}
      confirm="Change the role"
      act={async () => {
        const answer = await change(operator.traderId, { role });
        onDone(
          "approvalId" in answer
            ? "The change of the role waits for a second operator."
            : `${operator.email} has the role ${answer.role}.`,
        );
      }}
    >
      <p>
        {operator.email} has the role {operator.role}. The new role holds from the next request on.
      </p>
      <Choice label="New role" value={role} choices={choices} onChange={setRole} />
    </Consequence>
  );
}

export function SetState({ operator, onClose, onDone }: ChangeProps) {
  const isActive = operator.state === "ACTIVE";
  return (
    <Consequence
      title={isActive ? "Lock an operator" : "Unlock an operator"}
      open
      onClose={onClose}
      confirm={isActive ? "Lock" : "Unlock"}
      act={async () => {
        await change(operator.traderId, { state: isActive ? "LOCKED" : "ACTIVE" });
        onDone(`${operator.email} is ${isActive ? "locked" : "active"}.`);
      }}
    >
      <p>
        {isActive
          ? `${operator.email} is signed out at once, in every browser, and cannot sign in.`
          : `${operator.email} can sign in again, with the same password and second factor.`}
      </p>
    </Consequence>
  );
}

export function EndSessions({ operator, onClose, onDone }: ChangeProps) {
  return (
    <Consequence
      title="End the sessions"
      open
      onClose={onClose}
      confirm="End all sessions"
      act={async () => {
        await call("POST", `/admin/v1/operators/${operator.traderId}/sessions/end`);
        onDone(`All sessions of ${operator.email} have ended.`);
      }}
    >
      <p>{operator.email} is signed out at once, in every browser, and can sign in again.</p>
    </Consequence>
  );
}

/** Dialog that creates an operator. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { AccountOrApproval } from "../../../admin/schemas/operators.js";
import { useAction } from "../../data/action.js";
import { call } from "../../data/api.js";
import { Button } from "../../parts/button.js";
import { Dialog } from "../../parts/dialog.js";
import { Choice, TextField } from "../../parts/field.js";
import { Notice } from "../../parts/notice.js";
import type { DialogProps } from "./changes.js";
import { ROLES, type Role } from "./roles.js";

export function NewOperator({ onClose, onDone }: DialogProps) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const create = useAction(async () => {
    const body = { email: email.trim(), password, role };
    const answer = await call<z.infer<typeof AccountOrApproval>>("POST", "/admin/v1/operators", { body });
    onDone(
      "approvalId" in answer
        ? `${body.email} waits for a second operator.`
        : `${answer.email} is an operator with the role ${answer.role}.`,
    );
    onClose();
  });
  return (
    <Dialog title="New operator" open onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.run();
        }}
      >
        <TextField label="E-mail" type="email" value={email} onInput={setEmail} required />
        <TextField
          label="First password"
          type="password"
          autocomplete="new-password"
          value={password}
          onInput={setPassword}
          required
          hint="At least 8 characters. The operator changes it under Account."
        />
        <Choice label="Role" value={role} choices={ROLES} onChange={setRole} />
        <Notice refusal={create.refusal} onDismiss={create.dismiss} />
        <div class="buttons">
          <Button kind="main" submits busy={create.busy}>
            Create the operator
          </Button>
          <Button onClick={onClose}>Leave it as it is</Button>
        </div>
      </form>
    </Dialog>
  );
}

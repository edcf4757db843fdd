/** Change of the password. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { SessionToken } from "../../surface-a/schemas/account.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { beginSession } from "../data/sign-in.js";
import { Button } from "../parts/button.js";
import { TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";
import { MIN_PASSWORD } from "./facts.js";

/** A form that changes the password, and ends the sessions of other browsers. */
export function Password({ hasCode }: { readonly hasCode: boolean }) {
  const [password, setPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");
  const [code, setCode] = useState("");
  const [isChanged, setIsChanged] = useState(false);
  const change = useAction(async () => {
    setIsChanged(false);
    const body = { password, newPassword, ...(hasCode ? { code: code.replace(/\s/g, "") } : {}) };
    await beginSession(await call<z.infer<typeof SessionToken>>("POST", "/v3/session/password", { body }));
    setPassword("");
    setNewPassword("");
    setCode("");
    setIsChanged(true);
  });
  return (
    <section>
      <h2>Password</h2>
      <p>A new password ends the sessions of all other browsers and devices. Keys stay live.</p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          change.run();
        }}
      >
        <TextField
          label="Present password"
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={setPassword}
        />
        <TextField
          label="New password"
          type="password"
          autocomplete="new-password"
          value={newPassword}
          onInput={setNewPassword}
          hint={`At least ${MIN_PASSWORD} characters.`}
        />
        {hasCode && (
          <TextField
            label="One-time password"
            autocomplete="one-time-code"
            value={code}
            onInput={setCode}
            hint="Six digits of your authenticator app, or a recovery code."
          />
        )}
        <Notice refusal={change.refusal} onDismiss={change.dismiss} />
        {isChanged && <Note kind="done">The password is changed.</Note>}
        <Button submits busy={change.busy}>
          Change the password
        </Button>
      </form>
    </section>
  );
}

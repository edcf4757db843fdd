/** Form that sends one change. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../data/action.js";
import { Button } from "../../parts/button.js";
import { Note, Notice } from "../../parts/notice.js";

interface FormProps {
  readonly title: string;
  readonly submit: string;
  /** Why the form cannot be sent, in words. */
  readonly reason?: string | undefined;
  readonly children: ComponentChildren;
  /** Sends the change; returns what was done, in words. */
  readonly send: () => Promise<string>;
}

/** A form. A refusal stays beside it, and so does what was typed. */
export function Form({ title, submit, reason, children, send }: FormProps) {
  const [done, setDone] = useState<string>();
  const action = useAction(async () => {
    setDone(undefined);
    setDone(await send());
  });
  return (
    <form
      class="form"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === undefined) action.run();
      }}
    >
      <h2>{title}</h2>
      {children}
      <Notice refusal={action.refusal} onDismiss={action.dismiss} />
      {done !== undefined && <Note kind="done">{done}</Note>}
      <Button kind="main" submits busy={action.busy} reason={reason}>
        {submit}
      </Button>
    </form>
  );
}

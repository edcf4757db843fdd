/** Dialog of an action that cancels orders or moves money: first what will happen, then the reason, then the action. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAction } from "../data/action.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { TextField } from "../parts/field.js";
import { Notice } from "../parts/notice.js";

interface ConsequenceProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** Says what will happen. */
  readonly children: ComponentChildren;
  /** `required`: the action waits for a reason. Without it the dialog asks for none. */
  readonly reason?: "required" | "optional";
  /** Text of the button that takes the action. */
  readonly confirm: string;
  /** Why the action cannot be taken, in words. */
  readonly disabled?: string | undefined;
  /** Takes the action; the dialog closes when it succeeds. */
  readonly act: (reason: string | undefined) => Promise<void>;
}

/** Asks before a dangerous action. A refusal stays in the dialog, and the reason that was typed with it. */
export function Consequence(props: ConsequenceProps) {
  const { title, open, onClose, children, reason, confirm, disabled, act } = props;
  const [text, setText] = useState("");
  const [isMissing, setMissing] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const given = text.trim();
  const action = useAction(async () => {
    await act(given === "" ? undefined : given);
    setText("");
    onClose();
  });
  const submit = (): void => {
    const isAbsent = reason === "required" && given === "";
    setMissing(isAbsent);
    if (isAbsent) form.current?.querySelector<HTMLInputElement>(".operator-reason input")?.focus();
    else if (disabled === undefined) action.run();
  };
  return (
    <Dialog
      title={title}
      open={open}
      startsAtTitle
      onClose={() => {
        setMissing(false);
        action.dismiss();
        onClose();
      }}
    >
      <form
        ref={form}
        class="operator-consequence"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {children}
        {reason !== undefined && (
          <div class="operator-reason">
            <TextField
              label={reason === "required" ? "Reason" : "Reason (optional)"}
              hint="The audit log keeps it."
              error={isMissing && given === "" ? "Say why first; the audit log keeps the reason." : undefined}
              value={text}
              onInput={setText}
            />
          </div>
        )}
        <Notice refusal={action.refusal} onDismiss={action.dismiss} />
        <div class="buttons">
          <Button kind="danger" submits busy={action.busy} reason={disabled}>
            {confirm}
          </Button>
          <Button onClick={onClose}>Leave it as it is</Button>
        </div>
      </form>
    </Dialog>
  );
}

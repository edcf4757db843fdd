/** Form of a correction: it sends the fields that were changed. */

import type { ComponentChildren } from "preact";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { Button } from "../parts/button.js";
import { Notice } from "../parts/notice.js";

interface CorrectionProps {
  readonly path: string;
  /** Fields whose values differ from the present ones. */
  readonly changes: object;
  /** Names the field to fill in first, in words. */
  readonly missing: string | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}

export function Correction({ path, changes, missing, onClose, onDone, children }: CorrectionProps) {
  const save = useAction(async () => {
    await call("PATCH", path, { body: changes });
    onDone();
  });
  const reason = missing ?? (Object.keys(changes).length === 0 ? "Nothing is changed yet." : undefined);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === undefined) save.run();
      }}
    >
      {children}
      <Notice refusal={save.refusal} onDismiss={save.dismiss} />
      <div class="buttons">
        <Button kind="main" submits busy={save.busy} reason={reason}>
          Save the changes
        </Button>
        <Button onClick={onClose}>Discard</Button>
      </div>
    </form>
  );
}

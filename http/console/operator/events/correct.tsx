/** Correction of an event: description, start and visibility (contract section 8.7). */

import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { Button } from "../../parts/button.js";
import { Dialog } from "../../parts/dialog.js";
import { TextField } from "../../parts/field.js";
import { Notice } from "../../parts/notice.js";
import type { EventAnswer } from "../answers.js";
import { fromField, StartField, toField, VisibleField } from "./fields.js";

interface CorrectEventProps {
  readonly event: EventAnswer;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function CorrectEvent({ open, onClose, ...rest }: CorrectEventProps) {
  return (
    <Dialog title="Correct the event" open={open} onClose={onClose}>
      <Form onClose={onClose} {...rest} />
    </Dialog>
  );
}

function Form({ event, onClose, onDone }: Omit<CorrectEventProps, "open">) {
  const [description, setDescription] = useState(event.description);
  const [start, setStart] = useState(toField(event.startsTs));
  const [visible, setVisible] = useState(event.visible);
  const startsTs = fromField(start);
  const changes = {
    ...(description.trim() === event.description ? {} : { description: description.trim() }),
    ...(start === toField(event.startsTs) ? {} : { startsTs }),
    ...(visible === event.visible ? {} : { visible }),
  };
  const save = useAction(async () => {
    await call("PATCH", `/admin/v1/events/${event.eventId}`, { body: changes });
    onDone();
  });
  const reason =
    startsTs === undefined
      ? "Enter the start first."
      : Object.keys(changes).length === 0
        ? "Nothing is changed yet."
        : undefined;
  return (
    <form
      onSubmit={(submitted) => {
        submitted.preventDefault();
        if (reason === undefined) save.run();
      }}
    >
      <TextField label="Description" value={description} onInput={setDescription} />
      <StartField value={start} onInput={setStart} />
      <VisibleField visible={visible} onChange={setVisible} />
      {!visible && event.visible && (
        <p class="quiet">
          A hidden event and its markets leave all lists and the history of traders. Orders stay open.
        </p>
      )}
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

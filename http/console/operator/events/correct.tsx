/** Correction of an event: description, start and visibility (contract section 8.7). */

import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.js";
import { TextField } from "../../parts/field.js";
import type { EventAnswer } from "../answers.js";
import { Correction } from "../correction.js";
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
  return (
    <Correction
      path={`/admin/v1/events/${event.eventId}`}
      changes={changes}
      missing={startsTs === undefined ? "Enter the start first." : undefined}
      onClose={onClose}
      onDone={onDone}
    >
      <TextField label="Description" value={description} onInput={setDescription} />
      <StartField value={start} onInput={setStart} />
      <VisibleField visible={visible} onChange={setVisible} />
      {!visible && event.visible && (
        <p class="quiet">
          A hidden event and its markets leave all lists and the history of traders. Orders stay open.
        </p>
      )}
    </Correction>
  );
}

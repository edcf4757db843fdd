/** Fields that a new event and the correction of one share. */

import { TextField } from "../../parts/field.js";

const MINUTE_MS = 60_000;

/** Returns a time as a field for date and time shows it, in the visitor's zone. */
export function toField(ms: number): string {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE_MS);
  return local.toISOString().slice(0, "2026-01-01T00:00".length);
}

/** Returns the time of such a field in Unix ms, or `undefined` while it is empty or no time. */
export function fromField(text: string): number | undefined {
  const ms = text === "" ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}

interface StartFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

export function StartField({ value, onInput }: StartFieldProps) {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <TextField
      label="Start"
      type="datetime-local"
      hint={`In your zone, ${zone}`}
      value={value}
      onInput={onInput}
    />
  );
}

interface VisibleFieldProps {
  readonly visible: boolean;
  readonly onChange: (visible: boolean) => void;
}

export function VisibleField({ visible, onChange }: VisibleFieldProps) {
  return (
    <label class="markets-check">
      <input type="checkbox" checked={visible} onChange={(event) => onChange(event.currentTarget.checked)} />
      Visible to traders and visitors
    </label>
  );
}

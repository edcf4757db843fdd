/** Field for the file of the management key. */

import { Field } from "../parts/field.js";

interface KeyFileFieldProps {
  readonly onChoose: (file: File | undefined) => void;
  readonly error?: string | undefined;
}

/** A field that takes the file of the management key. The page reads the file for one action, and does not send it. */
export function KeyFileField({ onChoose, error }: KeyFileFieldProps) {
  return (
    <Field
      label="File of the management key"
      hint="The page signs this one request with it, in this browser. The file is not sent and not kept."
      error={error}
    >
      {(attributes) => (
        <input
          {...attributes}
          type="file"
          accept=".pem,application/x-pem-file"
          onChange={({ currentTarget }) => onChoose(currentTarget.files?.[0])}
        />
      )}
    </Field>
  );
}

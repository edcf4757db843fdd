/** Labelled inputs of forms. */

import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  /** Says below the label what to enter. */
  readonly hint?: ComponentChildren;
  /** Says what is wrong with the input, and what to enter instead. */
  readonly error?: string | undefined;
  /** Returns the input; it takes the given attributes. */
  readonly children: (attributes: {
    readonly id: string;
    readonly "aria-describedby": string | undefined;
    readonly "aria-invalid": boolean;
  }) => ComponentChildren;
}

/** A label with its input, hint and error. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = hint !== undefined || error !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        "aria-describedby": hasNote ? noteId : undefined,
        "aria-invalid": error !== undefined,
      })}
      {hasNote && (
        <div id={noteId} class={error === undefined ? "field-hint" : "field-error"}>
          {error ?? hint}
        </div>
      )}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly type?: "text" | "email" | "password" | "search" | "date" | "datetime-local";
  readonly inputMode?: "decimal" | "numeric";
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly readOnly?: boolean;
}

/** A field of one line of text. */
export function TextField({
  label,
  hint,
  error,
  value,
  onInput,
  autocomplete = "off",
  ...rest
}: TextFieldProps) {
  // Every type of the list takes the same attributes, which the union of the types of inputs cannot express.
  const own = { ...rest, autocomplete, value } as InputHTMLAttributes;
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <input {...own} {...attributes} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
    </Field>
  );
}

interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly rows?: number;
  readonly readOnly?: boolean;
}

/** A field of several lines of text. */
export function TextArea({ label, hint, error, value, onInput, rows = 3, readOnly = false }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={rows}
          readOnly={readOnly}
          spellcheck={false}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
}

/** A field that offers a few choices. */
export function Choice<T extends string>({ label, value, choices, onChange, hint, error }: ChoiceProps<T>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          onChange={(event) => {
            const chosen = choices.find(([choice]) => choice === event.currentTarget.value);
            if (chosen !== undefined) onChange(chosen[0]);
          }}
        >
          {choices.map(([choice, text]) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

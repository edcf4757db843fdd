/** A number that buttons and arrow keys change by steps. */

import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";

interface StepperProps {
  readonly label: string;
  readonly value: string;
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  readonly inputMode: "decimal" | "numeric";
  /** Name of one step in the labels of the buttons. */
  readonly step: string;
  readonly inputRef?: { current: HTMLInputElement | null };
  readonly onInput: (value: string) => void;
  /** Moves the value by a number of steps. */
  readonly onStep: (by: number) => void;
}

const MANY = 10;

/** Returns the number of steps of a key, or `undefined` for a key that is none. */
function stepsOf({ key, shiftKey }: KeyboardEvent): number | undefined {
  const size = shiftKey ? MANY : 1;
  switch (key) {
    case "ArrowUp":
      return size;
    case "ArrowDown":
      return -size;
    case "PageUp":
      return MANY;
    case "PageDown":
      return -MANY;
    default:
      return undefined;
  }
}

export function Stepper(props: StepperProps) {
  const { label, value, error, hint, inputMode, step, inputRef, onInput, onStep } = props;
  return (
    <Field label={label} error={error} hint={hint}>
      {(attributes) => (
        <div class="ticket-stepper">
          <Button label={`${label}: one ${step} less`} onClick={() => onStep(-1)}>
            −
          </Button>
          <input
            {...attributes}
            ref={inputRef ?? null}
            class="number"
            type="text"
            inputMode={inputMode}
            autocomplete="off"
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
            onKeyDown={(event) => {
              const by = stepsOf(event);
              if (by === undefined) return;
              event.preventDefault();
              onStep(by);
            }}
          />
          <Button label={`${label}: one ${step} more`} onClick={() => onStep(1)}>
            +
          </Button>
        </div>
      )}
    </Field>
  );
}

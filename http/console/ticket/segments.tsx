/** A row of choices of which one is taken, as radio buttons. */

interface SegmentsProps<T extends string> {
  readonly legend: string;
  /** Group of the radio buttons; no other group of the page has the name. */
  readonly name: string;
  readonly value: T;
  readonly choices: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
  readonly kindOf?: (value: T) => string;
}

/** Shows all choices at once; arrow keys move between them. */
export function Segments<T extends string>(props: SegmentsProps<T>) {
  const { legend, name, value, choices, onChange, kindOf } = props;
  return (
    <fieldset class="ticket-segments">
      <legend>{legend}</legend>
      <div class="switch">
        {choices.map(([choice, text]) => (
          <label key={choice} class={kindOf?.(choice)}>
            <input type="radio" name={name} checked={choice === value} onChange={() => onChange(choice)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** A small filter with its label before it. */

import { useId } from "preact/hooks";

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: readonly (readonly [value: string, text: string])[];
}

export function Filter({ label, value, onChange, choices }: FilterProps) {
  const id = useId();
  const isKnown = choices.some(([choice]) => choice === value);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
        {!isKnown && <option value={value}>{value}</option>}
      </select>
    </div>
  );
}

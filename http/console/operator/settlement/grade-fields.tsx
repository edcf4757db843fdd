/** Choice of a grade: the winner, or the kind of void that the market has. */

import { useState } from "preact/hooks";
import { TextField } from "../../parts/field.js";
import type { MarketAnswer } from "../answers.js";
import { readPrices, type Grade } from "./grade.js";

interface GradeFieldsProps {
  readonly market: MarketAnswer;
  readonly onChange: (grade: Grade | undefined) => void;
  /** Names the choice for screen readers. */
  readonly legend: string;
}

const VOID = "void";

export function GradeFields({ market, onChange, legend }: GradeFieldsProps) {
  const { outcomes, voids } = market;
  const [chosen, setChosen] = useState("");
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const prices = readPrices(outcomes, typed);

  const choose = (value: string): void => {
    setChosen(value);
    if (value !== VOID) onChange({ winner: value });
    else if (voids === "PUSH") onChange({ push: true });
    else onChange(prices.ok ? { prices: prices.prices } : undefined);
  };
  const type = (outcomeId: string, text: string): void => {
    const next = { ...typed, [outcomeId]: text };
    setTyped(next);
    const read = readPrices(outcomes, next);
    onChange(read.ok ? { prices: read.prices } : undefined);
  };
  const options = [
    ...outcomes.map(({ outcomeId, name }) => [outcomeId, `${name} wins`] as const),
    [
      VOID,
      voids === "PUSH" ? "Void: every position is paid back what it cost" : "Void: settled at fair prices",
    ] as const,
  ];
  return (
    <fieldset class="settlement-grade">
      <legend>{legend}</legend>
      {options.map(([value, text]) => (
        <label key={value} class="settlement-choice">
          <input
            type="radio"
            name={legend}
            value={value}
            checked={chosen === value}
            onChange={() => choose(value)}
          />
          {text}
        </label>
      ))}
      {chosen === VOID && voids === "FMV" && (
        <div class="operator-fields">
          {outcomes.map(({ outcomeId, name }) => (
            <TextField
              key={outcomeId}
              label={`Price of ${name}`}
              inputMode="decimal"
              value={typed[outcomeId] ?? ""}
              onInput={(text) => type(outcomeId, text)}
            />
          ))}
          {!prices.ok && <p class="quiet">{prices.problem}</p>}
        </div>
      )}
    </fieldset>
  );
}

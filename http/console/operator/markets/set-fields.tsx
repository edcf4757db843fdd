/** Fields of a set of markets: the winner, spreads and totals, and what all of them share. */

import { Choice, TextField } from "../../parts/field.js";
import { readStrikes, type SetPlan } from "./sets.js";
import "./markets.css";

/** A set as it is typed. */
export interface SetInput {
  readonly winner: boolean;
  readonly spreads: string;
  readonly totals: string;
  readonly voids: "PUSH" | "FMV";
  readonly delay: string;
  readonly opens: "now" | "later";
}

export const NEW_SET: SetInput = {
  winner: true,
  spreads: "",
  totals: "",
  voids: "PUSH",
  delay: "0",
  opens: "now",
};

const DELAY = /^\d{1,5}$/;

/** Returns the plan of a set, or `undefined` while some field is wrong. */
export function planOf({ winner, spreads, totals, voids, delay, opens }: SetInput): SetPlan | undefined {
  const [handicaps, lines] = [readStrikes(spreads), readStrikes(totals)];
  if (!handicaps.ok || !lines.ok || !DELAY.test(delay.trim())) return undefined;
  const shared = { voids, liveDelayMs: Number(delay), open: opens === "now" };
  return { ...shared, winner, spreads: handicaps.strikes, totals: lines.strikes };
}

interface SetFieldsProps {
  readonly input: SetInput;
  readonly onInput: (input: SetInput) => void;
  /** Name of the side whose handicap a spread states. */
  readonly home: string;
}

export function SetFields({ input, onInput, home }: SetFieldsProps) {
  const problemOf = (text: string): string | undefined => {
    const read = readStrikes(text);
    return read.ok ? undefined : read.problem;
  };
  return (
    <>
      <label class="markets-check">
        <input
          type="checkbox"
          checked={input.winner}
          onChange={(event) => onInput({ ...input, winner: event.currentTarget.checked })}
        />
        Winner (moneyline)
      </label>
      <div class="operator-fields">
        <TextField
          label="Spreads"
          hint={`Handicaps of ${home === "" ? "the home side" : home}, such as -3.5, 1.5 or -7.5 to -1.5 by 2`}
          error={problemOf(input.spreads)}
          value={input.spreads}
          onInput={(spreads) => onInput({ ...input, spreads })}
        />
        <TextField
          label="Totals"
          hint="Such as 47.5, or 44.5 to 50.5 by 1"
          error={problemOf(input.totals)}
          value={input.totals}
          onInput={(totals) => onInput({ ...input, totals })}
        />
        <Choice
          label="When void, positions are"
          value={input.voids}
          choices={[
            ["PUSH", "paid back at cost"],
            ["FMV", "settled at fair prices"],
          ]}
          onChange={(voids) => onInput({ ...input, voids })}
        />
        <TextField
          label="In-play delay, ms"
          hint="0 to 60000"
          error={DELAY.test(input.delay.trim()) ? undefined : "Enter a whole number of ms, such as 2000."}
          inputMode="numeric"
          value={input.delay}
          onInput={(delay) => onInput({ ...input, delay })}
        />
        <Choice
          label="The markets open"
          value={input.opens}
          choices={[
            ["now", "at once"],
            ["later", "when an operator opens them"],
          ]}
          onChange={(opens) => onInput({ ...input, opens })}
        />
      </div>
    </>
  );
}

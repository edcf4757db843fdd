/** The ladders of all outcomes, side by side. */

import type { ReadonlySignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { priceForm } from "../data/prices.js";
import { DEPTH, type Ladder, type Line } from "./ladder.js";
import { LadderLine } from "./ladder-line.js";

interface Outcome {
  readonly outcomeId: string;
  readonly name: string;
}

interface LaddersProps {
  readonly outcomes: readonly Outcome[];
  readonly books: ReadonlySignal<readonly Ladder[] | undefined>;
  readonly onPick: (outcomeId: string, line: Line, side: "offer" | "bid") => void;
}

/** Returns a quantity of round size from which bars are drawn, so that few changes change the length of all bars. */
function roundUp(most: number): number {
  const step = 10 ** Math.floor(Math.log10(most));
  return Math.ceil(most / step) * step;
}

const ARROWS: Readonly<Record<string, readonly [dx: number, dy: number]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

/** Moves the focus between lines with the arrow keys. */
function moveFocus(event: KeyboardEvent): void {
  const step = ARROWS[event.key];
  const { currentTarget, target } = event;
  if (step === undefined || !(currentTarget instanceof HTMLElement) || !(target instanceof HTMLElement))
    return;
  const columns = [...currentTarget.querySelectorAll(".ladder")].map((column) => [
    ...column.querySelectorAll(".line"),
  ]);
  const x = columns.findIndex((column) => column.includes(target));
  const y = columns[x]?.indexOf(target) ?? -1;
  if (y === -1) return;
  const [dx, dy] = step;
  const column = columns[x + dx] ?? [];
  for (let at = y + dy; at >= 0 && at < column.length; at += dy) {
    const line = column[at];
    if (line instanceof HTMLButtonElement) {
      line.focus();
      event.preventDefault();
      return;
    }
    if (dy === 0) return;
  }
}

export function Ladders({ outcomes, books, onPick }: LaddersProps) {
  const ladders = books.value;
  const note = useId();
  const most = roundUp(Math.max(1, ...(ladders ?? []).map((ladder) => ladder.most)));
  const isPair = outcomes.length === 2;
  return (
    <section class={`ladders${isPair ? " ladders-pair" : ""}`} aria-label="Prices" onKeyDown={moveFocus}>
      {outcomes.map(({ outcomeId, name }, index) => (
        <div key={outcomeId} class="ladder">
          <h2 class="ladder-name">{name}</h2>
          <p class="ladder-side">
            offered
            {isPair && <span class="quiet"> (bids on {outcomes[1 - index]?.name})</span>}
            {index === 0 && (
              <button
                type="button"
                class="ladder-why"
                popovertarget={note}
                aria-label="Where offers come from"
              >
                ?
              </button>
            )}
          </p>
          <LadderLines
            outcomeId={outcomeId}
            name={name}
            ladder={ladders?.find((ladder) => ladder.outcomeId === outcomeId)}
            most={most}
            onPick={onPick}
          />
        </div>
      ))}
      <div id={note} popover="auto" class="ladder-note" role="note">
        {isPair
          ? "A book holds bids only. A bid of 0.380 on one outcome offers the other at 0.620: together they pay for both, and one of them wins."
          : "A book holds bids only. The best price to buy an outcome is one minus the sum of the best bids on all others: together they pay for all, and one of them wins."}
      </div>
    </section>
  );
}

interface LadderLinesProps {
  readonly outcomeId: string;
  readonly name: string;
  readonly ladder: Ladder | undefined;
  readonly most: number;
  readonly onPick: LaddersProps["onPick"];
}

function LadderLines({ outcomeId, name, ladder, most, onPick }: LadderLinesProps) {
  const form = priceForm.value;
  const common = { most, form, outcome: name };
  const rows = Array.from({ length: DEPTH }, (_, row) => row);
  const pickOffer = (line: Line): void => onPick(outcomeId, line, "offer");
  const pickBid = (line: Line): void => onPick(outcomeId, line, "bid");
  return (
    <>
      {rows.toReversed().map((row) => (
        <LadderLine
          key={`offer ${row}`}
          {...common}
          side="offer"
          line={ladder?.offers[row]}
          best={row === 0}
          onPick={pickOffer}
        />
      ))}
      <p class="ladder-spread number">{spreadWords(ladder)}</p>
      <p class="ladder-side">bids</p>
      {rows.map((row) => (
        <LadderLine
          key={`bid ${row}`}
          {...common}
          side="bid"
          line={ladder?.bids[row]}
          best={row === 0}
          onPick={pickBid}
        />
      ))}
    </>
  );
}

function spreadWords(ladder: Ladder | undefined): string {
  if (ladder === undefined) return "";
  const { spread, offers, bids } = ladder;
  if (offers.length === 0 && bids.length === 0) return "no orders yet";
  if (spread === undefined) return offers.length === 0 ? "nothing offered" : "no bids";
  return `spread ${priceForm.value === "percent" ? `${(spread / 10).toFixed(1)} %` : (spread / 1_000).toFixed(3)}`;
}

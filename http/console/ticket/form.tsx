/** Form of the ticket. Enter previews, Enter again places, Escape clears. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { TIMES_IN_FORCE, type TimeInForce } from "../../../actors/market/time-in-force.js";
import { formatPrice, MAX_CONTRACTS, type Ticks } from "../../../actors/units.js";
import { showQuantity } from "../data/money.js";
import { PRICE_FORMS, showPrice } from "../data/prices.js";
import { Button } from "../parts/button.js";
import { Choice, TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";
import { BillLines, PreviewLines } from "./bill.js";
import { readDraft, readPrice, type Draft } from "./draft.js";
import type { MarketAnswer } from "./live.js";
import { Segments } from "./segments.js";
import { Stepper } from "./stepper.js";
import { stepped } from "./steps.js";
import { scheduleOf, worstBill, type Bill } from "./sums.js";
import type { Ticket } from "./ticket.js";

const TIF_NAMES: Readonly<Record<TimeInForce, string>> = {
  GTC: "GTC",
  GTT: "GTT",
  IOC: "IOC",
  FOK: "FOK",
  PO: "Post only",
};
const TIF_MEANINGS: Readonly<Record<TimeInForce, string>> = {
  GTC: "Good till canceled: rests until it is filled or canceled.",
  GTT: "Good till time: rests for so many minutes, then expires.",
  IOC: "Immediate or cancel: fills what it can at once; the remainder is canceled.",
  FOK: "Fill or kill: fills completely at once, or not at all.",
  PO: "Post only: rests without matching, or is rejected. It pays no fee.",
};
const SELF_TRADE = [
  ["wash", "both lose the quantity"],
  ["cancel_taker", "cancel the new order"],
  ["cancel_maker", "cancel the resting order"],
] as const;

/** Number of outcomes up to which all of them stand side by side. */
const SIDE_BY_SIDE = 3;

interface FormProps {
  readonly market: MarketAnswer;
  readonly ticket: Ticket;
  readonly table: readonly Ticks[];
  readonly priceInput: RefObject<HTMLInputElement | null>;
  /** Why no order can be sent now; the fields then only estimate. */
  readonly lockedBecause: string | undefined;
  /** True if Enter may preview and place. */
  readonly mayTrade: boolean;
}

/** Returns the typed price in the three other forms. */
function otherForms(typed: string): string | undefined {
  const price = readPrice(typed, []);
  if (typeof price === "string") return undefined;
  const others = PRICE_FORMS.filter((form) => form !== "dollars");
  return others.map((form) => showPrice(formatPrice(price), form)).join(" · ");
}

/** Returns the worst bill of a complete draft. The fee in play is counted, because the event may go in play. */
function estimate(market: MarketAnswer, draft: Draft, table: readonly Ticks[]): Bill | undefined {
  const read = readDraft(draft, table);
  return "order" in read ? worstBill(read.order, scheduleOf(market.fee), true) : undefined;
}

function stepQty(typed: string, by: number): string {
  const qty = Number(typed.replaceAll(",", ""));
  if (!Number.isInteger(qty)) return typed;
  return String(Math.min(MAX_CONTRACTS, Math.max(1, qty + by)));
}

/** Returns what remembers the focused field. The focus comes back to it once fields that were off are on again. */
function useKeptFocus(isOff: boolean): () => void {
  const focused = useRef<HTMLElement | undefined>(undefined);
  useEffect(() => {
    if (isOff) return;
    if (document.activeElement === document.body) focused.current?.focus();
    focused.current = undefined;
  }, [isOff]);
  return () => {
    if (document.activeElement instanceof HTMLElement) focused.current = document.activeElement;
  };
}

export function TicketForm({ market, ticket, table, priceInput, lockedBecause, mayTrade }: FormProps) {
  const draft = ticket.draft.value;
  const stage = ticket.stage.value;
  const errors = ticket.errors.value;
  const outcomes = market.outcomes.map(({ outcomeId, name }) => [outcomeId, name] as const);
  const outcome = outcomes.find(([outcomeId]) => outcomeId === draft.outcomeId)?.[1] ?? "";
  const isPlacing = stage.kind === "placing";
  const keepFocus = useKeptFocus(isPlacing);
  const preview = stage.kind === "previewed" || stage.kind === "placing" ? stage : undefined;
  const isSecond = preview !== undefined && (isPlacing || preview.preview.reject === undefined);
  const isUnread = isSecond && stage.kind === "previewed" && !stage.isArmed;
  const qty = preview === undefined ? draft.qty : showQuantity(preview.order.qty);
  const terms = draft.price === "" || draft.qty === "" ? "" : ` ${qty} ${outcome} at ${draft.price}`;
  const changePrice = (by: number): void => ticket.change({ price: stepped(table, draft.price, by) });
  const side = (outcomeId: string): string =>
    outcomes.length === 2 ? (outcomeId === outcomes[0]?.[0] ? "ticket-first" : "ticket-second") : "";

  return (
    <form
      class="ticket-form"
      aria-label="Order ticket"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        keepFocus();
        if (mayTrade && lockedBecause === undefined) void ticket.enter(table);
      }}
      onClick={(event) => {
        // The second click of a double click is meant for what the first one saw.
        const { target, detail } = event;
        if (detail > 1 && target instanceof Element && target.closest("[type=submit]") !== null)
          event.preventDefault();
      }}
      onKeyDown={(event) => {
        // A held key repeats Enter, and would place what it has just previewed.
        if (event.key === "Enter" && event.repeat) event.preventDefault();
        if (event.key !== "Escape") return;
        event.preventDefault();
        ticket.clear();
      }}
    >
      <fieldset class="ticket-fields" disabled={isPlacing}>
        {outcomes.length <= SIDE_BY_SIDE ? (
          <Segments
            legend="Buy"
            name="ticket-outcome"
            value={draft.outcomeId}
            choices={outcomes}
            kindOf={side}
            onChange={(outcomeId) => ticket.change({ outcomeId })}
          />
        ) : (
          <Choice
            label="Buy"
            value={draft.outcomeId}
            choices={outcomes}
            onChange={(outcomeId) => ticket.change({ outcomeId })}
          />
        )}
        <Stepper
          label="Price"
          step="tick"
          inputMode="decimal"
          inputRef={priceInput}
          value={draft.price}
          error={errors.price}
          hint={otherForms(draft.price) ?? "dollars for a payout of $1"}
          onInput={(price) => ticket.change({ price })}
          onStep={changePrice}
        />
        <Stepper
          label="Contracts"
          step="contract"
          inputMode="numeric"
          value={draft.qty}
          error={errors.qty}
          hint="each pays $0.01 if it wins"
          onInput={(typed) => ticket.change({ qty: typed })}
          onStep={(by) => ticket.change({ qty: stepQty(draft.qty, by) })}
        />
        <Segments
          legend="Time in force"
          name="ticket-tif"
          value={draft.tif}
          choices={TIMES_IN_FORCE.map((tif) => [tif, TIF_NAMES[tif]] as const)}
          onChange={(tif) => ticket.change({ tif })}
        />
        <p class="ticket-meaning">{TIF_MEANINGS[draft.tif]}</p>
        {(draft.tif === "GTT" || draft.tif === "PO") && (
          <TextField
            label={draft.tif === "GTT" ? "Minutes" : "Minutes (optional)"}
            inputMode="decimal"
            value={draft.minutes}
            error={errors.minutes}
            onInput={(minutes) => ticket.change({ minutes })}
          />
        )}
        <details class="ticket-more">
          <summary>If it meets an order of your own</summary>
          <Choice
            label="Then"
            value={draft.selfTrade}
            choices={SELF_TRADE}
            onChange={(selfTrade) => ticket.change({ selfTrade })}
          />
        </details>
      </fieldset>
      <BillLines
        outcome={outcome}
        atMost={preview === undefined}
        bill={preview === undefined ? estimate(market, draft, table) : preview.preview.bill}
      />
      {preview !== undefined && (
        <PreviewLines preview={preview.preview} limit={formatPrice(preview.order.price)} />
      )}
      <Notice
        refusal={ticket.refusal.value}
        onDismiss={() => {
          ticket.refusal.value = undefined;
        }}
      />
      {ticket.refusal.value === undefined && ticket.hasUnknown.value && (
        <Note kind="warning">
          An order that you sent has no answer yet, and may have been placed. Look at your orders first.
        </Note>
      )}
      {mayTrade && (
        <Button
          submits
          kind="main"
          busy={stage.kind === "previewing" || isPlacing || isUnread}
          disabled={lockedBecause !== undefined}
        >
          {isSecond ? `Place: buy${terms}` : `Preview${terms === "" ? "" : `: buy${terms}`}`}
        </Button>
      )}
      {lockedBecause !== undefined && <p class="ticket-locked">{lockedBecause}</p>}
    </form>
  );
}

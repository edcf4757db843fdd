/** List of the own orders of a market, with their cancels and changes in place. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Ticks } from "../../../actors/units.js";
import { showQuantity } from "../data/money.js";
import { Button } from "../parts/button.js";
import { Skeleton } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Price, Quantity } from "../parts/values.js";
import { readPrice, readQty } from "./draft.js";
import type { MarketAnswer } from "./live.js";
import type { OwnOrder, OwnOrders } from "./orders.js";
import { endInWords } from "../data/reasons.js";
import { stepped } from "./steps.js";

const STATES: Readonly<Record<OwnOrder["state"], string>> = {
  sending: "on its way",
  unknown: "no answer yet; looking for it",
  pending: "accepted, on its way to the book",
  open: "resting",
  changing: "changing",
  canceling: "canceling",
};

interface ListProps {
  readonly market: MarketAnswer;
  readonly orders: OwnOrders;
  /** False until the resting orders have been read. */
  readonly known: boolean;
  readonly table: readonly Ticks[];
  readonly locked: boolean;
}

/** Cancels the order under the cursor, or the focused one, at the key `c`. */
function useCancelKey(orders: OwnOrders, locked: boolean): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      if (key !== "c" || ctrlKey || metaKey || altKey || locked) return;
      if (target instanceof HTMLElement && target.closest("input, textarea, select") !== null) return;
      const focused = document.activeElement?.closest<HTMLElement>("[data-order]");
      const pointed = [...document.querySelectorAll<HTMLElement>("[data-order]:hover")].at(-1);
      const orderId = (pointed ?? focused)?.dataset["order"];
      if (orderId !== undefined) void orders.cancel(orderId);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [orders, locked]);
}

export function OwnOrderList({ market, orders, known, table, locked }: ListProps) {
  useCancelKey(orders, locked);
  const all = orders.all.value;
  const ended = orders.ended.value;
  const refused = orders.refusal.value;
  const nameOf = (id: string): string =>
    market.outcomes.find(({ outcomeId }) => outcomeId === id)?.name ?? "";
  return (
    <section class="ticket-orders" aria-labelledby="ticket-orders-title">
      <div class="ticket-head">
        <h2 id="ticket-orders-title">Your orders</h2>
        {all.length > 1 && (
          <Button kind="quiet" disabled={locked} onClick={() => void orders.cancelAll()}>
            Cancel all
          </Button>
        )}
      </div>
      <Notice
        refusal={refused?.refusal}
        onDismiss={() => {
          orders.refusal.value = undefined;
        }}
      />
      {!known && <Skeleton rows={2} />}
      {known && all.length === 0 && <p class="ticket-quiet">No order of yours rests here.</p>}
      {all.length > 0 && (
        <div class="table" role="region" aria-label="Your orders" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Order</th>
                <th scope="col" class="numeric">
                  Price
                </th>
                <th scope="col" class="numeric">
                  Open
                </th>
                <th scope="col">
                  <span class="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map((order) => (
                <OrderRow
                  key={order.id}
                  order={order}
                  name={nameOf(order.outcomeId)}
                  orders={orders}
                  table={table}
                  locked={locked}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {ended.length > 0 && (
        <div role="status">
          <ul class="ticket-ended" aria-label="Ended orders">
            {ended.map((order) => (
              <li key={order.orderId}>
                {showQuantity(order.qty)} {nameOf(order.outcomeId)} at <Price value={order.price} />:{" "}
                {endInWords(order)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  readonly order: OwnOrder;
  readonly name: string;
  readonly orders: OwnOrders;
  readonly table: readonly Ticks[];
  readonly locked: boolean;
}

function OrderRow({ order, name, orders, table, locked }: RowProps) {
  const [editing, setEditing] = useState(false);
  const isOpen = order.state === "open" && order.orderId !== undefined;
  // The fields stay while a change is on its way, so that a refused one loses nothing that was typed.
  const isAmending = editing && (isOpen || order.state === "changing");
  const cancel = (): void => {
    if (order.orderId !== undefined) void orders.cancel(order.orderId);
  };
  return (
    <tr
      class={isOpen ? "" : "ticket-hollow"}
      data-order={isOpen ? order.orderId : undefined}
      tabIndex={isOpen ? 0 : undefined}
    >
      <td>
        {name}
        <span class="ticket-state">
          {order.tif}, {STATES[order.state]}
        </span>
      </td>
      {isAmending ? (
        <AmendCells
          order={order}
          orders={orders}
          table={table}
          locked={locked}
          onDone={() => setEditing(false)}
        />
      ) : (
        <>
          <td class="numeric">
            <Price value={order.price} />
          </td>
          <td class="numeric">
            <Quantity value={order.qty} />
          </td>
          <td class="ticket-actions">
            <Button kind="quiet" disabled={!isOpen || locked} onClick={() => setEditing(true)}>
              Change
            </Button>
            <Button kind="quiet" disabled={!isOpen || locked} onClick={cancel}>
              Cancel
            </Button>
          </td>
        </>
      )}
    </tr>
  );
}

interface AmendProps extends Omit<RowProps, "name"> {
  readonly onDone: () => void;
}

/** Cells in which the price and the open quantity are changed: Enter saves, Escape leaves. */
function AmendCells({ order, orders, table, locked, onDone }: AmendProps) {
  // The order may fill meanwhile. A field that nobody has edited is not sent, or it would raise the quantity again.
  const [opened] = useState(order);
  const [price, setPrice] = useState(opened.price);
  const [qty, setQty] = useState(String(opened.qty));
  const [busy, setBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);

  const nextPrice = readPrice(price, table);
  const nextQty = readQty(qty);
  const error = [nextPrice, nextQty].find((read) => typeof read === "string");
  const isPriceEdited = nextPrice !== readPrice(opened.price, []);
  const isQtyEdited = nextQty !== opened.qty;
  const keepsPlace = !isPriceEdited && (!isQtyEdited || Number(nextQty) <= order.qty);
  const filled = isQtyEdited || order.qty === opened.qty ? "" : `${showQuantity(order.qty)} are open now; `;
  const save = async (): Promise<void> => {
    if (busy || locked || typeof nextPrice === "string" || typeof nextQty === "string") return;
    const change = {
      ...(isPriceEdited ? { price: price.trim() } : {}),
      ...(isQtyEdited ? { qty: nextQty } : {}),
    };
    if (Object.keys(change).length === 0) {
      onDone();
      return;
    }
    setBusy(true);
    const isChanged = await orders.amend(order, change);
    setBusy(false);
    if (isChanged) onDone();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter") void save();
    if (event.key === "Escape") onDone();
  };
  return (
    <>
      <td class="numeric">
        <input
          ref={first}
          class="number ticket-amend"
          aria-label="New price"
          inputMode="decimal"
          value={price}
          aria-invalid={typeof nextPrice === "string"}
          onInput={(event) => setPrice(event.currentTarget.value)}
          onKeyDown={(event) => {
            onKey(event);
            const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
            if (by === 0) return;
            event.preventDefault();
            setPrice(stepped(table, price, by));
          }}
        />
      </td>
      <td class="numeric">
        <input
          class="number ticket-amend"
          aria-label="New open quantity"
          inputMode="numeric"
          value={qty}
          aria-invalid={typeof nextQty === "string"}
          onInput={(event) => setQty(event.currentTarget.value)}
          onKeyDown={onKey}
        />
      </td>
      <td class="ticket-actions">
        <span class={error === undefined ? "ticket-state" : "ticket-state field-error"} role="status">
          {error ?? `${filled}${keepsPlace ? "keeps its place in the queue" : "joins the queue anew"}`}
        </span>
        <Button kind="quiet" busy={busy} disabled={locked || error !== undefined} onClick={() => void save()}>
          Save
        </Button>
        <Button kind="quiet" onClick={onDone}>
          Leave
        </Button>
      </td>
    </>
  );
}

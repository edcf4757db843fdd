/** Prices, amounts and times as every page shows them. */

import { useEffect, useRef } from "preact/hooks";
import { showMoney, showQuantity } from "../data/money.js";
import { showAverage, showPrice, type Costs } from "../data/prices.js";
import { showFull, showMoment } from "../data/time.js";
import { fade } from "./fade.js";

/** Fades the background of an element whenever its text changes. */
function useFade(text: string) {
  const element = useRef<HTMLSpanElement>(null);
  const last = useRef(text);
  useEffect(() => {
    const { current } = element;
    if (last.current === text || current === null) return;
    last.current = text;
    fade(current);
  }, [text]);
  return element;
}

/** A price of the service in the form that the visitor chose. */
export function Price({ value }: { readonly value: string | undefined }) {
  const text = value === undefined ? "–" : showPrice(value);
  return (
    <span ref={useFade(text)} class="number">
      {text}
    </span>
  );
}

/** The average price of contracts in the form that the visitor chose. */
export function Average(costs: Costs) {
  return <span class="number">{showAverage(costs)}</span>;
}

/** An amount in dollars, or in COIN. */
export function Money({ value, coin = false }: { readonly value: string; readonly coin?: boolean }) {
  return <span class="number">{showMoney(value, coin ? "COIN" : "CASH")}</span>;
}

/** A number of contracts. */
export function Quantity({ value }: { readonly value: number }) {
  const text = showQuantity(value);
  return (
    <span ref={useFade(text)} class="number">
      {text}
    </span>
  );
}

/** A time in the visitor's zone; its full form is in the tooltip. */
export function Time({
  ms,
  show = showMoment,
}: {
  readonly ms: number;
  readonly show?: (ms: number) => string;
}) {
  return (
    <time class="number" dateTime={new Date(ms).toISOString()} title={showFull(ms)}>
      {show(ms)}
    </time>
  );
}

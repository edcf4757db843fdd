/** Prices as people think of them: in dollars of a payout of $1, per cent, decimal odds or American odds. */

import { CONTRACT_TICKS, parsePrice, type Millicents, type Ticks } from "../../../actors/units.js";
import { remembered } from "./remembered.js";

export const PRICE_FORMS = ["dollars", "percent", "decimal", "american"] as const;
export type PriceForm = (typeof PRICE_FORMS)[number];

/** Form in which every price is shown, as chosen in this browser. */
export const priceForm = remembered<PriceForm>("prices", PRICE_FORMS, "dollars");

/** Returns a price of the service, such as `0.625`, in ticks of a thousandth. Throws when the text is not a price. */
export function ticksOf(text: string): Ticks {
  const price = parsePrice(text);
  if (price === undefined) throw new Error(`${text} is not a price`);
  return price;
}

/** Returns a number of ticks as a price of the service, with three decimals. */
export function priceOf(ticks: number): string {
  return (ticks / CONTRACT_TICKS).toFixed(3);
}

/** Shown where a price has no odds: at nothing, and at the whole payout. */
const NO_ODDS = "–";
/** Decimal odds below this have a third decimal, because two would read 1.00. */
const SHORT_ODDS = 1.1;

function decimal(ticks: number): string {
  const odds = CONTRACT_TICKS / ticks;
  return odds.toFixed(odds < SHORT_ODDS ? 3 : 2);
}

/** Returns the American odds of a price: what $100 win, or how much wins $100. */
function american(ticks: number): string {
  const rest = CONTRACT_TICKS - ticks;
  return ticks > rest ? `−${Math.round((100 * ticks) / rest)}` : `+${Math.round((100 * rest) / ticks)}`;
}

function hasOdds(ticks: number): boolean {
  return ticks > 0 && ticks < CONTRACT_TICKS;
}

/** Returns a price in ticks in one of the forms. */
export function showTicks(ticks: number, form: PriceForm = priceForm.value): string {
  switch (form) {
    case "dollars":
      return priceOf(ticks);
    case "percent":
      return `${(ticks / 10).toFixed(1)} %`;
    case "decimal":
      return hasOdds(ticks) ? decimal(ticks) : NO_ODDS;
    case "american":
      return hasOdds(ticks) ? american(ticks) : NO_ODDS;
    default:
      return form satisfies never;
  }
}

/**
 * Returns a price of the service in one of the forms. A settlement at a fair price may be at nothing or at the whole
 * payout.
 */
export function showPrice(price: string, form: PriceForm = priceForm.value): string {
  return showTicks(Math.round(Number(price) * CONTRACT_TICKS), form);
}

/** Contracts and what they cost in all. */
export interface Costs {
  readonly qty: number;
  readonly cost: Millicents;
}

/**
 * Returns the average price of contracts in one of the forms, rounded half up to a tenth of a tick. Dollars and per cent
 * have a digit more than a price; no contracts have no average.
 */
export function showAverage({ qty, cost }: Costs, form: PriceForm = priceForm.value): string {
  if (qty === 0) return "";
  // A tenth of a tick is a tenth of a millicent for each contract.
  const tenths = Number((BigInt(cost) * 20n + BigInt(qty)) / (BigInt(qty) * 2n));
  switch (form) {
    case "dollars":
      return (tenths / (10 * CONTRACT_TICKS)).toFixed(4);
    case "percent":
      return `${(tenths / 100).toFixed(2)} %`;
    case "decimal":
    case "american":
      return showTicks(tenths / 10, form);
    default:
      return form satisfies never;
  }
}

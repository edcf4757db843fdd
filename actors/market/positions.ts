/**
 * Positions of wallets in one market and currency, and the payout of closing complete sets (contract sections 3.5 and
 * 3.6).
 *
 * Escrow always covers every possible grade. A match pays in exactly the value of the sets that it mints, so
 * `escrow = 1000 x contracts of any outcome = sum of costs`. Closing `k` sets that cost `c` pays:
 * - FMV: `1000k`, the value of the closed contracts.
 * - PUSH: `min(c, 1000k)`. If `c` is lower, `1000k - c` stays locked for a winner, because the claims of winners shrink by
 *   `1000k`. If `c` is higher, `c - 1000k` stays locked for a push, because refunds shrink by `c`. In both cases the claims
 *   of a winner and of a push shrink by exactly the payout.
 */

import {
  add,
  contracts,
  type Contracts,
  fullValue,
  millicents,
  type Millicents,
  NONE,
  share,
  subtract,
  ZERO,
} from "../units.js";
import { unreachable } from "../unreachable.js";
import { CURRENCIES, type Currency, type Grade, type Holding, type Voids } from "./types.js";

const NOTHING: Holding = { qty: NONE, cost: ZERO };

/** Holdings of one wallet by outcome, and the amounts that netting leaves for settlement. */
export interface Position {
  readonly wallet: string;
  readonly ledger: number;
  readonly holdings: Holding[];
  win: Millicents;
  push: Millicents;
}

/**
 * Effect of a fill on a position: the holdings that change, and the payout of closing sets. Holdings that are not empty
 * come first, so that a position that moves from one outcome to another is never empty in between: a ledger drops an
 * empty account.
 */
export interface Acquisition {
  readonly holdings: readonly { readonly outcome: number; readonly holding: Holding }[];
  readonly payout: Millicents;
  readonly win: Millicents;
  readonly push: Millicents;
}

/** Removes `qty` contracts from a holding at average cost: `floor(cost x qty / held)`. */
function close(holding: Holding, qty: Contracts): { rest: Holding; cost: Millicents } {
  const cost = share(holding.cost, qty, holding.qty);
  return { rest: { qty: contracts(holding.qty - qty), cost: subtract(holding.cost, cost) }, cost };
}

/** Returns the effect of buying `qty` of an outcome for `paid`, netting included. */
export function acquire(
  position: Position | undefined,
  outcomes: number,
  voids: Voids,
  outcome: number,
  qty: Contracts,
  paid: Millicents,
): Acquisition {
  const held = position?.holdings ?? [];
  const before = held[outcome] ?? NOTHING;
  const bought: Holding = { qty: contracts(before.qty + qty), cost: add(before.cost, paid) };
  const win = position?.win ?? ZERO;
  const push = position?.push ?? ZERO;

  let sets: number = bought.qty;
  for (let i = 0; i < outcomes && sets > 0; i += 1) {
    if (i !== outcome) sets = Math.min(sets, held[i]?.qty ?? 0);
  }
  if (sets === 0) return { holdings: [{ outcome, holding: bought }], payout: ZERO, win, push };

  const closing = contracts(sets);
  const holdings: { outcome: number; holding: Holding }[] = [];
  let setCost = ZERO;
  for (let i = 0; i < outcomes; i += 1) {
    const { rest, cost } = close(i === outcome ? bought : (held[i] ?? NOTHING), closing);
    holdings.push({ outcome: i, holding: rest });
    setCost = add(setCost, cost);
  }
  holdings.sort((a, b) => Number(b.holding.qty > 0) - Number(a.holding.qty > 0));
  const value = fullValue(closing);
  if (voids === "FMV") return { holdings, payout: value, win, push };
  return setCost <= value
    ? { holdings, payout: setCost, win: add(win, subtract(value, setCost)), push }
    : { holdings, payout: value, win, push: add(push, subtract(setCost, value)) };
}

/** Returns the payout of a position under a grade. */
export function settlementOf(position: Position, grade: Grade): Millicents {
  switch (grade.kind) {
    case "WINNER":
      return add(fullValue(position.holdings[grade.outcome]?.qty ?? NONE), position.win);
    case "PUSH":
      return position.holdings.reduce((sum, holding) => add(sum, holding.cost), position.push);
    case "FMV":
      return position.holdings.reduce(
        (sum, holding, outcome) => add(sum, millicents((grade.prices[outcome] ?? 0) * holding.qty)),
        ZERO,
      );
    default:
      return unreachable(grade);
  }
}

/** One position that a settlement pays, and its currency. */
export interface OpenPosition {
  readonly currency: Currency;
  readonly position: Position;
}

type Books = Readonly<Record<Currency, { readonly positions: ReadonlyMap<string, Position> }>>;

/** Returns the number of positions in both currencies. */
export function countPositions(books: Books): number {
  return CURRENCIES.reduce((sum, currency) => sum + books[currency].positions.size, 0);
}

/** Yields every position of both currencies, in the order in which a settlement pays them. */
function* openPositions(books: Books): Generator<OpenPosition> {
  for (const currency of CURRENCIES)
    for (const position of books[currency].positions.values()) yield { currency, position };
}

/** A walk through the positions of a settlement, which do not change meanwhile. Copies none of them. */
export class PositionWalk {
  readonly #positions: Generator<OpenPosition>;
  /** Position that the walk has come to; undefined at its end. */
  next: OpenPosition | undefined;
  readonly count: number;

  constructor(books: Books, passed = 0) {
    this.count = countPositions(books);
    this.#positions = openPositions(books);
    for (let n = 0; n <= passed; n += 1) this.advance();
  }

  advance(): void {
    const step = this.#positions.next();
    this.next = step.done === true ? undefined : step.value;
  }
}

export function isFlat(position: Position): boolean {
  return position.win === 0 && position.push === 0 && position.holdings.every((holding) => holding.qty === 0);
}

/**
 * Conversion of a market to one value and back: the form of snapshots that earlier builds write and read. A restored market
 * behaves exactly as the saved one.
 */

import type { ActorId } from "../../actor.js";
import type { Contracts, Millicents, Ticks } from "../../units.js";
import { RestingOrders } from "../book/resting.js";
import { type Position, PositionWalk } from "../positions.js";
import {
  type Book,
  createMarket,
  ENTRY_RANK,
  emptyBook,
  type MarketState,
  rest,
  type Settlement,
} from "../state.js";
import {
  CURRENCIES,
  type Currency,
  type Level,
  type MarketDefinition,
  type MarketStatus,
  type Order,
} from "../types.js";

interface SavedBook {
  /** Every resting order by ladder: best price first, then time order. */
  readonly orders: readonly {
    readonly order: Order;
    readonly remaining: Contracts;
    readonly arrival: number;
  }[];
  readonly bbo: readonly (Level | null)[];
  readonly last: readonly (Ticks | null)[];
  readonly positions: readonly Position[];
  readonly seqs: Book["seqs"];
  readonly escrow: Millicents;
  readonly volume: Contracts;
}

interface SavedMarket {
  readonly definition?: MarketDefinition | undefined;
  readonly status: MarketStatus;
  readonly paused: boolean;
  readonly live: boolean;
  readonly started: boolean;
  /** Absent unless it is true, and in a snapshot of a build that does not know the field. */
  readonly closedByEvent?: true | undefined;
  readonly lifecycleSeq: number;
  readonly books: Readonly<Record<Currency, SavedBook>>;
  readonly held: readonly {
    readonly order: Order;
    readonly remaining: Contracts;
    readonly untilMs: number;
  }[];
  readonly arrivals: number;
  readonly matches: number;
  readonly settlement?:
    | (Omit<Settlement, "positions" | "paid"> & { readonly paid: readonly (readonly [string, Millicents])[] })
    | undefined;
}

export function saveWholeMarket(state: MarketState): SavedMarket {
  const { definition, status, paused, live, started, closedByEvent, settlement } = state;
  const { lifecycleSeq, arrivals, matches } = state;
  return {
    definition,
    status,
    paused,
    live,
    started,
    closedByEvent: closedByEvent ? true : undefined,
    lifecycleSeq,
    books: { CASH: saveBook(state, "CASH"), COIN: saveBook(state, "COIN") },
    held: [...state.held.values()],
    arrivals,
    matches,
    settlement: settlement === undefined ? undefined : saveSettlement(settlement),
  };
}

/** Converts a settlement without its positions, which are in the books. */
function saveSettlement(settlement: Settlement): SavedMarket["settlement"] {
  const { settlementId, grade, direction, done, paid } = settlement;
  return { settlementId, grade, direction, done, paid: [...paid] };
}

function saveBook({ books, resting }: MarketState, currency: Currency): SavedBook {
  const book = books[currency];
  return {
    orders: resting.ladders[currency].flatMap((ladder) =>
      [...ladder.orders()].map(({ order, remaining, arrival }) => ({ order, remaining, arrival })),
    ),
    bbo: book.bbo,
    last: book.last.map((price) => price ?? null),
    positions: [...book.positions.values()],
    seqs: book.seqs,
    escrow: book.escrow,
    volume: book.volume,
  };
}

export function restoreWholeMarket(id: ActorId, data: unknown): MarketState {
  const saved = data as SavedMarket;
  const state = createMarket(id);
  state.definition = saved.definition;
  state.status = saved.status;
  state.paused = saved.paused;
  state.live = saved.live;
  state.started = saved.started;
  state.closedByEvent = saved.closedByEvent === true;
  state.lifecycleSeq = saved.lifecycleSeq;
  state.arrivals = saved.arrivals;
  state.matches = saved.matches;
  const outcomes = saved.definition?.outcomes.length ?? 0;
  state.resting = new RestingOrders(outcomes);
  state.books = {
    CASH: restoreBook(saved.books.CASH, outcomes),
    COIN: restoreBook(saved.books.COIN, outcomes),
  };
  for (const held of saved.held) {
    state.held.set(held.order.orderId, held);
    state.deadlines.set(held.untilMs, ENTRY_RANK, held.order.orderId);
  }
  // The order of arrival is the order in which `clear` cancels them.
  const orders = CURRENCIES.flatMap((currency) => saved.books[currency].orders);
  for (const { order, remaining, arrival } of orders.toSorted((a, b) => a.arrival - b.arrival))
    rest(state, order, remaining, arrival);
  if (saved.settlement !== undefined)
    state.settlement = {
      ...saved.settlement,
      positions: new PositionWalk(state.books, saved.settlement.done),
      paid: new Map(saved.settlement.paid),
    };
  return state;
}

function restoreBook(saved: SavedBook, outcomes: number): Book {
  const book = emptyBook(outcomes);
  saved.bbo.forEach((level, outcome) => (book.bbo[outcome] = level));
  saved.last.forEach((price, outcome) => (book.last[outcome] = price ?? undefined));
  for (const position of saved.positions)
    book.positions.set(position.wallet, { ...position, holdings: [...position.holdings] });
  Object.assign(book.seqs, saved.seqs);
  book.escrow = saved.escrow;
  book.volume = saved.volume;
  return book;
}

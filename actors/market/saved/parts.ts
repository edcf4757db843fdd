/** Conversion of a market to parts and back. A restored market behaves exactly as the saved one. */

import type { ActorId, StateBuilder } from "../../actor.js";
import { endsRunAt, rowAt, RUN_ITEMS, runsOf, SharedRows } from "../../runs.js";
import type { Contracts, Millicents, Ticks } from "../../units.js";
import { unreachable } from "../../unreachable.js";
import { RestingOrders } from "../book/resting.js";
import { type Position, PositionWalk } from "../positions.js";
import {
  type Book,
  createMarket,
  emptyBook,
  ENTRY_RANK,
  type MarketState,
  rest,
  type Settlement,
} from "../state.js";
import type { TimeInForce } from "../time-in-force.js";
import {
  CURRENCIES,
  type Currency,
  type FeeSchedule,
  type Level,
  type MarketDefinition,
  type MarketStatus,
  type Order,
  type SelfTrade,
} from "../types.js";

interface SavedBook {
  readonly bbo: readonly (Level | null)[];
  readonly last: readonly (Ticks | null)[];
  readonly seqs: Book["seqs"];
  readonly escrow: Millicents;
  readonly volume: Contracts;
}

/** The state without orders, positions and payouts. */
interface SavedState {
  readonly definition?: MarketDefinition | undefined;
  readonly status: MarketStatus;
  readonly paused: boolean;
  readonly live: boolean;
  readonly started: boolean;
  /** Absent unless it is true, and in parts of a build that does not know the field. */
  readonly closedByEvent?: true | undefined;
  readonly lifecycleSeq: number;
  readonly arrivals: number;
  readonly matches: number;
  readonly books: Readonly<Record<Currency, SavedBook>>;
  readonly settlement?: Omit<Settlement, "positions" | "paid"> | undefined;
}

/** Owner of orders and terms that many orders share. */
type SavedOwner = readonly [wallet: string, trader: string, ledger: number];
type SavedTerms = readonly [
  currency: Currency,
  tif: TimeInForce,
  selfTrade: SelfTrade,
  feeReserved: boolean,
  fee: FeeSchedule,
];

/** An order; `owner` and `terms` are indexes in the rows of its part. */
type SavedOrder = readonly [
  orderId: string,
  owner: number,
  terms: number,
  outcome: number,
  price: Ticks,
  qty: Contracts,
  remaining: Contracts,
  /** Arrival number of a resting order, or end of the delay of a held one (Unix ms). */
  place: number,
  acceptedTs: number,
  expiresAt?: number | null,
  notAfter?: number | null,
];

type SavedPosition = readonly [
  wallet: string,
  ledger: number,
  win: Millicents,
  push: Millicents,
  /** A quantity and a cost for each outcome. */
  holdings: readonly number[],
];

type MarketPart =
  | readonly ["market", SavedState]
  | readonly [
      "resting" | "held",
      orders: readonly SavedOrder[],
      owners: readonly SavedOwner[],
      terms: readonly SavedTerms[],
    ]
  | readonly ["positions", currency: Currency, positions: readonly SavedPosition[]]
  | readonly ["paid", paid: readonly (readonly [key: string, amount: Millicents])[]];

export function* saveMarket(state: MarketState): Generator<string> {
  for (const part of partsOf(state)) yield JSON.stringify(part);
}

function* partsOf(state: MarketState): Generator<MarketPart> {
  const { definition, status, paused, live, started, closedByEvent, settlement } = state;
  const { lifecycleSeq, arrivals, matches } = state;
  yield [
    "market",
    {
      definition,
      status,
      paused,
      live,
      started,
      closedByEvent: closedByEvent ? true : undefined,
      lifecycleSeq,
      arrivals,
      matches,
      books: { CASH: saveBook(state.books.CASH), COIN: saveBook(state.books.COIN) },
      settlement: settlement && saveSettlement(settlement),
    },
  ];
  for (const run of runsOf(state.resting.values(), ({ arrival }) => arrival % RUN_ITEMS === 0))
    yield saveOrders(
      "resting",
      run.map(({ order, remaining, arrival }) => [order, remaining, arrival]),
    );
  for (const run of runsOf(state.held.values(), ({ order }) => endsRunAt(order.orderId)))
    yield saveOrders(
      "held",
      run.map(({ order, remaining, untilMs }) => [order, remaining, untilMs]),
    );
  for (const currency of CURRENCIES) {
    const { positions } = state.books[currency];
    for (const run of runsOf(positions.values(), ({ wallet }) => endsRunAt(wallet)))
      yield ["positions", currency, run.map(savePosition)];
  }
  for (const run of runsOf(settlement?.paid ?? [], ([key]) => endsRunAt(key))) yield ["paid", run];
}

function saveBook({ bbo, last, seqs, escrow, volume }: Book): SavedBook {
  return { bbo, last: last.map((price) => price ?? null), seqs, escrow, volume };
}

/** Saves a settlement without its positions, which are in the books, and its payouts, which have parts of their own. */
function saveSettlement({ settlementId, grade, direction, done }: Settlement): SavedState["settlement"] {
  return { settlementId, grade, direction, done };
}

function savePosition({ wallet, ledger, win, push, holdings }: Position): SavedPosition {
  return [wallet, ledger, win, push, holdings.flatMap(({ qty, cost }) => [qty, cost])];
}

function saveOrders(
  kind: "resting" | "held",
  run: readonly (readonly [order: Order, remaining: Contracts, place: number])[],
): MarketPart {
  const owners = new SharedRows<SavedOwner>();
  const terms = new SharedRows<SavedTerms>();
  const orders = run.map(([order, remaining, place]): SavedOrder => {
    const { orderId, wallet, trader, ledger, outcome, price, qty, acceptedTs } = order;
    const { currency, tif, selfTrade, feeReserved, fee, expiresAt = null, notAfter = null } = order;
    const { coefficientPpm, makerCreditPpm, charged } = fee;
    const key = `${currency} ${tif} ${selfTrade} ${feeReserved} ${coefficientPpm} ${makerCreditPpm} ${charged}`;
    const saved = [
      orderId,
      owners.indexOf(`${wallet} ${trader}`, () => [wallet, trader, ledger]),
      terms.indexOf(key, () => [currency, tif, selfTrade, feeReserved, fee]),
      outcome,
      price,
      qty,
      remaining,
      place,
      acceptedTs,
    ] as const;
    if (notAfter !== null) return [...saved, expiresAt, notAfter];
    return expiresAt === null ? saved : [...saved, expiresAt];
  });
  return [kind, orders, owners.rows, terms.rows];
}

/** Begins to restore a market from its parts. */
export function restoreMarket(id: ActorId): StateBuilder<MarketState> {
  const state = createMarket(id);
  return {
    add: (part) => addPart(state, JSON.parse(part) as MarketPart),
    finish: () => {
      if (state.settlement !== undefined)
        state.settlement.positions = new PositionWalk(state.books, state.settlement.done);
      return state;
    },
  };
}

function addPart(state: MarketState, part: MarketPart): void {
  switch (part[0]) {
    case "market":
      addState(state, part[1]);
      return;
    case "resting":
      for (const [order, remaining, arrival] of ordersOf(part)) rest(state, order, remaining, arrival);
      return;
    case "held":
      for (const [order, remaining, untilMs] of ordersOf(part)) {
        state.held.set(order.orderId, { order, remaining, untilMs });
        state.deadlines.set(untilMs, ENTRY_RANK, order.orderId);
      }
      return;
    case "positions": {
      const [, currency, positions] = part;
      for (const saved of positions) {
        const position = restorePosition(saved);
        state.books[currency].positions.set(position.wallet, position);
      }
      return;
    }
    case "paid":
      for (const [key, amount] of part[1]) state.settlement?.paid.set(key, amount);
      return;
    default:
      unreachable(part);
  }
}

function addState(state: MarketState, saved: SavedState): void {
  const { books, settlement, ...rest } = saved;
  Object.assign(state, rest);
  const outcomes = saved.definition?.outcomes.length ?? 0;
  state.resting = new RestingOrders(outcomes);
  state.books = { CASH: restoreBook(books.CASH, outcomes), COIN: restoreBook(books.COIN, outcomes) };
  if (settlement !== undefined)
    state.settlement = { ...settlement, positions: new PositionWalk(state.books), paid: new Map() };
}

function restoreBook(saved: SavedBook, outcomes: number): Book {
  const book = emptyBook(outcomes);
  saved.bbo.forEach((level, outcome) => (book.bbo[outcome] = level));
  saved.last.forEach((price, outcome) => (book.last[outcome] = price ?? undefined));
  Object.assign(book.seqs, saved.seqs);
  book.escrow = saved.escrow;
  book.volume = saved.volume;
  return book;
}

function restorePosition([wallet, ledger, win, push, saved]: SavedPosition): Position {
  const holdings: Position["holdings"] = [];
  for (let index = 0; index < saved.length; index += 2)
    holdings.push({ qty: saved[index] as Contracts, cost: saved[index + 1] as Millicents });
  return { wallet, ledger, holdings, win, push };
}

function* ordersOf([, orders, owners, terms]: Extract<
  MarketPart,
  readonly ["resting" | "held", ...unknown[]]
>): Generator<readonly [order: Order, remaining: Contracts, place: number]> {
  for (const saved of orders) {
    const [orderId, owner, shared, outcome, price, qty, remaining, place, acceptedTs, expiresAt, notAfter] =
      saved;
    const [wallet, trader, ledger] = rowAt(owners, owner);
    const [currency, tif, selfTrade, feeReserved, fee] = rowAt(terms, shared);
    const order: Order = {
      orderId,
      wallet,
      trader,
      ledger,
      currency,
      outcome,
      price,
      qty,
      tif,
      selfTrade,
      acceptedTs,
      expiresAt: expiresAt ?? undefined,
      notAfter: notAfter ?? undefined,
      fee,
      feeReserved,
    };
    yield [order, remaining, place];
  }
}

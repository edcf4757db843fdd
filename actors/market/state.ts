/** The state of a market and its fold from deltas. Only `evolveMarket` changes the state. */

import type { ActorId } from "../actor.js";
import { Deadlines } from "../deadlines.js";
import { DerivedIds } from "../ids.js";
import {
  add,
  assert,
  type Contracts,
  contracts,
  type Millicents,
  NONE,
  subtract,
  type Ticks,
  ZERO,
} from "../units.js";
import { unreachable } from "../unreachable.js";
import type { RestingOrder } from "./book/ladder.js";
import { RestingOrders } from "./book/resting.js";
import type { LifecycleDelta, MarketDelta, OrderDelta } from "./deltas.js";
import { isFlat, type Position, PositionWalk } from "./positions.js";
import {
  CURRENCIES,
  type Currency,
  type Grade,
  type Level,
  type MarketDefinition,
  type MarketStatus,
  type Order,
  type Holding,
} from "./types.js";

/** Counts and positions of a market in one currency. */
export interface Book {
  /** Last emitted best bid, by outcome. */
  readonly bbo: (Level | null)[];
  /** Price of the last print, by outcome. */
  readonly last: (Ticks | undefined)[];
  /** Positions by wallet, without the flat ones. */
  readonly positions: Map<string, Position>;
  readonly seqs: { book: number; bbo: number; trades: number };
  escrow: Millicents;
  /** Complete sets minted. */
  volume: Contracts;
}

/**
 * Seqs that are skipped for one match. An actor skips 100 seqs for each millisecond of which entries may be lost
 * (`stream/runtime/instance.ts`), and the ids of matches have fewer numbers than seqs.
 */
const SKIPPED_SEQS_PER_MATCH = 100;

/** Ranks of deadlines at one moment: orders expire before held orders enter, so that no order matches an expired one. */
const EXPIRY_RANK = 0;
export const ENTRY_RANK = 1;

export interface Settlement {
  readonly settlementId: string;
  readonly grade: Grade;
  /** `paying` until a remediation starts, then `reversing`. */
  direction: "paying" | "reversing";
  /** Number of wallets that are done in this direction. */
  done: number;
  /** The positions that the settlement pays, after `done` of them. They do not change while a market has a settlement. */
  positions: PositionWalk;
  /** Amount paid to each wallet, by `settlementKey`. */
  readonly paid: Map<string, Millicents>;
}

export interface MarketState {
  readonly marketId: string;
  readonly ids: DerivedIds;
  definition: MarketDefinition | undefined;
  status: MarketStatus;
  paused: boolean;
  live: boolean;
  started: boolean;
  /** True while the market is closed because its event closed it. */
  closedByEvent: boolean;
  lifecycleSeq: number;
  books: Readonly<Record<Currency, Book>>;
  resting: RestingOrders;
  /** Orders that wait for the in-play delay, in order. */
  readonly held: Map<
    string,
    { readonly order: Order; readonly remaining: Contracts; readonly untilMs: number }
  >;
  readonly deadlines: Deadlines<string>;
  /** Counts of all orders that have rested and of all matches, from which new ones get their numbers. */
  arrivals: number;
  matches: number;
  settlement: Settlement | undefined;
}

export function emptyBook(outcomes: number): Book {
  return {
    bbo: new Array<Level | null>(outcomes).fill(null),
    last: new Array<Ticks | undefined>(outcomes).fill(undefined),
    positions: new Map(),
    seqs: { book: 0, bbo: 0, trades: 0 },
    escrow: ZERO,
    volume: NONE,
  };
}

export function createMarket(id: ActorId): MarketState {
  const marketId = id.slice("market:".length);
  return {
    marketId,
    ids: new DerivedIds(marketId),
    definition: undefined,
    status: "CLOSED",
    paused: false,
    live: false,
    started: false,
    closedByEvent: false,
    lifecycleSeq: 0,
    books: { CASH: emptyBook(0), COIN: emptyBook(0) },
    resting: new RestingOrders(0),
    held: new Map(),
    deadlines: new Deadlines(),
    arrivals: 0,
    matches: 0,
    settlement: undefined,
  };
}

const NO_HOLDING: Holding = { qty: NONE, cost: ZERO };

/** Returns the key of a wallet in a settlement, which pays both currencies. */
export function settlementKey(currency: Currency, wallet: string): string {
  return `${currency}:${wallet}`;
}

export function evolveMarket(state: MarketState, delta: MarketDelta): void {
  switch (delta.type) {
    case "order":
      evolveOrder(state, delta);
      return;
    case "book":
      // The `order` delta of the same change has already changed the book.
      state.books[delta.currency].seqs.book = delta.seq;
      return;
    case "bbo": {
      const book = state.books[delta.currency];
      book.bbo[delta.outcome] = delta.bbo;
      book.seqs.bbo = delta.seq;
      return;
    }
    case "trade": {
      const book = state.books[delta.currency];
      book.last[delta.outcome] = delta.price;
      book.seqs.trades = delta.seq;
      return;
    }
    case "match": {
      const book = state.books[delta.currency];
      book.last[delta.outcome] = delta.price;
      book.volume = contracts(book.volume + delta.qty);
      return;
    }
    case "position": {
      const position = positionOf(state, delta.currency, delta.wallet, delta.ledger);
      position.holdings[delta.outcome] = { qty: delta.qty, cost: delta.cost };
      if (delta.qty === 0 && isFlat(position)) state.books[delta.currency].positions.delete(delta.wallet);
      return;
    }
    case "locked": {
      const position = positionOf(state, delta.currency, delta.wallet, delta.ledger);
      position.win = delta.win;
      position.push = delta.push;
      return;
    }
    case "created":
      state.definition = delta.definition;
      state.resting = new RestingOrders(delta.definition.outcomes.length);
      state.books = {
        CASH: emptyBook(delta.definition.outcomes.length),
        COIN: emptyBook(delta.definition.outcomes.length),
      };
      return;
    case "configured":
      assert(state.definition !== undefined, "the market is configured before it exists");
      state.definition = {
        ...state.definition,
        fee: delta.fee ?? state.definition.fee,
        liveDelayMs: delta.liveDelayMs ?? state.definition.liveDelayMs,
        description: delta.description ?? state.definition.description,
        ticks: delta.ticks ?? state.definition.ticks,
      };
      return;
    case "lifecycle":
      evolveLifecycle(state, delta);
      state.lifecycleSeq = delta.seq;
      state.status = delta.status;
      return;
    case "graded":
      state.settlement = {
        settlementId: delta.settlementId,
        grade: delta.grade,
        direction: "paying",
        done: 0,
        positions: new PositionWalk(state.books),
        paid: new Map(),
      };
      return;
    case "remediating":
      assert(state.settlement !== undefined, "the market is remediated without a grade");
      state.settlement.direction = "reversing";
      state.settlement.done = 0;
      state.settlement.positions = new PositionWalk(state.books);
      return;
    case "payout": {
      const book = state.books[delta.currency];
      assert(state.settlement !== undefined, "the market pays out without a grade");
      state.settlement.paid.set(settlementKey(delta.currency, delta.wallet), delta.amount);
      state.settlement.done += 1;
      state.settlement.positions.advance();
      book.escrow = subtract(book.escrow, delta.amount);
      return;
    }
    case "reversal": {
      const book = state.books[delta.currency];
      assert(state.settlement !== undefined, "the market reverses a payout without a grade");
      state.settlement.done += 1;
      state.settlement.positions.advance();
      book.escrow = add(book.escrow, delta.amount);
      return;
    }
    case "skipped":
      state.lifecycleSeq += delta.count;
      // The ids of lost matches are not given out again either.
      state.matches += Math.ceil(delta.count / SKIPPED_SEQS_PER_MATCH);
      for (const currency of CURRENCIES) {
        const { seqs } = state.books[currency];
        seqs.book += delta.count;
        seqs.bbo += delta.count;
        seqs.trades += delta.count;
      }
      return;
    default:
      return unreachable(delta);
  }
}

function evolveLifecycle(state: MarketState, { kind, byEvent }: LifecycleDelta): void {
  switch (kind) {
    case "PAUSE":
      state.paused = true;
      return;
    case "RESUME":
      state.paused = false;
      return;
    case "CLOSE":
      state.paused = false;
      state.closedByEvent = byEvent === true;
      return;
    case "START":
      state.started = true;
      return;
    case "GOLIVE":
      state.live = true;
      return;
    case "UNLIVE":
      state.live = false;
      return;
    case "REMEDIATE":
      state.settlement = undefined;
      return;
    case "OPEN":
    case "GRADE":
      state.closedByEvent = false;
      return;
    case "END":
      return;
    default:
      return unreachable(kind);
  }
}

function evolveOrder(state: MarketState, delta: OrderDelta): void {
  switch (delta.kind) {
    case "hold":
      state.held.set(delta.order.orderId, {
        order: delta.order,
        remaining: delta.order.qty,
        untilMs: delta.untilMs,
      });
      state.deadlines.set(delta.untilMs, ENTRY_RANK, delta.order.orderId);
      return;
    case "open": {
      const { order } = delta;
      unhold(state, order.orderId);
      state.arrivals += 1;
      rest(state, order, delta.qty, state.arrivals);
      return;
    }
    case "fill": {
      const book = state.books[delta.currency];
      book.escrow = subtract(add(book.escrow, delta.cost), delta.payout);
      if (delta.taker) {
        unhold(state, delta.orderId);
        state.matches += 1;
      } else {
        const resting = state.resting.get(delta.orderId);
        assert(resting !== undefined, "the order is not in the book", delta.orderId);
        reduce(state, resting, delta.remaining);
      }
      return;
    }
    case "reduce": {
      const resting = state.resting.get(delta.orderId);
      if (resting !== undefined) reduce(state, resting, delta.remaining);
      const held = state.held.get(delta.orderId);
      if (held !== undefined) state.held.set(delta.orderId, { ...held, remaining: delta.remaining });
      return;
    }
    case "cancel": {
      const resting = state.resting.get(delta.orderId);
      if (resting !== undefined) state.resting.remove(resting);
      unhold(state, delta.orderId);
      return;
    }
    case "reject":
      unhold(state, delta.orderId);
      return;
    default:
      return unreachable(delta);
  }
}

/** Sets the remaining quantity of a resting order; at 0 the order and its deadline are gone. */
function reduce(state: MarketState, resting: RestingOrder, remaining: Contracts): void {
  state.resting.reduce(resting, remaining);
  if (remaining === 0) state.deadlines.delete(resting.order.orderId);
}

/** Removes an order from the held orders, if it is there, and with it the deadline of the order. */
function unhold(state: MarketState, orderId: string): void {
  state.held.delete(orderId);
  state.deadlines.delete(orderId);
}

/** Adds a resting order, and its expiry if it has one. */
export function rest(state: MarketState, order: Order, remaining: Contracts, arrival: number): void {
  state.resting.add(order, remaining, arrival);
  if (order.expiresAt !== undefined) state.deadlines.set(order.expiresAt, EXPIRY_RANK, order.orderId);
}

function positionOf(state: MarketState, currency: Currency, wallet: string, ledger: number): Position {
  const { positions, bbo } = state.books[currency];
  const found = positions.get(wallet);
  if (found !== undefined) return found;
  const holdings = new Array<Holding>(bbo.length).fill(NO_HOLDING);
  const position: Position = { wallet, ledger, holdings, win: ZERO, push: ZERO };
  positions.set(wallet, position);
  return position;
}

/** Returns the time of the next deadline, Unix ms. */
export function nextDeadline(state: MarketState): number | undefined {
  return state.deadlines.first()?.at;
}

/**
 * Compares the matching core (the resting orders and the sweep) with order-book packages of npm on the same flow, each
 * emitting its trades. The whole market actor is measured too, as it runs in production: it emits and folds every delta,
 * with positions, escrow and fees.
 */

import { OrderBook as HftBook } from "hft-limit-order-book";
import { OrderBook as NodejsBook, Side } from "nodejs-order-book";
import { market } from "../../../actors/market/market.js";
import { RestingOrders } from "../../../actors/market/book/resting.js";
import { sweep } from "../../../actors/market/book/sweep.js";
import type { Order } from "../../../actors/market/types.js";
import { contracts } from "../../../actors/units.js";
import { commandOf, GRID, openMarket, orderOf } from "./actor.js";
import { type Add, flow, type Flow, type Operation } from "./flow.js";
import { median, type Row } from "../table.js";

/** Resting orders of the book; with more of them the packages only get slower. */
const RESTING = 10_000;
/** Operations before the measurement, in which the compiler optimizes the code. */
const WARM_UP = 100_000;

/** Converts a batch into the contestant's own types, untimed; the result executes the batch and counts its trades. */
type Prepare = (operations: readonly Operation[]) => () => number;

interface Contestant {
  readonly name: string;
  /** Returns a new book with these orders. */
  readonly begin: (warm: readonly Add[]) => Prepare;
}

interface Trade {
  readonly makerId: string;
  readonly takerId: string;
  readonly price: number;
  readonly qty: number;
}

/** Matches an order as the market actor does, without positions, escrow, fees and deltas. */
function match(resting: RestingOrders, order: Order, arrival: number): readonly Trade[] {
  const { steps, left } = sweep(resting.ladders[order.currency], order, order.qty, GRID, Infinity);
  const trades: Trade[] = [];
  for (const step of steps) {
    if (step.kind === "match") {
      for (const { resting: maker, price } of step.legs) {
        trades.push({ makerId: maker.order.orderId, takerId: order.orderId, price, qty: step.qty });
        resting.reduce(maker, contracts(maker.remaining - step.qty));
      }
    } else if (step.kind === "wash") resting.reduce(step.own, contracts(step.own.remaining - step.qty));
  }
  if (left > 0 && order.tif === "GTC") resting.add(order, left, arrival);
  return trades;
}

const core: Contestant = {
  name: "matching core",
  begin(warm) {
    const resting = new RestingOrders(2);
    let arrivals = 0;
    for (const add of warm) match(resting, orderOf(add), (arrivals += 1));
    return (operations) => {
      const prepared = operations.map((operation) =>
        operation.kind === "add" ? orderOf(operation) : operation.orderId,
      );
      return () => {
        let trades = 0;
        for (const operation of prepared) {
          if (typeof operation === "string") {
            const found = resting.get(operation);
            if (found !== undefined) resting.remove(found);
          } else trades += match(resting, operation, (arrivals += 1)).length;
        }
        return trades;
      };
    };
  },
};

const actor: Contestant = {
  name: "market actor",
  begin(warm) {
    const state = openMarket();
    for (const add of warm) market.decide(state, commandOf(add), 0);
    return (operations) => {
      const commands = operations.map(commandOf);
      return () => {
        let trades = 0;
        for (const command of commands) {
          for (const delta of market.decide(state, command, 0).deltas)
            if (delta.type === "trade") trades += 1;
        }
        return trades;
      };
    };
  },
};

interface PeerOrder {
  readonly id: string;
  readonly side: Side;
  readonly size: number;
  readonly price: number;
  readonly timeInForce: "IOC" | "GTC";
}

/** Returns the order for a package: a bid on the second outcome is an offer on the first at the complement of its price. */
function peerOrder({ orderId, outcome, priceTicks, qty, crosses }: Add): PeerOrder {
  return {
    id: orderId,
    side: outcome === 0 ? Side.BUY : Side.SELL,
    size: qty,
    price: outcome === 0 ? priceTicks : 1_000 - priceTicks,
    timeInForce: crosses ? "IOC" : "GTC",
  };
}

interface PeerBook {
  limit(order: never): { readonly done: readonly unknown[]; readonly partial: unknown };
  cancel(orderId: string): unknown;
}

function peer(name: string, book: () => PeerBook): Contestant {
  return {
    name,
    begin(warm) {
      const orders = book();
      for (const add of warm) orders.limit(peerOrder(add) as never);
      return (operations) => {
        const prepared = operations.map((operation) =>
          operation.kind === "add" ? peerOrder(operation) : operation.orderId,
        );
        return () => {
          let trades = 0;
          for (const operation of prepared) {
            if (typeof operation === "string") orders.cancel(operation);
            else {
              // `done` includes the incoming order, because every crossing order fills completely.
              const { done } = orders.limit(operation as never);
              trades += Math.max(0, done.length - 1);
            }
          }
          return trades;
        };
      };
    },
  };
}

const peers = [
  peer("nodejs-order-book", () => new NodejsBook()),
  peer("hft-limit-order-book", () => new HftBook()),
];

/** Returns operations per second over a flow; each batch is parsed just before it runs, and only the run is timed. */
function speed({ name, begin }: Contestant, { warm, batches, trades }: Flow, size: number): number {
  const prepare = begin(warm);
  let spentMs = 0;
  let traded = 0;
  for (const batch of batches) {
    const execute = prepare(JSON.parse(batch) as Operation[]);
    const start = performance.now();
    traded += execute();
    spentMs += performance.now() - start;
  }
  if (traded !== trades) throw new Error(`${name} made ${traded} trades instead of ${trades}`);
  return size / (spentMs / 1_000);
}

/**
 * Returns operations per second of each contestant at each size, as medians of interleaved runs, with the ratio to the
 * packages. At a million operations a run of a package takes a minute, so each package runs only once.
 */
export function matching(sizes: readonly number[] = [20_000, 200_000, 1_000_000], runs = 3): Row[] {
  const contestants = [core, actor, ...peers];
  for (const contestant of contestants) speed(contestant, flow(WARM_UP, RESTING), WARM_UP);
  return sizes.flatMap((size) => {
    const run = flow(size, RESTING);
    const speeds = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
    for (let i = 0; i < runs; i += 1) {
      const running = i > 0 && size >= 1_000_000 ? [core, actor] : contestants;
      for (const contestant of running) speeds.get(contestant.name)?.push(speed(contestant, run, size));
    }
    const ours = median(speeds.get(core.name) ?? []);
    return contestants.map(({ name }) => {
      const theirs = median(speeds.get(name) ?? []);
      return {
        bench: `matching, ${size} operations`,
        measure: name,
        figure: theirs,
        unit: "ops/s",
        ratio: ours / theirs,
      };
    });
  });
}

/** Continuous trading in many markets, and the state of the exchange after it. */

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { marketActor } from "../../../../actors/actor.js";
import type { MarketState } from "../../../../actors/market/state.js";
import type { Currency } from "../../../../actors/market/types.js";
import { formatPrice } from "../../../../actors/units.js";
import { RestClient } from "../../../../http/client/rest/rest.js";
import { Signer } from "../../../../http/client/client.js";
import type { PlaceOrder } from "../../../../http/client/wire/orders.js";
import { actorOf } from "../../../../stream/runtime/actors.js";
import { silentLogger } from "../../../../stream/log/logger.js";
import { RedisLog } from "../../../../stream/redis/redis-log.js";
import { loadState } from "../../../../stream/runtime/recovery.js";
import { send, signed } from "../../../http/requests.js";
import { type Random } from "../../../simulation/machine/random.js";
import type { Stack } from "../../../support/stack.js";
import { addMarket, newEvent, newTrader, type TestTrader } from "../../../support/traders.js";
import type { Json } from "./client.js";
import type { Watcher } from "./watcher.js";

const TRADERS = 3;
const BATCH = 20;
const ROUND_MS = 20;

export interface TradedMarket {
  readonly marketId: string;
  readonly outcomeIds: readonly string[];
}

/** Traders with money in both currencies that place and cancel at random. */
export class Trading {
  readonly #stack: Stack;
  readonly #random: Random;
  readonly markets: TradedMarket[] = [];
  readonly traders: TestTrader[] = [];
  eventId = "";
  placed = 0;
  #running = false;
  #done: Promise<unknown> = Promise.resolve();

  constructor(stack: Stack, random: Random) {
    this.#stack = stack;
    this.#random = random;
  }

  /** Opens an event with `markets` markets of two and three outcomes, and accounts. */
  async prepare(markets: number): Promise<void> {
    const event = await newEvent(this.#stack);
    this.eventId = event.eventId;
    for (let i = 0; i < markets; i += 1) await this.openMarket(2 + (i % 2));
    for (let i = 0; i < TRADERS; i += 1) {
      const trader = await newTrader(this.#stack, "100000");
      await this.#giveCoin(trader);
      this.traders.push(trader);
    }
  }

  async openMarket(outcomes: number): Promise<void> {
    const market = await addMarket(this.#stack, this.eventId, {
      description: `Market ${this.markets.length}`,
      voids: "FMV",
      outcomes: Array.from({ length: outcomes }, (_, i) => ({ name: `outcome ${i}` })),
    });
    const outcomeIds = market.outcomes.map(({ outcomeId }) => outcomeId);
    this.markets.push({ marketId: market.marketId, outcomeIds });
  }

  /** Starts placing and canceling for every trader, until `stop`. */
  start(): void {
    this.#running = true;
    this.#done = Promise.all(this.traders.map((trader) => this.#trade(trader)));
  }

  /** Stops trading. Resolves when the last answer has arrived. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #trade({ trading }: TestTrader): Promise<void> {
    const rest = new RestClient(this.#stack.connect(), new Signer(trading.key, trading.brand));
    let open: string[] = [];
    while (this.#running) {
      const { accepted } = await rest.placeOrders(Array.from({ length: BATCH }, () => this.#order()));
      this.placed += accepted.length;
      open.push(...accepted.map(({ orderId }) => orderId));
      if (open.length > 6 * BATCH) {
        await rest.cancelOrders(open.filter(() => this.#random.chance(0.7)).slice(0, 256));
        open = [];
      }
      await new Promise((resolve) => setTimeout(resolve, this.#random.below(2 * ROUND_MS)));
    }
  }

  #order(): PlaceOrder {
    const { outcomeIds } = this.#random.pick(this.markets);
    const middle = 1_000 / outcomeIds.length;
    const price = (5 * Math.round((middle + this.#random.between(-40, 30)) / 5)) / 1_000;
    return {
      outcomeId: this.#random.pick(outcomeIds),
      price: price.toFixed(3),
      qty: this.#random.between(1, 20),
      tif: this.#random.pick(["GTC", "GTC", "GTC", "IOC", "PO"] as const),
      clientId: randomUUID(),
      ...(this.#random.chance(0.25) ? { currency: "COIN" as const } : {}),
    };
  }

  async #giveCoin({ account }: TestTrader): Promise<void> {
    const { status } = await fetch(`${this.#stack.url}/admin/v1/traders/${account.traderId}/transactions`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${await this.#stack.operatorToken()}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify({
        kind: "DEPOSIT",
        amount: "100000",
        currency: "COIN",
        reason: "test",
        subaccountKeyId: account.tradingKey.keyId,
      }),
    });
    if (status !== 201) throw new Error(`the deposit of COIN answered ${status}`);
  }
}

/** State of a market in its actor. Books list `orderId:price:qty` by outcome: best first, then queue order. */
export interface TrueMarket {
  readonly status: string;
  /** Last seqs by currency and channel. */
  readonly seqs: Readonly<Record<Currency, Readonly<Record<string, number>>>>;
  readonly books: Readonly<Record<Currency, readonly (readonly string[])[]>>;
}

/** Reads markets from the log as a new owner does, from snapshots and deltas and without a gateway. */
export async function trueMarkets(
  redisUrl: string,
  marketIds: readonly string[],
): Promise<ReadonlyMap<string, TrueMarket>> {
  const log = await RedisLog.open({ url: redisUrl, logger: silentLogger });
  try {
    const markets = new Map<string, TrueMarket>();
    for (const marketId of marketIds) {
      const { state } = await loadState({ log, actorOf, logger: silentLogger }, marketActor(marketId));
      markets.set(marketId, trueMarket(state as MarketState));
    }
    return markets;
  } finally {
    await log.close();
  }
}

function trueMarket({ status, lifecycleSeq, books, resting }: MarketState): TrueMarket {
  const byCurrency = <Value>(valueOf: (currency: Currency) => Value): Record<Currency, Value> => ({
    CASH: valueOf("CASH"),
    COIN: valueOf("COIN"),
  });
  return {
    status,
    seqs: byCurrency((currency) => ({ lifecycle: lifecycleSeq, ...books[currency].seqs })),
    books: byCurrency((currency) =>
      resting.ladders[currency].map((ladder) =>
        [...ladder.orders()].map(
          ({ order, remaining }) => `${order.orderId}:${formatPrice(order.price)}:${remaining}`,
        ),
      ),
    ),
  };
}

/** Reads the orders and positions of a trader from the ledger. */
async function trueWallet(
  url: string,
  { trading }: TestTrader,
): Promise<{ orders: { seq: number; open: Json[] }; positions: { seq: number; positions: Json[] } }> {
  const read = async (target: string): Promise<unknown> => {
    const { status, json } = await send(url, signed(trading, { target }));
    if (status !== 200) throw new Error(`${target} answered ${status}`);
    return json;
  };
  return {
    orders: (await read("/v3/account/orders")) as { seq: number; open: Json[] },
    positions: (await read("/v3/account/positions")) as { seq: number; positions: Json[] },
  };
}

/** Waits until a watcher has received every seq, and compares its state with that of the exchange. */
export async function expectSame(
  { url }: Stack,
  truth: ReadonlyMap<string, TrueMarket>,
  watched: {
    readonly watcher: Watcher;
    readonly currency: Currency;
    /** Trader whose orders and positions the watcher watches. */
    readonly own: TestTrader;
    readonly markets: readonly TradedMarket[];
  },
): Promise<void> {
  const { watcher, currency, own, markets } = watched;
  const { orders, positions } = await trueWallet(url, own);
  const seqs: Record<string, number> = { orders: orders.seq, positions: positions.seq };
  for (const { marketId } of markets) {
    for (const [channel, seq] of Object.entries(truth.get(marketId)?.seqs[currency] ?? {}))
      seqs[`${marketId} ${channel}`] = seq;
  }
  await watcher.reach(seqs);
  watcher.seqRecord.check();
  const { mirror } = watcher;
  for (const { marketId, outcomeIds } of markets) {
    expect(mirror.book(marketId, outcomeIds)).to.deep.equal(truth.get(marketId)?.books[currency]);
    expect(mirror.markets.get(marketId)?.status).to.equal(truth.get(marketId)?.status);
  }
  expect([...mirror.orders.values()]).to.have.deep.members(orders.open);
  expect([...mirror.positions.values()]).to.have.deep.members(positions.positions);
}

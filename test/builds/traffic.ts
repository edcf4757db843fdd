/** Traders that place, match and cancel orders through the public routes, and the check of every answer that they got. */

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { openAccount, type Account } from "../../http/client/node/accounts.js";
import { ApiError } from "../../http/client/connection.js";
import { RestClient } from "../../http/client/rest/rest.js";
import { Signer } from "../../http/client/client.js";
import { StreamClient } from "../../http/client/stream/stream.js";
import type { OperatorClient } from "../../http/client/rest/operator.js";
import { BRAND } from "../support/stack.js";
import { until, untilWithin } from "../support/until.js";
import type { Fleet } from "./fleet.js";

const DEPOSIT = "500";
const PRICES = ["0.300", "0.400", "0.450", "0.500", "0.550", "0.600"] as const;
/** Time within which the projection catches up with the traders. */
const SETTLED_MS = 30_000;

/** One trader with its clients. */
export class Trader {
  readonly account: Account;
  readonly rest: RestClient;
  readonly management: RestClient;

  private constructor(account: Account, fleet: Fleet) {
    this.account = account;
    this.rest = new RestClient(fleet.connect(), new Signer(account.tradingKey, BRAND));
    this.management = new RestClient(fleet.connect(), new Signer(account.managementKey, BRAND));
  }

  static async open(fleet: Fleet, operator: OperatorClient): Promise<Trader> {
    const email = `${randomUUID()}@example.com`;
    const details = { email, password: "a long password", label: "main", amount: DEPOSIT, region: "US-NY" };
    return new Trader(await openAccount(fleet.connect(), operator, details, BRAND), fleet);
  }

  /** Returns what the trader has, as the routes show it. */
  async holdings(): Promise<unknown> {
    const [balance, orders, positions, fills] = await Promise.all([
      this.management.balance(this.account.tradingKey.keyId),
      this.rest.orders(),
      this.rest.positions(),
      this.rest.fills(),
    ]);
    return { balance, orders, positions, fills };
  }
}

export interface Market {
  readonly marketId: string;
  readonly outcomes: readonly [string, string];
}

/** Creates an open market of two outcomes. */
async function openMarket(operator: OperatorClient): Promise<Market> {
  const event = await operator.createEvent({
    sport: "FOOTBALL",
    league: "NFL",
    type: "Game",
    description: "Ants at Bees",
    startsTs: Date.now() + 3_600_000,
  });
  const { marketId, outcomes } = await operator.createMarket({
    eventId: event.eventId,
    marketType: "MONEY",
    description: "Who wins",
    voids: "PUSH",
    outcomes: [{ name: "Ants" }, { name: "Bees" }],
  });
  const [first, second] = outcomes;
  if (first === undefined || second === undefined) throw new Error("the market does not have two outcomes");
  return { marketId, outcomes: [first.outcomeId, second.outcomeId] };
}

/** Load on a fleet. Every request must succeed in the end, and every acknowledged order exists once. */
export class Traffic {
  readonly traders: readonly Trader[];
  readonly markets: readonly Market[];
  readonly #fleet: Fleet;
  readonly #operator: OperatorClient;
  /** Order id by client id, of every acknowledged order. */
  readonly #acknowledged = new Map<string, string>();
  readonly #failures: string[] = [];
  readonly #streams: StreamClient[] = [];
  #gaps = 0;
  #snapshots = 0;
  #batches = 0;
  #slowestMs = 0;
  #running: Promise<unknown> | undefined;
  #stopping = false;

  private constructor(fleet: Fleet, traders: readonly Trader[], markets: readonly Market[]) {
    this.#fleet = fleet;
    this.#operator = fleet.operator();
    this.traders = traders;
    this.markets = markets;
  }

  /** Opens the accounts and the markets. */
  static async open(fleet: Fleet): Promise<Traffic> {
    const operator = fleet.operator();
    // One by one: on a busy machine, four passwords at once would take longer than an answer may.
    const traders: Trader[] = [];
    for (let n = 0; n < 4; n += 1) traders.push(await Trader.open(fleet, operator));
    const markets = await Promise.all(Array.from({ length: 3 }, () => openMarket(operator)));
    return new Traffic(fleet, traders, markets);
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** Longest time from a request to its success, with all repeats, in ms. */
  get slowestMs(): number {
    return Math.round(this.#slowestMs);
  }

  /** Starts the load: some loops for each trader, and its private stream. */
  async start(): Promise<void> {
    for (const { account } of this.traders) {
      const stream = new StreamClient(this.#fleet.connect(), new Signer(account.tradingKey, BRAND), {
        orders: () => (this.#batches += 1),
        openOrders: () => (this.#snapshots += 1),
        gap: () => (this.#gaps += 1),
      });
      this.#streams.push(stream);
      await stream.connect();
      await stream.subscribe({ private: ["orders", "positions"] });
    }
    this.#snapshots = 0;
    this.#stopping = false;
    this.#running = Promise.all(this.traders.flatMap((trader) => [this.#trade(trader), this.#trade(trader)]));
  }

  /** Ends the load when the requests under way have their answers. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  async #trade(trader: Trader): Promise<void> {
    const own: string[] = [];
    for (let turn = 0; !this.#stopping; turn += 1) {
      try {
        const began = performance.now();
        const clientId = randomUUID();
        const market = this.markets[turn % this.markets.length];
        const outcomeId = market?.outcomes[Math.random() < 0.5 ? 0 : 1] ?? "";
        const price = PRICES[Math.floor(Math.random() * PRICES.length)] ?? "0.500";
        const { orderId } = await trader.rest.placeOrder({ outcomeId, price, qty: 1, tif: "GTC", clientId });
        this.#acknowledged.set(clientId, orderId);
        this.#slowestMs = Math.max(this.#slowestMs, performance.now() - began);
        own.push(orderId);
        const canceled = own.length > 5 ? own.shift() : undefined;
        if (canceled !== undefined) await trader.rest.cancelOrders([canceled]);
      } catch (error) {
        this.#failures.push(error instanceof ApiError ? error.message : String(error));
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Trades in a market of its own, grades it, and waits until its payouts are made. */
  async settleOne(): Promise<void> {
    const market = await openMarket(this.#operator);
    const [winner, loser] = market.outcomes;
    const [a, b] = this.traders;
    if (a === undefined || b === undefined) throw new Error("there are no traders");
    const terms = { price: "0.500", qty: 10, tif: "GTC" } as const;
    await a.rest.placeOrder({ ...terms, outcomeId: winner, clientId: randomUUID() });
    await b.rest.placeOrder({ ...terms, outcomeId: loser, clientId: randomUUID() });
    await until(async () => (await a.rest.fills({ market: market.marketId })).length === 1);
    await this.#operator.setMarketStatus(market.marketId, "close");
    await this.#operator.grade(market.marketId, { winner });
    await untilWithin(SETTLED_MS, async () =>
      expect(await this.#operator.settlementStatus(market.marketId)).to.equal("SETTLED"),
    );
  }

  /** Checks that nothing was refused, lost or repeated, that the streams have no gap, and that the money agrees. */
  async check(): Promise<void> {
    expect(this.#failures).to.deep.equal([]);
    expect(this.#gaps, "gaps in the streams").to.equal(0);
    expect(this.#snapshots, "snapshots of the streams after their first").to.equal(0);
    expect(this.#batches).to.be.above(0);
    const client = new pg.Client({ connectionString: this.#fleet.databaseUrl });
    await client.connect();
    try {
      await untilWithin(SETTLED_MS, async () => {
        const { rows } = await client.query<{ client_id: string; order_id: string }>(
          "select client_id, order_id from orders where client_id is not null",
        );
        const stored = new Map(rows.map((row) => [row.client_id, row.order_id]));
        expect(rows.length, "no client id has two orders").to.equal(stored.size);
        const lost = [...this.#acknowledged].filter(([id, orderId]) => stored.get(id) !== orderId);
        expect(lost).to.deep.equal([]);
      });
    } finally {
      await client.end();
    }
    await untilWithin(SETTLED_MS, async () => {
      const report = await this.#operator.money();
      expect(report.agree, JSON.stringify(report)).to.equal(true);
    });
    for (const [index, { account }] of this.traders.entries()) {
      const stream = this.#streams[index];
      const { rest } = this.traders[index] ?? expect.fail();
      await untilWithin(SETTLED_MS, async () => {
        const open = (await rest.orders()).map(({ orderId }) => orderId).toSorted();
        expect([...(stream?.wallet.orders.keys() ?? [])].toSorted(), account.email).to.deep.equal(open);
      });
    }
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }
}

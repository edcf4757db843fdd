/** Target of a load: the mailboxes of the ledgers, as a gateway appends to them. */

import { randomUUID } from "node:crypto";
import { ledgerShardOf, PARTITIONS } from "../../../actors/actor.js";
import type { LedgerReply } from "../../../actors/ledger/commands.js";
import type { MarketTerms, OrderRequest } from "../../../actors/ledger/types.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { contracts, millicents, ticks } from "../../../actors/units.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { FEE, GRID } from "../core/actor.js";
import type { Answer, Target } from "./load.js";
import { below, type Operations, type PlannedOrder } from "./wallet-flow.js";

/** Money of a wallet, in $0.00001. */
const FUNDS = 100_000_000_000;
/** Longest wait for an answer on a busy machine, in ms. */
const TIMEOUT_MS = 60_000;
/** Requests of the set-up that are sent at once. */
const AT_ONCE = 64;
/** Highest price of an order that only rests, in ticks. */
const RESTING_PRICES = 40;
/** Orders in a request of the set-up. */
const RESTING_BATCH = 20;

export class LedgerTarget implements Target {
  readonly #log: RedisLog;
  readonly #exchange: LogExchange;
  readonly #terms: MarketTerms[] = [];

  private constructor(log: RedisLog, exchange: LogExchange) {
    this.#log = log;
    this.#exchange = exchange;
  }

  /** Connects to the log; a worker must be running. */
  static async open(redisUrl: string): Promise<LedgerTarget> {
    const log = await RedisLog.open({ url: redisUrl });
    const exchange = new LogExchange({ log, clock: systemClock, logger: silentLogger, newId: randomUUID });
    await exchange.start();
    return new LedgerTarget(log, exchange);
  }

  /** Returns the share of the ledgers in the bytes of all entries. */
  async ledgerShare(): Promise<number> {
    const bytes = { ledgers: 0, markets: 0 };
    for (const partition of PARTITIONS) {
      const actors = (await this.#log.scan(partition)).map(({ actor }) => actor);
      for (const { deltas } of await this.#log.sizes(partition, actors))
        bytes[partition.startsWith("l") ? "ledgers" : "markets"] += deltas.bytes;
    }
    return bytes.ledgers / (bytes.ledgers + bytes.markets);
  }

  /** Creates open markets of two outcomes. */
  async openMarkets(count: number): Promise<void> {
    await atOnce(count, async () => {
      const definition = newMarket();
      const { marketId, voids, fee, outcomes } = definition;
      const reply = await this.#exchange.market(
        marketId,
        { kind: "create", definition, open: true, live: false },
        { timeoutMs: TIMEOUT_MS },
      );
      if (!reply.ok) throw new Error("a market of the bench was not created");
      this.#terms.push({ marketId, voids, fee, outcomes: outcomes.length, live: false });
    });
  }

  /** Gives every wallet money. */
  async fund(wallets: readonly string[]): Promise<void> {
    await atOnce(wallets.length, async (index) => {
      const wallet = wallets[index] ?? "";
      const reply = await this.#ledger(wallet, {
        kind: "transact",
        transactionId: randomUUID(),
        transaction: "DEPOSIT",
        wallet,
        trader: wallet,
        currency: "CASH",
        amount: millicents(FUNDS),
        ref: "bench",
      });
      if (!reply.ok) throw new Error(`a wallet of the bench was not funded: ${reply.refusal}`);
    });
  }

  /** Places about `count` orders that only rest, at prices far below those of the load. */
  async rest(wallets: readonly string[], count: number): Promise<void> {
    await atOnce(Math.ceil(count / RESTING_BATCH), async (index) => {
      const orders = Array.from({ length: RESTING_BATCH }, (): PlannedOrder => {
        const outcome = below(2) === 0 ? 0 : 1;
        return { market: below(this.#terms.length), outcome, priceTicks: 1 + below(RESTING_PRICES), qty: 1 };
      });
      const { refused } = await this.send(wallets[index % wallets.length] ?? "", { kind: "place", orders });
      if (refused.length > 0) throw new Error(`an order of the set-up was refused: ${refused.join()}`);
    });
  }

  async send(wallet: string, operations: Operations): Promise<Answer> {
    const reply =
      operations.kind === "cancel"
        ? await this.#ledger(wallet, { kind: "cancel", wallet, orderIds: operations.orderIds })
        : await this.#ledger(wallet, {
            kind: "place",
            wallet,
            trader: wallet,
            orders: operations.orders.map((order) => this.#request(order)),
            atomic: false,
          });
    return answerOf(reply);
  }

  #ledger(wallet: string, command: Parameters<LogExchange["ledger"]>[1]): Promise<LedgerReply> {
    return this.#exchange.ledger(ledgerShardOf(wallet), command, { timeoutMs: TIMEOUT_MS });
  }

  #request({ market, outcome, priceTicks, qty }: PlannedOrder): OrderRequest {
    const terms = this.#terms[market];
    if (terms === undefined) throw new Error(`the bench has no market ${market}`);
    return {
      orderId: randomUUID(),
      terms,
      currency: "CASH",
      outcome,
      price: ticks(priceTicks),
      qty: contracts(qty),
      tif: "GTC",
      selfTrade: "wash",
    };
  }

  async close(): Promise<void> {
    await this.#exchange.close();
    await this.#log.close();
  }
}

function newMarket(): MarketDefinition {
  return {
    marketId: randomUUID(),
    eventId: randomUUID(),
    marketType: "MONEY",
    description: "Who wins",
    voids: "PUSH",
    outcomes: ["Ants", "Bees"].map((name) => ({ outcomeId: randomUUID(), name })),
    fee: FEE,
    liveDelayMs: 0,
    ticks: GRID,
  };
}

function answerOf(reply: LedgerReply): Answer {
  if (!reply.ok) return { accepted: [], refused: [reply.refusal] };
  if (reply.kind === "placed") {
    return {
      accepted: reply.results.flatMap((result) => (result.ok ? [result.orderId] : [])),
      refused: reply.results.flatMap((result) => (result.ok ? [] : [result.refusal])),
    };
  }
  // An order that is filled already is an ordinary outcome of a cancel.
  return { accepted: [], refused: reply.kind === "cancels" ? [] : [`answer ${reply.kind}`] };
}

/** Runs a task `count` times, some at once. */
async function atOnce(count: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await task(index);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, lane));
}

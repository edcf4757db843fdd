/** An exchange with a projector, on a log that can go back to an earlier state, as after a power loss. */

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import {
  type ActorId,
  LEDGER_SHARDS,
  ledgerActor,
  ledgerShardOf,
  marketActor,
  partitionOf,
} from "../../../actors/actor.js";
import type { LedgerCommand } from "../../../actors/ledger/commands.js";
import type { LifecycleAction } from "../../../actors/market/commands.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { contracts, millicents } from "../../../actors/units.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { type Journal, journalOf } from "../../../db/projection/journal.js";
import { Projector } from "../../../db/projection/projector.js";
import { finishEventAction, recordFollowed, stepEvent } from "../../../db/queries/catalog/events.js";
import { lostEventActions, sendLostAction } from "../../../db/queries/catalog/lost-actions.js";
import { allMarkets } from "../../../db/queries/catalog/markets.js";
import { projectedPositions, waitProjected } from "../../../db/queries/projected.js";
import type { EventStatus } from "../../../db/schema/catalog.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { driveEventStep, type EventAction } from "../../../stream/jobs/event-actions.js";
import { sendLostActions } from "../../../stream/jobs/lost-actions.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import type { Log } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import type { Entry } from "../../../stream/log/ports.js";
import { LogTail } from "../../../stream/log/tail.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { Worker } from "../../../stream/runtime/worker.js";
import {
  createMarket,
  deposit,
  FEE,
  type MarketChanges,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { cacheDir, freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";
import { project } from "../read-model.js";

/** A server of the log, whose data can be set back. */
export interface LogServer {
  open(): Promise<Log>;
  /** Keeps a copy of the data. */
  keepCopy(): Promise<void>;
  /** Restarts the server on the copy. */
  goBack(): Promise<void>;
  stop(): Promise<void>;
}

export function memoryServer(): LogServer {
  const store = new MemoryStore();
  return {
    open: () => Promise.resolve(new MemoryLog(store)),
    keepCopy() {
      store.sync();
      return Promise.resolve();
    },
    goBack() {
      store.powerCut();
      return Promise.resolve();
    },
    stop: () => Promise.resolve(),
  };
}

/** Starts a Redis of its own, as the embedded server does. */
export async function redisServer(): Promise<LogServer> {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  const [data, copy] = [path.join(dataDir, "redis"), path.join(dataDir, "copy")];
  const start = (keepPort: boolean): Promise<RunningServer> =>
    startRedis({ dataDir, log: () => undefined, cacheDir, fsync: "everysec", keepPort });
  let server = await start(false);
  return {
    open: () => RedisLog.open({ url: server.url }),
    keepCopy() {
      fs.cpSync(data, copy, { recursive: true });
      return Promise.resolve();
    },
    async goBack() {
      await server.stop();
      fs.rmSync(data, { recursive: true });
      fs.cpSync(copy, data, { recursive: true });
      server = await start(true);
    },
    async stop() {
      await server.stop();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

type Roll = (below: number) => number;

export class WentBack {
  readonly #server: LogServer;
  readonly #database: FreshDatabase;
  readonly #roll: Roll;
  readonly db: Database;
  readonly traders = Array.from({ length: 6 }, () => randomUUID());
  readonly markets: MarketDefinition[] = [];
  readonly #orders: { readonly trader: string; readonly orderId: string }[] = [];
  /** Reports of the projector at error level. */
  readonly errors: { readonly fields: object; readonly message: string }[] = [];
  #log: Log;
  #tail: LogTail;
  #worker: Worker;
  #exchange: LogExchange;
  #projector: Projector | undefined;

  private constructor(server: LogServer, log: Log, database: FreshDatabase, roll: Roll) {
    this.#server = server;
    this.#database = database;
    this.#roll = roll;
    this.db = connect(database.url);
    this.#log = log;
    [this.#tail, this.#worker, this.#exchange] = this.#rolesOn(log);
  }

  static async start(server: LogServer, roll: Roll): Promise<WentBack> {
    const exchange = new WentBack(server, await server.open(), await freshDatabase(migrate), roll);
    await exchange.#begin();
    return exchange;
  }

  #rolesOn(log: Log): [LogTail, Worker, LogExchange] {
    const common = { log, clock: systemClock, logger: silentLogger };
    return [
      new LogTail(common),
      new Worker({ id: randomUUID(), ...common, actorOf }),
      new LogExchange({ ...common, newId: randomUUID }),
    ];
  }

  get log(): Log {
    return this.#log;
  }

  get tail(): LogTail {
    return this.#tail;
  }

  async #begin(): Promise<void> {
    await this.#worker.start();
    await this.#exchange.start();
  }

  async #end(): Promise<void> {
    await this.stopProjector();
    await this.#exchange.close();
    await this.#worker.stop();
    await this.#tail.close();
    await this.#log.close();
  }

  startProjector(): void {
    const projector = new Projector({
      databaseUrl: this.#database.url,
      journal: this.journal(),
      marketChanged: () => Promise.resolve(),
      logger: { ...silentLogger, error: (fields, message) => this.errors.push({ fields, message }) },
    });
    this.#projector = projector;
    void projector.run();
  }

  async stopProjector(): Promise<void> {
    await this.#projector?.stop();
    this.#projector = undefined;
  }

  keepCopy(): Promise<void> {
    return this.#server.keepCopy();
  }

  /** Sets the log back to the copy. All processes but the projector's tables start again. */
  async goBack(): Promise<void> {
    const wasProjecting = this.#projector !== undefined;
    await this.#end();
    await this.#server.goBack();
    this.#log = await this.#server.open();
    [this.#tail, this.#worker, this.#exchange] = this.#rolesOn(this.#log);
    await this.#begin();
    if (wasProjecting) this.startProjector();
  }

  async stop(): Promise<void> {
    await this.#end();
    await disconnect(this.db);
    await this.#database.drop();
    await this.#server.stop();
  }

  ledger(trader: string, command: LedgerCommand): ReturnType<LogExchange["ledger"]> {
    return this.#exchange.ledger(ledgerShardOf(trader), command);
  }

  async createMarket(changes: MarketChanges = {}): Promise<MarketDefinition> {
    const market = marketDefinition({ fee: FEE, ...changes });
    await this.#exchange.market(market.marketId, createMarket(market));
    this.markets.push(market);
    return market;
  }

  async fundTraders(): Promise<void> {
    for (const trader of this.traders) await this.ledger(trader, deposit(trader, 5_000_000));
  }

  /** Trades at random. */
  async trade(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) await this.#step();
  }

  async #step(): Promise<void> {
    const trader = this.#pick(this.traders);
    const market = this.#pick(this.markets);
    const order = this.#orders.length === 0 ? undefined : this.#pick(this.#orders);
    const kind = this.#roll(20);
    if (kind < 14) {
      const outcome = this.#roll(2);
      const price = 400 + 50 * this.#roll(5);
      const request = orderRequest(market, { outcome, price, qty: 1 + this.#roll(20) });
      this.#orders.push({ trader, orderId: request.orderId });
      await this.ledger(trader, placement(trader, request));
    } else if (kind < 16 && order !== undefined) {
      await this.ledger(order.trader, { kind: "cancel", wallet: order.trader, orderIds: [order.orderId] });
    } else if (kind < 17 && order !== undefined) {
      const { trader: wallet, orderId } = order;
      await this.ledger(wallet, { kind: "amend", wallet, orderId, qty: contracts(1) });
    } else if (kind < 18) {
      await this.ledger(trader, deposit(trader, 1_000 + this.#roll(1_000)));
    } else if (kind < 19) {
      await this.ledger(trader, {
        kind: "transfer",
        transferId: randomUUID(),
        direction: "fund",
        trader,
        wallet: randomUUID(),
        amount: millicents(500),
        clientTransferId: undefined,
      });
    } else {
      await this.#exchange.market(market.marketId, {
        kind: "lifecycle",
        actions: [this.#roll(2) === 0 ? "pause" : "resume"],
      });
    }
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#roll(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  get #steps() {
    return { exchange: this.#exchange, recordFollowed: recordFollowed.bind(undefined, this.db) };
  }

  /** Takes an action on an event, as the route of operators does. */
  async actOnEvent(eventId: string, action: EventAction, from: EventStatus, to: EventStatus): Promise<void> {
    const nowTs = Date.now();
    const outcome = await this.db.transaction((tx) =>
      stepEvent(tx, { eventId, action, from: [from], to, nowTs }),
    );
    if (!outcome.ok) throw new Error(outcome.refusal);
    await driveEventStep(this.#steps, outcome.pending, await allMarkets(this.db, { eventId }));
    await finishEventAction(this.db, outcome.pending.actionId, Date.now());
  }

  /** Sends the actions again that markets have lost, as the sweep of the jobs does. Returns the markets. */
  async sendLostActions(): Promise<readonly string[]> {
    const sought = { sinceTs: 0, beforeTs: Date.now() + 1 };
    const receivers: string[] = [];
    await sendLostActions(
      {
        lost: () => lostEventActions(this.db, sought),
        isProjected: async (marketId) => {
          const actor = marketActor(marketId);
          return waitProjected(this.db, actor, await this.#tail.position(actor), 0);
        },
        send: (action) =>
          sendLostAction(this.db, action, sought, async (marketIds) => {
            const markets = await allMarkets(this.db, { eventId: action.eventId });
            const lost = markets.filter(({ marketId }) => marketIds.includes(marketId));
            await driveEventStep(this.#steps, action, lost);
            receivers.push(...marketIds);
          }),
      },
      silentLogger,
    );
    return receivers;
  }

  /** Changes the life cycle of one market by hand. */
  async change({ marketId }: MarketDefinition, action: LifecycleAction): Promise<void> {
    await this.#exchange.market(marketId, { kind: "lifecycle", actions: [action] });
  }

  /** Closes, grades and settles a market. */
  async settle({ marketId }: MarketDefinition): Promise<void> {
    await this.#exchange.market(marketId, { kind: "lifecycle", actions: ["close"] });
    await this.#grade(marketId, 0);
  }

  async #grade(marketId: string, outcome: number): Promise<void> {
    const settlementId = randomUUID();
    await this.#exchange.market(marketId, {
      kind: "grade",
      settlementId,
      grade: { kind: "WINNER", outcome },
    });
    await this.#exchange.market(marketId, { kind: "settle", limit: 100 });
  }

  /** Reverses the settlement of a market, and settles it otherwise. */
  async correct({ marketId }: MarketDefinition): Promise<void> {
    await this.#exchange.market(marketId, { kind: "remediate", reason: "a wrong result" });
    await this.#exchange.market(marketId, { kind: "settle", limit: 100 });
    await this.#grade(marketId, 1);
  }

  journal(): Journal {
    return journalOf(this.#log, this.#tail, silentLogger);
  }

  get actors(): readonly ActorId[] {
    return [
      ...Array.from({ length: LEDGER_SHARDS }, (_, shard) => ledgerActor(shard)),
      ...this.markets.map(({ marketId }) => marketActor(marketId)),
    ];
  }

  /** Waits until the tables are at the heads of the log. */
  async projected(): Promise<void> {
    await untilWithin(15_000, async () => {
      const positions = await projectedPositions(this.db, this.actors);
      for (const actor of this.actors) {
        const [head] = await this.#log.heads(partitionOf(actor), [actor]);
        const { seq, lineage } = positions.get(actor) ?? { seq: 0, lineage: "" };
        if (head?.seq !== seq || head.lineage !== lineage) return false;
      }
      return true;
    });
  }

  /** Returns the rows of the tables, and those that a projection of the log from its beginning gives. */
  async rows(): Promise<{ readonly found: Rows; readonly expected: Rows }> {
    const journal = this.journal();
    const entries: Entry[] = [];
    for (const actor of this.actors) {
      for await (const page of (await journal.historyAfter(actor, 0)).entries()) entries.push(...page);
    }
    const other = await freshDatabase(migrate);
    const otherDb = connect(other.url);
    try {
      await project(other.url, entries);
      return { found: await rowsOf(this.db), expected: await rowsOf(otherDb) };
    } finally {
      await disconnect(otherDb);
      await other.drop();
    }
  }
}

type Rows = Readonly<Record<string, readonly string[]>>;

/** Tables, and the condition on rows that mean anything. */
const TABLES: Readonly<Record<string, string>> = {
  balances: "total <> 0 or reserved <> 0",
  entries: "true",
  entry_totals: "amount <> 0",
  fee_schedules: "true",
  fills: "true",
  last_prices: "true",
  market_totals: "minted_contracts <> 0 or escrow <> 0 or booked <> 0",
  market_transitions: "true",
  markets: "true",
  orders: "true",
  outcomes: "true",
  positions: "qty <> 0",
  trades: "true",
  transfers: "true",
  wallets: "true",
};

/** Returns the rows without the columns that depend on when they were projected. */
async function rowsOf(db: Database): Promise<Rows> {
  const tables: Record<string, readonly string[]> = {};
  for (const [table, condition] of Object.entries(TABLES)) {
    const time = table === "last_prices" ? "ts" : "updated_ts";
    const { rows } = await db.execute<{ row: string }>(sql`
      select (to_jsonb(found) - 'place' - ${time}::text)::text as row
      from ${sql.identifier(table)} as found where ${sql.raw(condition)} order by 1`);
    tables[table] = rows.map(({ row }) => row);
  }
  return tables;
}

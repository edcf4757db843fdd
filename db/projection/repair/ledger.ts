/**
 * Repair of the rows of a ledger shard: orders, fills, transactions, transfers, wallets, positions,
 * balances and restrictions.
 */

import type pg from "pg";
import { openOrders } from "../../../actors/ledger/canceling.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import { walletPositions } from "../../../actors/ledger/ledger.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { millicents, negate } from "../../../actors/units.js";
import type { Entry } from "../../../stream/log/ports.js";
import { seqOf } from "../cursor.js";
import { MarketRows } from "../markets.js";
import type { LostRows, Removed, Repair } from "./repair.js";
import { type EntryAmount, marketOf, WalletRows } from "../wallets.js";

/** SQL of the rows of a table that belong to the wallets of the shard `$1`. */
const ofShard = (table: string): string =>
  `using wallets where wallets.shard = $1 and ${table}.wallet = wallets.wallet`;
/** SQL of those of them that come from lost entries: after the entry `$2`, and not before the time `$3`. */
const lostRows = (table: string): string =>
  `${ofShard(table)} and ${table}.ts >= $3 and ${seqOf(table)} > $2`;

/** SQL of the orders that had not ended before a time, which leaves out the partitions of earlier months. */
const notEndedBefore = (ts: string): string => `(orders.ended_ts <= 0 or orders.ended_ts >= ${ts})`;

export class LedgerRepair implements Repair {
  readonly #client: pg.ClientBase;
  readonly #shard: number;
  readonly #lost: LostRows;
  readonly #state: LedgerState;
  /** Orders that had fills in lost entries. */
  #filledOrders: readonly string[] = [];

  constructor(client: pg.ClientBase, shard: number, lost: LostRows, state: LedgerState) {
    this.#client = client;
    this.#shard = shard;
    this.#lost = lost;
    this.#state = state;
  }

  async remove(): Promise<Removed> {
    const { seq, sinceTs } = this.#lost;
    const parameters = [this.#shard, seq, sinceTs];
    const fills = await this.#client.query<{ order_id: string }>(
      `delete from fills ${lostRows("fills")} returning fills.order_id`,
      parameters,
    );
    this.#filledOrders = [...new Set(fills.rows.map((row) => row.order_id))];
    const orders = await this.#client.query(
      `delete from orders ${lostRows("orders")} and ${notEndedBefore("$3")}`,
      parameters,
    );
    // A transfer of the build before numbered places has no entry; its time decides.
    const transfers = await this.#client.query(
      `delete from transfers ${ofShard("transfers")} and transfers.ts >= $3
       and (transfers.seq > $2 or (transfers.seq is null and $3 > 0 and transfers.ts > $3))`,
      parameters,
    );
    return {
      fills: fills.rowCount ?? 0,
      orders: orders.rowCount ?? 0,
      transfers: transfers.rowCount ?? 0,
      entries: await this.#removeEntries(parameters),
    };
  }

  /** Removes entries, and takes their amounts off the totals. Returns the number of entries. */
  async #removeEntries(parameters: readonly unknown[]): Promise<number> {
    const { rows } = await this.#client.query<{
      kind: EntryAmount["kind"];
      currency: EntryAmount["currency"];
      counterparty: EntryAmount["counterparty"];
      amount: string;
      count: string;
    }>(
      `with gone as (delete from entries ${lostRows("entries")} returning entries.*)
       select kind, currency, counterparty, sum(amount) as amount, count(*) as count from gone group by 1, 2, 3`,
      [...parameters],
    );
    const [wallets, markets] = [new WalletRows(), new MarketRows()];
    for (const { kind, currency, counterparty, amount } of rows) {
      const sum = millicents(Number(amount));
      wallets.addToTotals({ kind, currency, counterparty, amount: negate(sum) }, this.#shard);
      const marketId = marketOf(counterparty);
      if (marketId !== undefined) markets.book(marketId, currency, sum);
    }
    await wallets.write(this.#client);
    await markets.writeTotals(this.#client);
    await this.#client.query("delete from entry_totals where shard = $1 and amount = 0", [this.#shard]);
    return rows.reduce((sum, { count }) => sum + Number(count), 0);
  }

  async makeWay(entries: readonly Entry[]): Promise<void> {
    const created = entries.flatMap(({ batches }) =>
      batches.flatMap(({ deltas }) =>
        deltas.flatMap((delta) => (delta.type === "wallet" ? [delta.wallet] : [])),
      ),
    );
    if (created.length === 0) return;
    await this.#client.query("delete from wallets where wallet = any($1::uuid[])", [created]);
  }

  async reset(): Promise<void> {
    await this.#resetOrders();
    await this.#resetPositions();
    await this.#resetBalances();
    await this.#resetRestrictions();
    await this.#client.query("delete from wallets where shard = $1 and wallet <> all($2::uuid[])", [
      this.#shard,
      [...this.#state.wallets.keys()],
    ]);
  }

  async #resetRestrictions(): Promise<void> {
    await this.#client.query("update trader_restrictions set restriction = null where shard = $1", [
      this.#shard,
    ]);
    const rows = new WalletRows();
    for (const [trader, restriction] of this.#state.restricted)
      rows.restricted({ trader, restriction }, this.#shard);
    await rows.write(this.#client);
  }

  async #resetOrders(): Promise<void> {
    // An order that ended has its status from the entries; only the sum of its fills may include lost ones.
    await this.#client.query(
      `update orders set filled = coalesce(
         (select sum(fills.qty) from fills where fills.order_id = orders.order_id), 0)
       where orders.order_id = any($1::uuid[])`,
      [this.#filledOrders],
    );
    const open = [...this.#state.wallets.values()].flatMap((wallet) => openOrders(wallet));
    await this.#client.query(
      `update orders set status = given.status, remaining = given.remaining, reason = null, ended_ts = 0
       from unnest($1::uuid[], $2::text[], $3::integer[]) as given (order_id, status, remaining)
       where orders.order_id = given.order_id and ${notEndedBefore("$4")}
         and (orders.status, orders.remaining, orders.reason, orders.ended_ts > 0)
           is distinct from (given.status, given.remaining, null::text, false)`,
      [
        open.map(({ orderId }) => orderId),
        open.map(({ status }) => status),
        open.map(({ qty }) => qty),
        this.#lost.sinceTs,
      ],
    );
  }

  async #resetPositions(): Promise<void> {
    const held = [...this.#state.wallets.values()].flatMap((wallet) =>
      walletPositions(wallet).map((position) => ({ wallet: wallet.wallet, ...position })),
    );
    const given = `unnest($1::uuid[], $2::uuid[], $3::text[], $4::smallint[], $5::integer[], $6::bigint[])
      as given (wallet, market_id, currency, outcome, qty, cost)`;
    const parameters = [
      held.map(({ wallet }) => wallet),
      held.map(({ marketId }) => marketId),
      held.map(({ currency }) => currency),
      held.map(({ outcome }) => outcome),
      held.map(({ qty }) => qty),
      held.map(({ cost }) => cost),
    ];
    await this.#client.query(
      `delete from positions using wallets
       where wallets.shard = $7 and positions.wallet = wallets.wallet and positions.qty <> 0
         and not exists (select from ${given} where given.wallet = positions.wallet
           and given.market_id = positions.market_id and given.currency = positions.currency
           and given.outcome = positions.outcome)`,
      [...parameters, this.#shard],
    );
    await this.#client.query(
      `insert into positions (wallet, market_id, currency, outcome, qty, cost, updated_ts)
       select given.*, $7::bigint from ${given}
       on conflict (wallet, market_id, currency, outcome)
       do update set qty = excluded.qty, cost = excluded.cost, updated_ts = excluded.updated_ts
       where (positions.qty, positions.cost) is distinct from (excluded.qty, excluded.cost)`,
      [...parameters, this.#lost.sinceTs],
    );
  }

  async #resetBalances(): Promise<void> {
    const funds = [...this.#state.wallets.values()].flatMap((wallet) =>
      CURRENCIES.map((currency) => ({ wallet: wallet.wallet, currency, ...wallet.funds[currency] })),
    );
    await this.#client.query(
      `delete from balances using wallets
       where wallets.shard = $1 and balances.wallet = wallets.wallet and wallets.wallet <> all($2::uuid[])`,
      [this.#shard, [...this.#state.wallets.keys()]],
    );
    const given = `unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[])
      as given (wallet, currency, total, reserved)`;
    const parameters = [
      funds.map(({ wallet }) => wallet),
      funds.map(({ currency }) => currency),
      funds.map(({ total }) => total),
      funds.map(({ reserved }) => reserved),
      this.#lost.sinceTs,
    ];
    await this.#client.query(
      `update balances set total = given.total, reserved = given.reserved, updated_ts = $5 from ${given}
       where balances.wallet = given.wallet and balances.currency = given.currency
         and (balances.total, balances.reserved) is distinct from (given.total, given.reserved)`,
      parameters,
    );
    await this.#client.query(
      `insert into balances (wallet, currency, total, reserved, updated_ts)
       select given.*, $5::bigint from ${given} where given.total <> 0 or given.reserved <> 0
       on conflict do nothing`,
      parameters,
    );
  }
}

import { expect } from "chai";
import { sql } from "drizzle-orm";
import { millicents } from "../../../actors/units.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { indexAddresses } from "../../../db/search-index.js";
import type { Page, PageRequest } from "../../../db/page.js";
import { listAudit } from "../../../db/queries/operator/audit.js";
import { listPlayers } from "../../../db/queries/catalog/competitors.js";
import { listChanges } from "../../../db/queries/operator/changelog.js";
import { listCheckIns } from "../../../db/queries/accounts/device-locations.js";
import { listKeys } from "../../../db/queries/accounts/keys.js";
import { listEmmClients } from "../../../db/queries/accounts/emm-clients.js";
import { listEvents } from "../../../db/queries/catalog/events.js";
import { closingPrices } from "../../../db/queries/trading/closing-prices.js";
import { listFills } from "../../../db/queries/trading/fills.js";
import { listMarkets, settledMarkets } from "../../../db/queries/catalog/markets.js";
import { lastTransitions } from "../../../db/queries/catalog/transitions.js";
import { findOrder, findOrdersByClientIds, listOrders } from "../../../db/queries/trading/orders.js";
import { exposureOfEvents, exposureOfMarkets } from "../../../db/queries/operator/exposure.js";
import { listWallets } from "../../../db/queries/operator/wallets.js";
import { listStrikeRequests } from "../../../db/queries/operator/strike-requests.js";
import { listTrades } from "../../../db/queries/trading/trades.js";
import { listTraders } from "../../../db/queries/accounts/traders.js";
import { findTransactionByRef, listTransactions } from "../../../db/queries/trading/transactions.js";
import { UNDERWAY } from "../../../db/schema/catalog.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import {
  END,
  eventIdOf,
  fillTables,
  ITS_MARKET,
  MARKET,
  OPERATOR,
  orderIdOf,
  RESTRICTED,
  ROWS,
  timeOf,
  TRADER,
  WALLET,
} from "./rows.js";

const LIMIT = 50;
/** Position in the list of the second page that is examined. */
const DEEP = 10_000;
/** Limit of rows read for each row of a page: rows of joined tables, and rows that a filter removes. */
const READ_PER_ROW = 10;
const DAY_MS = 86_400_000;

type List = (db: Database, page: PageRequest) => Promise<Page<unknown>>;

const DOLLARS = { currency: "CASH" } as const;

const LISTS: Readonly<Record<string, List>> = {
  "events that are not over": (db, page) => listEvents(db, { statuses: UNDERWAY, visible: true }, page),
  "events that are settled": (db, page) => listEvents(db, { statuses: ["SETTLED"], visible: true }, page),
  "all events": (db, page) => listEvents(db, {}, page),
  "markets of events that are not over": (db, page) =>
    listMarkets(db, { eventStatuses: UNDERWAY, visible: true }, page),
  "all markets": (db, page) => listMarkets(db, {}, page),
  "settled markets": (db, page) => settledMarkets(db, page),
  "trades of a market": (db, page) => listTrades(db, { marketId: MARKET, currency: "CASH" }, page),
  "open orders": (db, page) => listOrders(db, { wallet: WALLET, statuses: ["OPEN"] }, page),
  "filled orders": (db, page) => listOrders(db, { wallet: WALLET, statuses: ["FILLED"] }, page),
  "all orders": (db, page) => listOrders(db, { wallet: WALLET }, page),
  "orders of a market": (db, page) => listOrders(db, { wallet: WALLET, marketId: ITS_MARKET }, page),
  "fills of a market": (db, page) => listFills(db, { wallet: WALLET, marketId: ITS_MARKET }, page),
  fills: (db, page) => listFills(db, { wallet: WALLET }, page),
  transactions: (db, page) => listTransactions(db, { wallet: WALLET }, page),
  "transactions of a common kind": (db, page) => listTransactions(db, { wallet: WALLET, kind: "FEE" }, page),
  "transactions of a rare kind": (db, page) =>
    listTransactions(db, { wallet: WALLET, kind: "DEPOSIT" }, page),
  traders: (db, page) => listTraders(db, {}, page),
  "traders with a common part of an address": (db, page) => listTraders(db, { search: "example" }, page),
  "traders with a rare part of an address": (db, page) => listTraders(db, { search: "u7777@" }, page),
  "wallets by balance": (db, page) => listWallets(db, { ...DOLLARS, order: "largest" }, page, END),
  "wallets by balance, the smallest first": (db, page) =>
    listWallets(db, { ...DOLLARS, order: "smallest", below: millicents(500_000) }, page, END),
  "wallets with a large balance": (db, page) =>
    listWallets(db, { ...DOLLARS, order: "smallest", atLeast: millicents(500_000) }, page, END),
  "wallets with a negative balance": (db, page) =>
    listWallets(db, { ...DOLLARS, order: "largest", below: millicents(0) }, page, END),
  "wallets of a trader": (db, page) =>
    listWallets(db, { ...DOLLARS, order: "largest", traderId: TRADER }, page, END),
  "the audit log": (db, page) => listAudit(db, {}, page),
  "the audit log of a subject": (db, page) => listAudit(db, { subject: "s7" }, page),
  "the audit log of an operator": (db, page) => listAudit(db, { operatorId: OPERATOR }, page),
  "the audit log of an action": (db, page) => listAudit(db, { action: "a7" }, page),
  "the audit log of a day": (db, page) =>
    listAudit(db, { startsAfter: timeOf(500), startsBefore: timeOf(500) + 20 * DAY_MS }, page),
  "keys of a trader": (db, page) => listKeys(db, WALLET, page),
  "check-ins of a trader": (db, page) => listCheckIns(db, WALLET, page),
  changelog: (db, page) => listChanges(db, page),
  players: (db, page) => listPlayers(db, page),
  "clients of surface B": (db, page) => listEmmClients(db, page),
  "strike requests": (db, page) => listStrikeRequests(db, {}, page),
  "strike requests that wait": (db, page) => listStrikeRequests(db, { statuses: ["PENDING"] }, page),
};

interface Plan {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Plan[];
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Returns false for the scan of an empty partition, which the planner may do in any way. */
const hasRows = (node: Plan): boolean => node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) > 0;

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Counts the rows that the leaves of a plan read, including rows that a filter removes. */
function rowsRead(plan: Plan): number {
  return nodesOf(plan)
    .filter(({ Plans }) => Plans === undefined)
    .reduce((sum, node) => {
      const { "Actual Rows": rows, "Actual Loops": loops, "Rows Removed by Filter": removed = 0 } = node;
      return sum + (rows + removed) * loops;
    }, 0);
}

describe("query plans of lists over long tables", function () {
  this.timeout(400_000);
  let database: FreshDatabase;
  let db: Database;
  const statements: Statement[] = [];

  before(async () => {
    database = await freshDatabase(migrate);
    await indexAddresses(database.url, (line) => expect.fail(line)).done;
    await fillTables(database.url);
    db = connect(database.url, { statementTimeoutMs: 60_000 });
    const query = db.$client.query.bind(db.$client) as (
      config: { text: string },
      values: unknown[],
    ) => unknown;
    const recording = (config: { text: string }, values: unknown[]): unknown => {
      statements.push({ text: config.text, values });
      return query(config, values);
    };
    Object.assign(db.$client, { query: recording });
  });
  after(async () => {
    await disconnect(db);
    await database.drop();
  });

  /** Runs a query, and returns its result and the plans of its statements. */
  async function plansOf<Result>(query: () => Promise<Result>): Promise<{ plans: Plan[]; result: Result }> {
    statements.length = 0;
    const result = await query();
    const plans: Plan[] = [];
    for (const { text, values } of statements.splice(0)) {
      const { rows } = (await db.$client.query({ text: `explain (analyze, format json) ${text}` }, [
        ...values,
      ])) as unknown as { rows: readonly { "QUERY PLAN": readonly { Plan: Plan }[] }[] };
      const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
      if (plan === undefined) throw new Error("Postgres returned no plan");
      plans.push(plan);
    }
    if (plans.length === 0) throw new Error("the query ran no statement");
    return { plans, result };
  }

  function formatPlan(plan: Plan): string {
    return nodesOf(plan)
      .map(
        (node) =>
          `${node["Node Type"]} ${node["Index Name"] ?? ""} ${node["Actual Rows"]} x ${node["Actual Loops"]} (-${node["Rows Removed by Filter"] ?? 0})`,
      )
      .join("; ");
  }

  for (const [name, list] of Object.entries(LISTS)) {
    it(name, async () => {
      const { next } = await list(db, { limit: DEEP });
      for (const after of [undefined, next]) {
        for (const plan of (await plansOf(() => list(db, { limit: LIMIT, after }))).plans) {
          const kinds = nodesOf(plan)
            .filter(hasRows)
            .map((node) => node["Node Type"]);
          expect(kinds, formatPlan(plan)).to.not.include("Seq Scan");
          if (kinds.includes("Limit") && rowsRead(plan) > LIMIT + 1)
            expect(kinds, formatPlan(plan)).to.not.include("Sort");
          expect(rowsRead(plan), formatPlan(plan)).to.be.at.most(READ_PER_ROW * (LIMIT + 1));
        }
        if (next === undefined) break;
      }
    });
  }

  it("looks for the reference of a transaction among those of its trader", async () => {
    const { plans } = await plansOf(() => findTransactionByRef(db, WALLET, "unknown"));
    const conditions = plans
      .flatMap(nodesOf)
      .filter((node) => node["Index Name"]?.startsWith("entries") === true)
      .map((node) => node["Index Cond"]);
    expect(conditions).to.not.be.empty;
    for (const condition of conditions) expect(condition).to.match(/\bwallet = /);
    const scanned = plans
      .flatMap(nodesOf)
      .filter((node) => hasRows(node) && node["Node Type"] === "Seq Scan");
    expect(scanned).to.deep.equal([]);
  });

  it("reads the wallets of restricted traders alone, however many others there are", async () => {
    const filter = { ...DOLLARS, order: "largest", restricted: true } as const;
    const { plans, result } = await plansOf(() => listWallets(db, filter, { limit: 2 * ROWS }, END));
    expect(result.items).to.have.length(2 * RESTRICTED);
    const page = (await plansOf(() => listWallets(db, filter, { limit: LIMIT }, END))).plans;
    for (const plan of [...plans, ...page]) {
      const ofBalances = nodesOf(plan).filter((node) => node["Relation Name"] === "balances");
      const read = ofBalances.reduce((sum, node) => sum + rowsRead(node), 0);
      expect(read, formatPlan(plan)).to.be.within(1, READ_PER_ROW * 2 * RESTRICTED);
    }
  });

  it("reads the prices of an hour from a few rows, however many trades there were", async () => {
    const trades = 20_000;
    await db.execute(sql`
      insert into trades (market_id, currency, ts, place, trade_id, match_id, outcome, price, qty, taker_outcome,
        taker_price)
      select ${MARKET}, 'CASH', ${END}::bigint - 3600000 + i * 3600000::bigint / ${trades}::int, 10000000 + i,
        gen_random_uuid(), gen_random_uuid(), i % 2, 500, 1, 1 - i % 2, 500
      from generate_series(0, ${trades - 1}::int) i`);
    const { plans, result } = await plansOf(() => closingPrices(db, [MARKET, ITS_MARKET], END));
    expect(result.get(MARKET)).to.have.length(12).and.not.include(null);
    for (const plan of plans) expect(rowsRead(plan), formatPlan(plan)).to.be.at.most(100);
  });

  it("reads the last transitions of a market, however many there were", async () => {
    const { plans, result } = await plansOf(() => lastTransitions(db, MARKET, 50));
    expect(result).to.have.length(50);
    for (const plan of plans) expect(rowsRead(plan), formatPlan(plan)).to.be.at.most(50);
  });

  it("adds up the exposure of unsettled markets alone, however many are settled", async () => {
    await db.execute(sql`
      insert into market_totals (market_id, currency, minted_contracts, escrow, booked)
      select market_id, 'CASH', 1, 1, 1 from markets`);
    await db.execute(sql`analyze market_totals`);
    const ofTotals = (plan: Plan): boolean =>
      plan["Relation Name"] === "market_totals" || plan["Index Name"]?.startsWith("market_totals") === true;
    const [{ count } = { count: 0 }] = (
      await db.execute<{ count: number }>(sql`
        select count(*)::int as count from markets join events using (event_id) where events.status <> 'SETTLED'`)
    ).rows;
    expect(count).to.be.within(100, ROWS / 20);
    const read = async (query: () => Promise<unknown>): Promise<number> => {
      const { plans } = await plansOf(query);
      return plans
        .flatMap(nodesOf)
        .filter(ofTotals)
        .reduce((sum, plan) => sum + rowsRead(plan), 0);
    };
    expect(await read(() => exposureOfEvents(db))).to.be.within(1, count);
    expect(await read(() => exposureOfMarkets(db, eventIdOf(ROWS / 2)))).to.be.within(1, 2);
  });

  describe("over the tables by month", () => {
    const present = Date.now;
    before(() => {
      Date.now = () => END;
    });
    after(() => {
      Date.now = present;
    });

    /** Returns the partitions that the plans name, without their table's name; by default only those that they read. */
    async function partitionsOf(
      table: string,
      query: () => Promise<unknown>,
      isRead = (node: Plan) => node["Actual Loops"] > 0,
    ): Promise<string[]> {
      const { plans } = await plansOf(query);
      const relations = plans.flatMap(nodesOf).filter(isRead);
      return relations.flatMap((node) => node["Relation Name"]?.slice(table.length + 1) ?? []).toSorted();
    }

    const monthOf = (ts: number): string => new Date(ts).toISOString().slice(0, 7).replace("-", "_");
    const OLD = timeOf(1_010);
    const RECENT = END - DAY_MS;
    const recent = [...new Set([monthOf(END - 32 * DAY_MS), monthOf(END - 15 * DAY_MS), monthOf(END)])];
    /** Partitions that each read of recent orders looks into: those of open orders, and those of months to come. */
    const ALWAYS = ["first", "live", "later"];
    const ofRecent = (names: readonly string[]): string[] =>
      names.filter((name) => !ALWAYS.includes(name) && name <= monthOf(END));

    it("finds a recent order without the earlier months, and an old one in any", async () => {
      const of = (row: number) =>
        partitionsOf("orders", async () => {
          expect(await findOrder(db, WALLET, orderIdOf(row))).to.include({ ts: timeOf(row) });
        });
      expect(ofRecent(await of(ROWS - 6))).to.deep.equal(recent);
      expect(await of(1_010)).to.include(monthOf(OLD));
    });

    it("finds client ids of a day in the partitions of the day", async () => {
      const names = await partitionsOf("orders", () => findOrdersByClientIds(db, WALLET, ["c"], RECENT));
      expect(ofRecent(names)).to.deep.equal([...new Set([monthOf(RECENT), monthOf(END)])]);
    });

    it("reads open orders from the partitions that have them", async () => {
      const names = await partitionsOf("orders", () =>
        listOrders(db, { wallet: WALLET, statuses: ["OPEN"] }, { limit: LIMIT }),
      );
      expect(names).to.deep.equal(["first", "live"]);
    });

    it("reads a page of orders from the partitions of its month", async () => {
      const names = await partitionsOf("orders", () => listOrders(db, { wallet: WALLET }, { limit: LIMIT }));
      expect(ofRecent(names)).to.deep.equal(recent);
    });

    for (const [table, list] of [
      ["fills", (page: PageRequest) => listFills(db, { wallet: WALLET }, page)],
      ["entries", (page: PageRequest) => listTransactions(db, { wallet: WALLET }, page)],
      ["trades", (page: PageRequest) => listTrades(db, { marketId: MARKET, currency: "CASH" }, page)],
    ] as const) {
      it(`reads a page of ${table} from one month, however many there are`, async () => {
        const names = await partitionsOf(table, () => list({ limit: LIMIT }));
        expect(ofRecent(names)).to.deep.equal([monthOf(END)]);
      });

      it(`plans a page of ${table} for the recent months alone`, async () => {
        const planned = (page: PageRequest) =>
          partitionsOf(
            table,
            () => list(page),
            () => true,
          );
        expect(ofRecent(await planned({ limit: LIMIT }))).to.deep.equal(recent);
        const { next } = await list({ limit: DEEP });
        const names = await planned({ limit: LIMIT, after: next });
        expect(names.length, names.join(" ")).to.be.within(1, 3);
      });
    }

    it("updates an order in the partition of open orders alone", async () => {
      const { rows } = await db.$client.query<{ "QUERY PLAN": string }>(
        `explain update orders set ended_ts = given.ended_ts
         from unnest(array['${orderIdOf(1)}']::uuid[], array[1]::bigint[]) as given (order_id, ended_ts)
         where orders.order_id = given.order_id and orders.ended_ts = 0`,
      );
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).to.include("orders_live_pkey");
      expect(plan).to.not.match(/orders_(first|later|2)/);
    });
  });
});

import { expect } from "chai";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import type { Page, PageRequest } from "../../../db/page.js";
import { listAudit } from "../../../db/queries/operator/audit.js";
import { listPlayers } from "../../../db/queries/catalog/competitors.js";
import { listChanges } from "../../../db/queries/operator/changelog.js";
import { listEmmClients } from "../../../db/queries/accounts/emm-clients.js";
import { listEvents } from "../../../db/queries/catalog/events.js";
import { listFills } from "../../../db/queries/trading/fills.js";
import { listMarkets, settledMarkets } from "../../../db/queries/catalog/markets.js";
import { listOrders } from "../../../db/queries/trading/orders.js";
import { listStrikeRequests } from "../../../db/queries/operator/strike-requests.js";
import { listTrades } from "../../../db/queries/trading/trades.js";
import { listTraders } from "../../../db/queries/accounts/traders.js";
import { listTransactions } from "../../../db/queries/trading/transactions.js";
import { UNDERWAY } from "../../../db/schema/catalog.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { fillTables, ITS_MARKET, MARKET, WALLET } from "./rows.js";

const LIMIT = 50;
/** Position in the list of the second page that is examined. */
const DEEP = 10_000;
/** Limit of rows read for each row of a page: rows of joined tables, and rows that a filter removes. */
const READ_PER_ROW = 10;

type List = (db: Database, page: PageRequest) => Promise<Page<unknown>>;

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
  "the audit log": (db, page) => listAudit(db, {}, page),
  "the audit log of a subject": (db, page) => listAudit(db, { subject: "s7" }, page),
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
  readonly Plans?: readonly Plan[];
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

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
  this.timeout(120_000);
  let database: FreshDatabase;
  let db: Database;
  const statements: Statement[] = [];

  before(async () => {
    database = await freshDatabase(migrate);
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

  /** Runs a list, and returns the plan of the statement that reads its page. */
  async function planOf(list: List, page: PageRequest): Promise<{ plan: Plan; next: string | undefined }> {
    statements.length = 0;
    const { next } = await list(db, page);
    const [first] = statements;
    if (first === undefined) throw new Error("the list ran no statement");
    const { rows } = (await db.$client.query({ text: `explain (analyze, format json) ${first.text}` }, [
      ...first.values,
    ])) as unknown as { rows: readonly { "QUERY PLAN": readonly { Plan: Plan }[] }[] };
    const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
    if (plan === undefined) throw new Error("Postgres returned no plan");
    return { plan, next };
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
      const { next } = await planOf(list, { limit: DEEP });
      for (const after of [undefined, next]) {
        const { plan } = await planOf(list, { limit: LIMIT, after });
        const kinds = nodesOf(plan).map((node) => node["Node Type"]);
        expect(kinds, formatPlan(plan)).to.not.include("Seq Scan");
        if (rowsRead(plan) > LIMIT + 1) expect(kinds, formatPlan(plan)).to.not.include("Sort");
        expect(rowsRead(plan), formatPlan(plan)).to.be.at.most(READ_PER_ROW * (LIMIT + 1));
        if (next === undefined) break;
      }
    });
  }
});

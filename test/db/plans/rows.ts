/** Fills the tables with a long history, in seconds, by statements that generate rows in the server. */

import { createHash } from "node:crypto";
import pg from "pg";
import { startOfMonth } from "../../../db/partitions/months.js";
import { keepMonths } from "../../../db/partitions/keep-months.js";

export const ROWS = 100_000;
/** Number of traders whose placements are refused. */
export const RESTRICTED = 500;
/** The wallet and the market of half of the rows. */
export const WALLET = "00000000-0000-4000-8000-000000000001";
export const MARKET = "00000000-0000-4000-8000-000000000002";
const YEAR_MS = 365 * 86_400_000;
/** The rows are of the year that begins with the migration, because earlier ones are in one partition. */
const START = Date.now();
const STEP_MS = Math.round(YEAR_MS / ROWS);
/** Time of the last row. */
export const END = START + YEAR_MS;

/** Returns the time of a row. */
export const timeOf = (row: number): number => START + row * STEP_MS;
const idOf = (name: string): string =>
  createHash("md5")
    .update(name)
    .digest("hex")
    .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
/** Returns the id of the order of a row, in the format of a UUID. */
export const orderIdOf = (row: number): string => idOf(`order${row}`);
/** Returns the id of the event of a row. */
export const eventIdOf = (row: number): string => idOf(`event${row}`);

/** A trader with a subaccount. */
export const TRADER = idOf("trader7");

/** A market with a few trades of the wallet. */
export const ITS_MARKET = createHash("md5").update("market12").digest("hex");

/** An operator with some records in the audit log. */
export const OPERATOR = createHash("md5").update("operator7").digest("hex");

/** Derives a UUID from a kind and the row. */
const id = (kind: string, row = "i"): string => `md5('${kind}' || ${row})::uuid`;
const busy = (one: string, others: string): string =>
  `case when i % 2 = 0 then '${one}'::uuid else ${id(others, "(i % 997)")} end`;
const ts = `${START} + i * ${STEP_MS}::bigint`;

/** Statements that fill the tables. Most events are over, and each has two markets. */
const FILLS: readonly string[] = [
  `insert into traders select ${id("trader")}, 'u' || i || '@example.com', 'x', 'trader', 'NONE', 'ACTIVE', null,
     ${ts}, ${ts} from generate_series(1, ${ROWS}) i`,
  `insert into events (event_id, type, sport, league, description, starts_ts, visible, status, created_ts, updated_ts)
     select ${id("event")}, 'Game', 'FOOTBALL', case when i % 50 = 0 then 'NFL' else 'MLB' end, 'd', ${ts}, i % 20 > 0,
     case when i > ${ROWS / 2} * 0.98 then 'OPEN_PREGAME' else 'SETTLED' end, ${ts}, ${ts}
     from generate_series(1, ${ROWS / 2}) i`,
  `insert into competitors (competitor_id, league, name) select ${id("team")}, 'NFL', 't' || i
     from generate_series(1, 1000) i`,
  `insert into games (game_id, event_id, home_team_id, away_team_id) select ${id("game")}, ${id("event")},
     ${id("team", "(1 + i % 1000)")}, ${id("team", "(1 + (i + 7) % 1000)")} from generate_series(1, ${ROWS / 2}) i`,
  `insert into markets (market_id, event_id, market_type, description, voids, fee_coefficient_ppm,
     fee_maker_credit_ppm, fee_charged, live_delay_ms, ticks, status, live, paused, remediating, settled_ts,
     created_ts, updated_ts)
     select ${id("market")}, ${id("event", "(1 + i / 2)")}, case when i % 2 = 0 then 'MONEY' else 'TOTAL' end, 'd',
     'PUSH', 0, 0, 'ALWAYS', 0, '{1}', case when i > ${ROWS} * 0.98 then 'OPEN' else 'SETTLED' end, false, false,
     false, case when i > ${ROWS} * 0.98 then null else ${ts} end, ${ts}, ${ts} from generate_series(1, ${ROWS}) i`,
  `insert into outcomes (outcome_id, market_id, outcome, name, status)
     select ${id("outcome")}, ${id("market", "(1 + i / 2)")}, i % 2, 'o', 'TBD' from generate_series(2, ${ROWS}) i`,
  `insert into orders (order_id, wallet, trader_id, market_id, outcome, currency, price, qty, filled, remaining, tif,
     status, ts, place, updated_ts, ended_ts)
     select ${id("order")}, ${busy(WALLET, "wallet")}, ${id("trader")}, ${id("market", "(i % 4999)")}, i % 2,
     case when i % 10 = 0 then 'COIN' else 'CASH' end, 500, 1, 0, 1, 'GTC',
     case when i % 100 = 0 then 'OPEN' when i % 1000 = 2 then 'REJECTED' else 'FILLED' end, ${ts}, i, ${ts},
     case when i % 100 = 0 then 0 else ${ts} end from generate_series(1, ${ROWS}) i`,
  `insert into fills (wallet, ts, place, fill_id, match_id, order_id, market_id, outcome, currency, price, qty, cost,
     payout, fee, credit, taker, wash)
     select ${busy(WALLET, "wallet")}, ${ts}, i, ${id("fill")}, ${id("match")}, ${id("order")},
     ${id("market", "(i % 4999)")}, i % 2, case when i % 10 = 0 then 'COIN' else 'CASH' end, 500, 1, 1, 0, 0, 0,
     true, false from generate_series(1, ${ROWS}) i`,
  `insert into entries (wallet, ts, place, transaction_id, counterparty, kind, currency, amount, ref)
     select ${busy(WALLET, "wallet")}, ${ts}, i, ${id("entry")}, 'house',
     case when i % 500 = 0 then 'DEPOSIT' when i % 14 = 7 then 'PAYOUT' when i % 3 = 0 then 'FEE' else 'FILL' end,
     case when i % 10 = 0 then 'COIN' else 'CASH' end, 1, 'r' from generate_series(1, ${ROWS}) i`,
  `insert into trades (market_id, currency, ts, place, trade_id, match_id, outcome, price, qty)
     select ${busy(MARKET, "market")}, case when i % 10 = 0 then 'COIN' else 'CASH' end, ${ts}, i, ${id("trade")},
     ${id("match")}, i % 2, 500, 1 from generate_series(1, ${ROWS}) i`,
  `insert into market_transitions (market_id, ts, place, seq, kind, status)
     select ${busy(MARKET, "market")}, ${ts}, i, i, 'PAUSE', 'OPEN' from generate_series(1, ${ROWS}) i`,
  `insert into audit_log (ts, operator_id, action, subject, before, after)
     select ${ts}, ${id("operator", "(i % 1000)")}, 'a' || i % 100, 's' || i % 1000, null, null
     from generate_series(1, ${ROWS}) i`,
  `insert into keys (key_id, trader_id, scope, algorithm, public_key_pem, public_key_der, fingerprint, name, created_ts)
     select ${id("key")}, ${busy(WALLET, "trader")}, 'management::read', 'Ed25519', 'p', '', 'f' || i, 'n', ${ts}
     from generate_series(1, ${ROWS}) i`,
  `insert into check_ins (trader_id, minute, failed, ts)
     select ${busy(WALLET, "trader")}, i, false, i * 60000::bigint from generate_series(1, ${ROWS}) i`,
  `insert into changelog (change_id, title, body, effective_ts, created_ts, created_by)
     select ${id("change")}, 't', 'b', ${ts}, ${ts}, ${id("operator")} from generate_series(1, ${ROWS / 4}) i`,
  `insert into players (player_id, name, full_name) select ${id("player")}, 'p', 'p'
     from generate_series(1, ${ROWS / 4}) i`,
  `insert into subaccounts (subaccount_id, trader_id, label, created_ts)
     select ${id("wallet")}, ${id("trader")}, 'l', ${ts} from generate_series(1, ${ROWS / 4}) i`,
  `insert into wallets select ${id("trader")}, ${id("trader")}, 0 from generate_series(1, ${ROWS}) i`,
  `insert into wallets select ${id("wallet")}, ${id("trader")}, 0 from generate_series(1, ${ROWS / 4}) i`,
  `insert into balances select wallet, 'CASH', (row_number() over () * 7919) % 1000003 - 100, 0, ${START} from wallets`,
  `insert into trader_restrictions select ${id("trader")}, 0, case when i % 2 = 0 then 'ACCOUNT_LOCKED' end
     from generate_series(1, ${RESTRICTED * 2}) i`,
  `insert into emm_clients (client_id, subaccount_id, name, secret_hash, secret_version, created_ts)
     select ${id("client")}, ${id("wallet")}, 'n', 'h', 1, ${ts} from generate_series(1, ${ROWS / 4}) i`,
  `insert into strike_requests (request_id, client_id, market_id, strike, status, requested_ts)
     select ${id("request")}, ${id("client")}, ${id("market")}, '1.5',
     case when i % 200 = 0 then 'PENDING' else 'APPROVED' end, ${ts} from generate_series(1, ${ROWS / 4}) i`,
];

/** Fills every table that a list reads, and updates the statistics of the planner. */
export async function fillTables(databaseUrl: string): Promise<void> {
  for (let month = 1; month <= 12; month += 1)
    await keepMonths(databaseUrl, startOfMonth(START, month), () => undefined);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // The role `replica` skips the check of foreign keys, which takes long for half a million rows.
    await client.query("set session_replication_role = replica");
    for (const statement of FILLS) await client.query(statement);
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}

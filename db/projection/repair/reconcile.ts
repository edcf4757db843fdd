/**
 * Repair of the tables of one actor after the log has lost entries that are in them: a power loss cut the log, or a
 * replica that lagged took over. The rows of the lost entries are removed, the entries that followed instead are
 * projected, and the rows that hold state are set to the state of the actor.
 */

import type pg from "pg";
import type { ActorId } from "../../../actors/actor.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import type { MarketState } from "../../../actors/market/state.js";
import { LONGEST_STATEMENT_MS } from "../../connection.js";
import { queriesOver } from "../../database.js";
import { auditLog } from "../../schema/accounts.js";
import { projectorCursors, reconciliations } from "../../schema/wallets.js";
import { ProjectionBatch } from "../batch.js";
import { type Cursor, rowOfCursor } from "../cursor.js";
import type { History } from "../journal.js";
import { LedgerRepair } from "./ledger.js";
import { MarketRepair } from "./market.js";
import type { LostRows, Removed, Repair } from "./repair.js";
import { insertInto, writeRows } from "../rows.js";

/** An actor whose tables have entries that its log has lost. */
export interface LostHistory {
  readonly actor: ActorId;
  /** The position of the tables. */
  readonly cursor: Cursor;
  /** Seq of the last entry that the tables and the log have in common. */
  readonly commonSeq: number;
}

/** Operator of an audit record that no person caused. */
const NOBODY = "00000000-0000-0000-0000-000000000000";

const WRITE_CURSOR = insertInto(projectorCursors, "replace");

/** Repairs the tables of one actor, and records the repair. The caller opens the transaction. */
export async function reconcile(
  client: pg.Client,
  { actor, cursor, commonSeq }: LostHistory,
  history: History,
): Promise<{ readonly cursor: Cursor; readonly removed: Removed }> {
  const { state, head, lineage, sinceTs } = history;
  // A repair reads all rows of an actor when it does not know since when they are wrong.
  await client.query(`set local statement_timeout = ${LONGEST_STATEMENT_MS}`);
  const lost: LostRows = { seq: commonSeq, sinceTs };
  const id = actor.slice(actor.indexOf(":") + 1);
  // The kind of the actor determines the type of its state.
  const repair: Repair = actor.startsWith("market:")
    ? new MarketRepair(client, id, lost, state as MarketState)
    : new LedgerRepair(client, Number(id), lost, state as LedgerState);
  const removed = await repair.remove();
  let repaired: Cursor = { seq: commonSeq, lineage, nextPlace: cursor.nextPlace, entryTs: null };
  await writeRows(client, WRITE_CURSOR, [rowOfCursor(actor, repaired)]);
  for await (const page of history.entries()) {
    await repair.makeWay(page);
    const batch = new ProjectionBatch(new Map([[actor, repaired]]));
    for (const entry of page) batch.take(entry);
    await batch.write(client);
    repaired = batch.cursors.get(actor) ?? repaired;
  }
  await repair.reset();
  const db = queriesOver(client);
  const change = { seq: commonSeq, lostSeq: cursor.seq, newSeq: head.seq, removed };
  await db.insert(reconciliations).values({ ts: Date.now(), actor, ...change });
  await db.insert(auditLog).values({
    ts: Date.now(),
    operatorId: NOBODY,
    action: "RECONCILE",
    subject: actor,
    after: change,
  });
  return { cursor: repaired, removed };
}

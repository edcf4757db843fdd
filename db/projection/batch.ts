/** The rows that a batch of entries writes: read `take`, then `write`. */

import type pg from "pg";
import type { ActorId } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import { negate } from "../../actors/units.js";
import { unreachable } from "../../actors/unreachable.js";
import type { AnyDelta, Entry } from "../../stream/log/ports.js";
import { projectorCursors } from "../schema/wallets.js";
import { continues } from "../../stream/log/packing.js";
import { type Cursor, type Cursors, NO_ROWS, rowOfCursor } from "./cursor.js";
import { MarketRows } from "./markets.js";
import { OrderRows } from "./orders.js";
import { projectDelta, type Origin } from "./origin.js";
import { insertInto, writeRows } from "./rows.js";
import { marketOf, WalletRows } from "./wallets.js";

/** Fails when the tables already have an entry of the batch: no key of the table of orders would be violated. */
const ADVANCE_CURSORS = insertInto(projectorCursors, "replace", "seq");

/** Reports that the log lacks the entry after the last projected one. */
export class ProjectionGap extends Error {
  override readonly name = "ProjectionGap";
}

/** Collects entries, and writes their rows. */
export class ProjectionBatch {
  readonly #projected: Cursors;
  readonly #cursors = new Map<ActorId, Cursor>();
  readonly #markets = new MarketRows();
  readonly #orders = new OrderRows();
  readonly #wallets = new WalletRows();

  /** Starts a batch after the cursors in the database. */
  constructor(projected: Cursors) {
    this.#projected = projected;
  }

  /** The cursors that this batch moves, with their new values. */
  get cursors(): Cursors {
    return this.#cursors;
  }

  /** Markets whose definition, status or grade this batch changes. */
  get changedMarkets(): readonly string[] {
    return this.#markets.changed;
  }

  /** Adds an entry; skips one at or below the cursor. Throws `ProjectionGap` and `UnprojectableDelta`. */
  take(entry: Entry): void {
    const { actor, seq } = entry;
    const known = this.#cursors.get(actor) ?? this.#projected.get(actor) ?? NO_ROWS;
    if (seq <= known.seq) return;
    if (!continues(entry, known.seq))
      throw new ProjectionGap(`${actor}: entry ${seq} follows entry ${known.seq}`);
    let place = known.nextPlace;
    for (const { ts, deltas } of entry.batches) {
      for (const delta of deltas) {
        const origin = { actor, seq, ts, place };
        projectDelta(origin, delta, () => this.#takeDelta(delta, origin));
        place += 1;
      }
    }
    const lineage = entry.resumed?.lineage ?? known.lineage;
    const entryTs = entry.batches.at(-1)?.ts ?? known.entryTs;
    this.#cursors.set(actor, { seq, lineage, nextPlace: place, entryTs });
  }

  /** Projects a delta of either union; the name of its actor shows which one. */
  #takeDelta(delta: AnyDelta, origin: Origin): void {
    const { actor } = origin;
    const id = actor.slice(actor.indexOf(":") + 1);
    if (actor.startsWith("market:")) this.#markets.take(id, delta as MarketDelta, origin);
    else if (actor.startsWith("ledger:")) this.#takeLedger(Number(id), delta as LedgerDelta, origin);
    else throw new Error("its actor is of an unknown kind");
  }

  #takeLedger(shard: number, delta: LedgerDelta, origin: Origin): void {
    switch (delta.type) {
      case "wallet":
        this.#wallets.wallet(delta, shard);
        return;
      case "accepted":
        this.#orders.accept(delta, origin);
        return;
      case "order":
        this.#orders.follow(delta, origin);
        return;
      case "position":
        this.#wallets.position(delta, origin);
        return;
      case "balance":
        this.#wallets.balance(delta, origin);
        return;
      case "entry": {
        this.#wallets.entry(delta, shard, origin);
        const marketId = marketOf(delta.counterparty);
        if (marketId !== undefined) this.#markets.book(marketId, delta.currency, negate(delta.amount));
        return;
      }
      case "restricted":
        this.#wallets.restricted(delta, shard);
        return;
      case "transfer":
        this.#wallets.transfer(delta, origin);
        return;
      case "canceling":
      case "amending":
      case "deadman":
      case "group":
      case "policy":
      case "reserveRule":
      case "closed":
      case "skipped":
      case "forgotten":
        return;
      default:
        unreachable(delta);
    }
  }

  /** Writes all rows and the cursors. The caller opens the transaction. */
  async write(client: pg.Client): Promise<void> {
    await this.#markets.write(client);
    await this.#orders.write(client);
    await this.#wallets.write(client);
    const cursors = [...this.#cursors].map(([actor, cursor]) => rowOfCursor(actor, cursor));
    await writeRows(client, ADVANCE_CURSORS, cursors);
  }
}

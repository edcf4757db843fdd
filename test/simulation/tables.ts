/** The tables of the simulated projector, in which the clients look up the ids that a ledger is not certain of. */

import type { ActorId } from "../../actors/actor.js";
import type { AcceptedOrder } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { Transfer } from "../../actors/ledger/types.js";
import type { Entry } from "../../stream/log/ports.js";
import type { Journal } from "./journal.js";

export class Tables {
  readonly #projected: ReadonlyMap<ActorId, readonly Entry[]>;
  readonly #journal: Pick<Journal, "entries">;

  constructor(projected: ReadonlyMap<ActorId, readonly Entry[]>, journal: Pick<Journal, "entries">) {
    this.#projected = projected;
    this.#journal = journal;
  }

  /** Returns true when the tables have all that an actor has committed, or has committed before a time. */
  haveAll(actor: ActorId, beforeMs = Infinity): boolean {
    const committed = this.#journal.entries(actor).at(-1)?.seq ?? 0;
    const projected = this.#projected.get(actor) ?? [];
    const entryTs = projected.findLast(({ batches }) => batches.length > 0)?.batches.at(-1)?.ts ?? -1;
    return (projected.at(-1)?.seq ?? 0) >= committed || entryTs >= beforeMs;
  }

  /** Waits for the tables to have the same; false when they stay behind, at which a gateway gives up. */
  async reach(actor: ActorId, sleep: (ms: number) => Promise<void>, beforeMs?: number): Promise<boolean> {
    for (let tries = 0; !this.haveAll(actor, beforeMs); tries += 1) {
      if (tries === 20) return false;
      await sleep(10);
    }
    return true;
  }

  /** Returns true when an order of a wallet was accepted. */
  hasOrder(ledger: ActorId, wallet: string, orderId: string): boolean {
    return (
      this.#first(ledger, (delta) =>
        delta.type === "accepted" && delta.wallet === wallet && delta.order.orderId === orderId
          ? delta
          : undefined,
      ) !== undefined
    );
  }

  firstOrder(ledger: ActorId, wallet: string, clientId: string): AcceptedOrder | undefined {
    return this.#first(ledger, (delta, ts) =>
      delta.type === "accepted" &&
      delta.wallet === wallet &&
      delta.clientId === clientId &&
      delta.replaces === undefined
        ? { orderId: delta.order.orderId, digest: delta.digest ?? "", ts }
        : undefined,
    );
  }

  firstTransfer(ledger: ActorId, trader: string, clientTransferId: string): Transfer | undefined {
    return this.#first(ledger, (delta) =>
      delta.type === "transfer" &&
      delta.transfer.trader === trader &&
      delta.transfer.clientTransferId === clientTransferId
        ? delta.transfer
        : undefined,
    );
  }

  firstTransaction(ledger: ActorId, wallets: readonly string[], clientRef: string): string | undefined {
    return this.#first(ledger, (delta) =>
      delta.type === "entry" && wallets.includes(delta.wallet) && delta.clientRef === clientRef
        ? delta.transactionId
        : undefined,
    );
  }

  #first<Found>(
    ledger: ActorId,
    find: (delta: LedgerDelta, ts: number) => Found | undefined,
  ): Found | undefined {
    for (const { batches } of this.#projected.get(ledger) ?? []) {
      for (const { ts, deltas } of batches) {
        for (const delta of deltas) {
          const found = find(delta as LedgerDelta, ts);
          if (found !== undefined) return found;
        }
      }
    }
    return undefined;
  }
}

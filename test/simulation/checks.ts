/** Checks of the final state: invariants 1, 5, 6, 8 and 9 of `test/simulation/README.md`. */

import { PARTITIONS } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import { CURRENCIES } from "../../actors/market/types.js";
import { silentLogger } from "../../stream/log/logger.js";
import { MemoryLog } from "../support/log/memory-log.js";
import type { MemoryStore } from "../support/log/memory-store.js";
import { loadState } from "../../stream/runtime/recovery.js";
import type { ActorOf } from "../../stream/runtime/instance.js";
import { parseEnvelope, parseQuarantined } from "../../stream/log/packing.js";
import type { Entry } from "../../stream/log/ports.js";
import { type Invocation, QUARANTINED } from "./clients.js";
import type { Deployment } from "./deployment.js";
import { isMarket, type Journal, KEYS } from "./journal.js";
import type { Signed } from "./signed.js";
import { savedText } from "../support/exchange/saved.js";

/** Checks that everything due before `beforeMs` has happened. */
export function checkNothingOverdue(journal: Journal, beforeMs: number): void {
  for (const { marketId, held, resting } of journal.markets) {
    for (const { order, untilMs } of held.values())
      must(untilMs > beforeMs, `order ${order.orderId} is still held in ${marketId}`);
    for (const { order } of resting.values())
      must((order.expiresAt ?? Infinity) > beforeMs, `order ${order.orderId} has not expired in ${marketId}`);
  }
  for (const { wallets } of journal.ledgers) {
    for (const { wallet, deadman } of wallets.values())
      must((deadman?.dueMs ?? Infinity) > beforeMs, `the dead-man switch of ${wallet} has not fired`);
  }
}

/** Checks that every market is settled and empty, that no order is open, and that nothing is in flight. */
export function checkFinalState(journal: Journal): void {
  for (const { marketId, status, books } of journal.markets) {
    must(status === "SETTLED", `market ${marketId} is ${status} at the end`);
    for (const currency of CURRENCIES)
      must(books[currency].escrow === 0, `market ${marketId} keeps ${books[currency].escrow} ${currency}`);
  }
  for (const { wallets } of journal.ledgers) {
    for (const { wallet, orders, accounts, funds } of wallets.values()) {
      must(orders.size === 0, `wallet ${wallet} has ${orders.size} open orders at the end`);
      must(accounts.size === 0, `wallet ${wallet} holds contracts at the end`);
      for (const currency of CURRENCIES)
        must(funds[currency].reserved === 0, `wallet ${wallet} reserves ${currency} at the end`);
    }
  }
  for (const currency of CURRENCIES)
    must(journal.inFlight(currency) === 0, `${currency} is in flight at the end`);
  must(journal.messagesInFlight === 0, "messages between actors are in flight at the end");
}

/** Checks that recovery from the log gives the fold of the whole journal, and that the projector has every entry. */
export async function checkRecovery(
  store: MemoryStore,
  journal: Journal,
  actorOf: ActorOf,
  deployment: Deployment,
): Promise<void> {
  const log = new MemoryLog(store);
  for (const actor of journal.actors) {
    const { state, seq } = await loadState(
      { log, actorOf, logger: silentLogger, archive: deployment.archive },
      actor,
    );
    const entries = journal.entries(actor);
    const last = entries.at(-1)?.seq ?? 0;
    must(seq === last, `${actor} is at ${seq}, and its journal at ${last}`);
    const recovered = savedText(actorOf(actor), state);
    must(recovered === journal.saved(actor), `${actor}: the recovered state is not the fold of the journal`);
    const rows = deployment.projected.get(actor) ?? [];
    must(
      rows.length === entries.length,
      `${actor}: the read model has ${rows.length} of ${entries.length} entries`,
    );
    for (const [i, entry] of entries.entries())
      must(sameEntry(rows[i], entry), `${actor}: the read model has a different entry ${entry.seq}`);
  }
  await log.close();
}

/** Returns true for two entries of the same commit. No two commits apply the same messages at the same time. */
function sameEntry(a: Entry | undefined, b: Entry): boolean {
  const [x, y] = [a?.batches.at(-1), b.batches.at(-1)];
  return (
    a?.seq === b.seq && a.cursor === b.cursor && x?.ts === y?.ts && x?.deltas.length === y?.deltas.length
  );
}

/** Counts the effects in the journals by their ids. */
class Effects {
  readonly #counts = new Map<string, number>();

  constructor(deltas: readonly (MarketDelta | LedgerDelta)[]) {
    for (const delta of deltas) {
      for (const id of idsOf(delta)) this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    }
  }

  mustOccur(id: string, times: number): void {
    const count = this.#counts.get(id) ?? 0;
    must(count === times, `${id} is in the log ${count} times, but must be there ${times} times`);
  }

  get all(): ReadonlyMap<string, number> {
    return this.#counts;
  }
}

function idsOf(delta: MarketDelta | LedgerDelta): readonly string[] {
  switch (delta.type) {
    case "accepted": {
      const { wallet, clientId, order, replaces } = delta;
      // A replacement has the client id of its original.
      const isFirst = clientId !== undefined && replaces === undefined;
      return [`order ${order.orderId}`, ...(isFirst ? [`client id ${wallet} ${clientId}`] : [])];
    }
    case "entry": {
      const { wallet, clientRef, transactionId } = delta;
      return [
        `transaction ${transactionId}`,
        ...(clientRef === undefined ? [] : [`client ref ${wallet} ${clientRef}`]),
      ];
    }
    case "transfer": {
      const { trader, clientTransferId, transferId } = delta.transfer;
      return [
        `transfer ${transferId}`,
        ...(clientTransferId === undefined ? [] : [`client transfer ${trader} ${clientTransferId}`]),
      ];
    }
    case "graded":
      return [`settlement ${delta.settlementId}`];
    case "trade":
      return [`trade ${delta.tradeId}`];
    case "created":
      return [`market ${delta.definition.marketId}`];
    case "order":
      if ("seq" in delta) return delta.kind === "fill" ? [`private fill ${delta.fillId}`] : [];
      return delta.kind === "fill" ? [`fill ${delta.fillId}`] : [];
    default:
      return [];
  }
}

/** Checks that each acknowledged effect is in the log exactly once, each refused one is not, and no id is there twice. */
export function checkAnswers(journal: Journal, invocations: readonly Invocation[]): void {
  const effects = new Effects(journal.deltas);
  for (const [id, count] of effects.all) must(count === 1, `${id} is in the log ${count} times`);
  for (const [id] of effects.all) if (id.startsWith("fill ")) effects.mustOccur(`private ${id}`, 1);
  for (const { actor, command, answer, answered, id } of invocations) {
    must(answered, `command ${id} has no answer at the end`);
    if (isMarket(actor) || answer === QUARANTINED) continue;
    checkLedgerAnswer(effects, command as LedgerCommand, answer as LedgerReply);
  }
}

/**
 * Checks that the orders which the answer to a signed request accepts are in the log once, and its other orders not. Of a
 * request without an answer nothing is known, except that no order is in the log twice.
 */
export function checkSigned(journal: Journal, requests: readonly Signed[]): void {
  const effects = new Effects(journal.deltas);
  for (const { orders, answer, accepted } of requests)
    for (const { orderId } of orders)
      if (answer !== undefined) effects.mustOccur(`order ${orderId}`, accepted.includes(orderId) ? 1 : 0);
}

function checkLedgerAnswer(effects: Effects, command: LedgerCommand, answer: LedgerReply): void {
  switch (command.kind) {
    case "place": {
      if (answer.ok && answer.kind === "uncertain") {
        for (const { orderId } of command.orders) effects.mustOccur(`order ${orderId}`, 0);
        return;
      }
      if (!answer.ok || answer.kind !== "placed")
        throw new Error(`a place was answered ${JSON.stringify(answer)}`);
      for (const result of answer.results)
        if (result.ok && result.repeated) effects.mustOccur(`order ${result.orderId}`, 1);
      const refused = command.atomic && answer.results.some((result) => !result.ok);
      command.orders.forEach(({ orderId }, i) => {
        const result = answer.results[i];
        const accepted = result?.ok === true && !result.repeated && !refused;
        effects.mustOccur(`order ${orderId}`, accepted ? 1 : 0);
      });
      return;
    }
    case "amend": {
      const { replacement } = command;
      if (replacement === undefined) return;
      const replaced = answer.ok && answer.kind === "amended" && answer.orderId === replacement.orderId;
      effects.mustOccur(`order ${replacement.orderId}`, replaced ? 1 : 0);
      return;
    }
    case "transact": {
      const first = answer.ok && answer.kind === "transaction" ? answer.transactionId : undefined;
      if (first !== undefined) effects.mustOccur(`transaction ${first}`, 1);
      if (first !== command.transactionId) effects.mustOccur(`transaction ${command.transactionId}`, 0);
      return;
    }
    case "transfer": {
      const first = answer.ok && answer.kind === "transfer" ? answer.transfer.transferId : undefined;
      if (first !== undefined) effects.mustOccur(`transfer ${first}`, 1);
      if (first !== command.transferId) effects.mustOccur(`transfer ${command.transferId}`, 0);
      return;
    }
    default:
  }
}

/** Checks that the poisoned commands, and no others, are in the quarantine, each once. */
export function checkQuarantine(store: MemoryStore, invocations: readonly Invocation[]): void {
  const quarantined = PARTITIONS.flatMap((partition) => store.stream(KEYS.quarantine(partition)).entries).map(
    ({ body }) => parseEnvelope(parseQuarantined(body).body).id ?? "",
  );
  for (const { id, command, answer } of invocations) {
    const { kind, pieces = 0 } = command as { readonly kind: string; readonly pieces?: number };
    const isPoison = kind === "poison";
    const times = quarantined.filter((other) => other === id).length;
    must(times === (isPoison ? 1 : 0), `command ${id} is in the quarantine ${times} times`);
    // The answer of a command that has begun is that of its first piece.
    const isAnswered = answer === QUARANTINED ? isPoison : !isPoison || pieces > 0;
    must(isAnswered, `command ${id} was answered ${JSON.stringify(answer)}`);
  }
}

/** Throws an error with the text `otherwise` when a condition does not hold. */
export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

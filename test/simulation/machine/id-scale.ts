/** Lets ids leave the memory of the ledgers within a second, so that a short run has repeats of old ids. */

import { KnownIds } from "../../../actors/ledger/ids/known.js";

/** Factor by which the time of the ids runs faster: ten minutes are 600 ms, and a day is 86 s. */
const FASTER = 1_000;

type Method = "addOrder" | "addTransfer" | "addTransaction" | "forgottenAt" | "ordersSince";

function methodOf<Name extends Method>(name: Name): KnownIds[Name] {
  return Object.getOwnPropertyDescriptor(KnownIds.prototype, name)?.value as KnownIds[Name];
}

/** Scales the time of the ids since `startMs`. Returns the function that restores it. */
export function scaleDownIds(startMs: number): () => void {
  const originals = { ...Object.getOwnPropertyDescriptors(KnownIds.prototype) };
  const addOrder = methodOf("addOrder");
  const addTransfer = methodOf("addTransfer");
  const addTransaction = methodOf("addTransaction");
  const forgottenAt = methodOf("forgottenAt");
  const ordersSince = methodOf("ordersSince");
  const scaled = (ts: number): number => startMs + (ts - startMs) * FASTER;
  Object.assign(KnownIds.prototype, {
    addOrder(this: KnownIds, wallet, clientId, first, ts) {
      addOrder.call(this, wallet, clientId, first, scaled(ts));
    },
    addTransfer(this: KnownIds, key, transfer, ts) {
      addTransfer.call(this, key, transfer, scaled(ts));
    },
    addTransaction(this: KnownIds, key, transactionId, ts) {
      addTransaction.call(this, key, transactionId, scaled(ts));
    },
    forgottenAt(this: KnownIds, nowMs) {
      return forgottenAt.call(this, scaled(nowMs));
    },
    ordersSince(this: KnownIds, nowMs) {
      return nowMs - (nowMs - ordersSince.call(this, nowMs)) / FASTER;
    },
  } satisfies Pick<KnownIds, Method>);
  Object.defineProperty(KnownIds.prototype, "deadline", {
    configurable: true,
    get(this: KnownIds): number | undefined {
      const at = originals.deadline.get?.call(this);
      return at === undefined ? undefined : startMs + Math.ceil((at - startMs) / FASTER);
    },
  });
  return () => {
    Object.defineProperties(KnownIds.prototype, originals);
  };
}

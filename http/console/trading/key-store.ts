/** Key of each account in the IndexedDB of this browser. Its private half is not extractable, so it never leaves here. */

import type { KeyAlgorithm } from "../../auth/canonical.js";

/** A key that this browser holds. */
export interface StoredKey {
  readonly algorithm: KeyAlgorithm;
  readonly privateKey: CryptoKey;
  /** Fingerprint of the public half, by which the service lists the key. */
  readonly fingerprint: string;
}

const DATABASE = "overround";
const STORE = "web-keys";

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the storage of this browser failed"));
  });
}

/** Opens the store for one action. */
async function within<T>(
  mode: IDBTransactionMode,
  run: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    return await settled(run(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

/** Returns the key of an account, if this browser holds one. */
export function storedKey(accountId: string): Promise<StoredKey | undefined> {
  return within("readonly", (store) => store.get(accountId) as IDBRequest<StoredKey | undefined>);
}

/** Stores the key of an account in place of an older one. Rejects when the browser cannot store keys of this kind. */
export async function storeKey(accountId: string, key: StoredKey): Promise<void> {
  await within("readwrite", (store) => store.put(key, accountId));
}

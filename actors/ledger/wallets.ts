/**
 * The wallets of a shard by id, in the order of their creation. Wallets that a snapshot has restored stay packed until one
 * of them is used. So a new owner of a large shard answers at once, and the next snapshot of a wallet that nobody has
 * used costs nothing.
 */

import { assert } from "../units.js";

interface Identified {
  readonly wallet: string;
}

/** Some wallets as the parts of a snapshot have them. */
export interface PackedWallets<Wallet> {
  readonly ids: readonly string[];
  readonly parts: readonly string[];
  unpack(): Iterable<Wallet>;
}

export function isPacked<Wallet extends Identified>(
  entry: Wallet | PackedWallets<Wallet>,
): entry is PackedWallets<Wallet> {
  return "unpack" in entry;
}

export class Wallets<Wallet extends Identified> {
  readonly #byId = new Map<string, Wallet | PackedWallets<Wallet>>();
  /** The last wallet, if it may be packed. */
  #last: string | undefined;

  get size(): number {
    return this.#byId.size;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  get(id: string): Wallet | undefined {
    const found = this.#byId.get(id);
    if (found === undefined || !isPacked(found)) return found;
    for (const wallet of found.unpack()) this.#byId.set(wallet.wallet, wallet);
    const unpacked = this.#byId.get(id);
    assert(unpacked !== undefined && !isPacked(unpacked), "a snapshot lacks the wallet that it names", id);
    return unpacked;
  }

  /** Adds a new wallet. The wallet joins the last part of the next snapshot, so the wallets of that part are unpacked. */
  add(wallet: Wallet): void {
    if (this.#last !== undefined) this.get(this.#last);
    this.#last = undefined;
    this.#byId.set(wallet.wallet, wallet);
  }

  addPacked(packed: PackedWallets<Wallet>): void {
    for (const id of packed.ids) this.#byId.set(id, packed);
    this.#last = packed.ids.at(-1);
  }

  keys(): IterableIterator<string> {
    return this.#byId.keys();
  }

  /** Yields every wallet, and unpacks it. */
  *values(): Generator<Wallet> {
    for (const id of this.#byId.keys()) {
      const wallet = this.get(id);
      if (wallet !== undefined) yield wallet;
    }
  }

  /** Yields the wallets as they are: one by one, or packed. */
  *entries(): Generator<Wallet | PackedWallets<Wallet>> {
    let last: Wallet | PackedWallets<Wallet> | undefined;
    for (const entry of this.#byId.values()) {
      if (entry !== last) yield entry;
      last = entry;
    }
  }
}

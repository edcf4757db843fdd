/**
 * The wallets of a shard by id, in the order of their creation. A wallet that a snapshot has restored stays packed until it
 * is used. So a new owner of a large shard answers at once, and the next snapshot copies the wallets that nobody has
 * used.
 */

interface Identified {
  readonly wallet: string;
}

/** A wallet as a snapshot has it. */
export interface PackedWallet<Wallet> {
  readonly wallet: string;
  /** The wallet with its first orders, and then further orders if it has many. */
  readonly lines: readonly string[];
  /** Time of its dead-man switch, if it is armed. */
  readonly deadmanMs: number | undefined;
  readonly unpack: (lines: readonly string[]) => Wallet;
}

export function isPacked<Wallet extends Identified>(
  entry: Wallet | PackedWallet<Wallet>,
): entry is PackedWallet<Wallet> {
  return "unpack" in entry;
}

export class Wallets<Wallet extends Identified> {
  readonly #byId = new Map<string, Wallet | PackedWallet<Wallet>>();
  /** All ids in order, to which a long command comes back by their index. */
  readonly #ids: string[] = [];

  get size(): number {
    return this.#byId.size;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  get(id: string): Wallet | undefined {
    const found = this.#byId.get(id);
    if (found === undefined || !isPacked(found)) return found;
    const wallet = found.unpack(found.lines);
    this.#byId.set(id, wallet);
    return wallet;
  }

  add(wallet: Wallet | PackedWallet<Wallet>): void {
    if (!this.#byId.has(wallet.wallet)) this.#ids.push(wallet.wallet);
    this.#byId.set(wallet.wallet, wallet);
  }

  /** Yields the ids from an index on. Wallets are never removed, so an id keeps its index. */
  *keys(from = 0): Generator<string> {
    for (let at = from; at < this.#ids.length; at += 1) {
      const id = this.#ids[at];
      if (id !== undefined) yield id;
    }
  }

  /** Yields every wallet, and unpacks it. */
  *values(): Generator<Wallet> {
    for (const id of this.#byId.keys()) {
      const wallet = this.get(id);
      if (wallet !== undefined) yield wallet;
    }
  }

  /** Yields the wallets as they are, some of them packed. */
  entries(): IterableIterator<Wallet | PackedWallet<Wallet>> {
    return this.#byId.values();
  }
}

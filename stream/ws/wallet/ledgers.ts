/** The ledgers that this process follows: those of the wallets that it serves. */

import { ledgerActor } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import { assert } from "../../../actors/units.js";
import { type Entry, type Tail, Unavailable } from "../../log/ports.js";

const RETRY_MS = 500;
/** Longest wait for a ledger that is not followed yet, in ms. */
const FOLLOW_MS = 1_000;

export interface LedgersSource {
  readonly tail: Tail;
  /** Time that an unused ledger is followed, in ms. */
  readonly warmMs: number;
  /** Folds the next entries of a ledger. When it throws, the entries count as lost. */
  readonly onEntries: (entries: readonly Entry<LedgerDelta>[], shard: number) => void;
  /** Called when entries of a ledger were lost. It is followed again from its last entry on. */
  readonly onLost: (shard: number) => void;
  /** Called when a ledger is no longer followed. */
  readonly onEnd: (shard: number) => void;
  readonly onError: (error: unknown) => void;
}

interface FollowedLedger {
  users: number;
  /** Resolves when the ledger is followed; `undefined` while it is. */
  beginning: Promise<void> | undefined;
  stop: () => void;
  eviction: ReturnType<typeof setTimeout> | undefined;
}

/** Follows each ledger that is in use, from its last entry on. Every `acquire` must be followed by one `release`. */
export class Ledgers {
  readonly #source: LedgersSource;
  readonly #followed = new Map<number, FollowedLedger>();

  constructor(source: LedgersSource) {
    this.#source = source;
  }

  /** Follows a ledger until it is released, and for a time after that. */
  acquire(shard: number): void {
    const ledger = this.#followed.get(shard) ?? this.#begin(shard);
    ledger.users += 1;
    clearTimeout(ledger.eviction);
  }

  release(shard: number): void {
    const ledger = this.#followed.get(shard);
    if (ledger === undefined) return;
    assert(ledger.users > 0, `ledger ${shard} is not in use`);
    ledger.users -= 1;
    if (ledger.users > 0) return;
    ledger.eviction = setTimeout(() => this.#end(shard, ledger), this.#source.warmMs);
    ledger.eviction.unref();
  }

  /** Waits until an acquired ledger is followed, at most a second. Throws `Unavailable`. */
  async whenFollowed(shard: number): Promise<void> {
    const beginning = this.#followed.get(shard)?.beginning;
    if (beginning === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, FOLLOW_MS)));
    await Promise.race([beginning, timeout]);
    clearTimeout(timer);
    if (this.#followed.get(shard)?.beginning !== undefined)
      throw new Unavailable("the deltas of the wallet cannot be read; try again");
  }

  /** Stops following every ledger. */
  close(): void {
    for (const [shard, ledger] of [...this.#followed]) this.#end(shard, ledger);
  }

  #begin(shard: number): FollowedLedger {
    const ledger: FollowedLedger = {
      users: 0,
      beginning: undefined,
      stop: () => undefined,
      eviction: undefined,
    };
    this.#followed.set(shard, ledger);
    ledger.beginning = this.#follow(shard, ledger);
    return ledger;
  }

  #end(shard: number, ledger: FollowedLedger): void {
    clearTimeout(ledger.eviction);
    ledger.stop();
    if (this.#followed.get(shard) !== ledger) return;
    this.#followed.delete(shard);
    this.#source.onEnd(shard);
  }

  /** Follows a ledger from its last entry on, and tries again until it does or the ledger is not wanted any more. */
  async #follow(shard: number, ledger: FollowedLedger): Promise<void> {
    const { tail, onError } = this.#source;
    while (this.#followed.get(shard) === ledger) {
      try {
        const head = await tail.head(ledgerActor(shard));
        if (this.#followed.get(shard) === ledger) this.#followFrom(head, shard, ledger);
        return;
      } catch (error) {
        onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #followFrom(head: number, shard: number, ledger: FollowedLedger): void {
    const { tail, onEntries, onLost, onError } = this.#source;
    // A reader that lacks an entry must not continue: it starts again from a state.
    const startAgain = (error: unknown): void => {
      onError(error);
      ledger.stop();
      ledger.beginning = this.#follow(shard, ledger);
      onLost(shard);
    };
    ledger.beginning = undefined;
    ledger.stop = tail.follow<LedgerDelta>(
      ledgerActor(shard),
      head,
      (entries) => {
        try {
          onEntries(entries, shard);
        } catch (error) {
          startAgain(error);
        }
      },
      () => startAgain(new Unavailable(`deltas of ledger ${shard} were missed`)),
    );
  }
}

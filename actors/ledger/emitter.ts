/**
 * The deltas of one command. Each delta is applied to the state as it is emitted, each private channel of a wallet gets one
 * `seq` for the whole command, and the command ends with the balance of every wallet that it changed.
 */

import type { Format } from "../format.js";
import type { Bounds } from "../limits.js";
import { CURRENCIES, type Currency } from "../market/types.js";
import type { Millicents } from "../units.js";
import type { LedgerCommand } from "./commands.js";
import type { Counterparty, LedgerDelta } from "./deltas.js";
import { evolveLedger } from "./fold.js";
import type { LedgerState, Wallet } from "./state.js";
import type { TransactionKind } from "./types.js";

interface Touched {
  readonly wallet: Wallet;
  readonly before: Readonly<Record<Currency, { readonly total: Millicents; readonly reserved: Millicents }>>;
  orders?: number;
  positions?: number;
}

export interface Entry {
  readonly wallet: string;
  readonly counterparty: Counterparty;
  readonly kind: TransactionKind;
  readonly currency: Currency;
  readonly amount: Millicents;
  readonly ref: string;
  readonly transactionId?: string;
  readonly clientRef?: string | undefined;
}

export class Emitter {
  readonly deltas: LedgerDelta[] = [];
  readonly state: LedgerState;
  readonly nowMs: number;
  /** Latest format of the deltas that this command may emit. */
  readonly format: Format;
  readonly bounds: Bounds;
  /** Commands that finish what this command began, in order. */
  readonly unfinished: LedgerCommand[] = [];
  #canceled = 0;
  readonly #touched = new Map<string, Touched>();

  constructor(state: LedgerState, nowMs: number, format: Format, bounds: Bounds) {
    this.state = state;
    this.nowMs = nowMs;
    this.format = format;
    this.bounds = bounds;
  }

  /** Number of orders that this command may still cancel. A dead-man switch counts as one. */
  get room(): number {
    return this.bounds.piece - this.#canceled;
  }

  /** Leaves the rest of the work to a command that the ledger takes before any other. */
  goOn(command: LedgerCommand): void {
    this.unfinished.push(command);
  }

  emit(delta: LedgerDelta): void {
    this.deltas.push(delta);
    if (delta.type === "canceling") this.#canceled += delta.orderIds.length;
    else if (delta.type === "deadman") this.#canceled += 1;
    evolveLedger(this.state, delta, this.nowMs);
  }

  /** Returns the wallet, and creates it if it does not exist. Its new balance is emitted after the command. */
  wallet(walletId: string, trader: string): Wallet {
    if (!this.state.wallets.has(walletId)) this.emit({ type: "wallet", wallet: walletId, trader });
    return this.touch(walletId).wallet;
  }

  /** Returns the `seq` of this command on a private channel of a wallet. */
  seq(walletId: string, channel: "orders" | "positions"): number {
    const touched = this.touch(walletId);
    return (touched[channel] ??= this.state.skippedSeqs + touched.wallet.seqs[channel] + 1);
  }

  entry({ transactionId, ...entry }: Entry): void {
    this.touch(entry.wallet);
    const derived = transactionId ?? this.state.ids.of("entry", this.state.entries);
    this.emit({ type: "entry", transactionId: derived, ...entry });
  }

  touch(walletId: string): Touched {
    const known = this.#touched.get(walletId);
    if (known !== undefined) return known;
    const wallet = this.state.wallets.get(walletId);
    if (wallet === undefined) throw new Error(`wallet ${walletId} is not in shard ${this.state.shard}`);
    const { CASH, COIN } = wallet.funds;
    const touched: Touched = { wallet, before: { CASH: { ...CASH }, COIN: { ...COIN } } };
    this.#touched.set(walletId, touched);
    return touched;
  }

  /** Emits the balances that this command changed. Called once, after the command. */
  finish(): void {
    for (const { wallet, before } of this.#touched.values()) {
      for (const currency of CURRENCIES) {
        const { total, reserved } = wallet.funds[currency];
        if (total === before[currency].total && reserved === before[currency].reserved) continue;
        this.emit({ type: "balance", wallet: wallet.wallet, currency, total, reserved });
      }
    }
  }
}

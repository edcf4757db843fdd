/**
 * What one command says, as it says it: each delta is applied to the state at once, every wallet's private channels
 * get one `seq` each for the whole command, and every wallet touched ends with its balance.
 */

import { CURRENCIES, type Currency } from "../market/types.js";
import type { Millicents } from "../units.js";
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
  readonly #touched = new Map<string, Touched>();

  constructor(state: LedgerState, nowMs: number) {
    this.state = state;
    this.nowMs = nowMs;
  }

  emit(delta: LedgerDelta): void {
    this.deltas.push(delta);
    evolveLedger(this.state, delta, this.nowMs);
  }

  /** The wallet, made first when nobody has spoken of it before; its balance is told when the command is over. */
  wallet(walletId: string, trader: string): Wallet {
    if (!this.state.wallets.has(walletId)) this.emit({ type: "wallet", wallet: walletId, trader });
    return this.touch(walletId).wallet;
  }

  /** The number of this command's batch on a private channel of a wallet. */
  seq(walletId: string, channel: "orders" | "positions"): number {
    const touched = this.touch(walletId);
    return (touched[channel] ??= touched.wallet.seqs[channel] + 1);
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

  /** Tells the balances that this command changed. */
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

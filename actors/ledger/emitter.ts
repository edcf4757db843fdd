/**
 * The deltas of one command. Each delta is applied to the state as it is emitted, each private channel of a wallet gets one
 * `seq` for the whole command, and the command ends with the balance of every wallet that it changed.
 */

import type { Format } from "../format.js";
import type { Bounds } from "../limits.js";
import type { Currency } from "../market/types.js";
import type { Millicents } from "../units.js";
import type { ReserveRule } from "./account.js";
import type { LedgerCommand } from "./commands.js";
import type { Counterparty, LedgerDelta } from "./deltas.js";
import { evolveLedger } from "./fold.js";
import { emptyWallet, type LedgerState, type Wallet } from "./state.js";
import type { TransactionKind } from "./types.js";

/** A wallet that the command has touched, with its funds before the command and its seqs of the command. */
interface Touched {
  readonly wallet: Wallet;
  readonly cashTotal: Millicents;
  readonly cashReserved: Millicents;
  readonly coinTotal: Millicents;
  readonly coinReserved: Millicents;
  orders: number | undefined;
  positions: number | undefined;
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
  #cancels = 0;
  /** The touched wallets. Most commands touch one. */
  #first: Touched | undefined;
  #others: Map<string, Touched> | undefined;

  constructor(state: LedgerState, nowMs: number, format: Format, bounds: Bounds) {
    this.state = state;
    this.nowMs = nowMs;
    this.format = format;
    this.bounds = bounds;
  }

  /**
   * Number of orders that this command may still cancel. A dead-man switch counts as one. There is room for none once the
   * command sends enough cancels, because each of them is a message to a market.
   */
  get room(): number {
    return this.#cancels < this.bounds.piece ? this.bounds.atOnce - this.#canceled : 0;
  }

  /** Leaves the rest of the work to a command that the ledger takes before any other. */
  goOn(command: LedgerCommand): void {
    this.unfinished.push(command);
  }

  emit(delta: LedgerDelta): void {
    this.deltas.push(delta);
    if (delta.type === "canceling") {
      this.#canceled += delta.orderIds.length;
      this.#cancels += 1;
    } else if (delta.type === "deadman") this.#canceled += 1;
    evolveLedger(this.state, delta, this.nowMs);
  }

  /** Returns the wallet, and creates it if it does not exist. Its new balance is emitted after the command. */
  wallet(walletId: string, trader: string): Wallet {
    if (!this.state.wallets.has(walletId)) this.emit({ type: "wallet", wallet: walletId, trader });
    return this.changedOver(walletId);
  }

  /** Returns the wallet, or an empty one that is not part of the state if it does not exist. Emits nothing. */
  walletOrEmpty(walletId: string, trader: string): Wallet {
    return this.state.wallets.get(walletId) ?? emptyWallet(walletId, trader, this.#reserveRule);
  }

  /** Returns an existing wallet, and changes it over to the present rule of reserves, which never reserves more. */
  changedOver(walletId: string): Wallet {
    const { wallet } = this.touch(walletId);
    const rule = this.#reserveRule;
    if (wallet.reserveRule < rule) this.emit({ type: "reserveRule", wallet: walletId, rule });
    return wallet;
  }

  /** Latest rule of reserves that every build knows. */
  get #reserveRule(): ReserveRule {
    return this.format < 4 ? 1 : 2;
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
    const first = this.#first;
    const known = first?.wallet.wallet === walletId ? first : this.#others?.get(walletId);
    if (known !== undefined) return known;
    const wallet = this.state.wallets.get(walletId);
    if (wallet === undefined) throw new Error(`wallet ${walletId} is not in shard ${this.state.shard}`);
    const { CASH, COIN } = wallet.funds;
    const touched: Touched = {
      wallet,
      cashTotal: CASH.total,
      cashReserved: CASH.reserved,
      coinTotal: COIN.total,
      coinReserved: COIN.reserved,
      orders: undefined,
      positions: undefined,
    };
    if (first === undefined) this.#first = touched;
    else (this.#others ??= new Map()).set(walletId, touched);
    return touched;
  }

  /** Emits the balances that this command changed. Called once, after the command. */
  finish(): void {
    if (this.#first === undefined) return;
    this.#emitBalances(this.#first);
    for (const touched of this.#others?.values() ?? []) this.#emitBalances(touched);
  }

  #emitBalances({ wallet, cashTotal, cashReserved, coinTotal, coinReserved }: Touched): void {
    const { CASH, COIN } = wallet.funds;
    if (CASH.total !== cashTotal || CASH.reserved !== cashReserved) this.#emitBalance(wallet, "CASH");
    if (COIN.total !== coinTotal || COIN.reserved !== coinReserved) this.#emitBalance(wallet, "COIN");
  }

  #emitBalance({ wallet, funds }: Wallet, currency: Currency): void {
    const { total, reserved } = funds[currency];
    this.emit({ type: "balance", wallet, currency, total, reserved });
  }
}

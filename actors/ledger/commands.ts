/** Commands of a ledger and its answers. */

import type { EffectDelta } from "../market/deltas.js";
import type { Currency } from "../market/types.js";
import type { Contracts, Millicents, Ticks } from "../units.js";
import type { CancelingDelta } from "./deltas.js";
import type {
  Balance,
  CollateralPolicy,
  LedgerRefusal,
  Limits,
  MarketTerms,
  OpenOrder,
  OrderGroup,
  OperatorTransactionKind,
  OrderRequest,
  Restriction,
  Transfer,
  TransferDirection,
  WalletSnapshot,
} from "./types.js";

/** Selection of a wallet's orders. An absent field selects every value; `groupId` is the ledger's own. */
export interface OrderFilter {
  readonly groupId?: string | undefined;
  readonly marketIds?: readonly string[] | undefined;
  /** Markets whose orders stay as they are. A ledger of a build before this field selects them too. */
  readonly exceptMarkets?: readonly string[] | undefined;
  readonly outcome?: { readonly marketId: string; readonly outcome: number } | undefined;
  readonly currency?: Currency | undefined;
}

/** The first use of an id that the ledger did not know for sure, as the tables have it, if there is one. */
export type LookedUp<First> = { readonly first?: First | undefined };

/** The first order of a client id, as the tables have it. `ts` is the time of its acceptance (Unix ms). */
export interface AcceptedOrder {
  readonly orderId: string;
  readonly digest: string;
  readonly ts: number;
}

export interface LookedUpClientId extends LookedUp<AcceptedOrder> {
  readonly clientId: string;
}

/** The answer of the sender to an order that the sender has not passed on: a refusal, or the first order of a repeat. */
type OwnAnswer =
  | { readonly code: string; readonly reason?: string | undefined }
  | { readonly orderId: string; readonly clientId?: string };

/** The answers of the sender, each with the place of its order in the request. */
export type OwnAnswers = readonly (readonly [index: number, answer: OwnAnswer])[];

export type LedgerCommand =
  /** Accepts or refuses each order by itself, or with `atomic` all of them as one. */
  | {
      readonly kind: "place";
      readonly wallet: string;
      readonly trader: string;
      readonly orders: readonly OrderRequest[];
      readonly atomic: boolean;
      /**
       * Answers to the other orders of the request. The ledger returns them, so that its answer, which a repeat of the
       * command receives, is that of the whole request. Since format 3.
       */
      readonly own?: OwnAnswers | undefined;
      readonly limits?: Limits | undefined;
      /** All client ids, looked up after an `uncertain` answer: the ledger may have forgotten more of them since. */
      readonly lookedUp?: readonly LookedUpClientId[] | undefined;
    }
  /** Asks for the reserve of an order, or for its refusal; changes nothing. */
  | {
      readonly kind: "preview";
      readonly wallet: string;
      readonly trader: string;
      readonly order: OrderRequest;
      readonly limits?: Limits | undefined;
    }
  | {
      readonly kind: "cancel";
      readonly wallet: string;
      readonly orderIds: readonly string[];
      /** As in `OrderFilter`. */
      readonly exceptMarkets?: readonly string[] | undefined;
    }
  /** Cancels the selected orders of a wallet; `from` is the number of those that an earlier piece has canceled. */
  | {
      readonly kind: "cancelAll";
      readonly wallet: string;
      readonly filter: OrderFilter;
      readonly reason?: CancelingDelta["reason"];
      readonly from?: number | undefined;
    }
  /** Cancels every order of every wallet of the shard; `from` is the number of wallets that an earlier piece has done. */
  | { readonly kind: "cancelEveryone"; readonly reason: "MAINTENANCE"; readonly from?: number | undefined }
  /**
   * Refuses every placement of the trader from now on, and cancels all orders of the wallets. Without `restriction`, the
   * trader may place orders again. Since format 4.
   */
  | {
      readonly kind: "restrict";
      readonly trader: string;
      readonly wallets: readonly string[];
      readonly restriction?: Restriction | undefined;
    }
  /**
   * Closes a wallet without money, positions and orders: it takes no order and no transfer from now on. Money that a
   * market still owes the wallet arrives, and can be moved out. Since format 4.
   */
  | { readonly kind: "closeWallet"; readonly wallet: string; readonly trader: string }
  /**
   * Amends an order. A lower `qty` alone keeps the place of the order. Any other change needs a `replacement`: the
   * market cancels the order and enters the replacement in one step. Fills of the order in the meantime reduce its
   * replacement.
   */
  | {
      readonly kind: "amend";
      readonly wallet: string;
      readonly orderId: string;
      readonly qty?: Contracts | undefined;
      readonly price?: Ticks | undefined;
      readonly replacement?:
        | { readonly orderId: string; readonly terms: MarketTerms; readonly notAfter?: number | undefined }
        | undefined;
      readonly limits?: Limits | undefined;
    }
  /** Arms the dead-man switch: all orders are canceled unless the command is repeated within `timeoutMs`; 0 turns it off. */
  | { readonly kind: "deadman"; readonly wallet: string; readonly trader: string; readonly timeoutMs: number }
  | {
      readonly kind: "setGroup";
      readonly wallet: string;
      readonly trader: string;
      readonly groupId: string;
      readonly maxFilledQty: Contracts;
      readonly windowMs: number;
    }
  | { readonly kind: "removeGroup" | "resetGroup"; readonly wallet: string; readonly groupId: string }
  | { readonly kind: "groups"; readonly wallet: string }
  | {
      readonly kind: "setPolicy";
      readonly wallet: string;
      readonly trader: string;
      readonly policy: CollateralPolicy;
    }
  /** Posts money. The amount is positive; that of an ADJUSTMENT may be negative. `clientRef` makes it idempotent. */
  | {
      readonly kind: "transact";
      readonly transactionId: string;
      readonly transaction: OperatorTransactionKind;
      readonly wallet: string;
      readonly trader: string;
      readonly currency: Currency;
      readonly amount: Millicents;
      readonly ref: string;
      readonly clientRef?: string | undefined;
      /** The `clientRef`, looked up after an `uncertain` answer: the id of its first transaction. */
      readonly lookedUp?: LookedUp<string> | undefined;
    }
  | {
      readonly kind: "transfer";
      readonly transferId: string;
      readonly direction: TransferDirection;
      readonly trader: string;
      readonly wallet: string;
      /** Absent for CASH; a ledger of a build before format 4 knows no other. */
      readonly currency?: Currency | undefined;
      readonly amount: Millicents;
      readonly clientTransferId?: string | undefined;
      /** The `clientTransferId`, looked up after an `uncertain` answer. */
      readonly lookedUp?: LookedUp<Transfer> | undefined;
    }
  /** Applies one batch of effects of a market on wallets of this shard. */
  | {
      readonly kind: "effects";
      readonly marketId: string;
      readonly ts: number;
      readonly deltas: readonly EffectDelta[];
    }
  /** Reads a wallet: all of it, its balances alone, or one of `of` pages of its orders and positions. */
  | {
      readonly kind: "wallet";
      readonly wallet: string;
      readonly part?: "balances" | { readonly page: number; readonly of: number } | undefined;
    }
  | { readonly kind: "report" }
  | { readonly kind: "skip"; readonly count: number }
  | { readonly kind: "tick" };

/** Answer to one order of a request. `repeated` is true if the same `clientId` and body were accepted before. */
export type PlaceResult =
  | {
      readonly ok: true;
      readonly orderId: string;
      readonly clientId?: string | undefined;
      readonly repeated: boolean;
    }
  | { readonly ok: false; readonly refusal: LedgerRefusal };

export type LedgerReply =
  /** `orderId` names the order if it kept its place, else its replacement. */
  | { readonly ok: true; readonly kind: "amended"; readonly orderId: string }
  | {
      readonly ok: true;
      readonly kind: "preview";
      readonly reserve: Millicents;
      readonly refusal?: LedgerRefusal | undefined;
    }
  | { readonly ok: true; readonly kind: "groups"; readonly groups: readonly OrderGroup[] }
  | { readonly ok: true; readonly kind: "done" }
  /** `results` are those of the orders in the command, and `own` is that of the command. */
  | {
      readonly ok: true;
      readonly kind: "placed";
      readonly results: readonly PlaceResult[];
      readonly own?: OwnAnswers | undefined;
    }
  /**
   * Nothing was done: these ids may have been used so long ago that only the tables know. The caller looks them up and
   * sends the command again with what it found. The tables must have everything up to this answer, or, where it has
   * `sinceMs` (Unix ms of the engine), everything before that time: the ledger itself remembers all ids used since then,
   * and still does for minutes.
   */
  | {
      readonly ok: true;
      readonly kind: "uncertain";
      readonly ids: readonly string[];
      readonly sinceMs?: number | undefined;
    }
  /**
   * `queued`: orders whose cancels are on their way to the market. `unknown`: ids that are not open in this wallet.
   * `count`: number of all orders that a `cancelAll` cancels, of which `queued` has the first. `left`: number of orders
   * that stay as they are because of `exceptMarkets`; absent in answers of builds before that field.
   */
  | {
      readonly ok: true;
      readonly kind: "cancels";
      readonly queued: readonly OpenOrder[];
      readonly unknown: readonly string[];
      readonly count?: number | undefined;
      readonly left?: number | undefined;
    }
  | {
      readonly ok: true;
      readonly kind: "transaction";
      readonly transactionId: string;
      readonly balance: Balance;
    }
  | { readonly ok: true; readonly kind: "transfer"; readonly transfer: Transfer }
  | { readonly ok: true; readonly kind: "wallet"; readonly wallet: WalletSnapshot }
  | { readonly ok: true; readonly kind: "report"; readonly report: LedgerReport }
  | { readonly ok: false; readonly refusal: LedgerRefusal };

/** The money of one shard by currency. `received` is the sum of payments from markets, less the sum that they took. */
export interface LedgerReport {
  readonly shard: number;
  readonly money: Readonly<
    Record<
      Currency,
      {
        readonly deposits: Millicents;
        readonly withdrawals: Millicents;
        readonly adjustments: Millicents;
        readonly available: Millicents;
        readonly reserved: Millicents;
        readonly house: Millicents;
        readonly received: Millicents;
      }
    >
  >;
}

/** What a ledger can be told, and what it answers. */

import type { EffectDelta } from "../market/deltas.js";
import type { Currency } from "../market/types.js";
import type { Contracts, Millicents, Ticks } from "../units.js";
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
  Transfer,
  TransferDirection,
  WalletSnapshot,
} from "./types.js";

/** Which of a wallet's orders; absent fields do not narrow. */
export interface OrderFilter {
  readonly marketIds?: readonly string[] | undefined;
  readonly outcome?: { readonly marketId: string; readonly outcome: number } | undefined;
  readonly currency?: Currency | undefined;
}

export type LedgerCommand =
  /** Judges each order by itself, or with `atomic` all of them as one. */
  | {
      readonly kind: "place";
      readonly wallet: string;
      readonly trader: string;
      readonly orders: readonly OrderRequest[];
      readonly atomic: boolean;
      readonly limits?: Limits | undefined;
    }
  /** What placing the order would hold back, or why it would be refused; changes nothing. */
  | {
      readonly kind: "preview";
      readonly wallet: string;
      readonly trader: string;
      readonly order: OrderRequest;
      readonly limits?: Limits | undefined;
    }
  | { readonly kind: "cancel"; readonly wallet: string; readonly orderIds: readonly string[] }
  | {
      readonly kind: "cancelAll";
      readonly wallet: string;
      readonly filter: OrderFilter;
      readonly reason?: "DISCONNECTED" | "MAINTENANCE" | undefined;
    }
  /** Cancels every order of every wallet of the shard. */
  | { readonly kind: "cancelEveryone"; readonly reason: "MAINTENANCE" }
  /**
   * Less `qty` alone keeps the order's place. Anything else needs a `replacement`: the market cancels the order and
   * enters the replacement in one step; what fills of the old one on the way is taken off the new one.
   */
  | {
      readonly kind: "amend";
      readonly wallet: string;
      readonly orderId: string;
      readonly qty?: Contracts | undefined;
      readonly price?: Ticks | undefined;
      readonly replacement?: { readonly orderId: string; readonly terms: MarketTerms } | undefined;
      readonly limits?: Limits | undefined;
    }
  /** The dead-man switch: unless it is told again within `timeoutMs`, all the wallet's orders go; 0 turns it off. */
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
  /** Amount signed by kind: positive, except that an ADJUSTMENT may be negative. `clientRef` makes it idempotent. */
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
    }
  | {
      readonly kind: "transfer";
      readonly transferId: string;
      readonly direction: TransferDirection;
      readonly trader: string;
      readonly wallet: string;
      readonly amount: Millicents;
      readonly clientTransferId?: string | undefined;
    }
  /** A market's effects on wallets of this shard: one batch of the market. */
  | {
      readonly kind: "effects";
      readonly marketId: string;
      readonly ts: number;
      readonly deltas: readonly EffectDelta[];
    }
  | { readonly kind: "wallet"; readonly wallet: string }
  | { readonly kind: "report" }
  | { readonly kind: "tick" };

/** One order's answer, by its place in the request. `repeated`: the same `clientId` and body had been accepted before. */
export type PlaceResult =
  | {
      readonly ok: true;
      readonly orderId: string;
      readonly clientId?: string | undefined;
      readonly repeated: boolean;
    }
  | { readonly ok: false; readonly refusal: LedgerRefusal };

export type LedgerReply =
  /** `orderId` is the order's own when it kept its place, else its replacement's. */
  | { readonly ok: true; readonly kind: "amended"; readonly orderId: string }
  | {
      readonly ok: true;
      readonly kind: "preview";
      readonly reserve: Millicents;
      readonly refusal?: LedgerRefusal | undefined;
    }
  | { readonly ok: true; readonly kind: "groups"; readonly groups: readonly OrderGroup[] }
  | { readonly ok: true; readonly kind: "done" }
  | { readonly ok: true; readonly kind: "placed"; readonly results: readonly PlaceResult[] }
  /** `queued`: cancels on their way to the market; `unknown`: not open in this wallet. */
  | {
      readonly ok: true;
      readonly kind: "cancels";
      readonly queued: readonly OpenOrder[];
      readonly unknown: readonly string[];
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

/** The money of one shard, per currency; `received` is what markets paid it less what they took. */
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

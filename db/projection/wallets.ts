/** Wallets, balances, positions, transfers and double entries, out of the ledgers' deltas. */

import type pg from "pg";
import type {
  BalanceDelta,
  Counterparty,
  EntryDelta,
  TransferDelta,
  WalletDelta,
  WalletPositionDelta,
} from "../../actors/ledger/deltas.js";
import type { TransactionKind } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import { add, type Millicents, ZERO } from "../../actors/units.js";
import type { Origin } from "./place.js";
import { insertInto, writeRows } from "./rows.js";

interface At<Delta> {
  readonly delta: Delta;
  readonly origin: Origin;
}

type Side = "market" | "wallet" | "house" | "external";

/** What a batch adds to the sum of a shard's entries of one kind. */
interface EntrySum {
  readonly shard: number;
  readonly currency: Currency;
  readonly kind: TransactionKind;
  readonly side: Side;
  amount: Millicents;
}

const INSERT_WALLETS = insertInto<{ delta: WalletDelta; shard: number }>("wallets", {
  wallet: ["uuid", ({ delta }) => delta.wallet],
  trader_id: ["uuid", ({ delta }) => delta.trader],
  shard: ["smallint", ({ shard }) => shard],
});

const UPSERT_POSITIONS = insertInto<At<WalletPositionDelta>>(
  "positions",
  {
    wallet: ["uuid", ({ delta }) => delta.wallet],
    market_id: ["uuid", ({ delta }) => delta.marketId],
    currency: ["text", ({ delta }) => delta.currency],
    outcome: ["smallint", ({ delta }) => delta.outcome],
    qty: ["integer", ({ delta }) => delta.qty],
    cost: ["bigint", ({ delta }) => delta.cost],
    updated_ts: ["bigint", ({ origin }) => origin.ts],
  },
  "on conflict (wallet, market_id, currency, outcome) do update set " +
    "qty = excluded.qty, cost = excluded.cost, updated_ts = excluded.updated_ts",
);

const UPSERT_BALANCES = insertInto<At<BalanceDelta>>(
  "balances",
  {
    wallet: ["uuid", ({ delta }) => delta.wallet],
    currency: ["text", ({ delta }) => delta.currency],
    total: ["bigint", ({ delta }) => delta.total],
    reserved: ["bigint", ({ delta }) => delta.reserved],
    updated_ts: ["bigint", ({ origin }) => origin.ts],
  },
  "on conflict (wallet, currency) do update set " +
    "total = excluded.total, reserved = excluded.reserved, updated_ts = excluded.updated_ts",
);

const INSERT_ENTRIES = insertInto<At<EntryDelta>>("entries", {
  wallet: ["uuid", ({ delta }) => delta.wallet],
  ts: ["bigint", ({ origin }) => origin.ts],
  place: ["bigint", ({ origin }) => origin.place],
  transaction_id: ["uuid", ({ delta }) => delta.transactionId],
  counterparty: ["text", ({ delta }) => delta.counterparty],
  kind: ["text", ({ delta }) => delta.kind],
  currency: ["text", ({ delta }) => delta.currency],
  amount: ["bigint", ({ delta }) => delta.amount],
  ref: ["text", ({ delta }) => delta.ref],
  client_ref: ["text", ({ delta }) => delta.clientRef],
});

const ADD_ENTRY_SUMS = insertInto<EntrySum>(
  "entry_totals",
  {
    shard: ["smallint", (sum) => sum.shard],
    currency: ["text", (sum) => sum.currency],
    kind: ["text", (sum) => sum.kind],
    side: ["text", (sum) => sum.side],
    amount: ["bigint", (sum) => sum.amount],
  },
  "on conflict (shard, currency, kind, side) do update set amount = entry_totals.amount + excluded.amount",
);

const INSERT_TRANSFERS = insertInto<At<TransferDelta>>("transfers", {
  transfer_id: ["uuid", ({ delta }) => delta.transfer.transferId],
  trader_id: ["uuid", ({ delta }) => delta.transfer.trader],
  wallet: ["uuid", ({ delta }) => delta.transfer.wallet],
  direction: ["text", ({ delta }) => delta.transfer.direction],
  amount: ["bigint", ({ delta }) => delta.transfer.amount],
  status: ["text", ({ delta }) => delta.transfer.status],
  available: ["bigint", ({ delta }) => delta.transfer.available],
  client_transfer_id: ["text", ({ delta }) => delta.transfer.clientTransferId],
  ts: ["bigint", ({ origin }) => origin.ts],
});

/** Where the wallets of one batch of entries stand, and what moved their money. */
export class WalletRows {
  readonly #wallets: { delta: WalletDelta; shard: number }[] = [];
  readonly #positions = new Map<string, At<WalletPositionDelta>>();
  readonly #balances = new Map<string, At<BalanceDelta>>();
  readonly #entries: At<EntryDelta>[] = [];
  readonly #sums = new Map<string, EntrySum>();
  readonly #transfers: At<TransferDelta>[] = [];

  wallet(delta: WalletDelta, shard: number): void {
    this.#wallets.push({ delta, shard });
  }

  position(delta: WalletPositionDelta, origin: Origin): void {
    const key = `${delta.wallet} ${delta.marketId} ${delta.currency} ${delta.outcome}`;
    this.#positions.set(key, { delta, origin });
  }

  balance(delta: BalanceDelta, origin: Origin): void {
    this.#balances.set(`${delta.wallet} ${delta.currency}`, { delta, origin });
  }

  entry(delta: EntryDelta, shard: number, origin: Origin): void {
    this.#entries.push({ delta, origin });
    const { currency, kind } = delta;
    const side = sideOf(delta.counterparty);
    const key = `${shard} ${currency} ${kind} ${side}`;
    const sum = this.#sums.get(key) ?? { shard, currency, kind, side, amount: ZERO };
    sum.amount = add(sum.amount, delta.amount);
    this.#sums.set(key, sum);
  }

  transfer(delta: TransferDelta, origin: Origin): void {
    this.#transfers.push({ delta, origin });
  }

  async write(client: pg.ClientBase): Promise<void> {
    await writeRows(client, INSERT_WALLETS, this.#wallets);
    await writeRows(client, UPSERT_POSITIONS, [...this.#positions.values()]);
    await writeRows(client, UPSERT_BALANCES, [...this.#balances.values()]);
    await writeRows(client, INSERT_ENTRIES, this.#entries);
    await writeRows(client, ADD_ENTRY_SUMS, [...this.#sums.values()]);
    await writeRows(client, INSERT_TRANSFERS, this.#transfers);
  }
}

function sideOf(counterparty: Counterparty): Side {
  if (counterparty === "house" || counterparty === "external") return counterparty;
  return counterparty.startsWith("market:") ? "market" : "wallet";
}

/** The market on the other side of an entry, if it is one. */
export function marketOf(counterparty: Counterparty): string | undefined {
  return counterparty.startsWith("market:") ? counterparty.slice("market:".length) : undefined;
}

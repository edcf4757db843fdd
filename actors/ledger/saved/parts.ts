/** Conversion of a ledger shard to parts and back. A restored shard behaves exactly as the saved one. */

import type { ActorId, StateBuilder } from "../../actor.js";
import type { TimeInForce } from "../../market/time-in-force.js";
import {
  CURRENCIES,
  type Currency,
  type FeeSchedule,
  type SelfTrade,
  type Voids,
} from "../../market/types.js";
import { endsRunAt, rowAt, RUN_ITEMS, runsOf, SharedRows } from "../../runs.js";
import type { Contracts, Millicents, Ticks } from "../../units.js";
import { unreachable } from "../../unreachable.js";
import { Account, type AccountOrder } from "../account.js";
import { FillWindow, type GroupFill } from "../fill-window.js";
import {
  accountKey,
  type AcceptedClientId,
  createLedger,
  emptyWallet,
  type Funds,
  type Group,
  type LedgerState,
  type Totals,
  type Wallet,
} from "../state.js";
import type { SavedIdPart } from "../ids/known.js";
import type { Transfer } from "../types.js";
import { isPacked, type Wallets } from "../wallets.js";

/** Terms that many orders share. */
type SavedTerms = readonly [tif: TimeInForce, selfTrade: SelfTrade, feeReserved: boolean, fee: FeeSchedule];

/** An open order. `account` is an index in the accounts of its wallet, `terms` an index in the terms of its part. */
type SavedOrder = readonly [
  orderId: string,
  account: number,
  terms: number,
  outcome: number,
  price: Ticks,
  remaining: Contracts,
  pending: 0 | 1,
  clientId?: string | null,
  groupId?: string | null,
  expiresAt?: number | null,
];

type SavedMarket = readonly [marketId: string, currency: Currency, voids: Voids, outcomes: number];

/** An account. `market` is an index in the markets of its part; `holdings` has a quantity and a cost per outcome. */
type SavedAccount = readonly [market: number, settled: 0 | 1, holdings: readonly number[]];

type SavedFunds = readonly [total: Millicents, reserved: Millicents];

/** An order group with the fills within its window. */
type SavedGroup = Omit<Group, "fills"> & { readonly fills: readonly GroupFill[] };

type SavedWallet = readonly [
  wallet: string,
  trader: string,
  cash: SavedFunds,
  coin: SavedFunds,
  seqs: readonly [orders: number, positions: number],
  policy: Wallet["policy"],
  deadman: Wallet["deadman"] | null,
  groups: readonly (readonly [string, SavedGroup])[],
  accounts: readonly SavedAccount[],
  orders: readonly SavedOrder[],
];

type LedgerPart =
  | readonly ["ledger", SavedState]
  /** Head of a part of wallets: their ids, and the times of their dead-man switches. The wallets are on a second line. */
  | readonly ["wallets", ids: readonly string[], deadmen: readonly (readonly [id: string, dueMs: number])[]]
  /** Further orders of a wallet that has too many for one part. */
  | readonly ["orders", wallet: string, orders: readonly SavedOrder[], terms: readonly SavedTerms[]]
  | readonly [
      "clientIds",
      ids: readonly (readonly [key: string, orderId: string, digest: string, untilMs: number])[],
    ]
  | readonly ["clientRefs", refs: readonly (readonly [key: string, transactionId: string, ts: number])[]]
  | readonly ["transfers", transfers: readonly (readonly [key: string, transfer: Transfer, ts: number])[]]
  | SavedIdPart;

interface SavedState {
  readonly totals: Readonly<Record<Currency, Totals>>;
  readonly funds: Readonly<Record<Currency, Funds>>;
  readonly entries: number;
  /** Absent in parts that were saved before the shard skipped seqs. */
  readonly skippedSeqs?: number | undefined;
  /** True once ids have left the memory. */
  readonly forgets: boolean;
}

/** The wallets of a part, and the rows that they share. */
type SavedWallets = readonly [
  wallets: readonly SavedWallet[],
  markets: readonly SavedMarket[],
  terms: readonly SavedTerms[],
];

/** Number of wallets in a part. Wallets are never removed, so a part always has the same ones. */
const PART_WALLETS = 64;
/** Number of orders at which a part of wallets ends early. */
const PART_ORDERS = 2 * RUN_ITEMS;

export function* saveLedger(state: LedgerState): Generator<string> {
  const { totals, funds, entries, skippedSeqs, wallets, known } = state;
  yield text(["ledger", { totals, funds, entries, skippedSeqs, forgets: known.forgets }]);
  yield* saveWallets(wallets);
  for (const part of idParts(state)) yield text(part);
}

function text(part: LedgerPart): string {
  return JSON.stringify(part);
}

function* idParts(state: LedgerState): Generator<LedgerPart> {
  for (const run of runsOf(state.clientIds, ([key]) => endsRunAt(key)))
    yield [
      "clientIds",
      run.map(([key, { orderId, digest, untilMs }]) => [key, orderId, digest, untilMs] as const),
    ];
  for (const run of runsOf(state.known.clientRefs, ([key]) => endsRunAt(key))) yield ["clientRefs", run];
  for (const run of runsOf(state.known.transfers, ([key]) => endsRunAt(key))) yield ["transfers", run];
  yield* state.known.parts();
}

function* saveWallets(wallets: Wallets<Wallet>): Generator<string> {
  let part = new WalletsPart();
  let count = 0;
  for (const entry of wallets.entries()) {
    if (isPacked(entry)) {
      if (!part.isEmpty) yield part.saved();
      part = new WalletsPart();
      yield* entry.parts;
      count += entry.ids.length;
      continue;
    }
    const [first = [], ...further] = orderRuns(entry);
    part.add(entry, first);
    count += 1;
    if (further.length === 0 && part.orders < PART_ORDERS && count % PART_WALLETS !== 0) continue;
    yield part.saved();
    part = new WalletsPart();
    yield* saveFurtherOrders(entry, further);
  }
  if (!part.isEmpty) yield part.saved();
}

function* saveFurtherOrders(wallet: Wallet, runs: readonly (readonly AccountOrder[])[]): Generator<string> {
  const accounts = accountIndexes(wallet);
  for (const run of runs) {
    const terms = new SharedRows<SavedTerms>();
    const orders = run.map((order) => saveOrder(order, accounts, terms));
    yield text(["orders", wallet.wallet, orders, terms.rows]);
  }
}

/** Divides the orders of a wallet into runs; the orders of most wallets are one run. */
function orderRuns({ orders }: Wallet): readonly (readonly AccountOrder[])[] {
  if (orders.size <= PART_ORDERS) return [[...orders.values()]];
  return [...runsOf(orders.values(), ({ orderId }) => endsRunAt(orderId))];
}

/** A part that wallets are added to. */
class WalletsPart {
  orders = 0;
  readonly #wallets: SavedWallet[] = [];
  readonly #deadmen: (readonly [id: string, dueMs: number])[] = [];
  readonly #markets = new SharedRows<SavedMarket>();
  readonly #terms = new SharedRows<SavedTerms>();

  get isEmpty(): boolean {
    return this.#wallets.length === 0;
  }

  add(saved: Wallet, orders: readonly AccountOrder[]): void {
    const { wallet, trader, funds, seqs, policy, deadman, groups } = saved;
    const accounts = accountIndexes(saved);
    this.orders += orders.length;
    if (deadman !== undefined) this.#deadmen.push([wallet, deadman.dueMs]);
    this.#wallets.push([
      wallet,
      trader,
      [funds.CASH.total, funds.CASH.reserved],
      [funds.COIN.total, funds.COIN.reserved],
      [seqs.orders, seqs.positions],
      policy,
      deadman ?? null,
      [...groups].map(([groupId, group]) => [groupId, { ...group, fills: group.fills.list() }]),
      [...saved.accounts.values()].map((account) => this.#saveAccount(account)),
      orders.map((order) => saveOrder(order, accounts, this.#terms)),
    ]);
  }

  #saveAccount({ marketId, currency, voids, outcomes, settled, holdings }: Account): SavedAccount {
    const market = this.#markets.indexOf(accountKey(marketId, currency), () => [
      marketId,
      currency,
      voids,
      outcomes,
    ]);
    const isFlat = holdings.every(({ qty, cost }) => qty === 0 && cost === 0);
    return [market, settled ? 1 : 0, isFlat ? [] : holdings.flatMap(({ qty, cost }) => [qty, cost])];
  }

  saved(): string {
    const ids = this.#wallets.map(([id]) => id);
    const wallets: SavedWallets = [this.#wallets, this.#markets.rows, this.#terms.rows];
    return `${text(["wallets", ids, this.#deadmen])}\n${JSON.stringify(wallets)}`;
  }
}

function accountIndexes({ accounts }: Wallet): ReadonlyMap<string, number> {
  return new Map([...accounts.keys()].map((key, index) => [key, index]));
}

function saveOrder(
  order: AccountOrder,
  accounts: ReadonlyMap<string, number>,
  terms: SharedRows<SavedTerms>,
): SavedOrder {
  const { orderId, outcome, price, remaining, pending, tif, fee, feeReserved, selfTrade } = order;
  const { clientId = null, groupId = null, expiresAt = null } = order;
  const { coefficientPpm, makerCreditPpm, charged } = fee;
  const key = `${tif} ${selfTrade} ${feeReserved} ${coefficientPpm} ${makerCreditPpm} ${charged}`;
  const saved = [
    orderId,
    accounts.get(accountKey(order.marketId, order.currency)) ?? -1,
    terms.indexOf(key, () => [tif, selfTrade, feeReserved, fee]),
    outcome,
    price,
    remaining,
    pending ? 1 : 0,
  ] as const;
  if (expiresAt !== null) return [...saved, clientId, groupId, expiresAt];
  if (groupId !== null) return [...saved, clientId, groupId];
  return clientId === null ? saved : [...saved, clientId];
}

/** Restores a shard from its parts. The wallets stay packed until they are used. */
export function restoreLedger(id: ActorId): StateBuilder<LedgerState> {
  const state = createLedger(id);
  /** The parts of the last packed wallets, to which further orders belong. */
  let packed: string[] = [];
  return {
    add(part) {
      const endOfHead = part.indexOf("\n");
      const saved = JSON.parse(endOfHead === -1 ? part : part.slice(0, endOfHead)) as LedgerPart;
      if (saved[0] === "orders") {
        packed.push(part);
        return;
      }
      if (saved[0] === "wallets") packed = [part];
      addPart(state, saved, packed);
    },
    finish: () => state,
  };
}

function addPart(
  state: LedgerState,
  part: Exclude<LedgerPart, readonly ["orders", ...unknown[]]>,
  packed: readonly string[],
): void {
  switch (part[0]) {
    case "ledger": {
      const [, { totals, funds, entries, skippedSeqs = 0, forgets }] = part;
      for (const currency of CURRENCIES) {
        Object.assign(state.totals[currency], totals[currency]);
        Object.assign(state.funds[currency], funds[currency]);
      }
      state.entries = entries;
      state.skippedSeqs = skippedSeqs;
      state.known.forgets = forgets;
      return;
    }
    case "wallets": {
      const [, ids, deadmen] = part;
      state.wallets.addPacked({ ids, parts: packed, unpack: () => unpackWallets(packed) });
      for (const [wallet, dueMs] of deadmen) state.deadlines.set(dueMs, 0, wallet);
      return;
    }
    case "clientIds":
      for (const [key, orderId, digest, untilMs] of part[1])
        state.clientIds.set(key, { orderId, digest, untilMs } satisfies AcceptedClientId);
      return;
    case "clientRefs":
      for (const ref of part[1]) state.known.restoreTransaction(...ref);
      return;
    case "transfers":
      for (const transfer of part[1]) state.known.restoreTransfer(...transfer);
      return;
    case "recent":
    case "filter":
      state.known.addPart(part);
      return;
    default:
      unreachable(part);
  }
}

/** Restores the wallets of a part. The further parts have orders of its last wallet. */
function unpackWallets([first = "", ...further]: readonly string[]): readonly Wallet[] {
  const [saved, markets, terms] = JSON.parse(first.slice(first.indexOf("\n"))) as SavedWallets;
  const wallets = saved.map((wallet) => restoreWallet(wallet, markets, terms));
  const last = wallets.at(-1);
  for (const part of further) {
    if (last === undefined) break;
    const [, , orders, rows] = JSON.parse(part) as Extract<LedgerPart, readonly ["orders", ...unknown[]]>;
    addOrders(last, orders, rows);
  }
  return wallets;
}

function restoreWallet(
  [id, trader, cash, coin, seqs, policy, deadman, groups, accounts, orders]: SavedWallet,
  markets: readonly SavedMarket[],
  terms: readonly SavedTerms[],
): Wallet {
  const wallet = emptyWallet(id, trader);
  [wallet.funds.CASH.total, wallet.funds.CASH.reserved] = cash;
  [wallet.funds.COIN.total, wallet.funds.COIN.reserved] = coin;
  [wallet.seqs.orders, wallet.seqs.positions] = seqs;
  wallet.policy = policy;
  wallet.deadman = deadman ?? undefined;
  for (const [groupId, group] of groups)
    wallet.groups.set(groupId, { ...group, fills: new FillWindow(group.fills) });
  for (const savedAccount of accounts) {
    const account = restoreAccount(savedAccount, markets);
    wallet.accounts.set(accountKey(account.marketId, account.currency), account);
  }
  addOrders(wallet, orders, terms);
  return wallet;
}

function restoreAccount([market, settled, holdings]: SavedAccount, markets: readonly SavedMarket[]): Account {
  const account = new Account(...rowAt(markets, market));
  for (let outcome = 0; 2 * outcome < holdings.length; outcome += 1) {
    const [qty, cost] = holdings.slice(2 * outcome) as unknown as readonly [Contracts, Millicents];
    account.setHolding(outcome, { qty, cost });
  }
  account.settled = settled === 1;
  return account;
}

function addOrders(wallet: Wallet, orders: readonly SavedOrder[], terms: readonly SavedTerms[]): void {
  const accounts = [...wallet.accounts.values()];
  for (const saved of orders) {
    const [orderId, index, sharedTerms, outcome, price, remaining, pending] = saved;
    const [, , , , , , , clientId, groupId, expiresAt] = saved;
    const account = rowAt(accounts, index);
    const { marketId, currency } = account;
    const [tif, selfTrade, feeReserved, fee] = rowAt(terms, sharedTerms);
    const order: AccountOrder = {
      orderId,
      wallet: wallet.wallet,
      marketId,
      currency,
      outcome,
      price,
      tif,
      fee,
      feeReserved,
      selfTrade,
      clientId: clientId ?? undefined,
      groupId: groupId ?? undefined,
      expiresAt: expiresAt ?? undefined,
      remaining,
      pending: pending === 1,
    };
    wallet.orders.set(orderId, order);
    account.add(order);
  }
  for (const account of accounts) account.reserved = account.reserve(wallet.policy);
}

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
import { Account, type AccountOrder, type ReserveRule } from "../account.js";
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
import type { Restriction, Transfer } from "../types.js";
import { isPacked, type Wallets } from "../wallets.js";

/** Terms that many orders share. */
type SavedTerms = readonly [tif: TimeInForce, selfTrade: SelfTrade, feeReserved: boolean, fee: FeeSchedule];

/** An open order. `account` is an index in the accounts of its wallet, `terms` an index in the terms of its line. */
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
  replaces?: string,
];

/** An account; `holdings` has a quantity and a cost for each outcome, and nothing when all are zero. */
type SavedAccount = readonly [
  marketId: string,
  currency: Currency,
  voids: Voids,
  outcomes: number,
  settled: 0 | 1,
  holdings: readonly number[],
];

/** Open orders of a wallet, and the terms that they share. */
type SavedOrders = readonly [orders: readonly SavedOrder[], terms: readonly SavedTerms[]];

type SavedFunds = readonly [total: Millicents, reserved: Millicents];

/** An order group with the fills within its window. */
type SavedGroup = Omit<Group, "fills"> & { readonly fills: readonly GroupFill[] };

type SavedWalletOfRule1 = readonly [
  wallet: string,
  trader: string,
  cash: SavedFunds,
  coin: SavedFunds,
  seqs: readonly [orders: number, positions: number],
  policy: Wallet["policy"],
  deadman: Wallet["deadman"] | null,
  groups: readonly (readonly [string, SavedGroup])[],
  accounts: readonly SavedAccount[],
  orders: SavedOrders,
];

/**
 * A wallet. Without its rule of reserves it follows rule 1, as in the builds before format 4. `closed` is present in a
 * closed wallet alone.
 */
type SavedWallet = readonly [...SavedWalletOfRule1, reserveRule?: ReserveRule, closed?: 1];

type LedgerPart =
  | readonly ["ledger", SavedState]
  /** First line of a part of wallets: their ids, and the times of their dead-man switches. A line for each wallet follows. */
  | readonly ["wallets", ids: readonly string[], deadmen: readonly (readonly [id: string, dueMs: number])[]]
  /** First line of a part with further orders of the last wallet before. `SavedOrders` are on the second line. */
  | readonly ["orders"]
  | readonly [
      "clientIds",
      ids: readonly (readonly [key: string, orderId: string, digest: string, untilMs: number])[],
    ]
  | readonly ["clientRefs", refs: readonly (readonly [key: string, transactionId: string, ts: number])[]]
  /** Absent while nobody is restricted. Since format 4. */
  | readonly ["restricted", traders: readonly (readonly [trader: string, restriction: Restriction])[]]
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

/** Number of wallets in a part. Wallets are never removed, so a part always has the same ones. */
const PART_WALLETS = 64;
/** Length at which a part of wallets ends early. */
const PART_CHARS = 64 * 1024;
/** Number of orders above which a wallet has several lines. */
const LINE_ORDERS = 2 * RUN_ITEMS;

export function* saveLedger(state: LedgerState): Generator<string> {
  const { totals, funds, entries, skippedSeqs, wallets, known } = state;
  yield text(["ledger", { totals, funds, entries, skippedSeqs, forgets: known.forgets }]);
  yield* saveWallets(wallets);
  for (const run of runsOf(state.restricted, ([trader]) => endsRunAt(trader)))
    yield text(["restricted", run]);
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
    const [first = "", ...further] = isPacked(entry) ? entry.lines : packLines(entry);
    part.add(entry.wallet, isPacked(entry) ? entry.deadmanMs : entry.deadman?.dueMs, first);
    count += 1;
    if (further.length === 0 && part.chars < PART_CHARS && count % PART_WALLETS !== 0) continue;
    yield part.saved();
    part = new WalletsPart();
    for (const line of further) yield `${text(["orders"])}\n${line}`;
  }
  if (part.chars > 0) yield part.saved();
}

/** A part that wallets are added to. */
class WalletsPart {
  chars = 0;
  readonly #ids: string[] = [];
  readonly #deadmen: (readonly [id: string, dueMs: number])[] = [];
  readonly #lines: string[] = [];

  add(id: string, deadmanMs: number | undefined, line: string): void {
    this.chars += line.length;
    this.#ids.push(id);
    if (deadmanMs !== undefined) this.#deadmen.push([id, deadmanMs]);
    this.#lines.push(line);
  }

  saved(): string {
    return [text(["wallets", this.#ids, this.#deadmen]), ...this.#lines].join("\n");
  }
}

/** Returns a wallet with its first orders, and then its further orders if it has many. */
function packLines(wallet: Wallet): readonly string[] {
  const accounts = new Map([...wallet.accounts.keys()].map((key, index) => [key, index]));
  const [first, ...further] = orderRuns(wallet).map((run) => saveOrders(run, accounts));
  const saved = saveWallet(wallet, first ?? [[], []]);
  return [JSON.stringify(saved), ...further.map((orders) => JSON.stringify(orders))];
}

function orderRuns({ orders }: Wallet): readonly (readonly AccountOrder[])[] {
  if (orders.size <= LINE_ORDERS) return [[...orders.values()]];
  return [...runsOf(orders.values(), ({ orderId }) => endsRunAt(orderId))];
}

function saveWallet(saved: Wallet, orders: SavedOrders): SavedWallet {
  const { wallet, trader, funds, seqs, policy, reserveRule, deadman, groups, accounts } = saved;
  const row: SavedWalletOfRule1 = [
    wallet,
    trader,
    [funds.CASH.total, funds.CASH.reserved],
    [funds.COIN.total, funds.COIN.reserved],
    [seqs.orders, seqs.positions],
    policy,
    deadman ?? null,
    [...groups].map(([groupId, group]) => [groupId, { ...group, fills: group.fills.list() }]),
    [...accounts.values()].map(saveAccount),
    orders,
  ];
  if (saved.closed) return [...row, reserveRule, 1];
  return reserveRule === 1 ? row : [...row, reserveRule];
}

function saveAccount({ marketId, currency, voids, outcomes, settled, holdings }: Account): SavedAccount {
  const isFlat = holdings.every(({ qty, cost }) => qty === 0 && cost === 0);
  const saved = isFlat ? [] : holdings.flatMap(({ qty, cost }) => [qty, cost]);
  return [marketId, currency, voids, outcomes, settled ? 1 : 0, saved];
}

function saveOrders(orders: readonly AccountOrder[], accounts: ReadonlyMap<string, number>): SavedOrders {
  const terms = new SharedRows<SavedTerms>();
  return [orders.map((order) => saveOrder(order, accounts, terms)), terms.rows];
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
  if (order.replaces !== undefined) return [...saved, clientId, groupId, expiresAt, order.replaces];
  if (expiresAt !== null) return [...saved, clientId, groupId, expiresAt];
  if (groupId !== null) return [...saved, clientId, groupId];
  return clientId === null ? saved : [...saved, clientId];
}

/** Restores a shard from its parts. The wallets stay packed until they are used. */
export function restoreLedger(id: ActorId): StateBuilder<LedgerState> {
  const state = createLedger(id);
  /** The lines of the last wallet. */
  let last: string[] = [];
  return {
    add(part) {
      const [head = "", ...lines] = part.split("\n");
      const saved = JSON.parse(head) as LedgerPart;
      if (saved[0] === "orders") last.push(...lines);
      else if (saved[0] === "wallets") last = addWallets(state, saved, lines);
      else addPart(state, saved);
    },
    finish: () => state,
  };
}

/** Adds packed wallets. Returns the lines of the last one, to which further orders may be added. */
function addWallets(
  { wallets, deadlines }: LedgerState,
  [, ids, deadmen]: Extract<LedgerPart, readonly ["wallets", ...unknown[]]>,
  lines: readonly string[],
): string[] {
  const deadmenById = new Map(deadmen);
  let last: string[] = [];
  for (const [index, wallet] of ids.entries()) {
    last = [rowAt(lines, index)];
    const deadmanMs = deadmenById.get(wallet);
    wallets.add({ wallet, lines: last, deadmanMs, unpack: unpackWallet });
    if (deadmanMs !== undefined) deadlines.set(deadmanMs, 0, wallet);
  }
  return last;
}

function addPart(
  state: LedgerState,
  part: Exclude<LedgerPart, readonly ["wallets" | "orders", ...unknown[]]>,
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
    case "clientIds":
      for (const [key, orderId, digest, untilMs] of part[1])
        state.clientIds.set(key, { orderId, digest, untilMs } satisfies AcceptedClientId);
      return;
    case "restricted":
      for (const [trader, restriction] of part[1]) state.restricted.set(trader, restriction);
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

function unpackWallet([first = "", ...further]: readonly string[]): Wallet {
  const saved = JSON.parse(first) as SavedWallet;
  const [id, trader, cash, coin, seqs, policy, deadman, groups, accounts, orders, reserveRule, closed] =
    saved;
  const wallet = emptyWallet(id, trader, reserveRule);
  [wallet.funds.CASH.total, wallet.funds.CASH.reserved] = cash;
  [wallet.funds.COIN.total, wallet.funds.COIN.reserved] = coin;
  [wallet.seqs.orders, wallet.seqs.positions] = seqs;
  wallet.policy = policy;
  wallet.closed = closed === 1;
  wallet.deadman = deadman ?? undefined;
  for (const [groupId, group] of groups)
    wallet.groups.set(groupId, { ...group, fills: new FillWindow(group.fills) });
  for (const savedAccount of accounts) {
    const account = restoreAccount(savedAccount, wallet.reserveRule);
    wallet.accounts.set(accountKey(account.marketId, account.currency), account);
  }
  addOrders(wallet, orders);
  for (const line of further) addOrders(wallet, JSON.parse(line) as SavedOrders);
  for (const account of wallet.accounts.values()) account.reserved = account.reserve(wallet.policy);
  return wallet;
}

function restoreAccount(
  [marketId, currency, voids, outcomes, settled, holdings]: SavedAccount,
  rule: ReserveRule,
): Account {
  const account = new Account(marketId, currency, voids, outcomes, rule);
  for (let outcome = 0; 2 * outcome < holdings.length; outcome += 1) {
    const [qty, cost] = holdings.slice(2 * outcome) as unknown as readonly [Contracts, Millicents];
    account.setHolding(outcome, { qty, cost });
  }
  account.settled = settled === 1;
  return account;
}

function addOrders(wallet: Wallet, [orders, terms]: SavedOrders): void {
  const accounts = [...wallet.accounts.values()];
  for (const saved of orders) {
    const [orderId, index, sharedTerms, outcome, price, remaining, pending] = saved;
    const [, , , , , , , clientId, groupId, expiresAt, replaces] = saved;
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
      replaces: undefined,
    };
    wallet.orders.set(orderId, order);
    account.add(order, replaces === undefined ? undefined : wallet.orders.get(replaces));
  }
}

/** Steps that place, amend and cancel orders, in the real exchange and in the naive one. */

import { expect } from "chai";
import type { PlaceResult } from "../../../actors/ledger/commands.js";
import type { LedgerRefusal, OrderRequest } from "../../../actors/ledger/types.js";
import type { OrderPreview } from "../../../actors/market/commands.js";
import { CURRENCIES, type Order, SELF_TRADE_MODES } from "../../../actors/market/types.js";
import { assert, contracts } from "../../../actors/units.js";
import type { Bench } from "./bench.js";
import { naiveAccounts } from "../invariants.js";
import { reserveOf } from "../naive/reserve.js";
import type { OrderStep, Step } from "./steps.js";
import { pick, priceOf, type TestWallet, uuid } from "./world.js";
import { rulesOf, TIMES_IN_FORCE } from "../../../actors/market/time-in-force.js";
import { expiryOf } from "../naive/market.js";

type Of<Kind extends Step["do"]> = Extract<Step, { do: Kind }>;

export function place(bench: Bench, { wallet: n, atomic, orders }: Of<"place">): void {
  const wallet = bench.wallet(n);
  const requests = orders.map((order) => requestOf(bench, order));
  const available = requests.map(({ currency }) => bench.available(wallet, currency));
  const [only] = requests;
  const needed = only === undefined ? 0 : neededBy(bench, wallet, only);
  const preview = previewOrder(bench, wallet, requests);
  const { wallet: id, trader } = wallet;
  const reply = bench.ask(wallet, { kind: "place", wallet: id, trader, orders: requests, atomic });
  assert(reply.ok && reply.kind === "placed", "the answer to a place has another kind");
  const { results } = reply;
  expect(results).to.have.length(requests.length);
  const nonePlaced = atomic && results.some((result) => !result.ok);
  const expected: string[] = [];
  requests.forEach((request, i) => {
    const result = results[i];
    assert(result !== undefined, "an order has no result");
    bench.count(result.ok ? (result.repeated ? "repeated" : "accepted") : result.refusal);
    const repeatsId = bench.clientIds.check(wallet.wallet, request, result, nonePlaced);
    if (!repeatsId && requests.length === 1) {
      checkAcceptance(bench, wallet, request, result, { available: available[i] ?? 0, needed });
      expect(result.ok ? undefined : result.refusal, "the refusal that the preview returned").to.equal(
        preview?.refusal,
      );
    }
    if (result.ok && !result.repeated && !nonePlaced) expected.push(request.orderId);
  });
  enterAccepted(bench, wallet, requests, expected);
}

function requestOf(bench: Bench, step: OrderStep): OrderRequest {
  const terms = bench.terms(bench.marketId(step.market));
  const { ticks } = bench.naive.market(terms.marketId).definition;
  const tif = pick(TIMES_IN_FORCE, step.tif);
  const { ttl } = rulesOf(tif);
  const expires = ttl === "required" || (ttl === "optional" && step.ttlMs > 5_000);
  return {
    orderId: bench.nextId(20),
    terms,
    currency: pick(CURRENCIES, step.currency),
    outcome: step.outcome % terms.outcomes,
    price: priceOf(step.price, terms.outcomes, ticks),
    qty: contracts(step.qty),
    tif,
    ttlMs: expires ? step.ttlMs : undefined,
    clientId: step.clientId === undefined ? undefined : uuid(21, step.clientId),
    selfTrade: pick(SELF_TRADE_MODES, step.selfTrade),
    notAfter: step.late ? bench.real.now - 1 : undefined,
    groupId: step.group === undefined ? undefined : `group ${step.group}`,
  };
}

/** Returns the ledger's preview of a single order. A preview must change nothing. */
function previewOrder(
  bench: Bench,
  wallet: TestWallet,
  [order, ...more]: readonly OrderRequest[],
): { readonly refusal: LedgerRefusal | undefined } | undefined {
  if (order === undefined || more.length > 0) return undefined;
  const reply = bench.ask(wallet, { kind: "preview", wallet: wallet.wallet, trader: wallet.trader, order });
  assert(reply.ok && reply.kind === "preview", "the answer to a preview has another kind");
  expect(bench.lastDeltas(wallet), "the deltas of a preview").to.deep.equal([]);
  return { refusal: reply.refusal };
}

/** Enters the orders that the ledger accepted into the real and the naive markets. */
function enterAccepted(
  bench: Bench,
  wallet: TestWallet,
  requests: readonly OrderRequest[],
  expected: readonly string[],
): void {
  const accepted = bench.accepted(wallet);
  expect(accepted.map(({ order }) => order.orderId)).to.deep.equal(expected);
  for (const { order, marketId, groupId } of accepted) {
    const request = requests.find(({ orderId }) => orderId === order.orderId);
    assert(request !== undefined, "the ledger accepted an order that was not requested");
    expect(order).to.deep.include({
      wallet: wallet.wallet,
      trader: wallet.trader,
      ledger: wallet.shard,
      price: request.price,
      qty: request.qty,
      feeReserved: request.terms.fee.charged === "ALWAYS" || request.terms.live,
    });
    expect(order.expiresAt).to.equal(expiryOf(request, bench.real.now));
    bench.orders.push({ orderId: order.orderId, wallet });
    bench.naive.accepted(marketId, order, groupId);
  }
  const [only, ...more] = accepted;
  const preview = only === undefined || more.length > 0 ? undefined : previewInMarket(bench, only);
  bench.real.deliverAll();
  for (const { order, marketId } of accepted) bench.naive.market(marketId).enter(order, bench.real.now);
  if (only !== undefined && preview !== undefined) checkMarketPreview(bench, only.order, preview);
  bench.deliverAll();
}

function previewInMarket(
  bench: Bench,
  { order, marketId }: { readonly order: Order; readonly marketId: string },
): OrderPreview | undefined {
  const { live, definition } = bench.naive.market(marketId);
  if (live && definition.liveDelayMs > 0) return undefined;
  const reply = bench.real.market(marketId, { kind: "preview", order });
  assert(reply?.ok === true && reply.kind === "preview", "the answer to a market's preview has another kind");
  return reply.preview;
}

/** Checks that the order filled, rested or was rejected as the market's preview predicted. */
function checkMarketPreview(bench: Bench, { orderId }: Order, preview: OrderPreview): void {
  const events = bench.naive.orders.find(({ order }) => order.orderId === orderId)?.events ?? [];
  const fills = events.flatMap((event) =>
    event.kind === "fill" && !event.wash ? [{ price: event.price, qty: event.qty }] : [],
  );
  const fee = events.reduce((sum, event) => sum + (event.kind === "fill" ? event.fee : 0), 0);
  const rests = events.find((event) => event.kind === "open")?.qty ?? 0;
  const reject = events.find((event) => event.kind === "reject")?.reason;
  const predicted = { fills: preview.fills, fee: preview.fee, rests: preview.rests, reject: preview.reject };
  expect(predicted, "the preview").to.deep.equal({ fills, fee, rests, reject });
}

/** Checks that a single order was rightly accepted or refused. */
function checkAcceptance(
  bench: Bench,
  wallet: TestWallet,
  { groupId }: OrderRequest,
  result: PlaceResult,
  { available, needed }: { readonly available: number; readonly needed: number | undefined },
): void {
  const group = groupId === undefined ? "none" : bench.naive.groupState(wallet.wallet, groupId);
  if (group === "unknown") expect(result).to.include({ ok: false, refusal: "GROUP_NOT_FOUND" });
  else if (group === "tripped") expect(result).to.include({ ok: false, refusal: "GROUP_LIMIT" });
  else if (!result.ok && result.refusal !== "INSUFFICIENT_BALANCE")
    throw new Error(`an order is refused with ${result.refusal}`);
  else if (needed !== undefined)
    expect(result.ok, `accepted with ${available} available of ${needed}`).to.equal(
      available >= 0 && needed <= available,
    );
}

/**
 * Returns the amount by which an order raises the reserve of its wallet, as the naive exchange computes it; undefined
 * under the policy `net`.
 */
function neededBy(bench: Bench, wallet: TestWallet, request: OrderRequest): number | undefined {
  const { terms, currency, orderId, outcome, price, qty: remaining, tif } = request;
  const state = bench.real.ledgerOf(wallet.shard).state.wallets.get(wallet.wallet);
  if (state?.policy === "net") return undefined;
  const accounts = state === undefined ? [] : naiveAccounts(state, currency);
  const account = accounts.find(({ marketId }) => marketId === terms.marketId);
  const { voids, holdings, orders } = account ?? {
    voids: terms.voids,
    holdings: Array.from({ length: terms.outcomes }, () => ({ qty: 0, cost: 0 })),
    orders: [],
  };
  const pays = rulesOf(tif).mayTake && (terms.fee.charged === "ALWAYS" || terms.live);
  const fee = pays ? terms.fee : undefined;
  const more = [...orders, { orderId, outcome, price, remaining, fee, replaces: undefined }];
  return reserveOf({ voids, holdings }, more) - reserveOf({ voids, holdings }, orders);
}

export function cancel(bench: Bench, { orders }: Of<"cancel">): void {
  const chosen = orders.flatMap((n) => bench.order(n) ?? []);
  const [first] = chosen;
  if (first === undefined) return;
  const orderIds = [...new Set(chosen.map(({ orderId }) => orderId))];
  const openIds = bench.open(first.wallet).map(({ order }) => order.orderId);
  const open = orderIds.filter((orderId) => openIds.includes(orderId));
  const reply = bench.ask(first.wallet, { kind: "cancel", wallet: first.wallet.wallet, orderIds });
  assert(reply.ok && reply.kind === "cancels", "the answer to a cancel has another kind");
  expect(reply.queued.map(({ orderId }) => orderId)).to.have.members(open);
  expect(reply.unknown).to.have.members(orderIds.filter((orderId) => !open.includes(orderId)));
  for (const market of bench.naive.markets) market.cancel(open, undefined);
  bench.deliverAll();
}

export function cancelAll(bench: Bench, { wallet: n, market }: Of<"cancelAll">): void {
  const wallet = bench.wallet(n);
  const marketIds = market === undefined ? undefined : [bench.marketId(market)];
  const reason = n > 14 ? "MAINTENANCE" : undefined;
  bench.ask(wallet, { kind: "cancelAll", wallet: wallet.wallet, filter: { marketIds }, reason });
  const open = bench.open(wallet).map(({ order }) => order.orderId);
  for (const naiveMarket of bench.naive.markets) {
    if (marketIds?.includes(naiveMarket.definition.marketId) ?? true) naiveMarket.cancel(open, reason);
  }
  bench.deliverAll();
}

/** Amends an order. A lower quantity keeps the place; another price or a higher quantity replaces the order in one step. */
export function amend(bench: Bench, { order: n, qty, price }: Of<"amend">): void {
  const chosen = bench.order(n);
  if (chosen === undefined) return;
  const { orderId, wallet, history } = chosen;
  const { order, marketId, remaining } = history;
  const terms = bench.terms(marketId);
  const wanted =
    price === undefined
      ? undefined
      : priceOf(price, terms.outcomes, bench.naive.market(marketId).definition.ticks);
  const replacement = { orderId: bench.nextId(20), terms };
  const requested = { qty: contracts(qty), price: wanted, replacement };
  const reply = bench.ask(wallet, { kind: "amend", wallet: wallet.wallet, orderId, ...requested });
  if (remaining === 0) {
    expect(reply).to.deep.equal({ ok: false, refusal: "ORDER_NOT_FOUND" });
    return;
  }
  if (qty === 0) {
    expect(reply).to.deep.equal({ ok: false, refusal: "QTY_OUT_OF_RANGE" });
    return;
  }
  const keepsPlace = (wanted ?? order.price) === order.price && qty <= remaining;
  if (keepsPlace) {
    expect(reply).to.deep.equal({ ok: true, kind: "amended", orderId });
    bench.naive.market(marketId).amend(orderId, qty);
  } else if (reply.ok) {
    expect(reply).to.deep.equal({ ok: true, kind: "amended", orderId: replacement.orderId });
    bench.count("replaced");
    replace(bench, wallet, orderId, replacement.orderId);
  } else expect(reply.refusal).to.be.oneOf(["INSUFFICIENT_BALANCE", "GROUP_LIMIT", "GROUP_NOT_FOUND"]);
  bench.deliverAll();
}

function replace(bench: Bench, wallet: TestWallet, orderId: string, replacementId: string): void {
  const [accepted, ...more] = bench.accepted(wallet);
  assert(accepted !== undefined && more.length === 0, "the ledger did not accept a replacement");
  const { order, marketId, groupId } = accepted;
  expect(order.orderId).to.equal(replacementId);
  bench.orders.push({ orderId: replacementId, wallet });
  bench.naive.accepted(marketId, order, groupId);
  const market = bench.naive.market(marketId);
  market.cancel([orderId], undefined);
  bench.real.deliverAll();
  market.enter(order, bench.real.now);
}

/**
 * Effects of markets on wallets: moves the money, and emits the deltas of the private channels (contract sections 3.5,
 * 4.8 and 6.9).
 */

import type { EffectDelta, OrderDelta } from "../market/deltas.js";
import { negate, NONE, subtract, ZERO } from "../units.js";
import { unreachable } from "../unreachable.js";
import type { Emitter } from "./emitter.js";
import { checkGroup } from "./safety.js";
import { accountKey, walletOf } from "./state.js";

type Of<Type extends EffectDelta["type"]> = Extract<EffectDelta, { type: Type }>;
type Fill = Extract<OrderDelta, { kind: "fill" }>;

/** Applies one batch of a market, in order. */
export function applyEffects(emitter: Emitter, marketId: string, deltas: readonly EffectDelta[]): void {
  for (const delta of deltas) {
    switch (delta.type) {
      case "order":
        applyOrder(emitter, marketId, delta);
        break;
      case "position": {
        const { wallet, currency, outcome, qty, cost } = delta;
        const seq = emitter.seq(wallet, "positions");
        emitter.emit({ type: "position", wallet, seq, marketId, currency, outcome, qty, cost });
        break;
      }
      case "payout":
        applyPayout(emitter, marketId, delta);
        break;
      case "reversal":
        applyReversal(emitter, marketId, delta);
        break;
      default:
        unreachable(delta);
    }
  }
}

function applyOrder(emitter: Emitter, marketId: string, delta: Of<"order">): void {
  switch (delta.kind) {
    case "hold":
      return;
    case "open": {
      const { orderId, wallet } = delta.order;
      emitter.emit({
        type: "order",
        kind: "open",
        wallet,
        seq: emitter.seq(wallet, "orders"),
        marketId,
        orderId,
        qty: delta.qty,
      });
      return;
    }
    case "fill":
      applyFill(emitter, marketId, delta);
      return;
    case "reduce": {
      const { orderId, wallet, remaining } = delta;
      emitter.emit({
        type: "order",
        kind: "reduce",
        wallet,
        seq: emitter.seq(wallet, "orders"),
        marketId,
        orderId,
        remaining,
      });
      return;
    }
    case "cancel": {
      const { orderId, wallet, remaining, reason } = delta;
      emitter.emit({
        type: "order",
        kind: "cancel",
        wallet,
        seq: emitter.seq(wallet, "orders"),
        marketId,
        orderId,
        remaining,
        reason,
      });
      return;
    }
    case "reject": {
      const { orderId, wallet, reason } = delta;
      emitter.emit({
        type: "order",
        kind: "reject",
        wallet,
        seq: emitter.seq(wallet, "orders"),
        marketId,
        orderId,
        reason,
      });
      return;
    }
    default:
      unreachable(delta);
  }
}

function applyFill(emitter: Emitter, marketId: string, delta: Fill): void {
  const { groupId } = walletOf(emitter.state, delta.wallet).orders.get(delta.orderId) ?? {};
  emitFill(emitter, marketId, delta);
  if (groupId !== undefined) checkGroup(emitter, delta.wallet, groupId);
}

function emitFill(emitter: Emitter, marketId: string, delta: Fill): void {
  const {
    wallet,
    orderId,
    currency,
    outcome,
    fillId,
    matchId,
    price,
    qty,
    remaining,
    cost,
    payout,
    fee,
    credit,
    taker,
    wash,
  } = delta;
  const seq = emitter.seq(wallet, "orders");
  emitter.emit({
    type: "order",
    kind: "fill",
    wallet,
    seq,
    marketId,
    orderId,
    outcome,
    fillId,
    matchId,
    price,
    qty,
    remaining,
    cost,
    payout,
    fee,
    credit,
    taker,
    wash,
  });
  if (wash) return;
  const common = { wallet, currency, ref: fillId } as const;
  emitter.entry({
    ...common,
    counterparty: `market:${marketId}`,
    kind: "FILL",
    amount: subtract(payout, cost),
  });
  if (fee > 0) emitter.entry({ ...common, counterparty: "house", kind: "FEE", amount: negate(fee) });
  if (credit > 0) emitter.entry({ ...common, counterparty: "house", kind: "MAKER_CREDIT", amount: credit });
}

/** Pays a wallet its part of a settlement, and closes its positions in the market. */
function applyPayout(
  emitter: Emitter,
  marketId: string,
  { wallet, currency, amount, settlementId }: Of<"payout">,
): void {
  if (amount > 0) {
    emitter.entry({
      wallet,
      currency,
      counterparty: `market:${marketId}`,
      kind: "SETTLEMENT",
      amount,
      ref: settlementId,
    });
  }
  const account = walletOf(emitter.state, wallet).accounts.get(accountKey(marketId, currency));
  if (account === undefined) return;
  for (let outcome = 0; outcome < account.outcomes; outcome += 1) {
    if (account.holding(outcome).qty === 0) continue;
    const seq = emitter.seq(wallet, "positions");
    emitter.emit({
      type: "position",
      wallet,
      seq,
      marketId,
      currency,
      outcome,
      qty: NONE,
      cost: ZERO,
      settled: true,
    });
  }
}

/** Reverses the payout of a wallet by exactly the amount paid, and restores its positions. */
function applyReversal(emitter: Emitter, marketId: string, delta: Of<"reversal">): void {
  const { wallet, currency, amount, settlementId, holdings, voids, outcomes } = delta;
  if (amount > 0) {
    const counterparty = `market:${marketId}` as const;
    emitter.entry({
      wallet,
      currency,
      counterparty,
      kind: "SETTLEMENT",
      amount: negate(amount),
      ref: settlementId,
    });
  }
  for (const { outcome, qty, cost } of holdings) {
    const seq = emitter.seq(wallet, "positions");
    emitter.emit({
      type: "position",
      wallet,
      seq,
      marketId,
      currency,
      outcome,
      qty,
      cost,
      terms: { voids, outcomes },
    });
  }
}

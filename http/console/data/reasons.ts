/** Reasons of rejections and cancels in words (contract sections 2.8 and 4.9). */

import type { OrderStatus } from "../../../actors/ledger/types.js";
import type { CancelReason, RejectReason } from "../../../actors/market/types.js";
import { unreachable } from "../../../actors/unreachable.js";
import { showQuantity } from "./money.js";

const REASONS: Readonly<Record<RejectReason | CancelReason, string>> = {
  NO_MATCH: "nothing was offered at this price or better",
  NOT_FILLABLE: "the whole quantity was not offered at this price or better",
  WOULD_MATCH: "it would have matched at once, and a post-only order may not",
  SELF_TRADE: "it met another order of your own",
  EXPIRED_IN_FLIGHT: "it reached the book too late",
  EXPIRED: "its time had run out before it reached the book",
  MARKET_CLOSED: "the market closed",
  MARKET_PAUSED: "the market was paused",
  GO_LIVE: "the event went in play, or left it",
  CANCELED: "the order that it replaces had ended meanwhile",
  POSITION_LIMIT_EXCEEDED: "the position would have been over its limit",
  UNKNOWN_OUTCOME: "the market does not have this outcome",
  SETTLED: "the market was settled",
  NEUTRALIZED: "the event was delayed",
  DISCONNECTED: "the connection of its program was lost, or its dead-man switch ran out",
  MAINTENANCE: "maintenance of the exchange began",
  GROUP_LIMIT: "its order group reached its limit",
};

const PREVIEW_REFUSALS: Readonly<Record<string, string>> = {
  INSUFFICIENT_BALANCE: "the subaccount has too little available; fund it, or choose a smaller quantity",
  OPEN_ORDER_LIMIT_EXCEEDED: "the subaccount has too many open orders; cancel some first",
  EVENT_NOT_TRADABLE: "the event takes no orders at the moment",
};

/** Returns a reason in words, or the code itself when this release does not know it. */
export function reasonInWords(reason: string): string {
  if (Object.hasOwn(REASONS, reason)) return REASONS[reason as keyof typeof REASONS];
  return PREVIEW_REFUSALS[reason] ?? reason;
}

/** Returns the end or the state of an order in words. */
export function endInWords(order: {
  readonly status: OrderStatus;
  readonly reason?: string | undefined;
  readonly qty: number;
  readonly remaining: number;
  readonly tif: string;
}): string {
  const { status, reason, qty, remaining, tif } = order;
  const filled = qty - remaining;
  const because = reason === undefined ? "" : `: ${reasonInWords(reason)}`;
  switch (status) {
    case "PENDING":
      return "on its way";
    case "OPEN":
      return filled === 0 ? "resting" : `resting, ${showQuantity(filled)} filled`;
    case "FILLED":
      return "filled";
    case "REJECTED":
      return `rejected${because}`;
    case "CANCELED": {
      const part = filled === 0 ? "" : ` after ${showQuantity(filled)} filled`;
      if (reason === undefined && tif === "IOC") return `remainder canceled${part}`;
      return `canceled${part}${because}`;
    }
    default:
      return unreachable(status);
  }
}

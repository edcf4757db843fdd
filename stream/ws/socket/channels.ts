/** The public channels of a market, and sets of them as bits: what a socket watches of one market is one number. */

import { CURRENCIES, type Currency } from "../../../actors/market/types.js";

export type Channel = "lifecycle" | "trades" | "bbo" | "book";
export const CHANNELS: readonly Channel[] = ["lifecycle", "trades", "bbo", "book"];

/** A set of (channel, currency) pairs of one market. The lifecycle has no currency. */
export type Mask = number;

export const LIFECYCLE: Mask = 1;

const BITS: Readonly<Record<Currency, Readonly<Record<Channel, Mask>>>> = {
  CASH: { lifecycle: LIFECYCLE, trades: 2, bbo: 4, book: 8 },
  COIN: { lifecycle: LIFECYCLE, trades: 16, bbo: 32, book: 64 },
};

/** What a subscription of one pair costs in the `stream` bucket (contract section 6). */
const COSTS: Readonly<Record<Channel, number>> = { lifecycle: 1, trades: 4, bbo: 8, book: 16 };

export function bitOf(channel: Channel, currency: Currency): Mask {
  return BITS[currency][channel];
}

/** The pair that a single bit stands for; the lifecycle counts as CASH. */
export function pairOf(bit: Mask): { readonly channel: Channel; readonly currency: Currency } {
  for (const currency of CURRENCIES) {
    for (const channel of CHANNELS) if (BITS[currency][channel] === bit) return { channel, currency };
  }
  throw new Error(`${bit} is not the bit of a channel`);
}

/** The channels as a set. Trades, best bids and books bring the lifecycle with them. */
export function maskOf(channels: readonly Channel[], currency: Currency): Mask {
  return channels.reduce((mask, channel) => mask | BITS[currency][channel], LIFECYCLE);
}

/** The channels of a set in one currency, the lifecycle among them. */
export function channelsOf(mask: Mask, currency: Currency): Channel[] {
  return CHANNELS.filter((channel) => (mask & BITS[currency][channel]) !== 0);
}

/** Whether a set has a channel of this currency besides the lifecycle. */
export function watches(mask: Mask, currency: Currency): boolean {
  return channelsOf(mask, currency).some((channel) => channel !== "lifecycle");
}

/** What one market of a selection costs; the lifecycle that comes with another channel is free. */
export function costOf(mask: Mask): number {
  let cost = 0;
  for (const currency of CURRENCIES) {
    for (const channel of channelsOf(mask, currency)) if (channel !== "lifecycle") cost += COSTS[channel];
  }
  return cost === 0 ? COSTS.lifecycle : cost;
}

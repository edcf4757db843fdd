/** Public channels of a market, and sets of them as bit masks: one number says which channels a socket watches. */

import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { PUBLIC_CHANNELS, type PublicChannel } from "../../actors/market/deltas.js";

/** Public channels in the order in which answers list them (contract section 6.8). */
export const CHANNELS = PUBLIC_CHANNELS;
export type Channel = PublicChannel;

/** Private channels of a wallet (contract section 6.9). */
export const PRIVATE_CHANNELS = ["orders", "positions"] as const;
export type PrivateChannel = (typeof PRIVATE_CHANNELS)[number];

/** Set of (channel, currency) pairs of one market, one bit each. The lifecycle has no currency. */
export type Mask = number;

/** Bit of the lifecycle channel. */
export const LIFECYCLE: Mask = 1;

const BITS: Readonly<Record<Currency, Readonly<Record<Channel, Mask>>>> = {
  CASH: { lifecycle: LIFECYCLE, trades: 2, bbo: 4, book: 8 },
  COIN: { lifecycle: LIFECYCLE, trades: 16, bbo: 32, book: 64 },
};

/** Cost of subscribing to one pair, in tokens of the `stream` bucket (contract section 6.5). */
const COSTS: Readonly<Record<Channel, number>> = { lifecycle: 1, trades: 4, bbo: 8, book: 16 };

/** Returns the bit of a pair. */
export function bitOf(channel: Channel, currency: Currency): Mask {
  return BITS[currency][channel];
}

/** Returns the pair of a single bit; the lifecycle counts as CASH. */
export function pairOf(bit: Mask): { readonly channel: Channel; readonly currency: Currency } {
  for (const currency of CURRENCIES) {
    for (const channel of CHANNELS) if (BITS[currency][channel] === bit) return { channel, currency };
  }
  throw new Error(`no channel has the bit ${bit}`);
}

/** Returns the mask of the channels. Every mask includes the lifecycle, as the contract requires. */
export function maskOf(channels: readonly Channel[], currency: Currency): Mask {
  return channels.reduce((mask, channel) => mask | BITS[currency][channel], LIFECYCLE);
}

/** Returns the channels of a mask in one currency, including the lifecycle. */
export function channelsOf(mask: Mask, currency: Currency): Channel[] {
  return CHANNELS.filter((channel) => (mask & BITS[currency][channel]) !== 0);
}

/** Returns true when a mask has a channel of this currency other than the lifecycle. */
export function watches(mask: Mask, currency: Currency): boolean {
  return channelsOf(mask, currency).some((channel) => channel !== "lifecycle");
}

/** Returns the cost of one market of a selection. The lifecycle is free when another channel is selected. */
export function costOf(mask: Mask): number {
  let cost = 0;
  for (const currency of CURRENCIES) {
    for (const channel of channelsOf(mask, currency)) if (channel !== "lifecycle") cost += COSTS[channel];
  }
  return cost === 0 ? COSTS.lifecycle : cost;
}

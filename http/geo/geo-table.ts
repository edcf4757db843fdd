/**
 * Table of the operator's rules about regions and networks (contract section 8.13, `/admin/v1/geo`). The smallest
 * network around an address that names a region decides it; any network around it that hides its users makes it
 * anonymous.
 */

import type { GeoRules, Network } from "../../db/queries/operator/geo.js";
import { addressValue, rangeOf, type Range } from "./addresses.js";

/** Facts about an address. `anonymous`: it hides its users, as a VPN, a proxy and Tor do. */
export interface AddressFacts {
  readonly anonymous: boolean;
  readonly region: string | undefined;
}

/** Facts by address, and the restricted regions, of one published version of the rules. */
export interface GeoTable {
  readonly version: number;
  find(ip: string): AddressFacts;
  /** Returns whether a region, or the country that it is in, is restricted. */
  isRestricted(region: string): boolean;
}

/** Facts about an address that no rule and no file names. */
export const NO_FACTS: AddressFacts = { anonymous: false, region: undefined };

/**
 * Sorted ranges that do not overlap, each with the value that holds in it. A binary search finds one of a hundred thousand
 * in microseconds; a library would compare the address with every network.
 */
class Segments<Value> {
  readonly #starts: bigint[] = [];
  readonly #ends: bigint[] = [];
  readonly #values: Value[] = [];

  /** Cuts nested ranges so that the innermost one holds. Two networks are nested or apart, never otherwise. */
  constructor(ranges: readonly (Range & { readonly value: Value })[]) {
    const outerFirst = ranges.toSorted((a, b) => compare(a.start, b.start) || compare(b.end, a.end));
    const open: (Range & { readonly value: Value })[] = [];
    let from = 0n;
    const closeUpTo = (until: bigint | undefined): void => {
      for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
        if (until !== undefined && top.end >= until) return;
        this.#add(from, top.end, top.value);
        from = top.end + 1n;
        open.pop();
      }
    };
    for (const range of outerFirst) {
      closeUpTo(range.start);
      const around = open.at(-1);
      if (around !== undefined) this.#add(from, range.start - 1n, around.value);
      from = range.start;
      open.push(range);
    }
    closeUpTo(undefined);
  }

  #add(start: bigint, end: bigint, value: Value): void {
    if (start > end) return;
    this.#starts.push(start);
    this.#ends.push(end);
    this.#values.push(value);
  }

  find(address: bigint): Value | undefined {
    let low = 0;
    let high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0n) <= address) low = middle + 1;
      else high = middle;
    }
    const end = this.#ends[low - 1];
    return end !== undefined && address <= end ? this.#values[low - 1] : undefined;
  }
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function rangesOf<Value>(
  networks: readonly Network[],
  valueOf: (network: Network) => Value | undefined,
): (Range & { readonly value: Value })[] {
  return networks.flatMap((network) => {
    const value = valueOf(network);
    const range = value === undefined ? undefined : rangeOf(network.cidr);
    return value === undefined || range === undefined ? [] : [{ ...range, value }];
  });
}

/** Returns the table of published rules. */
export function geoTable(rules: GeoRules & { readonly version: number }): GeoTable {
  const hiding = new Segments(rangesOf(rules.networks, ({ kind }) => (kind === "REGION" ? undefined : true)));
  const regions = new Segments(
    rangesOf(rules.networks, ({ kind, region }) => (kind === "REGION" ? (region ?? undefined) : undefined)),
  );
  const restricted = new Set(rules.restrictedRegions);
  return {
    version: rules.version,
    find: (ip) => {
      const address = addressValue(ip);
      if (address === undefined) return NO_FACTS;
      return { anonymous: hiding.find(address) !== undefined, region: regions.find(address) };
    },
    isRestricted: (region) => restricted.has(region) || restricted.has(region.slice(0, 2)),
  };
}

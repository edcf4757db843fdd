/**
 * What is known of addresses, as a table to look them up in (contract section 8, `/admin/v1/geo`). Of networks within
 * networks the smallest one that knows a region says it; any one that hides its users does so for all within it.
 */

import { isIP } from "node:net";
import type { GeoRules, Network } from "../../db/queries/operator/geo.js";

/** What is known of an address. `anonymous`: whoever is behind it cannot be told. */
export interface AddressFacts {
  readonly anonymous: boolean;
  readonly region: string | undefined;
}

export interface GeoTable {
  readonly version: number;
  find(ip: string): AddressFacts;
  /** Whether a region, or the country that it is in, is restricted. */
  isRestricted(region: string): boolean;
}

const NOTHING: AddressFacts = { anonymous: false, region: undefined };
const V4_IN_V6 = 0xffff_0000_0000n;
const V6_BITS = 128;

/** An address as a number of 128 bits, IPv4 in its mapped form, so that `::ffff:192.0.2.1` is `192.0.2.1`. */
export function addressValue(text: string): bigint | undefined {
  const address = text.split("%", 1)[0] ?? "";
  switch (isIP(address)) {
    case 4:
      return V4_IN_V6 | v4Value(address);
    case 6:
      return v6Value(address);
    default:
      return undefined;
  }
}

function v4Value(address: string): bigint {
  return BigInt(address.split(".").reduce((value, byte) => value * 256 + Number(byte), 0));
}

function v6Value(address: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  const tail = dotted?.[2] === undefined ? undefined : v4Value(dotted[2]);
  const plain =
    tail === undefined
      ? address
      : `${dotted?.[1] ?? ""}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [head = "", rest] = plain.split("::");
  const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const first = groups(head);
  const last = rest === undefined ? [] : groups(rest);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** First and last address of a network. */
interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

/** The range of a network in CIDR notation; `undefined` when it is none, or has bits beyond its prefix. */
export function rangeOf(cidr: string): Range | undefined {
  const [address = "", length = ""] = cidr.split("/");
  const start = addressValue(address);
  if (start === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = isIP(address) === 4 ? Number(length) + 96 : Number(length);
  if (bits > V6_BITS) return undefined;
  const size = 1n << BigInt(V6_BITS - bits);
  return start % size === 0n ? { start, end: start + size - 1n } : undefined;
}

/** Ranges that do not overlap, rising, each with what holds within it. */
class Segments<Value> {
  readonly #starts: bigint[] = [];
  readonly #ends: bigint[] = [];
  readonly #values: Value[] = [];

  /** Of nested ranges the innermost one holds. Networks are nested or apart, never otherwise. */
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

/** A table of published rules. */
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
      if (address === undefined) return NOTHING;
      return { anonymous: hiding.find(address) !== undefined, region: regions.find(address) };
    },
    isRestricted: (region) => restricted.has(region) || restricted.has(region.slice(0, 2)),
  };
}

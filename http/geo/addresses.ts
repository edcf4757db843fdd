/** IP addresses and networks, as text, as what they count for, and as numbers of 128 bits that sort and compare. */

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Network, as its first and its last address. */
export interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

const BITS = 128;
const PREFIX = /^\d{1,3}$/;
/** First address, and prefix length, of the network that holds all IPv4 addresses in their mapped form. */
const MAPPED = 0xffff_0000_0000n;
const MAPPED_BITS = 96;

/**
 * Parses an address without its zone. `isIP` refuses the octal, hexadecimal and shortened forms that the library takes;
 * `URL` rewrites the form that it cannot read, an IPv4 tail right after `::`, as in `64:ff9b::192.0.2.1`.
 */
function parse(text: string): Address | undefined {
  const [address = ""] = text.split("%", 1);
  switch (isIP(address)) {
    case 4:
      return ipaddr.IPv4.parse(address);
    case 6:
      return ipaddr.IPv6.parse(new URL(`http://[${address}]`).hostname.slice(1, -1));
    default:
      return undefined;
  }
}

/** Parses an address, a mapped one as the IPv4 address that it stands for. */
function parsePlain(text: string): Address | undefined {
  const address = parse(text);
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function numberOf(address: Address): bigint {
  const value = BigInt(`0x${Buffer.from(address.toByteArray()).toString("hex")}`);
  return address instanceof ipaddr.IPv4 ? MAPPED | value : value;
}

/** Returns an address as a number, IPv4 in its mapped form; `undefined` for a text that is no address. */
export function addressValue(text: string): bigint | undefined {
  const address = parse(text);
  return address === undefined ? undefined : numberOf(address);
}

/** Returns the shortest form of an address, IPv4 for a mapped one; `undefined` for a text that is no address. */
export function plainAddress(text: string): string | undefined {
  return parsePlain(text)?.toString();
}

/**
 * Returns the name under which the requests of an address are counted: an IPv4 address, or the first 64 bits of an IPv6
 * address, because one subscriber holds all addresses that begin with them. A text that is no address names itself.
 */
export function subscriberOf(text: string): string {
  return networkOf(text, 4);
}

/** Returns an IPv4 address, or the /48 network of an IPv6 address, which one customer of a network may hold. */
export function siteOf(text: string): string {
  return networkOf(text, 3);
}

/** Returns the network of an IPv6 address with so many parts of 16 bits, and any other text or address as it is. */
function networkOf(text: string, parts: number): string {
  const address = parsePlain(text);
  if (address === undefined) return text;
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = address.parts.slice(0, parts).map((part) => part.toString(16));
  return `${network.join(":")}::/${parts * 16}`;
}

/**
 * Returns the range of a network in CIDR notation; `undefined` for any other text, and for bits beyond the prefix. The
 * prefix is read here, because the library's `parseCIDR` takes twenty times as long, and lists hold 100,000 networks.
 */
export function rangeOf(cidr: string): Range | undefined {
  const slash = cidr.indexOf("/");
  const address = slash === -1 || cidr.includes("%") ? undefined : parse(cidr.slice(0, slash));
  if (address === undefined) return undefined;
  const prefix = cidr.slice(slash + 1);
  const bits = Number(prefix) + (address instanceof ipaddr.IPv4 ? MAPPED_BITS : 0);
  if (!PREFIX.test(prefix) || bits > BITS) return undefined;
  const start = numberOf(address);
  const size = 1n << BigInt(BITS - bits);
  return start % size === 0n ? { start, end: start + size - 1n } : undefined;
}

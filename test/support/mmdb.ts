/** Writes small files in MaxMind's format: a search tree of 24-bit records over 128 bits, then the data. */

import { rangeOf } from "../../http/geo/addresses.js";

type Value = string | number | boolean | { readonly [name: string]: Value } | readonly Value[];

const BITS = 128;
const STRING = 2;
const UINT32 = 6;
const MAP = 7;
const ARRAY = 11;
const BOOLEAN = 14;
/** Encodes the type of a field: a type above 7 is 0, followed by a byte with its number less 7. */
const LAST_PLAIN = 7;
const METADATA = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from("MaxMind.com")]);

function header(type: number, size: number): Buffer {
  const long = size < 29 ? [] : size < 285 ? [size - 29] : [(size - 285) >> 8, (size - 285) & 0xff];
  const length = size < 29 ? size : size < 285 ? 29 : 30;
  const first = ((type > LAST_PLAIN ? 0 : type) << 5) | length;
  return Buffer.from([first, ...(type > LAST_PLAIN ? [type - LAST_PLAIN] : []), ...long]);
}

function encode(value: Value): Buffer {
  if (typeof value === "string") {
    const text = Buffer.from(value);
    return Buffer.concat([header(STRING, text.length), text]);
  }
  if (typeof value === "boolean") return header(BOOLEAN, value ? 1 : 0);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([header(UINT32, 4), bytes]);
  }
  if (Array.isArray(value)) {
    const items = value as readonly Value[];
    return Buffer.concat([header(ARRAY, items.length), ...items.map(encode)]);
  }
  const entries = Object.entries(value as Readonly<Record<string, Value>>);
  return Buffer.concat([
    header(MAP, entries.length),
    ...entries.flatMap(([name, one]) => [encode(name), encode(one)]),
  ]);
}

type Leaf = { readonly data: number };
type Node = [Node | Leaf | undefined, Node | Leaf | undefined];

/** Returns a file with these networks; IPv4 networks are at ::/96, as the format requires. */
export function mmdb(networks: Readonly<Record<string, Value>>): Buffer {
  const root: Node = [undefined, undefined];
  const data: Buffer[] = [];
  let dataBytes = 0;
  for (const [cidr, value] of Object.entries(networks)) {
    const [address = "", prefix = ""] = cidr.split("/");
    const range = rangeOf(cidr);
    if (range === undefined) throw new Error(`${cidr} is not a network`);
    const isV4 = !address.includes(":");
    // IPv4 is kept at ::/96, not in the mapped form.
    const start = isV4 ? range.start & 0xffff_ffffn : range.start;
    insert(root, start, isV4 ? Number(prefix) + 96 : Number(prefix), { data: dataBytes });
    const encoded = encode(value);
    data.push(encoded);
    dataBytes += encoded.length;
  }
  const nodes: Node[] = [];
  const numbers = new Map<Node, number>();
  const number = (node: Node): void => {
    numbers.set(node, nodes.length);
    nodes.push(node);
    for (const side of node) if (Array.isArray(side)) number(side);
  };
  number(root);
  const tree = Buffer.alloc(nodes.length * 6);
  nodes.forEach((node, index) => {
    node.forEach((side, right) => {
      const record =
        side === undefined
          ? nodes.length
          : Array.isArray(side)
            ? (numbers.get(side) ?? 0)
            : nodes.length + 16 + side.data;
      tree.writeUIntBE(record, index * 6 + right * 3, 3);
    });
  });
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: "Test",
    description: { en: "for tests" },
    ip_version: 6,
    languages: ["en"],
    node_count: nodes.length,
    record_size: 24,
  });
  return Buffer.concat([tree, Buffer.alloc(16), ...data, METADATA, metadata]);
}

function insert(root: Node, start: bigint, prefix: number, leaf: Leaf): void {
  let node = root;
  for (let bit = 0; bit < prefix; bit += 1) {
    const side = Number((start >> BigInt(BITS - 1 - bit)) & 1n) as 0 | 1;
    if (bit === prefix - 1) {
      node[side] = leaf;
      return;
    }
    const next = node[side];
    if (Array.isArray(next)) node = next;
    else {
      const made: Node = [undefined, undefined];
      node[side] = made;
      node = made;
    }
  }
}

/**
 * The canonical text of a signed request, which the server and the clients build alike (specification, Authentication). The
 * text has the bytes as they are sent; only the query is normalized, by the rule of the specification. Browsers use this
 * file too, so it imports nothing.
 */

/** Algorithms of keys (contract section 5.3). */
export type KeyAlgorithm = "Ed25519" | "P-256";

/** Parts of a canonical text. `path` and `query` are the raw target as sent, without the `?`. */
export interface SignedParts {
  /** Configured brand, `Svc` by default; the scheme line opens with its upper case. */
  readonly brand: string;
  readonly timestamp: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** SHA-256 of the body in lower-case hex. */
  readonly bodyDigest: string;
}

const UNRESERVED = /^[A-Za-z0-9\-._~]$/;
const HEX_PAIR = /^[0-9A-Fa-f]{2}$/;

/** Spelling of each byte in a canonical query. */
const SPELLINGS: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

/** Decodes `%XX` only and spells every byte in its one form; `part` has one byte per character. */
function rewrite(part: string): string {
  let written = "";
  for (let i = 0; i < part.length; i += 1) {
    const pair = part[i] === "%" ? part.slice(i + 1, i + 3) : "";
    const escaped = HEX_PAIR.test(pair);
    written += SPELLINGS[escaped ? parseInt(pair, 16) : part.charCodeAt(i) & 0xff] ?? "";
    if (escaped) i += 2;
  }
  return written;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the canonical form of a raw query: decoded, encoded again and sorted (specification, Surface A: signed requests). */
export function canonicalQuery(query: string): string {
  if (query === "") return "";
  return query
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const equals = part.indexOf("=");
      const name = equals === -1 ? part : part.slice(0, equals);
      const value = equals === -1 ? "" : part.slice(equals + 1);
      return { name: rewrite(name), value: rewrite(value) };
    })
    .sort((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
    .map(({ name, value }) => `${name}=${value}`)
    .join("&");
}

/** Returns the canonical text: the six lines that are signed, joined by LF. */
export function canonicalText(parts: SignedParts): string {
  return [
    `${parts.brand.toUpperCase()}-V3`,
    parts.timestamp,
    parts.method.toUpperCase(),
    parts.path,
    canonicalQuery(parts.query),
    parts.bodyDigest,
  ].join("\n");
}

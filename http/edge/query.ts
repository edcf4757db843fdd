/** Reads a raw query by the rule that the signature uses. */

import { Refused } from "../request/errors.js";

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(part: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(part) || /%(?![0-9A-Fa-f]{2})/.test(part)) return undefined;
  if (!part.includes("%")) return part;
  const bytes = part.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  try {
    const text = UTF8.decode(Buffer.from(bytes, "latin1"));
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Returns the parameters of a raw query by name. Only `%XX` is decoded; a `+` stays a `+`. Refuses `INVALID_QUERY` for a
 * repeated name and for text that is not UTF-8 (contract section 5.4). With `lists`, a repeated name reads as a list
 * separated by commas, as clients of surface B send it (contract section 7.12).
 */
export function readQuery(raw: string, lists = false): Record<string, string> {
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const part of raw.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    const value = decode(equals === -1 ? "" : part.slice(equals + 1));
    if (name === undefined || value === undefined) {
      throw new Refused(
        "INVALID_QUERY",
        "the query has an escape that is malformed or not UTF-8; encode it again",
      );
    }
    const before = values[name];
    if (before !== undefined && !lists)
      throw new Refused("INVALID_QUERY", `${name} is given more than once; send it once`);
    values[name] = before === undefined ? value : `${before},${value}`;
  }
  return values;
}

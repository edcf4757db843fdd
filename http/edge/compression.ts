/** Compression of answers for clients that accept gzip. */

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

/** Least size in bytes of an answer that is compressed. A smaller one fits into one or two packets as it is. */
export const LEAST_COMPRESSED_BYTES = 2_048;

const gzipped = promisify(gzip);

const made = new WeakMap<Buffer, Promise<Buffer>>();

/**
 * Returns bytes as gzip, at the level that costs the least time. Another thread compresses them, once for all answers with
 * this buffer.
 */
export function compressed(bytes: Buffer): Promise<Buffer> {
  const known = made.get(bytes);
  if (known !== undefined) return known;
  const gzip = gzipped(bytes, { level: constants.Z_BEST_SPEED });
  made.set(bytes, gzip);
  return gzip;
}

/** Returns whether an `Accept-Encoding` header accepts gzip. */
export function takesGzip(accepted: unknown): boolean {
  if (typeof accepted !== "string") return false;
  return accepted.split(",").some((encoding) => {
    const [name = "", ...parameters] = encoding.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

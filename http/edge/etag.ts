/** Entity tags: a client that sends one back with `If-None-Match` is answered 304 while nothing has changed. */

import { createHash } from "node:crypto";

/** Returns a strong tag of the parts that identify a version; equal parts always serve equal bytes. */
export function etagOf(...parts: readonly (string | number | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(typeof part === "number" ? String(part) : part).update(" ");
  return `"${hash.digest("base64url").slice(0, 22)}"`;
}

/** Returns whether an `If-None-Match` header names the tag. */
export function matchesEtag(condition: unknown, etag: string): boolean {
  return (
    typeof condition === "string" &&
    condition.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag)
  );
}

/** Ids that follow from a signed request, so that a repeat of it has the same ones. */

import { createHash } from "node:crypto";

/**
 * Returns the identity of a signed request, which is made of the signed text and not of the signature: anyone can
 * compute a second form of an ECDSA signature that verifies too.
 */
export function commandIdOf(keyId: string, text: string): string {
  return createHash("sha256").update(keyId).update("\n").update(text).digest("hex");
}

/** Returns a UUID made of a command id and a name, so that a repeat of the request makes the same one. */
export function idFrom(commandId: string, name: string): string {
  return uuidOf(createHash("sha256").update(commandId).update("\n").update(name).digest());
}

/** Returns the UUID, of version 8, with the first 16 bytes of a digest. */
export function uuidOf(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

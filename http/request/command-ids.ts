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
  return uuidOf(digestOf(commandId, name));
}

/**
 * Returns a UUID like `idFrom` that begins with a time in Unix ms. The rows of new orders are then next to each other in
 * an index by their ids, so an insertion changes a page that is in memory and was changed before.
 */
export function timedIdFrom(ts: number, commandId: string, name: string): string {
  const bytes = digestOf(commandId, name);
  bytes.writeUIntBE(ts, 0, 6);
  return uuidOf(bytes);
}

function digestOf(commandId: string, name: string): Buffer {
  return createHash("sha256").update(commandId).update("\n").update(name).digest().subarray(0, 16);
}

/** Returns the UUID, of version 8, with these bytes. */
function uuidOf(bytes: Buffer): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Verification of the signatures of surface A (specification, Authentication). */

import { createHash, verify as verifyBytes, type KeyObject } from "node:crypto";
import type { KeyAlgorithm } from "./canonical.js";

/** Returns the SHA-256 of a body in lower-case hex, as a canonical text has it. */
export function bodyDigest(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Returns whether `signature` is one of `text` by the holder of `publicKey`; false for a malformed signature. */
export function verifyText(
  text: string,
  signature: Uint8Array,
  publicKey: KeyObject,
  algorithm: KeyAlgorithm,
): boolean {
  if (algorithm === "Ed25519" && signature.length !== 64) return false;
  return verifyBytes(algorithm === "Ed25519" ? null : "sha256", Buffer.from(text), publicKey, signature);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes standard padded base64 in its canonical form; returns `undefined` for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  if (text === "" || !BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

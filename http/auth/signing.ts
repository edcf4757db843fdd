/** Verification of the signatures of surface A (specification, Authentication). */

import { createHash, verify, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { KeyAlgorithm } from "./canonical.js";

/** Returns the SHA-256 of a body in lower-case hex, as a canonical text has it. */
export function bodyDigest(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Verifies on a thread: it takes a core for a tenth of a millisecond, in which the event loop can serve other requests. */
const verifyBytes = promisify(verify);

/** Returns whether `signature` is one of `text` by the holder of `publicKey`; false for a malformed signature. */
export async function verifyText(
  text: string,
  signature: Uint8Array,
  publicKey: KeyObject,
  algorithm: KeyAlgorithm,
): Promise<boolean> {
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

/** Keys and signatures of tests, made at once and without the client, so that the two can be compared. */

import { createHash, createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { canonicalText } from "../../http/auth/canonical.js";
import type { KeyAlgorithm, KeyPair, SigningKey } from "../../http/client/client.js";

/** Generates a key pair. */
export function makeKey(algorithm: KeyAlgorithm = "Ed25519"): KeyPair {
  const publicKeyEncoding = { type: "spki", format: "pem" } as const;
  const privateKeyEncoding = { type: "pkcs8", format: "pem" } as const;
  const { publicKey, privateKey } =
    algorithm === "Ed25519"
      ? generateKeyPairSync("ed25519", { publicKeyEncoding, privateKeyEncoding })
      : generateKeyPairSync("ec", { namedCurve: "P-256", publicKeyEncoding, privateKeyEncoding });
  return { algorithm, publicKey, privateKey };
}

/** Request to sign: the raw target and the bytes of the body. */
interface ToSign {
  readonly method: string;
  readonly target: string;
  readonly body?: string | Uint8Array | undefined;
}

/** Returns the headers that sign a request at a time. */
export function signatureHeaders(
  { keyId, algorithm, privateKey }: SigningKey,
  brand: string,
  { method, target, body = "" }: ToSign,
  atMs = Date.now(),
): Record<string, string> {
  const [path = "", ...query] = target.split("?");
  const timestamp = String(atMs);
  const bodyDigest = createHash("sha256").update(body).digest("hex");
  const text = canonicalText({ brand, timestamp, method, path, query: query.join("?"), bodyDigest });
  const digest = algorithm === "Ed25519" ? null : "sha256";
  const signature = sign(digest, Buffer.from(text), createPrivateKey(privateKey));
  return {
    [`${brand}-Key-Id`]: keyId,
    [`${brand}-Timestamp`]: timestamp,
    [`${brand}-Signature`]: signature.toString("base64"),
  };
}

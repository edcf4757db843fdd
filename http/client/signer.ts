/** Client side of a signed request: key pairs, and the three headers of a request (contract section 5.3). */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { canonicalText, signText, type KeyAlgorithm } from "../auth/signing.js";

export type { KeyAlgorithm } from "../auth/signing.js";

/** A key pair. Send the public key to the exchange; the private key must never leave the client. */
export interface KeyPair {
  readonly algorithm: KeyAlgorithm;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}

/** Generates a key pair of one of the two algorithms of the exchange (contract section 5.3). */
export function generateKey(algorithm: KeyAlgorithm = "Ed25519"): KeyPair {
  const publicKeyEncoding = { type: "spki", format: "pem" } as const;
  const privateKeyEncoding = { type: "pkcs8", format: "pem" } as const;
  const { publicKey, privateKey } =
    algorithm === "Ed25519"
      ? generateKeyPairSync("ed25519", { publicKeyEncoding, privateKeyEncoding })
      : generateKeyPairSync("ec", { namedCurve: "P-256", publicKeyEncoding, privateKeyEncoding });
  return { algorithm, publicKey, privateKey };
}

/** A key that is registered with the exchange, with its private key. */
export interface SigningKey {
  readonly keyId: string;
  readonly algorithm: KeyAlgorithm;
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}

/** Signs requests with one key (contract section 5.3; specification, Surface A: signed requests). */
export class Signer {
  readonly keyId: string;
  readonly #algorithm: KeyAlgorithm;
  readonly #privateKey: KeyObject;
  readonly #brand: string;
  /** Texts signed for the latest timestamp. The exchange treats two requests with the same text as one. */
  readonly #signed = { atMs: 0, texts: new Set<string>() };

  /** `brand` is the `SIGNATURE_BRAND` of the exchange, which names the headers and the scheme. */
  constructor(key: SigningKey, brand = "Svc") {
    this.keyId = key.keyId;
    this.#algorithm = key.algorithm;
    this.#privateKey = createPrivateKey(key.privateKey);
    this.#brand = brand;
  }

  /**
   * Returns the headers that sign a request. `path` and `query` must be the raw target as it is sent. Two calls never
   * sign the same text, so two equal requests are two requests; to repeat a request, send the same headers again.
   */
  headers(
    method: string,
    path: string,
    query: string,
    body: Uint8Array,
    nowMs = Date.now(),
  ): Record<string, string> {
    const atMs = Math.max(nowMs, this.#signed.atMs);
    const timestamp = String(atMs);
    const text = canonicalText({ brand: this.#brand, timestamp, method, path, query, body });
    if (atMs > this.#signed.atMs) {
      this.#signed.atMs = atMs;
      this.#signed.texts.clear();
    } else if (this.#signed.texts.has(text)) {
      return this.headers(method, path, query, body, atMs + 1);
    }
    this.#signed.texts.add(text);
    return {
      [`${this.#brand}-Key-Id`]: this.keyId,
      [`${this.#brand}-Timestamp`]: timestamp,
      [`${this.#brand}-Signature`]: signText(text, this.#privateKey, this.#algorithm),
    };
  }
}

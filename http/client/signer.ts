/** The caller's side of a signed request: a key pair, and the three headers it puts on a request. */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { canonicalText, signText, type KeyAlgorithm } from "../auth/signing.js";

export type { KeyAlgorithm } from "../auth/signing.js";

/** A fresh key pair: the public half is sent to the exchange, the private half never leaves the caller. */
export interface KeyPair {
  readonly algorithm: KeyAlgorithm;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}

/** Makes a key pair of one of the two algorithms of the specification. */
export function generateKey(algorithm: KeyAlgorithm = "Ed25519"): KeyPair {
  const publicKeyEncoding = { type: "spki", format: "pem" } as const;
  const privateKeyEncoding = { type: "pkcs8", format: "pem" } as const;
  const { publicKey, privateKey } =
    algorithm === "Ed25519"
      ? generateKeyPairSync("ed25519", { publicKeyEncoding, privateKeyEncoding })
      : generateKeyPairSync("ec", { namedCurve: "P-256", publicKeyEncoding, privateKeyEncoding });
  return { algorithm, publicKey, privateKey };
}

/** A key that the exchange knows, with its private half. */
export interface SigningKey {
  readonly keyId: string;
  readonly algorithm: KeyAlgorithm;
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}

/** Signs requests with one key (specification, Surface A: signed requests). */
export class Signer {
  readonly keyId: string;
  readonly #algorithm: KeyAlgorithm;
  readonly #privateKey: KeyObject;
  readonly #brand: string;
  /** What was signed in the latest millisecond: the same text twice would be one request to the exchange. */
  readonly #signed = { atMs: 0, texts: new Set<string>() };

  /** `brand` is the exchange's `SIGNATURE_BRAND`, which names the headers and the scheme. */
  constructor(key: SigningKey, brand = "Svc") {
    this.keyId = key.keyId;
    this.#algorithm = key.algorithm;
    this.#privateKey = createPrivateKey(key.privateKey);
    this.#brand = brand;
  }

  /**
   * The headers that sign these bytes; `path` and `query` are the raw target as it will be sent. Two calls with the
   * same bytes never give the same signed text, so they are two requests; to repeat a request, send its headers again.
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

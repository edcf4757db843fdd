/** Signatures in Node, where `node:crypto` takes a quarter of the processor time of WebCrypto. */

import { createHash, createPrivateKey, KeyObject, sign } from "node:crypto";
import type { KeyAlgorithm, SigningKey, WebCryptoKey } from "../keys.js";
import { Signer } from "../signer.js";

/** Signs requests with one key, given as PKCS#8 PEM or as a `CryptoKey`. */
export class NodeSigner extends Signer {
  readonly #algorithm: KeyAlgorithm;
  readonly #privateKey: KeyObject;

  /** `brand` is the `SIGNATURE_BRAND` of the exchange, which names the headers and the scheme. */
  constructor({ keyId, algorithm, privateKey }: SigningKey<string | WebCryptoKey>, brand = "Svc") {
    super(keyId, brand);
    this.#algorithm = algorithm;
    this.#privateKey =
      typeof privateKey === "string" ? createPrivateKey(privateKey) : KeyObject.from(privateKey);
  }

  override sign(text: string): Promise<string> {
    const digest = this.#algorithm === "Ed25519" ? null : "sha256";
    return Promise.resolve(sign(digest, Buffer.from(text), this.#privateKey).toString("base64"));
  }

  protected override digest(bytes: Uint8Array): Promise<string> {
    return Promise.resolve(createHash("sha256").update(bytes).digest("hex"));
  }
}

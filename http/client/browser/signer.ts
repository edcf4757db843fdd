/** Signatures in browsers, by WebCrypto. */

import { toBase64, WEB_ALGORITHMS, type KeyAlgorithm, type SigningKey, type WebCryptoKey } from "../keys.js";
import { Signer } from "../signer.js";
import { toDer } from "./der.js";

const PEM = /^\s*-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/;

/** Signs requests with one key, given as PKCS#8 PEM or as a `CryptoKey`, which may be hidden in the browser. */
export class BrowserSigner extends Signer {
  readonly #algorithm: KeyAlgorithm;
  readonly #privateKey: string | WebCryptoKey;
  #imported: Promise<WebCryptoKey> | undefined;

  /** `brand` is the `SIGNATURE_BRAND` of the exchange, which names the headers and the scheme. */
  constructor({ keyId, algorithm, privateKey }: SigningKey<string | WebCryptoKey>, brand = "Svc") {
    super(keyId, brand);
    this.#algorithm = algorithm;
    this.#privateKey = privateKey;
  }

  override async sign(text: string): Promise<string> {
    const { signature } = WEB_ALGORITHMS[this.#algorithm];
    const bytes = new TextEncoder().encode(text);
    const signed = new Uint8Array(await crypto.subtle.sign(signature, await this.#key(), bytes));
    return toBase64(this.#algorithm === "Ed25519" ? signed : toDer(signed));
  }

  protected override async digest(bytes: Uint8Array): Promise<string> {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes)));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Returns the private key. Rejects when the PEM is no PKCS#8 key of the algorithm. */
  #key(): Promise<WebCryptoKey> {
    this.#imported ??=
      typeof this.#privateKey === "string"
        ? importKey(this.#privateKey, this.#algorithm)
        : Promise.resolve(this.#privateKey);
    return this.#imported;
  }
}

async function importKey(pem: string, algorithm: KeyAlgorithm): Promise<WebCryptoKey> {
  const base64 = PEM.exec(pem)?.[1];
  if (base64 === undefined) throw new Error("the private key is not a PEM text of the kind PRIVATE KEY");
  const bytes = Uint8Array.from(atob(base64.replace(/\s/g, "")), (char) => char.charCodeAt(0));
  return crypto.subtle.importKey("pkcs8", bytes, WEB_ALGORITHMS[algorithm].key, false, ["sign"]);
}

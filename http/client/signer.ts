/** Client side of a signed request: its three headers (contract section 5.3). Node and browsers sign in their own ways. */

import { canonicalText } from "../auth/canonical.js";

/** Signs requests with one key (contract section 5.3; specification, Surface A: signed requests). */
export abstract class Signer {
  readonly #brand: string;
  /** Texts signed for the latest timestamp. The exchange treats two requests with the same text as one. */
  readonly #signed = { atMs: 0, texts: new Set<string>() };

  /** `brand` is the `SIGNATURE_BRAND` of the exchange, which names the headers and the scheme. */
  constructor(
    readonly keyId: string,
    brand: string,
  ) {
    this.#brand = brand;
  }

  /** Signs a text; returns standard padded base64. P-256 signs the SHA-256 of the text and encodes DER. */
  abstract sign(text: string): Promise<string>;

  /** Returns the SHA-256 of bytes in lower-case hex. */
  protected abstract digest(bytes: Uint8Array): Promise<string>;

  /**
   * Returns the headers that sign a request. `path` and `query` must be the raw target as it is sent. Two calls never
   * sign the same text, so two equal requests are two requests; to repeat a request, send the same headers again.
   */
  async headers(
    method: string,
    path: string,
    query: string,
    body: Uint8Array,
    nowMs = Date.now(),
  ): Promise<Record<string, string>> {
    const bodyDigest = await this.digest(body);
    const { timestamp, text } = this.#newText(nowMs, (at) =>
      canonicalText({ brand: this.#brand, timestamp: at, method, path, query, bodyDigest }),
    );
    return {
      [`${this.#brand}-Key-Id`]: this.keyId,
      [`${this.#brand}-Timestamp`]: timestamp,
      [`${this.#brand}-Signature`]: await this.sign(text),
    };
  }

  /** Returns a text that has not been signed before: that of `nowMs`, or of the first later timestamp that makes one. */
  #newText(nowMs: number, textAt: (timestamp: string) => string): { timestamp: string; text: string } {
    for (let atMs = Math.max(nowMs, this.#signed.atMs); ; atMs += 1) {
      const timestamp = String(atMs);
      const text = textAt(timestamp);
      if (atMs > this.#signed.atMs) {
        this.#signed.atMs = atMs;
        this.#signed.texts.clear();
      }
      if (this.#signed.texts.has(text)) continue;
      this.#signed.texts.add(text);
      return { timestamp, text };
    }
  }
}

/** Keeps what is stored elsewhere from being read or exchanged there: AES-256-GCM under a key of the gateways. */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class Seal {
  readonly #key: Buffer;

  /** `purpose` keeps the uses of one secret apart; gateways with the same secret open each other's seals. */
  constructor(secret: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", purpose, 32));
  }

  /** The text under seal, in base64; it opens for the same `name` only. */
  close(text: string, name: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(name));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64");
  }

  /** What was sealed under this name; `undefined` for anything else. */
  open(sealed: string, name: string): string | undefined {
    const bytes = Buffer.from(sealed, "base64");
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    const iv = bytes.subarray(0, IV_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(name));
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)).toString("utf8") + decipher.final("utf8");
    } catch {
      // Changed, of another name, or of another secret: it is all the same to whoever asks.
      return undefined;
    }
  }
}

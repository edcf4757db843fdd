/** Parts of keys and signatures that only the pages need; `http/client` makes keys and signs (contract section 5.3). */

import type { KeyAlgorithm } from "../../auth/canonical.js";
import { WEB_ALGORITHMS } from "../../client/keys.js";

/** Bytes of one of the two numbers of a P-256 signature. */
const P256_BYTES = 32;

/** Explains why this page has no WebCrypto, or returns `undefined` when it has. */
export function withoutWebCrypto(): string | undefined {
  if (window.isSecureContext) return undefined;
  return `Browsers make keys and signatures for pages over HTTPS and on localhost only, and this page came from ${window.location.origin}. Open it under an https:// address.`;
}

/** Returns what `make` makes with Ed25519, or with P-256 where this browser cannot do it with Ed25519. */
export async function withBestAlgorithm<T>(make: (algorithm: KeyAlgorithm) => Promise<T>): Promise<T> {
  try {
    return await make("Ed25519");
  } catch {
    return make("P-256");
  }
}

/** Decodes standard base64, with or without line breaks. Returns `undefined` for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replace(/\s/g, "")), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Returns the bytes of the first PEM block of the type, or `undefined` when the text has none. */
export function fromPem(
  type: "PUBLIC KEY" | "PRIVATE KEY",
  text: string,
): Uint8Array<ArrayBuffer> | undefined {
  const body = new RegExp(`-----BEGIN ${type}-----([^-]+)-----END ${type}-----`).exec(text)?.[1];
  return body === undefined ? undefined : fromBase64(body);
}

/** Returns the SHA-256 of bytes in lower-case hex. */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the fingerprint of a public key in SPKI DER, as the service names the key (contract section 5.2). */
async function fingerprintOf(spki: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256:${await sha256Hex(spki)}`;
}

/** Returns the fingerprint of a public key in PEM. */
export async function fingerprintOfPem(publicKey: string): Promise<string> {
  return fingerprintOf(fromPem("PUBLIC KEY", publicKey) ?? new Uint8Array());
}

/** Private key of a file, with the fingerprint of its public half. */
export interface PrivateKey {
  readonly algorithm: KeyAlgorithm;
  readonly key: CryptoKey;
  readonly fingerprint: string;
}

/** Imports a PKCS#8 private key. Returns `undefined` for a key that is of neither algorithm of this browser. */
export async function importPrivate(pkcs8: Uint8Array<ArrayBuffer>): Promise<PrivateKey | undefined> {
  for (const algorithm of ["Ed25519", "P-256"] as const) {
    try {
      const { key: parameters } = WEB_ALGORITHMS[algorithm];
      const key = await crypto.subtle.importKey("pkcs8", pkcs8, parameters, true, ["sign"]);
      // WebCrypto exports the public half of a private key as a part of its JWK only.
      const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", key);
      const half = Object.fromEntries(
        Object.entries({ kty, crv, x, y }).filter(([, part]) => part !== undefined),
      );
      const publicKey = await crypto.subtle.importKey("jwk", half, parameters, true, ["verify"]);
      const spki = new Uint8Array(await crypto.subtle.exportKey("spki", publicKey));
      return { algorithm, key, fingerprint: await fingerprintOf(spki) };
    } catch {
      // The key may be of the other algorithm.
    }
  }
  return undefined;
}

/** Returns the verdict on a signature of a text: `unsupported` when the key is not of the algorithm, or this browser lacks it. */
export async function verifyText(
  text: string,
  signature: Uint8Array<ArrayBuffer>,
  spki: Uint8Array<ArrayBuffer>,
  algorithm: KeyAlgorithm,
): Promise<boolean | "unsupported"> {
  const parameters = WEB_ALGORITHMS[algorithm];
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("spki", spki, parameters.key, true, ["verify"]);
  } catch {
    return "unsupported";
  }
  const raw = algorithm === "P-256" ? fromDer(signature) : signature;
  if (raw === undefined) return false;
  return crypto.subtle.verify(parameters.signature, key, raw, new TextEncoder().encode(text));
}

/** Decodes a P-256 signature in DER into r and s side by side; returns `undefined` for any other bytes. */
function fromDer(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const raw = new Uint8Array(2 * P256_BYTES);
  let at = 2;
  for (const end of [P256_BYTES, 2 * P256_BYTES]) {
    const length = der[at + 1] ?? 0;
    const digits = der.subarray(at + 2, at + 2 + length);
    if (der[at] !== 0x02 || length === 0 || digits.length !== length) return undefined;
    const number = digits[0] === 0 ? digits.subarray(1) : digits;
    if (number.length > P256_BYTES) return undefined;
    raw.set(number, end - number.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}

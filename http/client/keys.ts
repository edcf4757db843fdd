/** Key pairs of clients, made with WebCrypto, which Node and browsers have alike (contract section 5.3). */

import type { KeyAlgorithm } from "../auth/canonical.js";

export type { KeyAlgorithm } from "../auth/canonical.js";

/** A `CryptoKey` of WebCrypto, spelled out so that these types need neither those of Node nor those of browsers. */
export interface WebCryptoKey {
  readonly algorithm: { readonly name: string };
  readonly extractable: boolean;
  readonly type: "private" | "public" | "secret";
  readonly usages: (
    "encrypt" | "decrypt" | "sign" | "verify" | "deriveKey" | "deriveBits" | "wrapKey" | "unwrapKey"
  )[];
}

/** A key that is registered with the exchange, with its private key. */
export interface SigningKey<Private extends string | WebCryptoKey = string> {
  readonly keyId: string;
  readonly algorithm: KeyAlgorithm;
  /** PKCS#8 PEM, or a `CryptoKey`. */
  readonly privateKey: Private;
}

/** A key pair. Send the public key to the exchange; the private key must never leave the client. */
export interface KeyPair<Private extends string | WebCryptoKey = string> {
  readonly algorithm: KeyAlgorithm;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** PKCS#8 PEM, or a `CryptoKey`. */
  readonly privateKey: Private;
}

/** Parameters of WebCrypto for each algorithm. */
export const WEB_ALGORITHMS = {
  Ed25519: { key: { name: "Ed25519" }, signature: { name: "Ed25519" } },
  "P-256": { key: { name: "ECDSA", namedCurve: "P-256" }, signature: { name: "ECDSA", hash: "SHA-256" } },
} as const;

const PEM_LINE = 64;

/** Generates a key pair of one of the two algorithms of the exchange. Rejects where WebCrypto lacks the algorithm. */
export async function generateKey(algorithm: KeyAlgorithm = "Ed25519"): Promise<KeyPair> {
  const { publicKey, privateKey } = await generate(algorithm, true);
  const exported = await crypto.subtle.exportKey("pkcs8", privateKey);
  return {
    algorithm,
    publicKey: await publicPem(publicKey),
    privateKey: toPem("PRIVATE KEY", new Uint8Array(exported)),
  };
}

/** Generates a key pair whose private key signs but cannot be read, not even by this program. */
export async function generateHiddenKey(algorithm: KeyAlgorithm = "Ed25519"): Promise<KeyPair<WebCryptoKey>> {
  const { publicKey, privateKey } = await generate(algorithm, false);
  return { algorithm, publicKey: await publicPem(publicKey), privateKey };
}

/** Returns the best algorithm that WebCrypto has here: Ed25519, or P-256 where that is missing. */
export async function bestAlgorithm(): Promise<KeyAlgorithm> {
  try {
    await generate("Ed25519", false);
    return "Ed25519";
  } catch {
    return "P-256";
  }
}

/** Encodes bytes as PEM. */
function toPem(label: string, bytes: Uint8Array): string {
  const text = toBase64(bytes);
  const lines = Array.from({ length: Math.ceil(text.length / PEM_LINE) }, (_, line) =>
    text.slice(line * PEM_LINE, (line + 1) * PEM_LINE),
  );
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Encodes bytes as standard padded base64. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

async function publicPem(key: WebCryptoKey): Promise<string> {
  return toPem("PUBLIC KEY", new Uint8Array(await crypto.subtle.exportKey("spki", key)));
}

async function generate(algorithm: KeyAlgorithm, extractable: boolean) {
  const pair = await crypto.subtle.generateKey(WEB_ALGORITHMS[algorithm].key, extractable, [
    "sign",
    "verify",
  ]);
  if (!("privateKey" in pair)) throw new Error(`WebCrypto made no key pair of ${algorithm}`);
  return pair;
}

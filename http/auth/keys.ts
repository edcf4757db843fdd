/** Which public keys the exchange accepts, and their fingerprints (contract section 5, quality checklist). */

import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { decodeBase64, type KeyAlgorithm } from "./signing.js";

/** A key that passed every check, as it is stored. The fingerprint is of the DER. */
export interface AcceptedKey {
  readonly ok: true;
  readonly pem: string;
  readonly der: Buffer;
  readonly fingerprint: string;
  readonly algorithm: KeyAlgorithm;
}

/** Why a key is refused, in words for the caller. The message never repeats any of the key. */
export interface RefusedKey {
  readonly ok: false;
  readonly message: string;
}

const PEM = /^\s*-----BEGIN PUBLIC KEY-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n?-----END PUBLIC KEY-----\s*$/;
const ED25519_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const P256_PREFIX = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d03010703420004", "hex");
const P256_BYTES = P256_PREFIX.length + 64;
const ED25519_BYTES = ED25519_PREFIX.length + 32;

const FIELD = 2n ** 255n - 19n;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = base % FIELD;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % FIELD;
    factor = (factor * factor) % FIELD;
  }
  return result;
}

const invert = (value: bigint): bigint => power(value, FIELD - 2n);
const CURVE_D = (((FIELD - 121665n) % FIELD) * invert(121666n)) % FIELD;

/** The y of the points whose order divides 8: signatures under them can be forged. */
const SMALL_ORDER_Y = new Set([
  0n,
  1n,
  FIELD - 1n,
  littleEndian(Buffer.from("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "hex")),
  littleEndian(Buffer.from("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "hex")),
]);

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}

/** Judges the 32 bytes of an Ed25519 point; Node itself imports any of them. */
function refusePoint(bytes: Uint8Array): string | undefined {
  const encoded = littleEndian(bytes);
  const sign = encoded >> 255n;
  const y = encoded & (2n ** 255n - 1n);
  if (y >= FIELD) return "publicKey is a non-canonical Ed25519 point";
  if (SMALL_ORDER_Y.has(y)) return "publicKey is an Ed25519 point of small order";
  const ySquared = (y * y) % FIELD;
  const xSquared = ((ySquared - 1n + FIELD) * invert((CURVE_D * ySquared + 1n) % FIELD)) % FIELD;
  if (xSquared === 0n && sign === 1n) return "publicKey is a non-canonical Ed25519 point";
  if (power(xSquared, (FIELD - 1n) / 2n) !== 1n) return "publicKey is not a point of the Ed25519 curve";
  return undefined;
}

/** Says what a DER that is no key of ours is, as far as it can be told. */
function describeOther(der: Buffer): string {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return "publicKey is not a public key in SPKI form; export it with the SPKI encoding";
  }
  const type = key.asymmetricKeyType ?? "unknown";
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (type === "ec" && curve !== undefined && curve !== "prime256v1") {
    return `publicKey is on the curve ${curve}; only P-256 and Ed25519 are accepted`;
  }
  if (type !== "ec" && type !== "ed25519") {
    return `publicKey is of type ${type}; only Ed25519 and P-256 are accepted`;
  }
  if (key.export({ format: "der", type: "spki" }).length < der.length) {
    return "publicKey has trailing bytes after the key";
  }
  return "publicKey is not in the plain SPKI encoding; export it again with an uncompressed point";
}

/**
 * Judges a submitted public key: one SPKI PEM of the named algorithm, nothing before, after or beside it.
 * A refusal says which check failed (contract section 5).
 */
export function acceptKey(pem: string, algorithm: KeyAlgorithm): AcceptedKey | RefusedKey {
  const refuse = (message: string): RefusedKey => ({ ok: false, message });
  if (pem.includes("PRIVATE KEY")) {
    return refuse("publicKey is a private key: keep it secret, and send the public key made from it");
  }
  const body = PEM.exec(pem)?.[1];
  if (body === undefined) {
    return refuse("publicKey must be exactly one PEM block of type PUBLIC KEY, newlines included");
  }
  const der = decodeBase64(body.replace(/[\r\n]/g, ""));
  if (der === undefined) return refuse("publicKey is not valid base64 inside its PEM block");
  const isEd25519 =
    der.length === ED25519_BYTES && der.subarray(0, ED25519_PREFIX.length).equals(ED25519_PREFIX);
  const isP256 = der.length === P256_BYTES && der.subarray(0, P256_PREFIX.length).equals(P256_PREFIX);
  if (!isEd25519 && !isP256) return refuse(describeOther(der));
  const found: KeyAlgorithm = isEd25519 ? "Ed25519" : "P-256";
  if (found !== algorithm) return refuse(`publicKey is of type ${found}, but algorithm says ${algorithm}`);
  const point = isEd25519 ? refusePoint(der.subarray(ED25519_PREFIX.length)) : undefined;
  if (point !== undefined) return refuse(point);
  let key: KeyObject;
  try {
    key = createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return refuse(`publicKey is not a point of the ${found} curve`);
  }
  return {
    ok: true,
    pem: key.export({ format: "pem", type: "spki" }).toString(),
    der,
    fingerprint: fingerprintOf(der),
    algorithm,
  };
}

/** `sha256:` and the hex digest of a key's SPKI DER. */
export function fingerprintOf(spki: Uint8Array): string {
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

/** Checks of submitted public keys, and their fingerprints (contract section 5.2). */

import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import type { EdwardsPoint } from "@noble/curves/abstract/edwards.js";
import { ed25519 } from "@noble/curves/ed25519.js";
import { bytesToNumberLE } from "@noble/curves/utils.js";
import type { KeyAlgorithm } from "./canonical.js";
import { decodeBase64 } from "./signing.js";

/** Key that passed every check, as it is stored. The fingerprint is that of the DER. */
export interface AcceptedKey {
  readonly ok: true;
  readonly pem: string;
  readonly der: Buffer;
  readonly fingerprint: string;
  readonly algorithm: KeyAlgorithm;
}

/** Refusal of a key, with a message for the caller that never repeats any part of the key. */
export interface RefusedKey {
  readonly ok: false;
  readonly message: string;
}

const PEM = /^\s*-----BEGIN PUBLIC KEY-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n?-----END PUBLIC KEY-----\s*$/;
const ED25519_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const P256_PREFIX = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d03010703420004", "hex");
const P256_BYTES = P256_PREFIX.length + 64;
const ED25519_BYTES = ED25519_PREFIX.length + 32;

/** All bits of an encoded Ed25519 point but the highest, which is the sign of x. */
const Y_BITS = 2n ** 255n - 1n;

function notOnCurve(algorithm: KeyAlgorithm): string {
  return `publicKey is not a point of the ${algorithm} curve; generate a new key pair`;
}

/** Returns the refusal of a bad Ed25519 point, or `undefined` for a good one; Node itself imports any 32 bytes. */
function refusePoint(encoded: Uint8Array): string | undefined {
  const { Point } = ed25519;
  const y = bytesToNumberLE(encoded) & Y_BITS;
  if (y >= Point.Fp.ORDER) return "publicKey is a non-canonical Ed25519 point; generate a new key pair";
  let point: EdwardsPoint;
  try {
    point = Point.fromBytes(encoded, true);
  } catch {
    return notOnCurve("Ed25519");
  }
  // Anybody can forge signatures under a point whose order divides 8.
  if (point.isSmallOrder()) return "publicKey is an Ed25519 point of small order; generate a new key pair";
  return undefined;
}

/** Returns the refusal of a DER that is neither an Ed25519 nor an uncompressed P-256 key, as precisely as OpenSSL allows. */
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
    return `publicKey is on the curve ${curve}; send a P-256 or an Ed25519 key`;
  }
  if (type !== "ec" && type !== "ed25519") {
    return `publicKey is of type ${type}; send an Ed25519 or a P-256 key`;
  }
  if (key.export({ format: "der", type: "spki" }).length < der.length) {
    return "publicKey has trailing bytes after the key; remove them";
  }
  return "publicKey is not in the plain SPKI encoding; export the key again, with an uncompressed point";
}

/**
 * Accepts a submitted public key, or says which check it failed (contract section 5.2). The text must be one SPKI PEM
 * of the named algorithm, with nothing before, after or beside it.
 */
export function acceptKey(pem: string, algorithm: KeyAlgorithm): AcceptedKey | RefusedKey {
  const refuse = (message: string): RefusedKey => ({ ok: false, message });
  if (pem.includes("PRIVATE KEY")) {
    return refuse("publicKey is a private key; keep it secret and send the public key of the pair");
  }
  const body = PEM.exec(pem)?.[1];
  if (body === undefined) {
    return refuse("publicKey must be exactly one PEM block of type PUBLIC KEY, newlines included");
  }
  const der = decodeBase64(body.replace(/[\r\n]/g, ""));
  if (der === undefined)
    return refuse("publicKey is not valid base64 inside its PEM block; export the key again");
  const isEd25519 =
    der.length === ED25519_BYTES && der.subarray(0, ED25519_PREFIX.length).equals(ED25519_PREFIX);
  const isP256 = der.length === P256_BYTES && der.subarray(0, P256_PREFIX.length).equals(P256_PREFIX);
  if (!isEd25519 && !isP256) return refuse(describeOther(der));
  const found: KeyAlgorithm = isEd25519 ? "Ed25519" : "P-256";
  if (found !== algorithm)
    return refuse(`publicKey is of type ${found}, but algorithm is ${algorithm}; send the type of the key`);
  const point = isEd25519 ? refusePoint(der.subarray(ED25519_PREFIX.length)) : undefined;
  if (point !== undefined) return refuse(point);
  let key: KeyObject;
  try {
    key = createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return refuse(notOnCurve(found));
  }
  return {
    ok: true,
    pem: key.export({ format: "pem", type: "spki" }).toString(),
    der,
    fingerprint: fingerprintOf(der),
    algorithm,
  };
}

/** Returns the fingerprint of a key: `sha256:` and the hex digest of its SPKI DER. */
function fingerprintOf(spki: Uint8Array): string {
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

/** One-time passwords by time (TOTP, RFC 6238, with the parameters that every authenticator app takes), and recovery codes. */

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Incoming } from "../edge/incoming.js";

const STEP_MS = 30_000;
const DIGITS = 6;
/** Difference between the clocks of the service and of a device that is allowed, in time steps. */
const STEPS_OFF = 1;
/** Length of a secret, which is that of the hash (RFC 4226, section 4). */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** Length of a recovery code: 80 random bits need no slow hash. */
const RECOVERY_BYTES = 10;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Encodes bytes in base32 (RFC 4648) without padding. Their number is a multiple of 5. */
function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[parseInt(five, 2)]).join("");
}

/** Decodes base32 without padding. */
function bytesOf(text: string): Buffer {
  const bits = Array.from(text, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => parseInt(eight, 2)));
}

/** Returns a new secret in base32. */
export function newSecret(): string {
  return base32(randomBytes(SECRET_BYTES));
}

/** Returns the one-time password of a time step. */
function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", bytesOf(secret)).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/** Returns the one-time password of a secret in base32 at a time. */
export function codeAt(secret: string, nowMs: number): string {
  return codeOf(secret, Math.floor(nowMs / STEP_MS));
}

/** Time of a request. */
type Moment = Pick<Incoming, "receivedMs" | "heldMs">;

/**
 * Returns the time step whose one-time password a text is, if that is the step of the request or one beside it. While a
 * jump of the clock of Redis is held, its steps count too: an operator who signs in may want to confirm the jump.
 */
export function stepOf(secret: string, code: string, { receivedMs, heldMs }: Moment): number | undefined {
  return stepNear(secret, code, receivedMs) ?? stepNear(secret, code, receivedMs - heldMs);
}

function stepNear(secret: string, code: string, nowMs: number): number | undefined {
  const given = Buffer.from(code);
  const now = Math.floor(nowMs / STEP_MS);
  const steps = Array.from({ length: 2 * STEPS_OFF + 1 }, (_, index) => now - STEPS_OFF + index);
  const matching = steps.filter((step) => {
    const right = Buffer.from(codeOf(secret, step));
    return given.length === right.length && timingSafeEqual(given, right);
  });
  return matching.at(-1);
}

/** Returns the URI of a secret that authenticator apps read from a QR code. */
export function uriOf(secret: string, issuer: string, email: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

/** Returns new recovery codes, each in groups of four letters. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    (base32(randomBytes(RECOVERY_BYTES)).match(/.{4}/g) ?? []).join("-"),
  );
}

/** Returns the digest of a recovery code, in either letter case and with or without its dashes. */
export function digestOf(recoveryCode: string): string {
  const letters = recoveryCode.toUpperCase().replace(/[\s-]/g, "");
  return createHash("sha256").update(letters).digest("hex");
}

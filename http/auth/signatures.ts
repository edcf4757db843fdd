/** Verification of signed requests: the checks that answer 401, in order (contract section 5.5). */

import { UUID } from "../../actors/uuid.js";
import type { ConfirmedJump } from "../../stream/log/log.js";
import type { KeyCaller, LiveKey } from "../request/callers.js";
import { commandIdOf } from "../request/command-ids.js";
import { Refused } from "../request/errors.js";
import { REPEATED, type Incoming } from "../edge/incoming.js";
import { canonicalText } from "./canonical.js";
import { bodyDigest, decodeBase64, verifyText } from "./signing.js";

/** Directory of the live keys. */
export interface KeyDirectory {
  find(keyId: string): Promise<LiveKey | undefined>;
}

const TIMESTAMP = /^(?:0|[1-9][0-9]{0,15})$/;
/** Greatest difference between a timestamp and engine time, in either direction. */
const TIMESTAMP_WINDOW_MS = 30_000;
const OFF_THE_CLOCK = `more than ${TIMESTAMP_WINDOW_MS / 1_000} s off the clock of the service`;
/** Time in ms for which a signed request can be repeated: the window of its timestamp, and 5 s for clocks that differ. */
export const REMEMBER_MS = 2 * TIMESTAMP_WINDOW_MS + 5_000;
/** Difference in ms above which no repeat that comes in time is in the windows of both clocks. */
const SECOND_WINDOW_MS = 2 * REMEMBER_MS;
/** Time in ms after a confirmation by which every gateway and every worker has learned of it. */
const LEARNED_MS = 5_000;

/** Parts of a request that a signature covers, and its headers. */
type SignedRequest = Pick<
  Incoming,
  "method" | "target" | "body" | "ip" | "receivedMs" | "heldMs" | "lastJump" | "header"
>;

interface Signature {
  readonly keyId: string;
  readonly timestamp: string;
  readonly signature: string;
}

/** Identifies the callers of signed requests. */
export class Signatures {
  private readonly names: Readonly<Record<keyof Signature, string>>;
  /** Name of the request header that asks the echo route for the canonical text. */
  readonly debugName: string;
  /** Name of the response header that carries the canonical text. */
  readonly canonicalName: string;

  constructor(
    private readonly brand: string,
    private readonly directory: KeyDirectory,
  ) {
    const prefix = brand.toLowerCase();
    this.debugName = `${prefix}-debug`;
    this.canonicalName = `${brand}-Canonical`;
    this.names = {
      keyId: `${prefix}-key-id`,
      timestamp: `${prefix}-timestamp`,
      signature: `${prefix}-signature`,
    };
  }

  /** Returns whether a request has any of the three headers of a signature. */
  isSigned(request: SignedRequest): boolean {
    return Object.values(this.names).some((name) => request.header(name) !== undefined);
  }

  /** Returns the canonical text that the server builds for a request, for signers to compare with theirs. */
  canonicalTextOf(request: SignedRequest): string {
    const timestamp = request.header(this.names.timestamp);
    return this.text(request, typeof timestamp === "string" ? timestamp : "");
  }

  /** Identifies the caller. Refuses `SIGNATURE_REJECTED` with the name of the first check that failed, and no more. */
  async identify(request: SignedRequest): Promise<KeyCaller> {
    const { timestamp, signature, ...headers } = this.headersOf(request);
    const { names } = this;
    if (!UUID.test(headers.keyId)) reject(`unknown key: ${names.keyId} is not a uuid`);
    const keyId = headers.keyId.toLowerCase();
    if (!TIMESTAMP.test(timestamp))
      reject(`invalid timestamp: ${names.timestamp} is not an unpadded integer of milliseconds`);
    const age = request.receivedMs - Number(timestamp);
    const isOfRedis = isInWindowOfRedis(age, request.heldMs);
    if (age > TIMESTAMP_WINDOW_MS && !isOfRedis)
      reject(`timestamp too old: ${names.timestamp} is ${OFF_THE_CLOCK}`);
    if (age < -TIMESTAMP_WINDOW_MS && !isOfRedis)
      reject(`timestamp too far in the future: ${names.timestamp} is ${OFF_THE_CLOCK}`);
    if (mayHaveBeenForgotten(Number(timestamp), request.lastJump))
      reject(`timestamp too old: ${names.timestamp} is from before a confirmed jump of the clock`);
    const key = await this.directory.find(keyId);
    if (key === undefined || (key.expiresTs !== undefined && key.expiresTs <= request.receivedMs)) {
      return reject(`unknown key: ${names.keyId} is not the id of a live key`);
    }
    const bytes = decodeBase64(signature);
    if (bytes === undefined)
      return reject(`invalid signature: ${names.signature} is not standard padded base64`);
    const text = this.text(request, timestamp);
    if (!(await verifyText(text, bytes, key.publicKey, key.algorithm)))
      reject(`invalid signature: ${names.signature} does not verify; POST /v3/echo shows the text to sign`);
    const mark = clockMark(Number(timestamp), isOfRedis, request.lastJump);
    const commandId = commandIdOf(keyId, mark === undefined ? text : `${text}\n${mark}`);
    return { kind: "key", key, ip: request.ip, commandId, signedTs: Number(timestamp), resumed: false };
  }

  private headersOf(request: SignedRequest): Signature {
    const value = (name: string): string => {
      const header = request.header(name);
      if (header === undefined || header === "") reject(`missing header: ${name}`);
      if (header === REPEATED) reject(`repeated header: ${name} is given more than once; send it once`);
      return header;
    };
    return {
      keyId: value(this.names.keyId),
      timestamp: value(this.names.timestamp),
      signature: value(this.names.signature),
    };
  }

  private text(request: SignedRequest, timestamp: string): string {
    const { method, target, body } = request;
    return canonicalText({ brand: this.brand, timestamp, method, ...target, bodyDigest: bodyDigest(body) });
  }
}

/**
 * Returns whether a timestamp is in the window of the clock of Redis while a jump of it is held: a right clock of a client
 * may show either time. A jump that is too small to tell the two windows apart opens no second one.
 */
function isInWindowOfRedis(ageMs: number, heldMs: number): boolean {
  return Math.abs(heldMs) > SECOND_WINDOW_MS && Math.abs(ageMs - heldMs) <= TIMESTAMP_WINDOW_MS;
}

/**
 * Returns whether a timestamp may be that of a request from before an operator confirmed a jump. The jump makes ledgers
 * forget their answers early, so that a repeat would be carried out once more.
 */
function mayHaveBeenForgotten(timestamp: number, lastJump: ConfirmedJump | undefined): boolean {
  return isLarge(lastJump) && timestamp <= lastJump.atMs + LEARNED_MS;
}

/**
 * Returns what distinguishes a request from one with the same bytes that was accepted by the other clock, or by engine time
 * before it was set back; `undefined` for most. A gateway that learns of a confirmation late accepts a timestamp by the
 * clock of Redis still.
 */
function clockMark(
  timestamp: number,
  isOfRedis: boolean,
  lastJump: ConfirmedJump | undefined,
): string | undefined {
  if (isOfRedis) return "clock of Redis";
  if (!isLarge(lastJump)) return undefined;
  const { atMs, heldMs } = lastJump;
  if (timestamp <= atMs + REMEMBER_MS) return "clock of Redis";
  return timestamp <= atMs + heldMs + REMEMBER_MS ? `after ${atMs}` : undefined;
}

function isLarge(jump: ConfirmedJump | undefined): jump is ConfirmedJump {
  return jump !== undefined && Math.abs(jump.heldMs) > SECOND_WINDOW_MS;
}

function reject(message: string): never {
  throw new Refused("SIGNATURE_REJECTED", message);
}

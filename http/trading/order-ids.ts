/** Ids of orders. They follow from the request that places the order, so that a repeat of it has the same ones. */

import { createHmac, hkdfSync } from "node:crypto";
import { uuidOf } from "../request/command-ids.js";

/** Request that places orders. */
export interface PlacingRequest {
  readonly commandId: string;
  /** Time of the request, in Unix ms: of a signed request that of its signature. */
  readonly ts: number;
}

/** Interval in ms to which times are rounded down, so that an id does not tell when exactly its request was signed. */
const GRAIN_MS = 4_096;

/** Makes the ids of orders. All gateways have the same secret, and make the same ids. */
export class OrderIds {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "order ids", 32));
  }

  /**
   * Returns the id of an order: a UUID of version 8 with 36 bits of the time, so that the rows of new orders are next to each
   * other in an index, and 86 bits of a digest. The digest has a key, because senders who could compute it could look for
   * two requests whose orders have one id. Throws `RangeError` for a time below 0 or from 2^48 ms on.
   */
  of({ commandId, ts }: PlacingRequest, name: string): string {
    const digest = createHmac("sha256", this.#key).update(commandId).update("\n").update(name).digest();
    digest.writeUIntBE(ts - (ts % GRAIN_MS) + (digest.readUInt16BE(4) % GRAIN_MS), 0, 6);
    return uuidOf(digest);
  }
}

/** One-use tickets in Redis. The first process that redeems a ticket gets its meaning. */

import { createHash, randomBytes } from "node:crypto";
import { orUnavailable, type ServiceConnection } from "./connection.js";

const TICKET_BYTES = 32;
/** Form of every ticket; any other text is rejected without a look-up. */
const TICKET = /^[A-Za-z0-9_-]{43}$/;
const UNAVAILABLE = "the ticket store cannot be reached; try again";

export class Tickets {
  readonly #connection: ServiceConnection;

  constructor(connection: ServiceConnection) {
    this.#connection = connection;
  }

  /** Issues a ticket that is valid for `lifeMs`. Throws `Unavailable`. */
  async issue(meaning: string, lifeMs: number): Promise<string> {
    const ticket = randomBytes(TICKET_BYTES).toString("base64url");
    await orUnavailable(this.#connection.redis.set(this.#keyOf(ticket), meaning, "PX", lifeMs), UNAVAILABLE);
    return ticket;
  }

  /**
   * Returns the meaning of a ticket and uses the ticket up. Returns `undefined` for a ticket that is used, expired or
   * unknown. Throws `Unavailable`.
   */
  async redeem(ticket: string): Promise<string | undefined> {
    if (!TICKET.test(ticket)) return undefined;
    const meaning = await orUnavailable(this.#connection.redis.getdel(this.#keyOf(ticket)), UNAVAILABLE);
    return meaning ?? undefined;
  }

  /**
   * Uses up something that is good once, such as a signature. Returns true for the first use of `id` within `lifeMs`.
   * Throws `Unavailable`.
   */
  async useOnce(id: string, lifeMs: number): Promise<boolean> {
    const { redis } = this.#connection;
    return (
      (await orUnavailable(redis.set(this.#keyOf(id), "used", "PX", lifeMs, "NX"), UNAVAILABLE)) === "OK"
    );
  }

  /** The key has only the hash of a ticket, so read access to Redis does not give valid tickets. */
  #keyOf(ticket: string): string {
    return this.#connection.keys.ticket(createHash("sha256").update(ticket).digest("hex"));
  }
}

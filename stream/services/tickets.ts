/** One-use tickets in Redis: whoever comes first with one gets what it stands for, at whichever process. */

import { createHash, randomBytes } from "node:crypto";
import { connect, type Connection } from "../redis/connection.js";
import { Keys } from "../redis/keys.js";
import { Unavailable } from "../log/ports.js";

const TICKET_BYTES = 32;
/** What a ticket looks like, so that nothing else is looked up. */
const TICKET = /^[A-Za-z0-9_-]{43}$/;

export interface TicketsOptions {
  /** One URL, or a comma list of nodes of a Redis Cluster. */
  readonly url: string;
  /** In front of every key; no braces. */
  readonly prefix?: string | undefined;
}

export class Tickets {
  readonly #connection: Connection;
  readonly #keys: Keys;

  constructor(options: TicketsOptions) {
    this.#connection = connect(options.url);
    this.#keys = new Keys(options.prefix ?? "overround:");
  }

  /** A new ticket, good for `lifeMs`. Throws `Unavailable`. */
  async issue(meaning: string, lifeMs: number): Promise<string> {
    const ticket = randomBytes(TICKET_BYTES).toString("base64url");
    await this.#ask(() => this.#connection.set(this.#keyOf(ticket), meaning, "PX", lifeMs));
    return ticket;
  }

  /** What a ticket stands for, once; `undefined` for one that is used, expired or none. Throws `Unavailable`. */
  async redeem(ticket: string): Promise<string | undefined> {
    if (!TICKET.test(ticket)) return undefined;
    return (await this.#ask(() => this.#connection.getdel(this.#keyOf(ticket)))) ?? undefined;
  }

  /** Lets go of the connection. */
  close(): void {
    this.#connection.disconnect();
  }

  /** Redis knows the hash of a ticket only: who reads its keys cannot come in. */
  #keyOf(ticket: string): string {
    return this.#keys.ticket(createHash("sha256").update(ticket).digest("hex"));
  }

  async #ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    try {
      return await question();
    } catch (error) {
      throw new Unavailable("the tickets cannot be reached", { cause: error });
    }
  }
}

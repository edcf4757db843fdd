/** Password hashes: scrypt, with its parameters stored beside the hash, and few computed at once. */

import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { retryAfter } from "../edge/headers.js";
import { Refused } from "../request/errors.js";

/** Work factor of scrypt: `N = 2 ** log2N`, and the parallelism `p`; `r` is 8. */
export interface PasswordCost {
  readonly log2N: number;
  readonly p: number;
}

/** Cost of new hashes: 32 MiB and three passes. */
const PASSWORD_COST: PasswordCost = { log2N: 15, p: 3 };

const BLOCK = 8;
const HASH_BYTES = 32;
const STORED = /^scrypt\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/;

function derive(password: string, salt: Uint8Array, cost: PasswordCost): Promise<Buffer> {
  const options = { N: 2 ** cost.log2N, r: BLOCK, p: cost.p, maxmem: 256 * BLOCK * 2 ** cost.log2N };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, HASH_BYTES, options, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}

/** Runs at most `width` tasks at once, queues at most `waiting`, and refuses any more with `UNAVAILABLE`. */
class Bounded {
  private running = 0;
  private readonly queue: (() => void)[] = [];

  constructor(
    private readonly width: number,
    private readonly waiting: number,
  ) {}

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.running >= this.width) {
      if (this.queue.length >= this.waiting) {
        throw new Refused(
          "UNAVAILABLE",
          "too many passwords are being checked; try again",
          {},
          retryAfter(1),
        );
      }
      await new Promise<void>((resolve) => this.queue.push(resolve));
    } else {
      this.running += 1;
    }
    try {
      return await task();
    } finally {
      const next = this.queue.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}

/** Hashes and checks passwords. A process has one instance, which bounds the memory that logins take. */
export class Passwords {
  private readonly bounded = new Bounded(2, 200);
  private readonly dummy: Promise<string>;

  constructor(private readonly cost: PasswordCost = PASSWORD_COST) {
    this.dummy = this.hash(randomBytes(16).toString("hex"));
    this.dummy.catch(() => undefined);
  }

  /** Returns the text to store for a password. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(16);
    const hash = await this.bounded.run(() => derive(password, salt, this.cost));
    return `scrypt$${this.cost.log2N}$${this.cost.p}$${salt.toString("base64")}$${hash.toString("base64")}`;
  }

  /** Returns whether a password is the stored one. Without a stored one the check takes as long and fails. */
  async matches(password: string, stored: string | undefined): Promise<boolean> {
    const parts = STORED.exec(stored ?? (await this.dummy));
    if (parts === null) return false;
    const [, log2N = "", p = "", salt = "", hash = ""] = parts;
    const expected = Buffer.from(hash, "base64");
    const cost = { log2N: Number(log2N), p: Number(p) };
    const derived = await this.bounded.run(() => derive(password, Buffer.from(salt, "base64"), cost));
    return timingSafeEqual(derived, expected) && stored !== undefined;
  }
}

/** Password hashes: scrypt, with its parameters stored beside the hash, and few computed at once. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { FairSlots, type Turn } from "./fair-slots.js";
import { ScryptThreads } from "./scrypt.js";
import { Waits } from "./waits.js";

/** Work factor of scrypt: `N = 2 ** log2N`, and the parallelism `p`; `r` is 8. */
export interface PasswordCost {
  readonly log2N: number;
  readonly p: number;
}

/** Cost of new hashes: 32 MiB and three passes. */
const PASSWORD_COST: PasswordCost = { log2N: 15, p: 3 };

const BLOCK = 8;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const STORED = /^scrypt\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/;

/**
 * Rest of a slot after a wrong password of a trader, as a multiple of the time of its check: a flood of guesses takes
 * about a third of a core. The slot of operators does not rest, so that no guess of another one delays a sign-in.
 */
const REST = 5;
const MAX_REST_MS = 2_000;
/**
 * Time in ms after a wrong password in which further ones of its sender are checked only while a core has nothing else to
 * do, and most senders of whom that is known.
 */
const GUESSING_MS = 60_000;
const MAX_GUESSERS = 100_000;

/** Returns the text that is stored for a hash. */
function textOf({ log2N, p }: PasswordCost, salt: Buffer, hash: Buffer): string {
  return `scrypt$${log2N}$${p}$${salt.toString("base64")}$${hash.toString("base64")}`;
}

/** Turn of a password that is hashed or checked. */
export interface PasswordTurn extends Turn {
  /** True for the account of an operator, which has a slot that no flood of other logins takes. */
  readonly operator: boolean;
}

/** Turn of the service itself, and of secrets that operators set. */
const OWN: PasswordTurn = { sender: "the service", operator: true };

/** Hashes and checks passwords. A process has one instance, which bounds the memory that logins take. */
export class Passwords {
  private readonly operators = new FairSlots(1, 20);
  private readonly others = new FairSlots(2, 40);
  private readonly guessers = new Waits(GUESSING_MS, MAX_GUESSERS);
  private readonly scrypt = new ScryptThreads();
  /** Checked in place of the hash that an unknown account does not have. No password fits it. */
  private readonly dummy: string;

  constructor(private readonly cost: PasswordCost = PASSWORD_COST) {
    this.dummy = textOf(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  }

  /** Returns the text to store for a password. Refuses `UNAVAILABLE` when too many wait. */
  async hash(password: string, turn: PasswordTurn = OWN): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.slotsFor(turn).run(turn, () => this.derive(password, salt, this.cost));
    return textOf(this.cost, salt, hash);
  }

  /**
   * Returns whether a password is the stored one. Without a stored one the check takes as long and fails. Refuses
   * `UNAVAILABLE` when too many wait.
   */
  async matches(password: string, stored: string | undefined, turn: PasswordTurn = OWN): Promise<boolean> {
    const parts = STORED.exec(stored ?? this.dummy);
    if (parts === null) return false;
    const [, log2N = "", p = "", salt = "", hash = ""] = parts;
    const expected = Buffer.from(hash, "base64");
    const cost = { log2N: Number(log2N), p: Number(p) };
    return this.slotsFor(turn).run(turn, async (rest) => {
      const beganMs = performance.now();
      const from = turn.group ?? turn.sender;
      const canWait = !turn.operator && turn.preferred !== true && this.guessers.has(from);
      const derived = await this.derive(password, Buffer.from(salt, "base64"), cost, canWait);
      const matches = timingSafeEqual(derived, expected) && stored !== undefined;
      if (!matches) this.guessers.add(from);
      if (!matches && !turn.operator) rest(Math.min(MAX_REST_MS, REST * (performance.now() - beganMs)));
      return matches;
    });
  }

  private derive(password: string, salt: Uint8Array, cost: PasswordCost, canWait = false): Promise<Buffer> {
    const options = { N: 2 ** cost.log2N, r: BLOCK, p: cost.p, maxmem: 256 * BLOCK * 2 ** cost.log2N };
    const input = { password: password.normalize("NFC"), salt, bytes: HASH_BYTES, options };
    return this.scrypt.hash(input, canWait);
  }

  private slotsFor({ operator }: PasswordTurn): FairSlots {
    return operator ? this.operators : this.others;
  }
}

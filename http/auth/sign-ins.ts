/**
 * Checks of passwords and second factors, at rates that make guessing slow (contract section 8.1). Failures are counted by
 * account and address, so that nobody can lock the holder of an account out from elsewhere.
 */

import { createHash } from "node:crypto";
import type { Database } from "../../db/database.js";
import { isKnownAddress, rememberAddress } from "../../db/queries/accounts/sign-ins.js";
import { findTraderByEmail, type Trader } from "../../db/queries/accounts/traders.js";
import type { Role } from "../../db/schema/accounts.js";
import type { TokenBucket, TokenBuckets } from "../../stream/services/token-buckets.js";
import type { Incoming } from "../edge/incoming.js";
import { retryAfter } from "../edge/headers.js";
import { siteOf, subscriberOf } from "../geo/addresses.js";
import { Refused } from "../request/errors.js";
import { retryAfterSeconds } from "../request/throttle.js";
import { tooManyWait } from "./passwords/fair-slots.js";
import type { PasswordTurn, Passwords } from "./passwords/passwords.js";
import { Waits } from "./passwords/waits.js";
import { hasSecondFactor, type SecondFactors } from "./second-factors.js";

interface SignInParts {
  readonly db: Database;
  readonly passwords: Passwords;
  readonly secondFactors: SecondFactors;
  readonly buckets: Pick<TokenBuckets, "spend">;
}

/** Password, and for an account with a second factor its one-time password or a recovery code. */
export interface Proof {
  readonly password: string;
  readonly code?: string | undefined;
}

type Sender = Pick<Incoming, "ip" | "receivedMs" | "heldMs">;

/** Rates over all gateways of one address: of sign-ins, and of registrations, which show whether an e-mail is known. */
const ATTEMPTS: TokenBucket = { name: "attempts", capacity: 300, refill: 5, periodMs: 1_000 };
const REGISTRATIONS: TokenBucket = { name: "registrations", capacity: 100, refill: 10, periodMs: 60_000 };
/** Rates of failed sign-ins: of one account from one address, and of one account from all addresses that it does not know. */
const FAILURES: TokenBucket = { name: "failures", capacity: 10, refill: 2, periodMs: 60_000 };
const FAILURES_OF_ACCOUNT: TokenBucket = {
  name: "failures of an account",
  capacity: 1_000,
  refill: 120,
  periodMs: 60_000,
};

/**
 * Rate of wrong one-time passwords and recovery codes of one account, which come with the right password, from all
 * addresses that the account does not know. A guess has three chances in a million.
 */
const WRONG_CODES: TokenBucket = { name: "wrong codes", capacity: 10, refill: 10, periodMs: 3_600_000 };

/** Time in ms of a wait for which a password found no place in the queue: the `Retry-After` of the refusal. */
const BUSY_MS = 1_000;
const MAX_WAITS = 100_000;

/** Names of an account and an address in the buckets, whether or not the account exists. */
interface Names {
  readonly account: string;
  readonly address: string;
  /** The account at the address. */
  readonly pair: string;
}

function namesOf(email: string, { ip }: Sender): Names {
  // A hash keeps the name short, however long the given e-mail is.
  const account = `web-account:${createHash("sha256").update(email.toLowerCase()).digest("base64url")}`;
  const address = subscriberOf(ip);
  return { account, address, pair: `${account}:${address}` };
}

export class SignIns {
  /** Pairs of account and address whose password found no place in the queue. */
  readonly #waits = new Waits(BUSY_MS, MAX_WAITS);

  constructor(private readonly parts: SignInParts) {}

  /** Charges a registration, and returns the hash of its password. Refuses `RATE_LIMIT_EXCEEDED`. */
  async register(password: string, from: Sender): Promise<string> {
    await this.#spend(`web-address:${subscriberOf(from.ip)}`, REGISTRATIONS);
    return this.hash(password, "trader", from);
  }

  /** Returns the hash of a new password, which waits for its turn like a sign-in. */
  hash(password: string, role: Role, { ip }: Sender): Promise<string> {
    return this.parts.passwords.hash(password, {
      sender: subscriberOf(ip),
      group: siteOf(ip),
      operator: role === "operator",
    });
  }

  /**
   * Returns the account of an e-mail address when password and second factor are right. Refuses `INVALID_CREDENTIALS`,
   * `TOTP_REQUIRED`, `ACCOUNT_LOCKED` for an operator who is not active, `RATE_LIMIT_EXCEEDED`, and `UNAVAILABLE` when too
   * many passwords wait.
   */
  async signIn(email: string, proof: Proof, from: Sender): Promise<Trader> {
    const { address, pair } = namesOf(email, from);
    // Otherwise the guesses of a flood cost the service more than the hashes that they do not get. Other accounts at the
    // address do not wait: their traders may share it with the flood.
    if (this.#waits.has(pair)) throw tooManyWait();
    await this.#spend(`web-address:${address}`, ATTEMPTS);
    const account = await this.#prove(email, proof, from);
    if (account.role === "operator" && account.state !== "ACTIVE") throw new Refused("ACCOUNT_LOCKED");
    await rememberAddress(this.parts.db, { traderId: account.traderId, address, nowTs: from.receivedMs });
    return account;
  }

  /** Checks the proof of a signed-in account, and returns the account as it is now. Refuses as `signIn` does. */
  confirm(account: Trader, proof: Proof, from: Sender): Promise<Trader> {
    return this.#prove(account.email, proof, from);
  }

  /** Runs a check of a signed-in account that has no result when it fails. Refuses `INVALID_CREDENTIALS` then. */
  check<Result>({ email }: Trader, from: Sender, check: () => Promise<Result | undefined>): Promise<Result> {
    return this.#guess(email, from, check);
  }

  #prove(email: string, { password, code }: Proof, from: Sender): Promise<Trader> {
    const { passwords, secondFactors } = this.parts;
    return this.#guess(email, from, async (account, turn) => {
      const matches = await passwords.matches(password, account?.passwordHash, turn);
      if (account === undefined || !matches) return undefined;
      if (!hasSecondFactor(account)) return account;
      if (code === undefined) throw new Refused("TOTP_REQUIRED");
      const guesses = [`web-account:${account.traderId}`, WRONG_CODES] as const;
      const isCounted = turn.preferred !== true;
      if (isCounted) await this.#spend(...guesses);
      if (!(await secondFactors.accepts(account, code, from))) return undefined;
      if (isCounted) await this.#spend(...guesses, -1);
      return account;
    });
  }

  /** Runs a check. Its failure is charged before it, so that parallel guesses count; any other end gets it back. */
  async #guess<Result>(
    email: string,
    from: Sender,
    check: (account: Trader | undefined, turn: PasswordTurn) => Promise<Result | undefined>,
  ): Promise<Result> {
    const { db } = this.parts;
    const names = namesOf(email, from);
    const { address } = names;
    const [pair, all] = [
      [names.pair, FAILURES],
      [names.account, FAILURES_OF_ACCOUNT],
    ] as const;
    await this.#spend(...pair);
    const account = await findTraderByEmail(db, email);
    const known =
      account !== undefined &&
      (await isKnownAddress(db, { traderId: account.traderId, address, nowTs: from.receivedMs }));
    // Guesses from elsewhere use up the rate of the account, and must not keep its holder out.
    if (!known) await this.#spend(...all);
    let failed = false;
    try {
      const operator = account?.role === "operator";
      const turn = { sender: address, group: siteOf(from.ip), preferred: known, operator };
      const result = await check(account, turn);
      failed = result === undefined;
      if (result === undefined) throw new Refused("INVALID_CREDENTIALS");
      return result;
    } catch (error) {
      if (error instanceof Refused && error.code === "UNAVAILABLE") this.#waits.add(names.pair);
      throw error;
    } finally {
      if (!failed) {
        await this.#spend(...pair, -1);
        if (!known) await this.#spend(...all, -1);
      }
    }
  }

  async #spend(subject: string, bucket: TokenBucket, cost = 1): Promise<void> {
    const spent = await this.parts.buckets.spend(subject, [{ bucket, cost }]);
    if (spent.granted) return;
    const seconds = retryAfterSeconds(spent);
    const message = `too many attempts; wait ${seconds} s`;
    throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(seconds));
  }
}

/** Clients of surface B: checks secrets to create tokens, and tokens on every other route (contract section 7.2). */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Response } from "express";
import { LOWER_UUID } from "../../../actors/uuid.js";
import type { EmmClient } from "../../../db/queries/accounts/emm-clients.js";
import { stateOf } from "../../../db/queries/accounts/restrictions.js";
import type { Spent, TokenBucket, TokenBuckets } from "../../../stream/services/token-buckets.js";
import { RATE_LIMIT, retryAfter } from "../../edge/headers.js";
import { subscriberOf } from "../../geo/addresses.js";
import type { Passwords } from "../../auth/passwords/passwords.js";
import { notesOf, REPEATED, type Incoming } from "../../edge/incoming.js";
import type { ClientRules } from "../../request/access.js";
import { refuseInactive, refuseUnverified } from "../../request/account-state.js";
import type { ClientCaller } from "../../request/callers.js";
import { Refused } from "../../request/errors.js";
import { itemsOf } from "../../request/metering.js";
import { retryAfterSeconds } from "../../request/throttle.js";
import { ordinary } from "../access.js";
import type { ServiceTokens } from "./tokens.js";

interface ClientParts {
  readonly directory: { client(clientId: string): Promise<EmmClient | undefined> };
  readonly tokens: ServiceTokens;
  readonly passwords: Passwords;
  readonly buckets: Pick<TokenBuckets, "spend">;
}

/** Rates of wrong secrets: of one client from one address, and of all clients from one address. */
const FAILURES: TokenBucket = { name: "failures", capacity: 10, refill: 10, periodMs: 60_000 };
const FAILURES_OF_ADDRESS: TokenBucket = { ...FAILURES, capacity: 60, refill: 60 };
const TOKEN_RATE = ordinary("token");
const MAX_SECRET_LENGTH = 256;
/** Most clients whose secrets are remembered as verified; the one that has been away for longest is forgotten. */
export const MAX_VERIFIED = 10_000;

/** A secret that was verified. */
interface Verified {
  /** Digest under a key of this process. */
  readonly digest: Buffer;
  readonly secretVersion: number;
}

export class Clients {
  /** Verified secrets by client, the latest last. A match saves the slow hash. */
  readonly #verified = new Map<string, Verified>();
  readonly #digestKey = randomBytes(32);

  constructor(private readonly parts: ClientParts) {}

  /**
   * Returns a token for the right secret of a client, else `undefined`. A wrong secret, an unknown client and a deleted
   * one take equally long. Refuses `RATE_LIMIT_EXCEEDED` after too many tokens, and after too many failures; failures do
   * not lock out a secret that this gateway has verified before.
   */
  async token(clientId: string, secret: string, ip: string): Promise<string | undefined> {
    const digest = createHmac("sha256", this.#digestKey).update(`${clientId}\n${secret}`).digest();
    const client = (await this.#recall(clientId, digest)) ?? (await this.#verify(clientId, secret, ip));
    if (client === undefined) return undefined;
    this.#remember(clientId, { digest, secretVersion: client.secretVersion });
    const spent = await this.#spend(clientId, TOKEN_RATE);
    if (!spent.granted) throw rateExceeded(spent);
    return this.parts.tokens.mint(client);
  }

  #remember(clientId: string, verified: Verified): void {
    this.#verified.delete(clientId);
    this.#verified.set(clientId, verified);
    if (this.#verified.size <= MAX_VERIFIED) return;
    for (const longestAway of this.#verified.keys()) {
      this.#verified.delete(longestAway);
      return;
    }
  }

  /** Returns the client when this gateway has verified the same secret before and the secret is still current. */
  async #recall(clientId: string, digest: Buffer): Promise<EmmClient | undefined> {
    const verified = this.#verified.get(clientId);
    if (verified === undefined || !timingSafeEqual(verified.digest, digest)) return undefined;
    const client = await this.parts.directory.client(clientId);
    return client?.secretVersion === verified.secretVersion ? client : undefined;
  }

  /**
   * Compares a secret with the stored hash. The attempt is charged before the comparison, so that parallel guesses
   * count too.
   */
  async #verify(clientId: string, secret: string, ip: string): Promise<EmmClient | undefined> {
    const { buckets, directory, passwords } = this.parts;
    const subscriber = subscriberOf(ip);
    const named = LOWER_UUID.test(clientId) ? clientId : "unknown";
    const pay = async (cost: number): Promise<Spent> => {
      // The two rates have different subjects, so they are charged one after the other.
      const address = await buckets.spend(`emm-address:${subscriber}`, [
        { bucket: FAILURES_OF_ADDRESS, cost },
      ]);
      if (!address.granted) return address;
      return buckets.spend(`emm-attempt:${subscriber}:${named}`, [{ bucket: FAILURES, cost }]);
    };
    const paid = await pay(1);
    if (!paid.granted) throw rateExceeded(paid);
    const client = LOWER_UUID.test(clientId) ? await directory.client(clientId) : undefined;
    const turn = { sender: subscriberOf(ip), operator: false };
    let failed = false;
    try {
      failed = !(await passwords.matches(secret.slice(0, MAX_SECRET_LENGTH), client?.secretHash, turn));
    } finally {
      // A secret that found no turn to be compared is no failure.
      if (!failed) await pay(-1);
    }
    return failed ? undefined : client;
  }

  #spend(clientId: string, rates: readonly TokenBucket[], cost = 1): Promise<Spent> {
    return this.parts.buckets.spend(
      `emm:${clientId}`,
      rates.map((bucket) => ({ bucket, cost })),
    );
  }

  /**
   * Admits a request with a valid token: checks the rate of the route, the state of the account and its identity, in
   * this order. Every answer reports how much of the rate is left.
   */
  async admit(rules: ClientRules, request: Incoming, res: Response): Promise<ClientCaller> {
    const client = await this.#identify(request);
    const { clientId, traderId, subaccountId } = client;
    notesOf(res).clientId = clientId;
    const cost = costOf(rules, request);
    const spent = await this.#spend(clientId, rules.rates, cost);
    announce(res, rules.rates, spent, cost);
    if (!spent.granted) throw rateExceeded(spent);
    refuseInactive(stateOf(client, request.receivedMs), rules.whileExcluded);
    if (rules.kyc) refuseUnverified(client.kyc);
    return {
      kind: "client",
      clientId,
      traderId,
      wallet: subaccountId,
      ip: request.ip,
      giveBack: async () => {
        announce(res, rules.rates, await this.#spend(clientId, rules.rates, -cost), cost);
      },
    };
  }

  async #identify(request: Incoming): Promise<EmmClient> {
    const header = request.header("authorization");
    if (header === undefined) throw unauthenticated("Bearer");
    const token = header === REPEATED ? undefined : /^Bearer ([\w.-]+)$/i.exec(header)?.[1];
    const read = token === undefined ? undefined : this.parts.tokens.read(token);
    const client = read === undefined ? undefined : await this.parts.directory.client(read.clientId);
    if (client === undefined || client.secretVersion !== read?.secretVersion) {
      throw unauthenticated('Bearer error="invalid_token"');
    }
    return client;
  }
}

function unauthenticated(challenge: string): Refused {
  return new Refused("UNAUTHENTICATED", undefined, {}, { "WWW-Authenticate": challenge });
}

function rateExceeded(spent: Spent): Refused {
  const seconds = retryAfterSeconds(spent);
  return new Refused("RATE_LIMIT_EXCEEDED", `too many requests; wait ${seconds} s`, {}, retryAfter(seconds));
}

/** Returns the tokens that a request takes from each of its rates, at most what an empty rate refills to. */
function costOf({ rates, perItem }: ClientRules, { body }: Incoming): number {
  if (perItem === undefined) return 1;
  return Math.min(itemsOf(body, perItem), ...rates.map(({ capacity }) => capacity));
}

/** Reports the rate with the fewest tokens left. */
function announce(res: Response, rates: readonly TokenBucket[], spent: Spent, cost: number): void {
  const levels = rates.map((bucket, index) => ({
    bucket,
    remaining: spent.buckets[index]?.remaining ?? 0,
  }));
  const [tightest] = levels.toSorted((a, b) => a.remaining - b.remaining);
  if (tightest === undefined) return;
  res.set({
    [RATE_LIMIT.bucket]: tightest.bucket.name,
    [RATE_LIMIT.limit]: String(tightest.bucket.capacity),
    [RATE_LIMIT.cost]: String(spent.granted ? cost : 0),
    [RATE_LIMIT.remaining]: String(tightest.remaining),
  });
}

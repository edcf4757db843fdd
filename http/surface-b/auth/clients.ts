/** Who calls surface B: secrets are checked here for a token, and tokens for everything else (contract section 7). */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Response } from "express";
import { LOWER_UUID } from "../../../actors/uuid.js";
import type { EmmClient } from "../../../db/queries/accounts/emm-clients.js";
import type { Spent, TokenBucket, TokenBuckets } from "../../../stream/services/token-buckets.js";
import { RATE_LIMIT, retryAfter } from "../../edge/headers.js";
import type { Passwords } from "../../auth/passwords.js";
import { notesOf, REPEATED, type Incoming } from "../../edge/incoming.js";
import type { ClientRules } from "../../request/access.js";
import { refuseInactive, refuseUnverified } from "../../request/account-state.js";
import type { ClientCaller } from "../../request/callers.js";
import { Refused } from "../../request/errors.js";
import { retryAfterSeconds } from "../../request/throttle.js";
import { ordinary } from "../access.js";
import type { ServiceTokens } from "./tokens.js";

export interface ClientParts {
  readonly directory: { client(clientId: string): Promise<EmmClient | undefined> };
  readonly tokens: ServiceTokens;
  readonly passwords: Passwords;
  readonly buckets: Pick<TokenBuckets, "spend">;
}

/** Wrong secrets: of one client from one address, and of all clients from one address. */
const FAILURES: TokenBucket = { name: "failures", capacity: 10, refill: 10, periodMs: 60_000 };
const FAILURES_OF_ADDRESS: TokenBucket = { ...FAILURES, capacity: 60, refill: 60 };
const TOKEN_RATE = ordinary("token");
const MAX_SECRET_LENGTH = 256;

export class Clients {
  /** Secrets that were good, as digests under a key of this process, by client. They save the slow hash. */
  readonly #verified = new Map<string, { readonly digest: Buffer; readonly secretVersion: number }>();
  readonly #digestKey = randomBytes(32);

  constructor(private readonly parts: ClientParts) {}

  /**
   * A token for whoever knows the client's secret; `undefined` for everybody else. A wrong secret, an unknown client
   * and a deleted one take as long. Refuses `RATE_LIMIT_EXCEEDED` after too many failures, which do not shut out a
   * secret that was good here before, and after too many tokens.
   */
  async token(clientId: string, secret: string, ip: string): Promise<string | undefined> {
    const digest = createHmac("sha256", this.#digestKey).update(`${clientId}\n${secret}`).digest();
    const client = (await this.#recall(clientId, digest)) ?? (await this.#verify(clientId, secret, ip));
    if (client === undefined) return undefined;
    this.#verified.set(clientId, { digest, secretVersion: client.secretVersion });
    const spent = await this.#spend(clientId, TOKEN_RATE);
    if (!spent.granted) throw tooOften(spent);
    return this.parts.tokens.mint(client);
  }

  /** The client, when this very secret was good here before and is not an old one by now. */
  async #recall(clientId: string, digest: Buffer): Promise<EmmClient | undefined> {
    const verified = this.#verified.get(clientId);
    if (verified === undefined || !timingSafeEqual(verified.digest, digest)) return undefined;
    const client = await this.parts.directory.client(clientId);
    return client?.secretVersion === verified.secretVersion ? client : undefined;
  }

  /** Compares with the hash at rest. It is paid for beforehand, so that guesses made at once count too. */
  async #verify(clientId: string, secret: string, ip: string): Promise<EmmClient | undefined> {
    const { buckets, directory, passwords } = this.parts;
    const named = LOWER_UUID.test(clientId) ? clientId : "unknown";
    const pay = async (cost: number): Promise<Spent> => {
      // Two subjects, so two steps; the first refusal is enough.
      const address = await buckets.spend(`emm-address:${ip}`, [{ bucket: FAILURES_OF_ADDRESS, cost }]);
      if (!address.granted) return address;
      return buckets.spend(`emm-attempt:${ip}:${named}`, [{ bucket: FAILURES, cost }]);
    };
    const paid = await pay(1);
    if (!paid.granted) throw tooOften(paid);
    const client = LOWER_UUID.test(clientId) ? await directory.client(clientId) : undefined;
    const matches = await passwords.matches(secret.slice(0, MAX_SECRET_LENGTH), client?.secretHash);
    if (!matches) return undefined;
    await pay(-1);
    return client;
  }

  #spend(clientId: string, rates: readonly TokenBucket[], cost = 1): Promise<Spent> {
    return this.parts.buckets.spend(
      `emm:${clientId}`,
      rates.map((bucket) => ({ bucket, cost })),
    );
  }

  /**
   * Lets a request with a good token in: the rate of its route, then the account's state, then KYC. Every answer says
   * what is left of the rate.
   */
  async admit(rules: ClientRules, request: Incoming, res: Response): Promise<ClientCaller> {
    const client = await this.#identify(request);
    const { clientId, traderId, subaccountId } = client;
    notesOf(res).clientId = clientId;
    const spent = await this.#spend(clientId, rules.rates);
    announce(res, rules.rates, spent);
    if (!spent.granted) throw tooOften(spent);
    refuseInactive(client.state, rules.cancel);
    if (rules.kyc) refuseUnverified(client.kyc);
    return {
      kind: "client",
      clientId,
      traderId,
      wallet: subaccountId,
      ip: request.ip,
      giveBack: async () => {
        announce(res, rules.rates, await this.#spend(clientId, rules.rates, -1));
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

function tooOften(spent: Spent): Refused {
  const seconds = retryAfterSeconds(spent);
  return new Refused("RATE_LIMIT_EXCEEDED", `too many requests; wait ${seconds} s`, {}, retryAfter(seconds));
}

/** Of several rates the one that has the least left is told. */
function announce(res: Response, rates: readonly TokenBucket[], spent: Spent): void {
  const levels = rates.map((bucket, index) => ({
    bucket,
    remaining: spent.buckets[index]?.remaining ?? 0,
  }));
  const [tightest] = levels.toSorted((a, b) => a.remaining - b.remaining);
  if (tightest === undefined) return;
  res.set({
    [RATE_LIMIT.bucket]: tightest.bucket.name,
    [RATE_LIMIT.limit]: String(tightest.bucket.capacity),
    [RATE_LIMIT.cost]: spent.granted ? "1" : "0",
    [RATE_LIMIT.remaining]: String(tightest.remaining),
  });
}

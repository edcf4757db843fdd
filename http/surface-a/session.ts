/** Web sessions: registration, sign-in, sign-out and the device check-in (contract sections 8.1 and 8.2). */

import { createHash, randomUUID } from "node:crypto";
import { formatMoney } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import {
  findLocation,
  recordLocation,
  type DeviceLocation as LocationRecord,
} from "../../db/queries/accounts/device-locations.js";
import { roleOf } from "../../db/queries/accounts/operators.js";
import { revokeToken } from "../../db/queries/accounts/revoked-tokens.js";
import { createTrader, findTrader, findTraderByEmail } from "../../db/queries/accounts/traders.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { TokenBucket, TokenBuckets } from "../../stream/services/token-buckets.js";
import type { Passwords } from "../auth/passwords.js";
import type { WebTokens } from "../auth/web-tokens.js";
import { retryAfter } from "../edge/headers.js";
import type { Changes } from "../reference/changes.js";
import { ANYBODY, WEB_SESSION } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { MAX_CHECK_IN_DAYS } from "../request/limits.js";
import { RATED_FREE } from "../request/metering.js";
import { route } from "../request/route.js";
import { retryAfterSeconds } from "../request/throttle.js";
import { readBalances } from "../trading/ledger-client.js";
import {
  CredentialsBody,
  LocationAnswer,
  LocationBody,
  RegisterBody,
  Registered,
  SessionAnswer,
  SessionToken,
} from "./schemas/account.js";

interface SessionParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly passwords: Passwords;
  readonly tokens: WebTokens;
  readonly changes: Changes;
  readonly buckets: Pick<TokenBuckets, "spend">;
}

/** Rates over all gateways: failed sign-ins of one account, and sign-ins and registrations of one address. */
const FAILURES: TokenBucket = { name: "failures", capacity: 10, refill: 2, periodMs: 60_000 };
const ATTEMPTS: TokenBucket = { name: "attempts", capacity: 300, refill: 5, periodMs: 1_000 };

function locationOnWire(location: LocationRecord | undefined) {
  if (location === undefined) return null;
  const { region, failed, latitude, longitude, accuracyMetres, ts } = location;
  return { region, failed, latitude, longitude, accuracy: accuracyMetres, ts };
}

export function sessionRoutes({ db, exchange, passwords, tokens, changes, buckets }: SessionParts) {
  const spend = async (subject: string, bucket: TokenBucket): Promise<void> => {
    const spent = await buckets.spend(subject, [{ bucket, cost: 1 }]);
    if (spent.granted) return;
    const seconds = retryAfterSeconds(spent);
    const message = `too many attempts; wait ${seconds} s`;
    throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(seconds));
  };
  const spendAttempt = (ip: string): Promise<void> => spend(`web-address:${ip}`, ATTEMPTS);

  const register = route("POST /v3/session/register", {
    access: ANYBODY,
    status: 201,
    body: RegisterBody,
    answer: Registered,
    docs: {
      summary: "Register an account",
      refuses: ["EMAIL_TAKEN", "RATE_LIMIT_EXCEEDED"],
      exampleBody: { email: "trader@example.com", password: "a long password" },
    },
    run: async ({ body, incoming }) => {
      await spendAttempt(incoming.ip);
      const passwordHash = await passwords.hash(body.password);
      const trader = await createTrader(db, {
        traderId: randomUUID(),
        email: body.email,
        passwordHash,
        role: "trader",
        nowTs: incoming.receivedMs,
      });
      if (trader === undefined) throw new Refused("EMAIL_TAKEN");
      return { body: { traderId: trader.traderId, email: trader.email } };
    },
  });

  const login = route("POST /v3/session", {
    access: ANYBODY,
    body: CredentialsBody,
    answer: SessionToken,
    docs: {
      summary: "Sign in",
      description: "Returns a bearer token that is valid for 12 hours.",
      refuses: ["INVALID_CREDENTIALS", "ACCOUNT_LOCKED", "RATE_LIMIT_EXCEEDED"],
      exampleBody: { email: "trader@example.com", password: "a long password" },
    },
    run: async ({ body, incoming }) => {
      // A hash keeps the name of the bucket short, however long the given address is.
      const account = `web-account:${createHash("sha256").update(body.email.toLowerCase()).digest("base64url")}`;
      await spendAttempt(incoming.ip);
      // The token is taken before the password is checked, so that parallel guesses count; a success returns it.
      await spend(account, FAILURES);
      const trader = await findTraderByEmail(db, body.email);
      const matches = await passwords.matches(body.password, trader?.passwordHash);
      if (trader === undefined || !matches) throw new Refused("INVALID_CREDENTIALS");
      await buckets.spend(account, [{ bucket: FAILURES, cost: -1 }]);
      const { traderId, role, state, sessionsEndedTs } = trader;
      if (role === "operator" && state !== "ACTIVE") throw new Refused("ACCOUNT_LOCKED");
      const { token, session } = tokens.mint(traderId, role, sessionsEndedTs);
      return { body: { token, expiresAt: session.expiresAt } };
    },
  });

  const logout = route("DELETE /v3/session", {
    access: WEB_SESSION,
    status: 204,
    docs: {
      summary: "Sign out",
      description: "Ends the session and its token.",
    },
    run: async ({ caller, incoming }) => {
      const { sessionId, expiresAt } = caller;
      await revokeToken(db, { tokenId: sessionId, expiresTs: expiresAt, nowTs: incoming.receivedMs });
      await changes.publish("session", sessionId);
      return { body: undefined };
    },
  });

  const show = route("GET /v3/session", {
    access: WEB_SESSION,
    metering: RATED_FREE,
    answer: SessionAnswer,
    docs: {
      summary: "Retrieve the session",
      description: "Returns the account that is signed in, its own wallet and its last device check-in.",
    },
    run: async ({ caller }) => {
      const trader = await findTrader(db, caller.accountId);
      if (trader === undefined) throw new Refused("UNAUTHENTICATED");
      const { traderId, email, role, kyc, state } = trader;
      const operatorRole = role === "operator" ? roleOf(trader) : undefined;
      const { balances } = await readBalances(exchange, traderId, traderId);
      const cash = { CASH: formatMoney(balances.CASH.total), COIN: formatMoney(balances.COIN.total) };
      const location = locationOnWire(await findLocation(db, traderId));
      return { body: { traderId, email, role, operatorRole, kyc, state, cash, location } };
    },
  });

  const checkIn = route("POST /v3/session/location", {
    access: WEB_SESSION,
    metering: RATED_FREE,
    body: LocationBody,
    answer: LocationAnswer,
    docs: {
      summary: "Check in a device",
      description: `Records where the device is: \`{ region }\` in ISO 3166-2, \`{ failed: true }\` when it could not locate itself, or \`{}\` when it knows no region. A placement needs a check-in of the last ${MAX_CHECK_IN_DAYS} days.`,
      exampleBody: { region: "US-NY" },
    },
    run: async ({ caller, body, incoming }) => {
      const location = {
        traderId: caller.accountId,
        failed: body.failed ?? false,
        region: body.region ?? null,
        latitude: body.latitude ?? null,
        longitude: body.longitude ?? null,
        accuracyMetres: body.accuracy ?? null,
        ts: incoming.receivedMs,
      };
      await recordLocation(db, location);
      await changes.publish("location", caller.accountId);
      return { body: locationOnWire(location) };
    },
  });

  const location = route("GET /v3/session/location", {
    access: WEB_SESSION,
    metering: RATED_FREE,
    answer: LocationAnswer,
    docs: {
      summary: "Retrieve the last check-in",
    },
    run: async ({ caller }) => ({ body: locationOnWire(await findLocation(db, caller.accountId)) }),
  });

  return [register, login, show, logout, checkIn, location];
}

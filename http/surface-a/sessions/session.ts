/**
 * Web sessions: the account of a session, its sign-out, its self-exclusion and its device check-ins (contract sections 8.1
 * to 8.3).
 */

import type { Formats } from "../../../actors/format.js";
import { formatMoney } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import {
  findLocation,
  recordLocation,
  type DeviceLocation as LocationRecord,
} from "../../../db/queries/accounts/device-locations.js";
import { roleOf } from "../../../db/queries/accounts/operators.js";
import { revokeToken } from "../../../db/queries/accounts/revoked-tokens.js";
import { stateOf } from "../../../db/queries/accounts/restrictions.js";
import { endSessions, excludeTrader, findTrader, lockTrader } from "../../../db/queries/accounts/traders.js";
import { recordAudit } from "../../../db/queries/operator/audit.js";
import type { Exchange } from "../../../stream/log/ports.js";
import { auditedAction } from "../../admin/audit.js";
import { hasSecondFactor } from "../../auth/second-factors.js";
import { endOfSessions } from "../../auth/web-tokens.js";
import type { Changes } from "../../reference/changes.js";
import { ENROLLING, TRADER_SESSION, WEB_SESSION } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { MAX_CHECK_IN_DAYS } from "../../request/limits.js";
import { RATED_EXCLUSION, RATED_FREE } from "../../request/metering.js";
import { route } from "../../request/route.js";
import { readBalances } from "../../trading/ledger-client.js";
import { applyState } from "../../trading/restricting.js";
import {
  LocationAnswer,
  LocationBody,
  SelfExclusion,
  SelfExclusionBody,
  SessionAnswer,
} from "../schemas/account.js";

interface SessionParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly formats: Formats;
  readonly changes: Changes;
}

/** Returns a check-in as the routes write it. */
export function locationOnWire({ region, failed, latitude, longitude, accuracyMetres, ts }: LocationRecord) {
  return { region, failed, latitude, longitude, accuracy: accuracyMetres, ts };
}

export function sessionRoutes({ db, exchange, formats, changes }: SessionParts) {
  const locationOf = async (traderId: string) => {
    const location = await findLocation(db, traderId);
    return location === undefined ? null : locationOnWire(location);
  };

  const logout = route("DELETE /v3/session", {
    access: ENROLLING,
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

  const logoutEverywhere = route("DELETE /v3/sessions", {
    access: ENROLLING,
    status: 204,
    docs: {
      summary: "Sign out everywhere",
      description: "Ends every web session of the account, on every device. Keys stay live.",
    },
    run: async ({ caller, ...call }) => {
      const { accountId } = caller;
      await db.transaction(async (tx) => {
        await endSessions(tx, accountId, endOfSessions(call.incoming.receivedMs));
        if (caller.role === "operator")
          await recordAudit(
            tx,
            auditedAction({ caller, ...call }, { action: "operator.sessions.end", subject: accountId }),
          );
      });
      await changes.publish("trader", accountId);
      return { body: undefined };
    },
  });

  const show = route("GET /v3/session", {
    access: ENROLLING,
    metering: RATED_FREE,
    answer: SessionAnswer,
    docs: {
      summary: "Retrieve the session",
      description: "Returns the account that is signed in, its own wallet and its last device check-in.",
    },
    run: async ({ caller, incoming }) => {
      const trader = await findTrader(db, caller.accountId);
      if (trader === undefined) throw new Refused("UNAUTHENTICATED");
      const { traderId, email, role, kyc, stateReason, selfExcludedUntilTs: selfExcludedUntil } = trader;
      const state = stateOf(trader, incoming.receivedMs);
      const operatorRole = role === "operator" ? roleOf(trader) : undefined;
      const { balances } = await readBalances(exchange, traderId, traderId);
      const cash = { CASH: formatMoney(balances.CASH.total), COIN: formatMoney(balances.COIN.total) };
      const location = await locationOf(traderId);
      const totp = hasSecondFactor(trader);
      const account = { traderId, email, role, operatorRole, kyc, state, stateReason, selfExcludedUntil };
      return { body: { ...account, totp, cash, location } };
    },
  });

  const excludeSelf = route("POST /v3/session/self-exclusion", {
    access: TRADER_SESSION,
    metering: RATED_EXCLUSION,
    body: SelfExclusionBody,
    answer: SelfExclusion,
    docs: {
      summary: "Exclude yourself",
      description:
        "Excludes the trader from trading until a time. All open orders are canceled, and placements are refused. Nobody can end the exclusion early; the trader can prolong it.",
      refuses: ["INVALID_TRANSITION"],
      exampleBody: { until: 1_900_000_000_000 },
    },
    run: async ({ caller, body, incoming }) => {
      const { until: untilTs } = body;
      const nowTs = incoming.receivedMs;
      if (untilTs <= nowTs)
        throw new Refused("INVALID_BODY", "until must be in the future, and is a time in Unix ms");
      const excluded = await db.transaction(async (tx) => {
        const trader = await lockTrader(tx, caller.accountId);
        if (trader !== undefined && (trader.selfExcludedUntilTs ?? 0) > untilTs)
          throw new Refused(
            "INVALID_TRANSITION",
            "the self-exclusion lasts longer already, and cannot be shortened; send a later time",
          );
        return excludeTrader(tx, caller.accountId, { untilTs, nowTs });
      });
      if (excluded === undefined) throw new Refused("UNAUTHENTICATED");
      await applyState({ db, exchange, formats, changes }, excluded, nowTs);
      return { body: { state: stateOf(excluded, nowTs), selfExcludedUntil: untilTs } };
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
    run: async ({ caller }) => ({ body: await locationOf(caller.accountId) }),
  });

  return [show, logout, logoutEverywhere, excludeSelf, checkIn, location];
}

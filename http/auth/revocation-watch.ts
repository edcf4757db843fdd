/**
 * Watch over the callers of open sockets. It closes a socket within five seconds of the revocation or expiry of its key,
 * the end of its session, the lock of its account or a failed location check (contract sections 5.2 and 6.14).
 */

import { unreachable } from "../../actors/unreachable.js";
import type { Database } from "../../db/database.js";
import { keysToRecheck } from "../../db/queries/accounts/keys.js";
import { revokedAmong } from "../../db/queries/accounts/revoked-tokens.js";
import type { Bridge } from "../../stream/ws/bridge.js";
import type { Caller } from "../../stream/ws/ports.js";
import type { EngineTime } from "../edge/incoming.js";
import { refuseLocation, type Locations } from "../geo/locations.js";
import { refuseInactive } from "../request/account-state.js";
import { Refused } from "../request/errors.js";
import type { Change, Reference } from "../reference/reference.js";

export interface RevocationWatchParts {
  readonly db: Database;
  readonly reference: Pick<Reference, "find" | "isOver" | "invalidate" | "onChange">;
  readonly locations: Locations;
  readonly time: Pick<EngineTime, "now">;
  readonly sockets: Pick<Bridge, "callers" | "expel">;
  readonly onError: (error: unknown) => void;
}

/** Interval of the check for expired keys and sessions. */
const EXPIRY_MS = 500;
/** Interval of the sweep, which asks Postgres about all callers at once, in case an invalidation was lost. */
const SWEEP_MS = 3_000;
/** Age up to which a check-in or an end of sessions counts as new: several sweeps, and an allowance for clocks that differ. */
const RECENT_MS = 30_000;

/** Closes the sockets of callers whose access has ended, until it is stopped. */
export class RevocationWatch {
  readonly #parts: RevocationWatchParts;
  readonly #unsubscribe: () => void;
  readonly #expiring: ReturnType<typeof setInterval>;
  readonly #sweeping: ReturnType<typeof setInterval>;
  #swept: Promise<void> = Promise.resolve();
  #isSweeping = false;

  constructor(parts: RevocationWatchParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.reference.onChange((change) => this.#onChange(change));
    this.#expiring = setInterval(
      () => parts.sockets.expel((caller) => expiryOf(caller, parts.time.now())),
      EXPIRY_MS,
    );
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearInterval(this.#expiring);
    clearInterval(this.#sweeping);
    await this.#swept;
  }

  #onChange(change: Change): void {
    switch (change.kind) {
      case "key":
        return void this.#recheck(({ keyId }) => keyId === change.id);
      case "trader":
      case "location":
        return void this.#recheck(({ traderId }) => traderId === change.id);
      case "session":
        return void this.#recheck(({ session }) => session?.sessionId === change.id);
      case "geo":
        return void this.#recheck(() => true);
      case "all":
        this.#sweep();
        return;
      case "client":
      case "market":
      case "event":
      case "ticks":
      case "maintenance":
        return;
      default:
        unreachable(change);
    }
  }

  async #recheck(isAffected: (caller: Caller) => boolean): Promise<void> {
    const { sockets, onError } = this.#parts;
    const callers = [...sockets.callers()].filter(isAffected);
    const checks = callers.map(async (caller) => {
      try {
        const reason = await this.#reasonToClose(caller);
        if (reason !== undefined) sockets.expel((other) => (other === caller ? reason : undefined));
      } catch (error) {
        // Postgres is out of reach, so nothing can have been revoked, and the next sweep checks again.
        onError(error);
      }
    });
    await Promise.all(checks);
  }

  async #reasonToClose(caller: Caller): Promise<string | undefined> {
    const { reference, locations, time } = this.#parts;
    const { keyId, traderId, address: ip, session } = caller;
    const key = await reference.find(keyId);
    if (key === undefined) return "KEY_REVOKED";
    if (session !== undefined && (await reference.isOver(traderId, session))) return "SESSION_ENDED";
    try {
      refuseInactive(key.state, true);
      await refuseLocation(locations, { traderId, ip, purpose: "read", nowMs: time.now() });
    } catch (error) {
      if (error instanceof Refused) return error.code;
      throw error;
    }
    return undefined;
  }

  #sweep(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#swept = this.#invalidateRevoked()
      .catch(this.#parts.onError)
      .finally(() => (this.#isSweeping = false));
  }

  /** Invalidates the cached facts about callers that may have been revoked, so that these callers are checked again. */
  async #invalidateRevoked(): Promise<void> {
    const { db, reference, time, sockets } = this.#parts;
    const keyIds = new Set<string>();
    const sessionIds = new Set<string>();
    for (const { keyId, session } of sockets.callers()) {
      keyIds.add(keyId);
      if (session !== undefined) sessionIds.add(session.sessionId);
    }
    if (keyIds.size === 0) return;
    const nowTs = time.now();
    for (const { keyId, traderId } of await keysToRecheck(db, [...keyIds], {
      nowTs,
      sinceTs: nowTs - RECENT_MS,
    })) {
      reference.invalidate("location", traderId);
      reference.invalidate("key", keyId);
    }
    if (sessionIds.size === 0) return;
    for (const sessionId of await revokedAmong(db, [...sessionIds]))
      reference.invalidate("session", sessionId);
  }
}

function expiryOf({ expiresAt, session }: Caller, nowMs: number): string | undefined {
  if (expiresAt !== undefined && expiresAt <= nowMs) return "KEY_EXPIRED";
  return session !== undefined && session.expiresAt <= nowMs ? "SESSION_ENDED" : undefined;
}

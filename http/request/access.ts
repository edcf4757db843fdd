/** The kinds of callers that a route admits, and the checks that each kind has to pass (contract section 5.5). */

import {
  MANAGEMENT_SCOPES,
  SCOPES,
  TRADING_SCOPES,
  type Role,
  type Scope,
} from "../../db/schema/accounts.js";
import type { TokenBucket } from "../../stream/services/token-buckets.js";
import type { Permission } from "../auth/permissions.js";
import type { ClientCaller, KeyCaller, SessionCaller } from "./callers.js";

/** Callers that a route admits. */
export type Access =
  | { readonly kind: "public" }
  | ({ readonly kind: "key" } & KeyRules)
  | {
      readonly kind: "session";
      readonly role: Role | undefined;
      /** Admits operators who have yet to enroll the second factor that they need. */
      readonly enrolling?: boolean;
    }
  | { readonly kind: "operator"; readonly permission: Permission }
  | ({ readonly kind: "keyOrSession" } & KeyRules)
  | ({ readonly kind: "client" } & ClientRules);

/** Checks of a signed request. */
interface KeyRules {
  readonly scopes: readonly Scope[];
  /** Location check: `placing` also refuses an old check-in, `exempt` skips the check. */
  readonly location: "read" | "placing" | "exempt";
  /** Requires a verified identity. */
  readonly kyc: boolean;
  /** Admits the holders of excluded accounts, as every GET does. */
  readonly whileExcluded: boolean;
}

/**
 * Checks of a surface B request: tokens from each rate, `kyc` as on surface A, and whether the client of an excluded trader
 * may call.
 */
export interface ClientRules {
  readonly rates: readonly TokenBucket[];
  /** List in the body of which each item takes a token; without it a request takes one token. */
  readonly perItem: string | undefined;
  readonly kyc: boolean;
  readonly whileExcluded: boolean;
}

/** Caller that an endpoint receives when its route has the access `A`. */
export type CallerOf<A extends Access> = A extends { kind: "public" }
  ? undefined
  : A extends { kind: "key" }
    ? KeyCaller
    : A extends { kind: "session" | "operator" }
      ? SessionCaller
      : A extends { kind: "client" }
        ? ClientCaller
        : KeyCaller | SessionCaller;

export const ANY_SCOPE: readonly Scope[] = SCOPES;
export const MANAGING: readonly Scope[] = MANAGEMENT_SCOPES;
export const TRADING: readonly Scope[] = TRADING_SCOPES;

/** Admits keys of the scopes. */
export const signedBy = (scopes: readonly Scope[]) =>
  ({ kind: "key", scopes, location: "read", kyc: false, whileExcluded: false }) as const;

/** Admits keys of the scopes whose trader has a verified identity. */
const verifiedBy = (scopes: readonly Scope[]) => ({ ...signedBy(scopes), kyc: true }) as const;

/** Admits keys of the scopes, and the web sessions of traders. */
export const signedOrSession = (scopes: readonly Scope[]) =>
  ({ ...signedBy(scopes), kind: "keyOrSession" }) as const;

/** Admits keys of the scopes and the web sessions of traders whose identity is verified. */
export const verifiedOrSession = (scopes: readonly Scope[]) =>
  ({ ...signedOrSession(scopes), kyc: true }) as const;

/** Admits trading keys to place or amend orders: verified, and with a recent device check-in. */
export const PLACING = { ...verifiedBy(["trading"]), location: "placing" } as const;

/** Admits trading keys to cancel orders, wherever they are and also while their trader is excluded. */
export const CANCELING = { ...signedBy(["trading"]), location: "exempt", whileExcluded: true } as const;

/** Admits every web session. */
export const WEB_SESSION = { kind: "session", role: undefined } as const satisfies Access;

/** Admits every web session, also that of an operator who has yet to enroll a second factor. */
export const ENROLLING = { ...WEB_SESSION, enrolling: true } as const satisfies Access;

/** Admits the web sessions of traders. */
export const TRADER_SESSION = { kind: "session", role: "trader" } as const satisfies Access;

/** Admits the web sessions of the operators whose role has the permission. */
export const operatorWith = (permission: Permission) =>
  ({ kind: "operator", permission }) as const satisfies Access;

/** Admits everybody, without credentials. */
export const ANYBODY = { kind: "public" } as const satisfies Access;

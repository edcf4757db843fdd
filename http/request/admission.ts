/**
 * Checks a request before its endpoint sees it, in the order of contract section 5.5: signature, scope, throttle,
 * account state, location, KYC. The first failure answers.
 */

import type { Response } from "express";
import { unreachable } from "../../actors/unreachable.js";
import type { Database } from "../../db/database.js";
import { findOperator, roleOf } from "../../db/queries/accounts/operators.js";
import { isTokenRevoked } from "../../db/queries/accounts/revoked-tokens.js";
import type { Trader } from "../../db/queries/accounts/traders.js";
import { stateOf } from "../../db/queries/accounts/restrictions.js";
import type { Role } from "../../db/schema/accounts.js";
import { requirePermission } from "../admin/operators/refusals.js";
import type { KeyUse } from "../auth/key-use.js";
import { hasSecondFactor } from "../auth/second-factors.js";
import type { Attempt, Idempotency } from "../auth/idempotency.js";
import type { Signatures } from "../auth/signatures.js";
import { hasEnded, type WebToken, type WebTokens } from "../auth/web-tokens.js";
import { rateLimit, retryAfter } from "../edge/headers.js";
import { localsOf, notesOf, REPEATED, type Incoming } from "../edge/incoming.js";
import type { Slowdown } from "../edge/senders/slowdown.js";
import { refuseLocation, type Locations } from "../geo/locations.js";
import { refuseInMaintenance } from "../reference/maintenance.js";
import type { Reference } from "../reference/reference.js";
import type { Clients } from "../surface-b/auth/clients.js";
import type { Access } from "./access.js";
import { refuseInactive, refuseUnverified } from "./account-state.js";
import type { KeyCaller, SessionCaller } from "./callers.js";
import { payerOf } from "./callers.js";
import { Refused } from "./errors.js";
import { MAX_RUNNING, RUNNING } from "./metering.js";
import type { Route } from "./route.js";
import type { Admission, Admitted } from "./serve.js";
import { KEY_BUCKETS, MemoryBuckets, type Throttle } from "./throttle.js";

export interface AdmissionParts {
  readonly db: Database;
  readonly signatures: Signatures;
  readonly tokens: WebTokens;
  readonly reference: Reference;
  readonly throttle: Throttle;
  readonly locations: Locations;
  readonly keyUse: KeyUse;
  readonly clients: Clients;
  readonly idempotency: Pick<Idempotency, "begin" | "beginRemembered">;
  /** True where operators need a second factor: until they have one, they may only enroll it. */
  readonly operatorsNeedTotp: boolean;
}

type KeyAccess = Extract<Access, { kind: "key" | "keyOrSession" }>;

/** Makes the checks of all routes. Repeats, which cost nothing, wait in `slowdown`. */
export function createAdmission(parts: AdmissionParts, slowdown: Slowdown): Admission {
  // A payer asks for no more answers than it can have got by placing, so each answer can still be asked for.
  const recalls = new MemoryBuckets(KEY_BUCKETS.place);
  return {
    async admit(route, request, res): Promise<Admitted> {
      const { access } = route;
      switch (access.kind) {
        case "public":
          return admitted(undefined, NO_CHARGE);
        case "session": {
          const caller = await identifySession(parts, request, res);
          requireRole(access.role, caller);
          if (access.enrolling !== true) await requireSecondFactor(parts, caller);
          return admitted(caller, await meter(parts, route, request, res, caller));
        }
        case "operator": {
          const caller = await identifySession(parts, request, res);
          requireRole("operator", caller);
          await requireSecondFactor(parts, caller);
          const asked = `${request.method} ${route.path}`;
          await requirePermission(parts.db, { caller, incoming: request }, access.permission, asked);
          return admitted(caller, await meter(parts, route, request, res, caller));
        }
        case "keyOrSession":
        case "key": {
          if (access.kind === "keyOrSession" && hasSession(parts, request)) {
            const caller = await identifySession(parts, request, res);
            requireRole("trader", caller);
            const charged = await meter(parts, route, request, res, caller);
            await requireAccount(parts, route, access, caller.accountId, request.receivedMs);
            return admitted(caller, charged);
          }
          const signed = await admitKey(parts, recalls, route, access, request, res);
          if (signed.attempt?.kind === "repeat") {
            localsOf(res).turn?.free();
            await slowdown.wait(localsOf(res).sender ?? "");
          }
          return signed;
        }
        case "client": {
          const caller = await parts.clients.admit(access, request, res);
          return admitted(caller, NO_CHARGE);
        }
        default:
          return unreachable(access);
      }
    },
  };
}

/** Charge of an admitted request. */
type Charged = Pick<Admitted, "chargeRows" | "giveBack">;

const nothing = (): Promise<void> => Promise.resolve();
const NO_CHARGE: Charged = { chargeRows: nothing, giveBack: nothing };

function admitted(caller: Admitted["caller"], charged: Charged, attempt?: Attempt): Admitted {
  return { caller, ...charged, attempt, refusal: undefined, mayRecall: () => true };
}

/**
 * Admits a signed request. A repeat of an answered request skips the later checks and costs nothing. A route that
 * remembers its own answers receives the refusal of a later check, because only the route knows whether it is a repeat.
 */
async function admitKey(
  parts: AdmissionParts,
  recalls: MemoryBuckets,
  route: Route,
  access: KeyAccess,
  request: Incoming,
  res: Response,
): Promise<Admitted> {
  const caller = await identifyKey(parts, request, res);
  requireScope(access, caller);
  const attempt = await begin(parts, route, caller);
  if (attempt?.kind === "repeat") return admitted(caller, NO_CHARGE, attempt);
  const mayRecall = (): boolean => recalls.charge(payerOf(caller), 1).granted;
  let charged = NO_CHARGE;
  try {
    charged = await meter(parts, route, request, res, caller);
    refuseInactive(caller.key.state, access.whileExcluded || route.method === "get");
    if (access.location === "placing") await refuseInMaintenance(parts.reference);
    await requireLocation(parts, access, caller, request.receivedMs);
    if (access.kyc) refuseUnverified(caller.key.kyc);
    return { ...admitted({ ...caller, resumed: attempt?.resumed ?? false }, charged, attempt), mayRecall };
  } catch (error) {
    if (route.recall !== undefined && error instanceof Refused)
      return { ...admitted(caller, charged, attempt), refusal: error, mayRecall };
    await charged.chargeRows(0);
    await attempt?.first.abandon();
    throw error;
  }
}

/** Checks the account of a web session as it checks that of a key. */
async function requireAccount(
  { reference }: AdmissionParts,
  route: Route,
  access: KeyAccess,
  accountId: string,
  nowMs: number,
): Promise<void> {
  const account = await reference.account(accountId);
  if (account === undefined) throw new Refused("UNAUTHENTICATED");
  refuseInactive(stateOf(account, nowMs), access.whileExcluded || route.method === "get");
  if (access.kyc) refuseUnverified(account.kyc);
}

/** Begins a request that takes effect once; returns `undefined` for any other one. */
async function begin(
  { idempotency }: AdmissionParts,
  route: Route,
  caller: KeyCaller,
): Promise<Attempt | undefined> {
  if (!takesEffectOnce(route)) return undefined;
  return route.recall === undefined ? idempotency.begin(caller) : idempotency.beginRemembered(caller);
}

/**
 * Returns whether a repeat needs the first answer (contract section 5.6); the other methods are idempotent by
 * themselves.
 */
function takesEffectOnce({ method }: Route): boolean {
  return method === "post" || method === "patch";
}

/** Returns whether a request authenticates with a session: it has a bearer token and no header of a signature. */
function hasSession(parts: AdmissionParts, request: Incoming): boolean {
  return request.header("authorization") !== undefined && !parts.signatures.isSigned(request);
}

async function identifyKey(parts: AdmissionParts, request: Incoming, res: Response): Promise<KeyCaller> {
  const caller = await parts.signatures.identify(request);
  notesOf(res).keyId = caller.key.keyId;
  parts.keyUse.note(caller.key.keyId, request.receivedMs);
  return caller;
}

async function identifySession(
  parts: AdmissionParts,
  request: Incoming,
  res: Response,
): Promise<SessionCaller> {
  const header = request.header("authorization");
  const token =
    header === undefined || header === REPEATED ? undefined : /^Bearer ([\w.-]+)$/.exec(header)?.[1];
  const session = token === undefined ? undefined : parts.tokens.read(token);
  const account = session === undefined ? undefined : await accountOf(parts, session);
  if (session === undefined || account === undefined)
    throw new Refused("UNAUTHENTICATED", undefined, {}, { "WWW-Authenticate": "Bearer" });
  notesOf(res).accountId = session.accountId;
  const caller = { kind: "session", ...session, ip: request.ip } as const;
  return account.role === "operator" ? { ...caller, operatorRole: roleOf(account) } : caller;
}

/**
 * Returns the account of a session, or `undefined` when the session has ended. That of an operator is read from Postgres
 * at each request: an operator who is locked, or whose sessions are ended, is out at once on every gateway.
 */
async function accountOf({ db, reference }: AdmissionParts, session: WebToken): Promise<Trader | undefined> {
  const { accountId, sessionId, role } = session;
  if (role === "trader") {
    const account = await reference.account(accountId);
    return account?.role === role && !(await reference.isOver(accountId, session)) ? account : undefined;
  }
  const account = await findOperator(db, accountId);
  if (account?.state !== "ACTIVE" || hasEnded(session, account)) return undefined;
  return (await isTokenRevoked(db, sessionId)) ? undefined : account;
}

function requireRole(role: Role | undefined, caller: SessionCaller): void {
  if (role === undefined || caller.role === role) return;
  const remedy = `sign in with an account of the role ${role}`;
  throw new Refused("FORBIDDEN", `the role ${caller.role} does not allow this route; ${remedy}`);
}

async function requireSecondFactor(
  { operatorsNeedTotp, reference }: AdmissionParts,
  { role, accountId }: SessionCaller,
): Promise<void> {
  if (!operatorsNeedTotp || role !== "operator") return;
  const account = await reference.account(accountId);
  if (account === undefined || !hasSecondFactor(account)) throw new Refused("TOTP_NOT_ENROLLED");
}

function requireScope(access: KeyAccess, { key }: KeyCaller): void {
  if (access.scopes.includes(key.scope)) return;
  throw new Refused(
    "SCOPE_REJECTED",
    `the scope ${key.scope} does not allow this route; use a key with the scope ${access.scopes.join(" or ")}`,
  );
}

async function requireLocation(
  parts: AdmissionParts,
  access: KeyAccess,
  { key, ip }: KeyCaller,
  nowMs: number,
): Promise<void> {
  if (access.location === "exempt") return;
  await refuseLocation(parts.locations, { traderId: key.traderId, ip, purpose: access.location, nowMs });
}

function tooOften(retryAfterS: number): Refused {
  const message = `this route is called too often; wait ${retryAfterS} s`;
  return new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(retryAfterS));
}

/**
 * Charges a request. Of the returned functions, `chargeRows` charges the rows of its answer, which are none after a
 * failure, and ends a request of which only some may run at the same time; `giveBack` gives back the rest.
 */
async function meter(
  { throttle }: AdmissionParts,
  route: Route,
  request: Incoming,
  res: Response,
  caller: KeyCaller | SessionCaller,
): Promise<Charged> {
  const payer = payerOf(caller);
  const price = route.metering.price(request);
  if (price === undefined) {
    const { rate } = route.metering;
    const admitted = rate && (await throttle.admit(payer, rate));
    if (admitted?.granted === false) throw tooOften(admitted.retryAfterS);
    return NO_CHARGE;
  }
  const { bucket, base, perRows } = price;
  const charge = await throttle.charge(payer, bucket, base, price.also);
  res.set(rateLimit(bucket, charge.granted ? base : 0, charge.remaining));
  if (!charge.granted) {
    if (charge.remaining >= base && perRows === undefined) throw tooOften(charge.retryAfterS);
    const message =
      charge.remaining < base
        ? `the request costs ${base} tokens and the ${bucket} bucket has ${charge.remaining}; wait ${charge.retryAfterS} s`
        : `${MAX_RUNNING} requests of this kind are running; wait for one of them, or ${charge.retryAfterS} s`;
    throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(charge.retryAfterS));
  }
  return {
    chargeRows: async (rows) => {
      if (perRows === undefined) return;
      const cost = Math.ceil(rows / perRows);
      const { remaining } = await throttle.settle(payer, bucket, cost, RUNNING);
      if (!res.headersSent) res.set(rateLimit(bucket, base + cost, remaining));
    },
    giveBack: async () => {
      await throttle.charge(payer, bucket, -base);
    },
  };
}

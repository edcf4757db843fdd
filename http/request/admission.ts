/**
 * Checks a request before its endpoint sees it, in the order of contract section 5.5: signature, scope, throttle,
 * account state, location, KYC. The first failure answers.
 */

import type { Response } from "express";
import { unreachable } from "../../actors/unreachable.js";
import type { Role } from "../../db/schema/accounts.js";
import type { KeyUse } from "../auth/key-use.js";
import type { Idempotency } from "../auth/idempotency.js";
import type { Signatures } from "../auth/signatures.js";
import type { WebTokens } from "../auth/web-tokens.js";
import { rateLimit, retryAfter } from "../edge/headers.js";
import { notesOf, REPEATED, type Incoming } from "../edge/incoming.js";
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
import type { Throttle } from "./throttle.js";

export interface AdmissionParts {
  readonly signatures: Signatures;
  readonly tokens: WebTokens;
  readonly reference: Reference;
  readonly throttle: Throttle;
  readonly locations: Locations;
  readonly keyUse: KeyUse;
  readonly clients: Clients;
  readonly idempotency: Pick<Idempotency, "begin">;
}

type KeyAccess = Extract<Access, { kind: "key" | "keyOrSession" }>;

/** Makes the checks of all routes. */
export function createAdmission(parts: AdmissionParts): Admission {
  return {
    async admit(route, request, res): Promise<Admitted> {
      const { access } = route;
      switch (access.kind) {
        case "public":
          return { caller: undefined, chargeRows: chargeNothing, attempt: undefined };
        case "session": {
          const caller = await identifySession(parts, request, res);
          requireRole(access.role, caller);
          return { caller, chargeRows: await meter(parts, route, request, res, caller), attempt: undefined };
        }
        case "keyOrSession":
        case "key": {
          if (access.kind === "keyOrSession" && hasSession(parts, request)) {
            const caller = await identifySession(parts, request, res);
            requireRole("trader", caller);
            const chargeRows = await meter(parts, route, request, res, caller);
            if (access.kyc) refuseUnverified((await parts.reference.account(caller.accountId))?.kyc);
            return { caller, chargeRows, attempt: undefined };
          }
          return admitKey(parts, route, access, request, res);
        }
        case "client": {
          const caller = await parts.clients.admit(access, request, res);
          return { caller, chargeRows: chargeNothing, attempt: undefined };
        }
        default:
          return unreachable(access);
      }
    },
  };
}

const chargeNothing = (_rows: number): Promise<void> => Promise.resolve();

/** Admits a signed request. A repeat of an answered request skips the later checks and costs nothing. */
async function admitKey(
  parts: AdmissionParts,
  route: Route,
  access: KeyAccess,
  request: Incoming,
  res: Response,
): Promise<Admitted> {
  const caller = await identifyKey(parts, request, res);
  requireScope(access, caller);
  const attempt = takesEffectOnce(route) ? await parts.idempotency.begin(caller) : undefined;
  if (attempt?.kind === "repeat") return { caller, chargeRows: chargeNothing, attempt };
  let chargeRows = chargeNothing;
  try {
    chargeRows = await meter(parts, route, request, res, caller);
    refuseInactive(caller.key.state, access.cancel);
    if (access.location === "placing") await refuseInMaintenance(parts.reference);
    await requireLocation(parts, access, caller, request.receivedMs);
    if (access.kyc) refuseUnverified(caller.key.kyc);
    return { caller: { ...caller, resumed: attempt?.resumed ?? false }, chargeRows, attempt };
  } catch (error) {
    await chargeRows(0);
    await attempt?.first.abandon();
    throw error;
  }
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
  const account = session === undefined ? undefined : await parts.reference.account(session.accountId);
  const isValid =
    session !== undefined &&
    account?.role === session.role &&
    !(await parts.reference.isRevoked(session.sessionId));
  if (!isValid) throw new Refused("UNAUTHENTICATED", undefined, {}, { "WWW-Authenticate": "Bearer" });
  notesOf(res).accountId = session.accountId;
  return { kind: "session", ...session, ip: request.ip };
}

function requireRole(role: Role | undefined, caller: SessionCaller): void {
  if (role === undefined || caller.role === role) return;
  const remedy = `sign in with an account of the role ${role}`;
  throw new Refused("FORBIDDEN", `the role ${caller.role} does not allow this route; ${remedy}`);
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

/**
 * Charges a request. The returned function charges the rows of its answer, which are none after a failure, and ends a
 * request of which only some may run at the same time.
 */
async function meter(
  { throttle }: AdmissionParts,
  route: Route,
  request: Incoming,
  res: Response,
  caller: KeyCaller | SessionCaller,
): Promise<(rows: number) => Promise<void>> {
  const price = route.metering.price(request);
  if (price === undefined) return chargeNothing;
  const payer = payerOf(caller);
  const { bucket, base, perRows } = price;
  const charge = await throttle.charge(payer, bucket, base, price.also);
  res.set(rateLimit(bucket, charge.granted ? base : 0, charge.remaining));
  if (!charge.granted) {
    const message =
      charge.remaining < base
        ? `the request costs ${base} tokens and the ${bucket} bucket has ${charge.remaining}; wait ${charge.retryAfterS} s`
        : perRows === undefined
          ? `this route is called too often; wait ${charge.retryAfterS} s`
          : `${MAX_RUNNING} requests of this kind are running; wait for one of them, or ${charge.retryAfterS} s`;
    throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(charge.retryAfterS));
  }
  if (perRows === undefined) return chargeNothing;
  return async (rows) => {
    const cost = Math.ceil(rows / perRows);
    const { remaining } = await throttle.settle(payer, bucket, cost, RUNNING);
    if (!res.headersSent) res.set(rateLimit(bucket, base + cost, remaining));
  };
}

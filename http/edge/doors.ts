/** The ports of a gateway, and the paths that each of them serves (contract section 9.2). */

import type { Request, RequestHandler } from "express";
import { unreachable } from "../../actors/unreachable.js";
import { Refused } from "../request/errors.js";
import { localsOf } from "./incoming.js";

/** Ports besides the one for clients; the paths of a port that is `undefined` are served to clients too. */
export interface OtherPorts {
  /** Port of health and metrics. */
  readonly operations: number | undefined;
  /** Port of the operators' routes. */
  readonly admin: number | undefined;
}

/** Paths of health and metrics. */
export const OPERATIONS_PATHS = { health: "/healthz", readiness: "/readyz", metrics: "/metrics" } as const;

const OPERATIONS: ReadonlySet<string> = new Set(Object.values(OPERATIONS_PATHS));
const ADMIN = "/admin/";
const SESSION = "/v3/session";
const SESSIONS = "/v3/sessions";
/** Pages for operators; `../console/app/paths.ts` has them all. */
const OPERATOR_PAGES = "/operator";
/** Paths that the pages for operators need: to sign in, the own account, the status, announcements, and files. */
const OPERATOR_NEEDS: ReadonlySet<string> = new Set([
  "/",
  "/login",
  "/account",
  "/status",
  "/v3/public/status",
  "/v3/public/changelog",
  "/favicon.svg",
  "/release.json",
]);
const PAGE_FILES = "/assets/";

type Door = "clients" | "operations" | "admin";

/** Returns the door through which a request came. The system knows the port of a connection, so no client chooses it. */
function doorOf({ socket: { localPort } }: Request, { operations, admin }: OtherPorts): Door {
  // A connection that is already closed has no port.
  if (localPort === undefined) return "clients";
  if (localPort === operations) return "operations";
  return localPort === admin ? "admin" : "clients";
}

/** Returns whether a request is for the operators' routes, or came through their port. */
export function isForOperators(req: Request, ports: OtherPorts): boolean {
  return req.url.startsWith(ADMIN) || doorOf(req, ports) === "admin";
}

/** Returns whether `path` is `prefix`, or lies below it. */
export function isWithin(prefix: string, path: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}

/** Refuses a path on a port that does not serve it, as if there were no such path. */
export function servedHere(ports: OtherPorts): RequestHandler {
  const serves = (door: Door, path: string): boolean => {
    switch (door) {
      case "operations":
        return OPERATIONS.has(path);
      case "admin":
        // Operators sign in through their own port.
        return (
          path.startsWith(ADMIN) ||
          isWithin(SESSION, path) ||
          path === SESSIONS ||
          isWithin(OPERATOR_PAGES, path) ||
          OPERATOR_NEEDS.has(path) ||
          path.startsWith(PAGE_FILES)
        );
      case "clients":
        return !(
          (ports.operations !== undefined && OPERATIONS.has(path)) ||
          (ports.admin !== undefined && (path.startsWith(ADMIN) || isWithin(OPERATOR_PAGES, path)))
        );
      default:
        return unreachable(door);
    }
  };
  return (req, res, next) => {
    if (!serves(doorOf(req, ports), localsOf(res).target?.path ?? "")) throw new Refused("ROUTE_NOT_FOUND");
    next();
  };
}

/** Raw request targets. A path is signed as its bytes, so a path that could mean another one matches no route. */

import type { RequestListener } from "node:http";

const SEGMENT = /^[A-Za-z0-9._~-]+$/;

/** Path and query of a target that may match a route, both exactly as sent; `query` is without its `?`. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/**
 * Splits a raw target. Returns `undefined` when no route may match it: an absolute form, an escape, an empty or dot
 * segment, a parameter after `;`, a trailing slash or any other byte that no route has (contract section 5.4).
 */
export function readTarget(raw: string): Target | undefined {
  const mark = raw.indexOf("?");
  const path = mark === -1 ? raw : raw.slice(0, mark);
  const query = mark === -1 ? "" : raw.slice(mark + 1);
  if (query.includes("#")) return undefined;
  if (path === "/") return { path, query };
  if (!path.startsWith("/")) return undefined;
  for (const segment of path.slice(1).split("/")) {
    if (!SEGMENT.test(segment) || segment === "." || segment === "..") return undefined;
  }
  return { path, query };
}

/**
 * Returns a listener that passes every request through the middleware of the app. Express answers a target that it
 * cannot parse by itself, before any middleware: one with a fragment, or one that is neither a path nor a URL. Such a
 * target is routed by a part that Express can parse, and `rawTarget` refuses it by its `originalUrl`.
 */
export function routeEveryTarget(app: RequestListener): RequestListener {
  return (request: Parameters<RequestListener>[0] & { originalUrl?: string }, response) => {
    const { url = "" } = request;
    request.originalUrl = url;
    const [path = ""] = url.split("#", 1);
    request.url = path.startsWith("/") || URL.canParse(path) ? path : "/";
    app(request, response);
  };
}

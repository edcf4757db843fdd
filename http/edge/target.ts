/** Raw request targets. A path is signed as its bytes, so a path that could mean another one matches no route. */

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

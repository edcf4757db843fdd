/** Requests to the service with the bearer token of the web session. */

import { navigate } from "../app/router.js";
import { learnClock } from "./clock.js";
import { expireSession, session } from "./session.js";
import { isAborted, Refusal, refusalOf, UNREACHABLE } from "./refusal.js";

/** Page on which an operator enrolls the second factor, which every other route may require first. */
const ENROLLMENT = "/operator/people/enroll";

/** Longest wait for an answer, in ms. */
const ANSWER_MS = 30_000;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Request {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Returns the target of a request: its path and its query. */
export function targetOf(path: string, query: Query = {}): string {
  // The service decodes escapes only, and a space that is written as a plus stays a plus.
  const text = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
  return text === "" ? path : `${path}?${text}`;
}

/** Sends a request and returns its answer, which may be a refusal. Throws `Refusal` when there is none. */
export async function send(method: Method, target: string, init: RequestInit): Promise<Response> {
  try {
    const late = AbortSignal.timeout(ANSWER_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, late]) : late;
    const response = await fetch(target, { method, cache: "no-store", credentials: "omit", ...init, signal });
    learnClock(response);
    return response;
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new Refusal(
      0,
      UNREACHABLE,
      "The service cannot be reached. Check the connection; what you typed is kept.",
    );
  }
}

/** Returns the JSON of an answer. Throws its `Refusal`. */
export async function readJson<T>(response: Response): Promise<T> {
  if (!response.ok) throw await refusalOf(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Calls a route with the token of the session, if there is one. Throws `Refusal`. */
export async function call<T>(method: Method, path: string, request: Request = {}): Promise<T> {
  const token = session.value?.token;
  const { query, body, signal } = request;
  const response = await send(method, targetOf(path, query), {
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...request.headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.status === 401 && token !== undefined && token === session.value?.token) {
    const refusal = await refusalOf(response);
    if (refusal.code === "UNAUTHENTICATED") expireSession();
    throw refusal;
  }
  if (response.status === 403 && token !== undefined) {
    const refusal = await refusalOf(response);
    if (refusal.code === "TOTP_NOT_ENROLLED") navigate(ENROLLMENT, { replace: true });
    throw refusal;
  }
  return readJson<T>(response);
}

interface ListPage<T> {
  readonly items: readonly T[];
  readonly next?: string | null;
}

/** Reads all pages of a list. `onPage` receives the number of rows so far. */
export async function pages<T>(
  path: string,
  query: Query = {},
  { signal, onPage }: { signal?: AbortSignal; onPage?: (rows: number) => void } = {},
): Promise<T[]> {
  const items: T[] = [];
  let after: string | undefined;
  do {
    const page: ListPage<T> = await call("GET", path, { query: { ...query, after }, signal });
    items.push(...page.items);
    onPage?.(items.length);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return items;
}

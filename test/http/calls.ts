/** Short calls for the HTTP tests: `calls("POST /v3/orders", {...})` signed by a key or with a bearer token. */

import { send, signed, type Answer, type Raw } from "./requests.js";
import type { Stack } from "../support/stack.js";
import type { TestKey } from "../support/traders.js";

/** Sends a request that is written as one line, such as `GET /v3/limits`, with its body as JSON if it has one. */
export type Calls = (line: string, body?: unknown) => Promise<Answer>;

function rawOf(line: string, body: unknown): Raw {
  const [method = "", target = ""] = line.split(" ");
  return { method, target, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

/** Returns calls that are signed by a key. */
export function callsOf(url: string, key: TestKey): Calls {
  return (line, body) => send(url, signed(key, rawOf(line, body)));
}

/** Returns calls with a bearer token. */
export function bearerCalls(url: string, token: string): Calls {
  return (line, body) => {
    const raw = rawOf(line, body);
    const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
    return send(url, { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } });
  };
}

/** Returns calls of the first operator. */
export async function operatorCalls(stack: Stack): Promise<Calls> {
  return bearerCalls(stack.url, await stack.operatorToken());
}

/** Returns calls without credentials. */
export function openCalls(url: string): Calls {
  return (line, body) => {
    const raw = rawOf(line, body);
    return send(
      url,
      raw.body === undefined ? raw : { ...raw, headers: { "Content-Type": "application/json" } },
    );
  };
}

/** Returns the status and the code of an answer in one text, such as `404 ORDER_NOT_FOUND`. */
export function resultOf({ status, json }: Answer): string {
  const { code } = json;
  return typeof code === "string" ? `${status} ${code}` : String(status);
}

/** Short forms for the HTTP tests: `as("POST /v3/orders", {...})` by a key or a bearer. */

import { send, signed, type Answer, type Raw } from "./requests.js";
import type { Stack } from "../support/stack.js";
import type { TestKey } from "../support/traders.js";

/** Sends a request of one line, such as `GET /v3/limits`, with a body as JSON where there is one. */
export type Calls = (line: string, body?: unknown) => Promise<Answer>;

function rawOf(line: string, body: unknown): Raw {
  const [method = "", target = ""] = line.split(" ");
  return { method, target, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

/** Signs with a key. */
export function callsOf(url: string, key: TestKey): Calls {
  return (line, body) => send(url, signed(key, rawOf(line, body)));
}

/** Carries a bearer token. */
export function bearerCalls(url: string, token: string): Calls {
  return (line, body) => {
    const raw = rawOf(line, body);
    const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
    return send(url, { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } });
  };
}

/** The first operator's. */
export async function operatorCalls(stack: Stack): Promise<Calls> {
  return bearerCalls(stack.url, await stack.operatorToken());
}

/** Nobody's. */
export function openCalls(url: string): Calls {
  return (line, body) => {
    const raw = rawOf(line, body);
    return send(
      url,
      raw.body === undefined ? raw : { ...raw, headers: { "Content-Type": "application/json" } },
    );
  };
}

/** Status and code of an answer in one string, such as `404 ORDER_NOT_FOUND`. */
export function resultOf({ status, json }: Answer): string {
  const { code } = json;
  return typeof code === "string" ? `${status} ${code}` : String(status);
}

/** Asks until the answer is as hoped for; gives up after two seconds with the last one. */
export async function eventually(
  ask: () => Promise<Answer>,
  holds: (answer: Answer) => boolean,
): Promise<Answer> {
  const until = Date.now() + 2_000;
  for (;;) {
    const answer = await ask();
    if (holds(answer) || Date.now() > until) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Requests that must take effect once, although their answers may be lost. */

import { Refusal } from "./refusal.js";

/** Returns an id of random hex digits. `crypto.randomUUID` is missing where the page has no HTTPS. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** Returns true when the service has refused the request, so that it has no effect. */
export function isRefused(thrown: unknown): boolean {
  return thrown instanceof Refusal && thrown.status >= 400 && thrown.status < 500;
}

/** Ids of the requests without a definite answer, by what they ask for. */
const unanswered = new Map<string, string>();

/**
 * Sends a request with an id by which the service recognizes a repeat. A request for the same thing keeps the id until a
 * definite answer, also when the form that sent the first one is gone.
 */
export async function sendOnce<T>(wanted: string, send: (id: string) => Promise<T>): Promise<T> {
  const id = unanswered.get(wanted) ?? newId();
  unanswered.set(wanted, id);
  try {
    const answer = await send(id);
    unanswered.delete(wanted);
    return answer;
  } catch (error) {
    if (isRefused(error)) unanswered.delete(wanted);
    throw error;
  }
}

/** Requests that must take effect once, although their answers may be lost. */

import { isUnknown, Refusal } from "./refusal.js";

/** Returns a random UUID. `crypto.randomUUID` is missing where the page has no HTTPS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const [a, b, c, d, e] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(13, 16),
    hex.slice(17, 20),
    hex.slice(20),
  ];
  return `${a}-${b}-4${c}-8${d}-${e}`;
}

/** Returns true when the service has refused the request, so that it has no effect. */
export function isRefused(thrown: unknown): boolean {
  return thrown instanceof Refusal && !isUnknown(thrown);
}

/** Ids of the requests without a definite answer, by what they ask for. */
const unanswered = new Map<string, string>();

/**
 * Sends a request with an id by which the service recognizes a repeat. A request for the same thing keeps the id until a
 * definite answer, also when the form that sent the first one is gone. A refusal is definite for the first attempt only:
 * after an attempt without an answer it proves nothing.
 */
export async function sendOnce<T>(wanted: string, send: (id: string) => Promise<T>): Promise<T> {
  const earlier = unanswered.get(wanted);
  const id = earlier ?? newId();
  unanswered.set(wanted, id);
  try {
    const answer = await send(id);
    unanswered.delete(wanted);
    return answer;
  } catch (error) {
    if (earlier === undefined && isRefused(error)) unanswered.delete(wanted);
    throw error;
  }
}

/** Returns true while it is unknown whether a request for this has taken effect. */
export function isUnanswered(wanted: string): boolean {
  return unanswered.has(wanted);
}

/** Ends the attempts at this, because a read has shown their effect. */
export function endAttempts(wanted: string): void {
  unanswered.delete(wanted);
}

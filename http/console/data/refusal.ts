/** Refusal of a request, in words for people. */

/** Code of a request that got no answer. */
export const UNREACHABLE = "UNREACHABLE";

/** Thrown when the service refuses a request, or gives no answer. The message holds the remedy. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    /** Status of the answer; 0 without one. */
    readonly status: number,
    /** Code of the refusal (contract section 5.19). */
    readonly code: string,
    message: string,
    /** Identity of the request in the log of the service. */
    readonly requestId?: string,
    /** Further fields of the answer. */
    readonly details: Readonly<Record<string, unknown>> = {},
    /** Time in ms after which the same request may be tried again; the service names it with 429 and 503. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** Returns a thrown value as a refusal. An error of the page itself stays visible as one. */
export function asRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown;
  return new Refusal(0, "PAGE_ERROR", thrown instanceof Error ? thrown.message : String(thrown));
}

/** Codes of requests that may have taken effect, although the page has no answer that it can read. */
const WITHOUT_ANSWER: ReadonlySet<string> = new Set([UNREACHABLE, "PAGE_ERROR", "REQUEST_IN_PROGRESS"]);

/** Returns true when a refused request may have taken effect. */
export function isUnknown({ status, code }: Refusal): boolean {
  return status >= 500 || WITHOUT_ANSWER.has(code);
}

/** Returns true for the end of a request that the page itself has ended. */
export function isAborted(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}

/** Reads the refusal that an answer holds. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const retryAfter = response.headers.get("Retry-After");
  const retryAfterMs = retryAfter === null ? undefined : Number(retryAfter) * 1_000;
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (typeof body !== "object" || body === null) {
    const message = `The service answered with status ${response.status}. Try again in a moment.`;
    return new Refusal(response.status, `HTTP_${response.status}`, message, requestId, {}, retryAfterMs);
  }
  const { code, message, ...details } = body as Record<string, unknown>;
  return new Refusal(
    response.status,
    typeof code === "string" ? code : `HTTP_${response.status}`,
    typeof message === "string" ? message : `The service answered with status ${response.status}.`,
    requestId,
    details,
    retryAfterMs,
  );
}

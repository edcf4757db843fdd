/**
 * The first answers to requests, kept in Redis, so that a repeated request is recognized by every process. The callers
 * decide which requests are the same, and what an answer contains.
 */

import { orUnavailable, type ServiceConnection } from "./connection.js";

/** A claim ends this long after its process last renewed it, in ms. */
const CLAIM_MS = 2_000;
const RENEW_MS = 700;

/** A request, identified within a subject (such as an API key). */
export interface RequestName {
  readonly subject: string;
  readonly id: string;
}

/**
 * The state of a request. `claimed`: the caller must carry the request out and resolve the claim; `resumed` says that an
 * earlier claim ended without an answer, after an unknown part of the work. `running`: another claim is open.
 */
export type ClaimResult =
  | { readonly kind: "claimed"; readonly resumed: boolean; readonly claim: Claim }
  | { readonly kind: "running" }
  | { readonly kind: "answered"; readonly answer: string };

/** The right to answer a request. It lasts until one of its methods is called or the process dies. */
export interface Claim {
  /** Records the answer. Throws `Unavailable`. */
  answer(answer: string): Promise<void>;
  /** Records that the request had no effect: its repeat counts as the first. Throws `Unavailable`. */
  noEffect(): Promise<void>;
  /** Records that the request ended with an unknown effect: its repeat resumes it. Throws `Unavailable`. */
  outcomeUnknown(): Promise<void>;
}

export interface FirstAnswersOptions {
  /** Time for which a request can be repeated, in ms. */
  readonly rememberMs: number;
  /** Returns a globally unique id. */
  readonly newId: () => string;
  /** Receives the errors of renewing a claim. */
  readonly onError: (error: unknown) => void;
}

export class FirstAnswers {
  readonly #connection: ServiceConnection;
  readonly #options: FirstAnswersOptions;

  constructor(connection: ServiceConnection, options: FirstAnswersOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Claims a request, unless it is answered or another claim is open. Throws `Unavailable`. */
  async claim({ subject, id }: RequestName): Promise<ClaimResult> {
    const { rememberMs, newId } = this.#options;
    const key = this.#connection.keys.firstAnswer(subject, id);
    const owner = newId();
    const [kind, answer = ""] = await this.#run("claim", key, [owner, CLAIM_MS, rememberMs]);
    switch (kind) {
      case "running":
        return { kind };
      case "answered":
        return { kind, answer };
      case "new":
      case "resumed":
        return { kind: "claimed", resumed: kind === "resumed", claim: this.#hold(key, owner) };
      default:
        throw new Error(`claim.lua returned ${kind ?? "nothing"}`);
    }
  }

  /** Renews a claim until it is resolved. */
  #hold(key: string, owner: string): Claim {
    const { rememberMs, onError } = this.#options;
    const renewing = setInterval(() => {
      this.#run("resolve", key, [owner, "renew", CLAIM_MS]).catch(onError);
    }, RENEW_MS);
    const resolve = async (...outcome: (string | number)[]): Promise<void> => {
      clearInterval(renewing);
      await this.#run("resolve", key, [owner, ...outcome]);
    };
    return {
      answer: (answer) => resolve("answer", answer, rememberMs),
      noEffect: () => resolve("nothing"),
      outcomeUnknown: () => resolve("doubt"),
    };
  }

  async #run(
    script: "claim" | "resolve",
    key: string,
    args: readonly (string | number)[],
  ): Promise<readonly string[]> {
    const reply = await orUnavailable(
      this.#connection.run(script, [key], args),
      "the service cannot determine whether this request was already processed; retry with the same bytes",
    );
    return (reply ?? []) as string[];
  }
}

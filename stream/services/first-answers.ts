/**
 * The first answers to requests, in Redis: whichever process a request comes to again, it is known there. What the
 * requests are, and what their answers say, is not known here.
 */

import { connect, type Connection } from "../redis/connection.js";
import { Keys } from "../redis/keys.js";
import { loadScripts, type RunScript } from "../redis/scripts.js";
import { Unavailable } from "../log/ports.js";

/** A claim ends this long after its process was last heard of, ms. */
const CLAIM_MS = 2_000;
const RENEW_MS = 700;

/** A request by its subject (such as a key) and its identity. */
export interface RequestName {
  readonly subject: string;
  readonly id: string;
}

/**
 * What is known of a request. `mine`: whoever asked is to answer it, and tells the claim what became of it; `resumed`
 * says that somebody else was to, and it is not known how far they came.
 */
export type Known =
  | { readonly kind: "mine"; readonly resumed: boolean; readonly claim: Claim }
  | { readonly kind: "running" }
  | { readonly kind: "answered"; readonly answer: string };

/** The right to answer a request, held until one of its methods is called or the process dies. */
export interface Claim {
  /** There is an answer. Throws `Unavailable`. */
  answer(answer: string): Promise<void>;
  /** It had no effect: it may come again as if for the first time. Throws `Unavailable`. */
  noEffect(): Promise<void>;
  /** It ended, and its effect is not known. Throws `Unavailable`. */
  outcomeUnknown(): Promise<void>;
}

export interface FirstAnswersOptions {
  /** One URL, or a comma list of nodes of a Redis Cluster. */
  readonly url: string;
  /** In front of every key; no braces. */
  readonly prefix?: string | undefined;
  /** How long a request can come again, ms. */
  readonly rememberMs: number;
  /** Makes ids that nobody else makes. */
  readonly newId: () => string;
  readonly onError: (error: unknown) => void;
}

export class FirstAnswers {
  readonly #options: FirstAnswersOptions;
  readonly #connection: Connection;
  readonly #run: RunScript;
  readonly #keys: Keys;

  constructor(options: FirstAnswersOptions) {
    this.#options = options;
    this.#connection = connect(options.url);
    this.#run = loadScripts(this.#connection);
    this.#keys = new Keys(options.prefix ?? "overround:");
  }

  /** Claims a request that nobody answers or has answered. Throws `Unavailable`. */
  async claim({ subject, id }: RequestName): Promise<Known> {
    const { rememberMs, newId } = this.#options;
    const key = this.#keys.firstAnswer(subject, id);
    const owner = newId();
    const [kind, answer = ""] = await this.#ask("claim", key, [owner, CLAIM_MS, rememberMs]);
    switch (kind) {
      case "running":
        return { kind };
      case "answered":
        return { kind, answer };
      case "new":
      case "resumed":
        return { kind: "mine", resumed: kind === "resumed", claim: this.#held(key, owner) };
      default:
        throw new Error(`claim.lua returned ${kind ?? "nothing"}`);
    }
  }

  #held(key: string, owner: string): Claim {
    const { rememberMs, onError } = this.#options;
    const renewing = setInterval(() => {
      this.#ask("resolve", key, [owner, "renew", CLAIM_MS]).catch(onError);
    }, RENEW_MS);
    const end = async (...what: (string | number)[]): Promise<void> => {
      clearInterval(renewing);
      await this.#ask("resolve", key, [owner, ...what]);
    };
    return {
      answer: (answer) => end("answer", answer, rememberMs),
      noEffect: () => end("nothing"),
      outcomeUnknown: () => end("doubt"),
    };
  }

  async #ask(
    script: "claim" | "resolve",
    key: string,
    args: readonly (string | number)[],
  ): Promise<readonly string[]> {
    try {
      return ((await this.#run(script, [key], args)) ?? []) as string[];
    } catch (error) {
      throw new Unavailable("it cannot be told whether the request came before", { cause: error });
    }
  }

  /** Lets go of the connection. */
  close(): void {
    this.#connection.disconnect();
  }
}

/**
 * Idempotency of signed requests: the same signed bytes are the same request (contract section 5.6). The first answer
 * is kept for as long as the bytes can be repeated, and every gateway answers a repeat with it. It is kept encrypted,
 * because some answers, such as a ticket, give access to their reader. The answers to placements are remembered by the
 * ledger instead, in the commit that accepts the orders.
 */

import type { Response } from "express";
import type { Claim, FirstAnswers } from "../../stream/services/first-answers.js";
import { unreachable } from "../../actors/unreachable.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { KeyCaller } from "../request/callers.js";
import { refusalBody } from "../edge/refusals.js";
import { Refused, statusOf } from "../request/errors.js";
import { refusalOf } from "../request/failures.js";
import type { Seal } from "./seal.js";

/** Answer as it is sent. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or an empty text for an answer without a body. */
  readonly body: string;
}

/** Text kept for a request whose answer follows from its own bytes, such as an echo. */
const COMPUTED = "";

/**
 * Attempt of a signed request: its first run, or a repeat of an answered one. A repeat has no `answer` when its route
 * computes the answer again from the same bytes.
 */
export type Attempt =
  | { readonly kind: "first"; readonly resumed: boolean; readonly first: FirstRun }
  | { readonly kind: "repeat"; readonly answer: KeptAnswer | undefined };

/** Run of a request whose answer is kept. Its methods never throw: the effect of the request is committed by then. */
export interface FirstRun {
  /** Keeps the answer; `undefined` for an answer that follows from the request. */
  keep(answer: KeptAnswer | undefined): Promise<void>;
  /** Ends the run with an error. A refusal by the route is kept as the answer; any other error has an unknown effect. */
  fail(error: unknown): Promise<void>;
  /** Ends the run without an answer, because the request was refused before its route. */
  abandon(): Promise<void>;
}

export interface IdempotencyParts {
  readonly answers: Pick<FirstAnswers, "claim">;
  readonly seal: Seal;
  /** Returns true once every gateway lets the routes remember that remember their own answers. */
  readonly routesRemember: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** Run whose answer the route remembers. */
const REMEMBERED_BY_ROUTE: FirstRun = {
  keep: () => Promise.resolve(),
  fail: () => Promise.resolve(),
  abandon: () => Promise.resolve(),
};

/** Returns a run that calls `end` when it has ended. */
function ending(run: FirstRun, end: () => void): FirstRun {
  return {
    keep: (answer) => run.keep(answer).finally(end),
    fail: (error) => run.fail(error).finally(end),
    abandon: () => run.abandon().finally(end),
  };
}

/** Memory of a gateway for recent answers that their routes remember, in characters. */
const RECENT_CHARS = 8 * 1_048_576;
/** Memory that an answer takes beside its body, in characters. */
const ENTRY_CHARS = 500;

/**
 * Recent answers of this gateway, oldest first. Their routes remember them too; these save a worker the flood of repeats of
 * one request, which cost their sender nothing.
 */
class RecentAnswers {
  readonly #answers = new Map<string, KeptAnswer>();
  #chars = 0;

  get(commandId: string): KeptAnswer | undefined {
    return this.#answers.get(commandId);
  }

  keep(commandId: string, answer: KeptAnswer): void {
    if (this.#answers.has(commandId)) return;
    this.#answers.set(commandId, answer);
    this.#chars += ENTRY_CHARS + answer.body.length;
    for (const [oldest, { body }] of this.#answers) {
      if (this.#chars <= RECENT_CHARS) return;
      this.#answers.delete(oldest);
      this.#chars -= ENTRY_CHARS + body.length;
    }
  }
}

/** First answers of signed requests, shared by all gateways. */
export class Idempotency {
  readonly #recent = new RecentAnswers();
  /** Requests in progress at this gateway whose answers the route remembers. */
  readonly #running = new Set<string>();

  constructor(private readonly parts: IdempotencyParts) {}

  /**
   * Begins a request of a route that remembers its own answers. A run counts as the first one unless this gateway has
   * answered the request a short time ago, and the route marks the answer of a repeat. Until all gateways let the route
   * remember, the answer is kept here too. Refuses `REQUEST_IN_PROGRESS` while another run goes on at this gateway. Throws
   * `Unavailable`.
   */
  async beginRemembered(caller: KeyCaller): Promise<Attempt> {
    const { commandId } = caller;
    if (this.#running.has(commandId)) throw new Refused("REQUEST_IN_PROGRESS");
    const recent = this.#recent.get(commandId);
    if (recent !== undefined) return { kind: "repeat", answer: recent };
    this.#running.add(commandId);
    const end = (): void => {
      this.#running.delete(commandId);
    };
    if (this.parts.routesRemember()) {
      const keep = (answer: KeptAnswer | undefined): Promise<void> => {
        if (answer !== undefined) this.#recent.keep(commandId, answer);
        return Promise.resolve();
      };
      return { kind: "first", resumed: false, first: ending({ ...REMEMBERED_BY_ROUTE, keep }, end) };
    }
    try {
      const attempt = await this.begin(caller);
      if (attempt.kind === "first") return { ...attempt, first: ending(attempt.first, end) };
      end();
      return attempt;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Begins a request. Refuses `REQUEST_IN_PROGRESS` while its first run goes on. Throws `Unavailable`. */
  async begin({ key, commandId }: KeyCaller): Promise<Attempt> {
    const known = await this.parts.answers.claim({ subject: key.keyId, id: commandId });
    switch (known.kind) {
      case "running":
        throw new Refused("REQUEST_IN_PROGRESS");
      case "answered": {
        const { answer } = known;
        if (answer === COMPUTED) return { kind: "repeat", answer: undefined };
        const opened = this.parts.seal.open(answer, commandId);
        if (opened === undefined)
          throw new Unavailable(
            "the first answer to this request was encrypted with another secret; contact the operator",
          );
        return { kind: "repeat", answer: JSON.parse(opened) as KeptAnswer };
      }
      case "claimed":
        return { kind: "first", resumed: known.resumed, first: this.firstRun(known, commandId) };
      default:
        return unreachable(known);
    }
  }

  private firstRun(
    { claim, resumed }: { readonly claim: Claim; readonly resumed: boolean },
    commandId: string,
  ): FirstRun {
    const reportErrors = (recorded: Promise<void>): Promise<void> => recorded.catch(this.parts.onError);
    const keep = (answer: KeptAnswer | undefined): Promise<void> =>
      reportErrors(
        claim.answer(
          answer === undefined ? COMPUTED : this.parts.seal.close(JSON.stringify(answer), commandId),
        ),
      );
    return {
      keep,
      fail: (error) => {
        const refused = refusalOf(error);
        if (refused === undefined || statusOf(refused.code) >= 500)
          return reportErrors(claim.outcomeUnknown());
        const { headers } = refused;
        return keep({ status: statusOf(refused.code), headers, body: JSON.stringify(refusalBody(refused)) });
      },
      // The effect of an earlier run stays unknown.
      abandon: () => reportErrors(resumed ? claim.outcomeUnknown() : claim.noEffect()),
    };
  }
}

/** Header that marks the answer to a repeat. */
export const REPLAYED_HEADER = { "X-Replayed": "true" };

/** Answers a repeat with the kept answer. */
export function replay(res: Response, { status, headers, body }: KeptAnswer): void {
  res.status(status).set(headers);
  if (body === "") res.end();
  else res.set("Content-Type", "application/json; charset=utf-8").end(body);
}

/**
 * The same signed bytes are the same request (contract section 5): the first answer is kept for as long as they can
 * come again, and given to whoever sends them then, at whichever gateway. It is kept under seal, because some answers,
 * such as a ticket, let in whoever reads them.
 */

import type { Response } from "express";
import type { Claim, FirstAnswers } from "../../stream/services/first-answers.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { KeyCaller } from "../request/callers.js";
import { refusalBody } from "../edge/refusals.js";
import { Refused, statusOf } from "../request/errors.js";
import { refusalOf } from "../request/failures.js";
import type { Seal } from "./seal.js";

/** An answer as it is sent. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or nothing. */
  readonly body: string;
}

/** What is kept of a request whose answer follows from its own bytes, such as an echo: that it was there. */
const FOLLOWS = "";

/** How a signed request begins: for the first time, or as the repeat of one that has its answer. */
export type Attempt =
  | { readonly kind: "first"; readonly resumed: boolean; readonly first: FirstRun }
  | { readonly kind: "repeat"; readonly answer: KeptAnswer | undefined };

/** The one run of a request whose answer counts. None of its methods fails: the effect is there already. */
export interface FirstRun {
  /** Keeps the answer; `undefined` for one that follows from the request. */
  keep(answer: KeptAnswer | undefined): Promise<void>;
  /** The request failed. A refusal by its route is its answer; anything else leaves open what it did. */
  fail(error: unknown): Promise<void>;
  /** The request was turned away before its route. */
  abandon(): Promise<void>;
}

export class Idempotency {
  constructor(
    private readonly answers: Pick<FirstAnswers, "claim">,
    private readonly seal: Seal,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Refuses `REQUEST_IN_PROGRESS` while the first still runs. Throws `Unavailable`. */
  async begin({ key, commandId }: KeyCaller): Promise<Attempt> {
    const known = await this.answers.claim({ subject: key.keyId, id: commandId });
    switch (known.kind) {
      case "running":
        throw new Refused("REQUEST_IN_PROGRESS");
      case "answered": {
        const { answer } = known;
        if (answer === FOLLOWS) return { kind: "repeat", answer: undefined };
        const opened = this.seal.open(answer, commandId);
        if (opened === undefined)
          throw new Unavailable("the first answer was kept by a gateway with another secret");
        return { kind: "repeat", answer: JSON.parse(opened) as KeptAnswer };
      }
      case "mine":
        return { kind: "first", resumed: known.resumed, first: this.firstRun(known, commandId) };
      default:
        return known satisfies never;
    }
  }

  private firstRun(
    { claim, resumed }: { readonly claim: Claim; readonly resumed: boolean },
    commandId: string,
  ): FirstRun {
    const tell = (what: Promise<void>): Promise<void> => what.catch(this.onError);
    const keep = (answer: KeptAnswer | undefined): Promise<void> =>
      tell(claim.answer(answer === undefined ? FOLLOWS : this.seal.close(JSON.stringify(answer), commandId)));
    return {
      keep,
      fail: (error) => {
        const refused = refusalOf(error);
        if (refused === undefined || statusOf(refused.code) >= 500) return tell(claim.outcomeUnknown());
        const { headers } = refused;
        return keep({ status: statusOf(refused.code), headers, body: JSON.stringify(refusalBody(refused)) });
      },
      // What an earlier run did is as open as before.
      abandon: () => tell(resumed ? claim.outcomeUnknown() : claim.noEffect()),
    };
  }
}

/** Tells a repeat's answer from the first one. */
export const REPLAYED_HEADER = { "X-Replayed": "true" };

/** Gives a kept answer again. */
export function replay(res: Response, { status, headers, body }: KeptAnswer): void {
  res.status(status).set(headers);
  if (body === "") res.end();
  else res.set("Content-Type", "application/json; charset=utf-8").end(body);
}

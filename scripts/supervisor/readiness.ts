import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { LEDGER_SHARDS } from "../../actors/actor.js";
import { StartError } from "./start-error.js";

export interface ReadinessOptions {
  /** Address of `/readyz`. */
  readonly url: string;
  readonly say: (line: string) => void;
  /** Ends the wait with a rejection. */
  readonly signal: AbortSignal;
  /** Time in ms for the first answer (default 60 s). */
  readonly giveUpMs?: number;
  /** Time in ms after which the wait is reported (default 5 s), and each time after twice as long, up to a minute. */
  readonly sayMs?: number;
}

const LONGEST_SAY_MS = 60_000;
/** Longest wait for an answer in ms; a gateway answers within 5 s whatever hangs. */
const ANSWER_MS = 5_000;
/** Pauses between two requests in ms, before and after the wait was reported. The gateway checks its parts once a second. */
const PAUSE_MS = { first: 50, later: 1_000 };

const Report = z.object({
  redis: z.boolean(),
  postgres: z.boolean(),
  ledgers: z.number(),
  projectorLag: z.number().nullable(),
  projecting: z.boolean(),
  halted: z.array(z.string()),
});

/**
 * Waits until a gateway is ready; returns the actors that are halted. A gateway that answers serves what it can, so the
 * wait goes on however long a part is missing, and names it.
 * @throws StartError when nothing answers within a minute.
 */
export async function waitForReadyz(options: ReadinessOptions): Promise<readonly string[]> {
  const { url, say, signal, giveUpMs = 60_000, sayMs = 5_000 } = options;
  const beganMs = performance.now();
  let hasAnswered = false;
  let wasReported = false;
  let sayAtMs = beganMs + sayMs;
  for (let waitMs = sayMs; ;) {
    const answer = await ask(url, signal);
    signal.throwIfAborted();
    if (answer?.isReady === true) return answer.report?.halted ?? [];
    hasAnswered ||= answer !== undefined;
    const nowMs = performance.now();
    const seconds = Math.round((nowMs - beganMs) / 1_000);
    if (!hasAnswered && nowMs - beganMs >= giveUpMs)
      throw new StartError(`${url} was not ready after ${seconds} s: it did not answer`);
    if (nowMs >= sayAtMs) {
      say(
        `not ready after ${seconds} s: ${missingIn(answer)}; everything else runs, and ${url} shows the progress`,
      );
      waitMs = Math.min(waitMs * 2, LONGEST_SAY_MS);
      sayAtMs = nowMs + waitMs;
      wasReported = true;
    }
    await sleep(wasReported ? PAUSE_MS.later : PAUSE_MS.first, undefined, { signal });
  }
}

interface Answer {
  readonly isReady: boolean;
  readonly status: number;
  /** Undefined when the body is no report. */
  readonly report: z.infer<typeof Report> | undefined;
}

/** Returns the answer of the gateway, or undefined when there is none. */
async function ask(url: string, signal: AbortSignal): Promise<Answer | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) });
    const text = await response.text();
    return { isReady: response.ok, status: response.status, report: reportIn(text) };
  } catch {
    return undefined;
  }
}

function reportIn(text: string): Answer["report"] {
  try {
    return Report.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function missingIn(answer: Answer | undefined): string {
  if (answer === undefined) return "the gateway does not answer";
  const { status, report } = answer;
  if (report === undefined) return `the gateway answers ${status}`;
  const { redis, postgres, ledgers, projectorLag, projecting, halted } = report;
  if (!redis) return "Redis does not answer";
  if (!postgres) return "Postgres does not answer";
  const running = LEDGER_SHARDS - halted.filter((actor) => actor.startsWith("ledger:")).length;
  if (ledgers < running) return `${running - ledgers} of ${running} ledgers do not answer`;
  if (projectorLag === null) return "the lag of the projector cannot be read";
  return `the database is ${projectorLag} ledger entries behind${projecting ? "" : ", and no projector writes"}`;
}

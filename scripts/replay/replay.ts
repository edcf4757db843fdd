/** One replay from file to settled market, on an exchange that is there. */

import { Connection } from "../../http/client/connection.js";
import { OperatorClient } from "../../http/client/session.js";
import { readGrid, setUpReplay, type ReplaySetUp } from "./set-up.js";
import type { Exchange } from "./exchange.js";
import { Mirror } from "./makers/mirror.js";
import type { Options } from "./options.js";
import type { Progress } from "./progress.js";
import { randomFrom } from "./random.js";
import { readRecording } from "./recording/recording.js";
import { Run, type Outcome } from "./run.js";
import { survey } from "./recording/survey.js";
import { cutWaves } from "./recording/waves.js";

/** With a pace, what happened within this much real time travels together. */
const PACED_WINDOW_MS = 50;

export interface Replayed {
  readonly outcome: Outcome;
  readonly stage: ReplaySetUp;
  /** Takes that found less than the recording promised. */
  readonly shortTakes: number;
}

export interface Surroundings {
  readonly say: (line: string) => void;
  /** The progress to tell, of so many messages. */
  readonly progressOf: (messages: number) => Progress;
  /** Called when trading begins; what it returns is called when trading is over. */
  readonly onTrading?: (progress: Progress) => () => void;
  /** Ends the replay early, with its orders taken back. */
  readonly stopped?: AbortSignal;
}

/** Throws `UnusableRecording` for a file that cannot be replayed, `ApiError` for what the exchange refuses. */
export async function replay(
  options: Options,
  exchange: Pick<Exchange, "url" | "operator" | "brand">,
  { say, progressOf, onTrading, stopped }: Surroundings,
): Promise<Replayed> {
  const { file, scale, voids, takers, seed, speed } = options;
  const connection = new Connection(exchange.url);
  const operator = new OperatorClient(connection, exchange.operator);
  await operator.login();
  const windowMs = speed === Infinity ? Infinity : PACED_WINDOW_MS * speed;
  const cutting = { grid: await readGrid(operator), scale, windowMs };
  const surveyed = await survey(cutWaves(readRecording(file), cutting), scale);
  say(`${file}: ${surveyed.messages} messages; opening accounts on ${exchange.url}`);

  const { brand } = exchange;
  const stage = await setUpReplay({ connection, operator, brand, survey: surveyed, voids, takers });
  say(`market ${stage.market.marketId} of event ${stage.event.eventId}`);
  if (await isMetered(stage)) {
    say("its keys are metered, 8 placements a second each; an exchange started with THROTTLE=off is quicker");
  }
  const mirror = new Mirror(stage, randomFrom(seed));
  const progress = progressOf(surveyed.messages);
  const over = onTrading?.(progress);
  try {
    const run = new Run(stage, mirror, operator, progress, { ...options, stopped });
    const outcome = await run.play(cutWaves(readRecording(file), cutting));
    return { outcome, stage, shortTakes: mirror.shortTakes };
  } finally {
    progress.finish();
    over?.();
    for (const trader of [...stage.makers, ...stage.takers]) trader.close();
    connection.close();
  }
}

/** Connecting has just cost a key 32 of its `stream` tokens, so a bucket that is full is none. */
async function isMetered({ makers }: ReplaySetUp): Promise<boolean> {
  const { stream } = await makers[0].rest.limits();
  return stream.remaining < stream.capacity;
}

/** Replays one recording on a running exchange, from the file to the settled market. */

import { Connection } from "../../http/client/client.js";
import { OperatorClient } from "../../http/client/rest/operator.js";
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

/** Messages of a paced replay that fall into one interval of this many ms of real time are sent together. */
const PACED_WINDOW_MS = 50;

export interface Replayed {
  readonly outcome: Outcome;
  readonly setUp: ReplaySetUp;
  /** Number of takes that filled less than the recording shows. */
  readonly shortTakes: number;
}

export interface ReplayHooks {
  readonly say: (line: string) => void;
  /** Returns the display of the progress through the given number of messages. */
  readonly progressOf: (messages: number) => Progress;
  /** Runs when trading begins; the function that it returns runs when trading has ended. */
  readonly onTrading?: (progress: Progress) => () => void;
  /** Ends the replay early and cancels its orders. */
  readonly stopped?: AbortSignal;
}

/** Throws `UnusableRecording` for a file that cannot be replayed, `ApiError` for a request that the exchange refuses. */
export async function replay(
  options: Options,
  exchange: Pick<Exchange, "url" | "adminUrl" | "operator" | "brand">,
  { say, progressOf, onTrading, stopped }: ReplayHooks,
): Promise<Replayed> {
  const { file, scale, voids, takers, seed, speed } = options;
  const connection = new Connection(exchange.url);
  const desk = new Connection(exchange.adminUrl);
  const operator = new OperatorClient(desk, exchange.operator);
  await operator.login();
  const windowMs = speed === Infinity ? Infinity : PACED_WINDOW_MS * speed;
  const waveOptions = { grid: await readGrid(operator), scale, windowMs };
  const surveyed = await survey(cutWaves(readRecording(file), waveOptions), scale);
  say(`${file}: ${surveyed.messages} messages; opening accounts on ${exchange.url}`);

  const { brand } = exchange;
  const setUp = await setUpReplay({ connection, operator, brand, survey: surveyed, voids, takers });
  say(`market ${setUp.market.marketId} of event ${setUp.event.eventId}`);
  if (await isMetered(setUp)) {
    say("each key may place 8 orders per second; start the exchange with THROTTLE=off for a faster replay");
  }
  const mirror = new Mirror(setUp, randomFrom(seed));
  const progress = progressOf(surveyed.messages);
  const endTrading = onTrading?.(progress);
  try {
    const run = new Run(setUp, mirror, operator, progress, { ...options, stopped });
    const outcome = await run.play(cutWaves(readRecording(file), waveOptions));
    return { outcome, setUp, shortTakes: mirror.shortTakes };
  } finally {
    progress.finish();
    endTrading?.();
    for (const trader of [...setUp.makers, ...setUp.takers]) trader.close();
    desk.close();
    connection.close();
  }
}

/** Returns whether rate limits apply: the connection has cost the key 32 `stream` tokens, so a full bucket means no. */
async function isMetered({ makers }: ReplaySetUp): Promise<boolean> {
  const { stream } = await makers[0].rest.limits();
  return stream.remaining < stream.capacity;
}

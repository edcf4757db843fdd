/** `npm run replay -- FILE`: a recorded market, replayed order by order on this exchange. */

import fs from "node:fs";
import { Connection } from "../http/client/connection.js";
import { OperatorClient } from "../http/client/session.js";
import { loadConfig } from "./config.js";
import { readGrid, setStage, type Stage } from "./replay/cast.js";
import { findExchange, startExchange, type Exchange } from "./replay/exchange.js";
import { UnusableRecording } from "./replay/ladder.js";
import { Mirror } from "./replay/mirror.js";
import { readOptions, USAGE, type Options } from "./replay/options.js";
import { showProgress } from "./replay/progress.js";
import { randomFrom } from "./replay/random.js";
import { readRecording } from "./replay/recording.js";
import { isClean, reportLines } from "./replay/report.js";
import { Run, writeBalances } from "./replay/run.js";
import { survey, type Survey } from "./replay/survey.js";
import { startTorment } from "./replay/torment.js";
import { cutWaves } from "./replay/waves.js";
import { describe, StartError } from "./start-error.js";

/** With a pace, what happened within this much real time travels together. */
const PACED_WINDOW_MS = 50;

function say(line: string): void {
  console.log(`replay: ${line}`);
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    console.log(USAGE);
    return 0;
  }
  if (!fs.existsSync(options.file)) throw new StartError(`there is no file ${options.file}`);
  const config = loadConfig();
  const exchange = options.standalone
    ? await startExchange(config, say)
    : await findExchange(options, config);
  const stop = stopOnSignal(exchange);
  try {
    return await replay(options, exchange);
  } finally {
    await stop();
  }
}

/** An exchange of our own ends with us, however we end. */
function stopOnSignal(exchange: Exchange): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= exchange.stop());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
  return stop;
}

async function replay(options: Options, exchange: Exchange): Promise<number> {
  const connection = new Connection(exchange.url);
  const operator = new OperatorClient(connection, exchange.operator);
  await operator.login();
  const windowMs = options.speed === Infinity ? Infinity : PACED_WINDOW_MS * options.speed;
  const cutting = { grid: await readGrid(operator), scale: options.scale, windowMs };
  const surveyed = await survey(cutWaves(readRecording(options.file), cutting), options.scale);
  say(`${options.file}: ${surveyed.messages} messages; opening accounts on ${exchange.url}`);

  const { voids, takers } = options;
  const stage = await setStage({
    connection,
    operator,
    brand: exchange.brand,
    survey: surveyed,
    voids,
    takers,
  });
  say(`market ${stage.market.marketId} of event ${stage.event.eventId}`);
  try {
    const scenes = cutWaves(readRecording(options.file), cutting);
    return await play(options, exchange, stage, operator, scenes, surveyed);
  } finally {
    for (const trader of [...stage.makers, ...stage.takers]) trader.close();
    connection.close();
  }
}

async function play(
  options: Options,
  exchange: Exchange,
  stage: Stage,
  operator: OperatorClient,
  scenes: ReturnType<typeof cutWaves>,
  { messages }: Survey,
): Promise<number> {
  const mirror = new Mirror(stage, randomFrom(options.seed));
  const progress = showProgress(messages);
  const run = new Run(stage, mirror, operator, progress, options);
  const stopKilling =
    options.kill === undefined
      ? () => 0
      : startTorment({
          dataDir: exchange.dataDir,
          victims: options.kill,
          everyMs: options.killEvery * 1_000,
          say: (line) => progress.say(line),
        });
  const outcome = await run.play(scenes).finally(() => {
    progress.finish();
    const killed = stopKilling();
    if (killed > 0) say(`killed ${killed} processes on the way`);
  });
  console.log(reportLines(outcome, stage, mirror.shortTakes).join("\n"));
  if (options.writeBalances !== undefined) writeBalances(options.writeBalances, outcome);
  const clean = isClean(outcome);
  say(clean ? "clean: no difference, and the money adds up" : "NOT clean; see above");
  return clean ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(`replay: ${error instanceof UnusableRecording ? error.message : describe(error)}`);
    process.exitCode = 1;
  },
);

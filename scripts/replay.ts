/** `npm run replay -- FILE`: a recorded market, replayed order by order on this exchange. */

import fs from "node:fs";
import { pause } from "../http/client/connection.js";
import { loadConfig } from "./config.js";
import type { Stage } from "./replay/cast.js";
import { findExchange, startExchange, type Exchange } from "./replay/exchange.js";
import { UnusableRecording } from "./replay/ladder.js";
import { readOptions, USAGE, type Options } from "./replay/options.js";
import { showProgress, type Progress } from "./replay/progress.js";
import { replay } from "./replay/replay.js";
import { isClean, reportLines } from "./replay/report.js";
import { writeBalances } from "./replay/run.js";
import { startTorment } from "./replay/torment.js";
import { describe, StartError } from "./start-error.js";

/** How long a replay that is stopped waits for its orders to be canceled. */
const CANCEL_MS = 3_000;

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
  const ending = endOnSignal(exchange);
  try {
    return await run(options, exchange, ending);
  } finally {
    await ending.stop();
  }
}

/** What has to end with us. */
interface Ending {
  /** The traders whose orders are in the book, while they are. */
  stage: Stage | undefined;
  readonly stop: () => Promise<void>;
}

/** However the replay ends, an exchange of our own ends too, and on another no orders of ours are left. */
function endOnSignal(exchange: Exchange): Ending {
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= exchange.stop());
  const ending: Ending = { stage: undefined, stop };
  const end = async (): Promise<void> => {
    say("stopping");
    const { stage } = ending;
    const cancels = stage?.makers.map(({ rest }) => rest.cancelAll({ market: stage.market.marketId })) ?? [];
    await Promise.race([Promise.allSettled(cancels), pause(CANCEL_MS)]);
    await stop();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void end().finally(() => process.exit(130)));
  }
  return ending;
}

async function run(options: Options, exchange: Exchange, ending: Ending): Promise<number> {
  const { outcome, stage, shortTakes } = await replay(options, exchange, {
    say,
    progressOf: showProgress,
    onTrading: (progress, stage) => {
      ending.stage = stage;
      const stopTorment = torment(options, exchange, progress);
      return () => {
        ending.stage = undefined;
        stopTorment();
      };
    },
  });
  console.log(reportLines(outcome, stage, shortTakes).join("\n"));
  if (options.writeBalances !== undefined) writeBalances(options.writeBalances, outcome);
  const clean = isClean(outcome);
  say(clean ? "clean: no difference, and the money adds up" : "NOT clean; see above");
  return clean ? 0 : 1;
}

/** Kills what is to be killed while the replay trades. */
function torment(options: Options, { dataDir }: Exchange, progress: Progress): () => void {
  const { kill: victims, killEvery } = options;
  if (victims === undefined) return () => undefined;
  const tell = (line: string): void => progress.say(line);
  const stop = startTorment({ dataDir, victims, everyMs: killEvery * 1_000, say: tell });
  return () => say(`killed ${stop()} processes on the way`);
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

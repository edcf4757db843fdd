/** `npm run replay -- FILE`: a recorded market, replayed order by order on this exchange. */

import fs from "node:fs";
import { loadConfig } from "./config.js";
import { findExchange, startExchange, type Exchange } from "./replay/exchange.js";
import { UnusableRecording } from "./replay/recording/ladder.js";
import { readOptions, USAGE, type Options } from "./replay/options.js";
import { showProgress, type Progress } from "./replay/progress.js";
import { replay } from "./replay/replay.js";
import { isClean, reportLines } from "./replay/report.js";
import { writeBalances } from "./replay/run.js";
import { startFaults } from "./replay/faults.js";
import { describe, StartError } from "./supervisor/start-error.js";

const SAME_SIGNAL_MS = 500;

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
  const stopped = stopOnSignal();
  const exchange = options.standalone
    ? await startExchange(config, say, {}, stopped)
    : await findExchange(options, config);
  try {
    return await run(options, exchange, stopped);
  } finally {
    await exchange.stop();
  }
}

/**
 * The first signal stops the replay in order, with its report; a later one ends it at once. npm passes a Ctrl-C on
 * that has reached us already, so one that follows at its heels is the same.
 */
function stopOnSignal(): AbortSignal {
  const stopping = new AbortController();
  let firstMs = 0;
  const onSignal = (): void => {
    if (!stopping.signal.aborted) {
      firstMs = Date.now();
      say("stopping; once more to stop at once");
      stopping.abort();
    } else if (Date.now() - firstMs > SAME_SIGNAL_MS) {
      process.exit(130);
    }
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  return stopping.signal;
}

async function run(options: Options, exchange: Exchange, stopped: AbortSignal): Promise<number> {
  const { outcome, stage, shortTakes } = await replay(options, exchange, {
    say,
    progressOf: showProgress,
    onTrading: (progress) => torment(options, exchange, progress),
    stopped,
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
  const stop = startFaults({ dataDir, victims, everyMs: killEvery * 1_000, say: tell });
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

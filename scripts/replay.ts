/** `npm run replay -- FILE`: replays a recorded market order by order on an exchange. */

import fs from "node:fs";
import { readCommandLine } from "./command-line.mjs";
import { loadConfig } from "./config.js";
import { findExchange, startExchange, type Exchange } from "./replay/exchange.js";
import { UnusableRecording } from "./replay/recording/ladder.js";
import { optionsOf, REPLAY, type Options } from "./replay/options.js";
import { showProgress, type Progress } from "./replay/progress.js";
import { replay } from "./replay/replay.js";
import { isClean, reportLines } from "./replay/report.js";
import { writeBalances } from "./replay/run.js";
import { startFaults } from "./replay/faults.js";
import { describe, StartError } from "./supervisor/start-error.js";

/** Interval in ms within which two signals count as one: a Ctrl-C comes from the terminal and again through npm. */
const SAME_SIGNAL_MS = 500;

function say(line: string): void {
  console.log(`replay: ${line}`);
}

async function main(): Promise<number> {
  const options = readCommandLine(REPLAY, optionsOf);
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

/** Returns a signal that aborts at the first Ctrl-C, which stops the replay with its report; the second one ends it. */
function stopOnSignal(): AbortSignal {
  const stopping = new AbortController();
  let firstMs = 0;
  const onSignal = (): void => {
    if (!stopping.signal.aborted) {
      firstMs = Date.now();
      say("stopping; press Ctrl-C again to stop at once");
      stopping.abort();
    } else if (Date.now() - firstMs > SAME_SIGNAL_MS) {
      process.exit(130);
    }
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  return stopping.signal;
}

async function run(options: Options, exchange: Exchange, stopped: AbortSignal): Promise<number> {
  const { outcome, setUp, shortTakes } = await replay(options, exchange, {
    say,
    progressOf: showProgress,
    onTrading: (progress) => killDuringReplay(options, exchange, progress),
    stopped,
  });
  console.log(reportLines(outcome, setUp, shortTakes).join("\n"));
  if (options.writeBalances !== undefined) writeBalances(options.writeBalances, outcome);
  const clean = isClean(outcome);
  say(clean ? "clean: no difference, and the money adds up" : "NOT clean; see the report above");
  return clean ? 0 : 1;
}

/** Starts to kill the processes that `--kill` names; the returned function ends that. */
function killDuringReplay(options: Options, { dataDir }: Exchange, progress: Progress): () => void {
  const { kill: victims, killEvery } = options;
  if (victims === undefined) return () => undefined;
  const stop = startFaults({
    dataDir,
    victims,
    everyMs: killEvery * 1_000,
    say: (line) => progress.say(line),
  });
  return () => say(`killed ${stop()} processes during the replay`);
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

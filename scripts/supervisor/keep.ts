import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "./start-error.js";

/** Process that has started and is ready. */
export interface Running {
  readonly pid: number;
  /** Stops the process in order, and by force after `graceMs`; resolves when it has ended. */
  stop(graceMs?: number): Promise<void>;
  /** Calls the listener once at the end of the process, whether or not `stop` was called. */
  onExit(listener: (how: string) => void): void;
}

/** Process that restarts whenever it ends, until `stop` is called. */
export interface Kept {
  readonly name: string;
  /** Resolves at the first successful start; rejects when the first start fails. */
  readonly ready: Promise<void>;
  /** Returns the process id, or undefined between two runs. */
  readonly pid: () => number | undefined;
  /**
   * Starts a successor, and stops the process when its successor is ready; `graceMs` limits that stop. Rejects when the
   * successor cannot start, and the process goes on. Does nothing between two runs.
   */
  readonly replace: (graceMs?: number) => Promise<void>;
  /** Ends the process and its restarts; the process ends by force after `graceMs`. */
  readonly stop: (graceMs?: number) => Promise<void>;
}

/** Options of a kept process. */
export interface KeepOptions {
  readonly name: string;
  /** Starts the process once; `again` is false the first time. A start that is aborted ends its process and rejects. */
  readonly start: (again: boolean, signal: AbortSignal) => Promise<Running>;
  /** Prints a line at the terminal. */
  readonly say: (line: string) => void;
  /** Number of attempts of the first start before `ready` rejects; later starts are attempted without limit. */
  readonly firstAttempts: number;
  /** True: exit code 0 means that the work is done, and the process does not restart. */
  readonly mayFinish?: boolean;
}

const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** Shortest run in ms that counts as a successful start, after which the next pause is short again. */
const HEALTHY_RUN_MS = 10_000;

/** Keeps a process running; pauses 100 ms before a restart, and up to 2 s after repeated short runs. */
export function keepRunning(options: KeepOptions): Kept {
  const keeper = new Keeper(options);
  return {
    name: options.name,
    ready: keeper.ready,
    pid: () => keeper.current?.pid,
    replace: (graceMs) => keeper.replace(graceMs),
    stop: (graceMs) => keeper.stop(graceMs),
  };
}

class Keeper {
  readonly ready: Promise<void>;
  current: Running | undefined;
  /** Process that takes over at the end of the current one; resolves to undefined when it cannot start. */
  private successor: Promise<Running | undefined> | undefined;
  private readonly stopping = new AbortController();
  private readonly ended: Promise<void>;

  constructor(private readonly options: KeepOptions) {
    let firstStarted: () => void = () => undefined;
    const started = new Promise<void>((resolve) => (firstStarted = resolve));
    this.ended = this.run(firstStarted);
    this.ready = Promise.race([started, this.ended]);
    // A caller that awaits `ready` receives the failure; after an early stop there may be none.
    this.ready.catch(() => undefined);
  }

  async replace(graceMs?: number): Promise<void> {
    const { current } = this;
    if (current === undefined) return;
    const starting = this.options.start(true, this.stopping.signal);
    this.successor = starting.catch(() => undefined);
    const { pid } = await starting;
    this.options.say(`${this.options.name} is process ${pid} from now on; process ${current.pid} stops`);
    await current.stop(graceMs);
  }

  async stop(graceMs?: number): Promise<void> {
    this.stopping.abort();
    await this.current?.stop(graceMs);
    const ended = this.ended.catch(() => undefined);
    // A start that waits for a process of an earlier run does not end at once, and has no process of its own yet.
    await (graceMs === undefined ? ended : Promise.race([ended, sleep(graceMs, undefined, { ref: false })]));
  }

  private async run(firstStarted: () => void): Promise<void> {
    const { name, start, say, firstAttempts, mayFinish = false } = this.options;
    const { signal } = this.stopping;
    const stopped = (): boolean => signal.aborted;
    let runs = 0;
    let pauseMs = SHORTEST_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        let running = await start(runs > 0, signal);
        if (runs > 0 && !stopped()) say(`${name} is running again (process ${running.pid})`);
        runs += 1;
        const begunMs = Date.now();
        let how = await this.runToEnd(running, firstStarted);
        for (let next = await this.takeSuccessor(); next !== undefined; next = await this.takeSuccessor()) {
          running = next;
          how = await this.runToEnd(running);
        }
        if (stopped() || (mayFinish && how === "exit code 0")) return;
        if (Date.now() - begunMs >= HEALTHY_RUN_MS) pauseMs = SHORTEST_PAUSE_MS;
        say(`${name} (process ${running.pid}) ended: ${how}; restarting it`);
      } catch (error) {
        if (stopped()) return;
        if (runs === 0 && attempt >= firstAttempts) throw error;
        say(`${name}: ${describe(error)}; trying again`);
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (stopped()) return;
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    }
  }

  /** Returns how the process ended. */
  private async runToEnd(running: Running, started: () => void = () => undefined): Promise<string> {
    const end = new Promise<string>((resolve) => running.onExit(resolve));
    this.current = running;
    if (this.stopping.signal.aborted) await running.stop();
    started();
    const how = await end;
    this.current = undefined;
    return how;
  }

  private async takeSuccessor(): Promise<Running | undefined> {
    const successor = await this.successor;
    this.successor = undefined;
    return successor;
  }
}

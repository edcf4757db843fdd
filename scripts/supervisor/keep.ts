import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "./start-error.js";

/** A process that was started and is ready. */
export interface Running {
  readonly pid: number;
  /** Ends it in order; resolves when it is gone. */
  stop(): Promise<void>;
  /** Calls back once when it has ended, whether or not it was asked to. */
  onExit(listener: (how: string) => void): void;
}

/** A process that is started again whenever it ends, until it is told to stop. */
export interface Kept {
  readonly name: string;
  /** Resolves when it runs for the first time, rejects when it could not be started. */
  readonly ready: Promise<void>;
  /** Its process id, or undefined between two lives. */
  readonly pid: () => number | undefined;
  /** Ends it for good, at whatever point of its life. */
  readonly stop: () => Promise<void>;
}

/** What to keep running, and how. */
export interface KeepOptions {
  readonly name: string;
  /** Starts it once; `again` is false the first time. */
  readonly start: (again: boolean) => Promise<Running>;
  /** Tells the person at the terminal. */
  readonly say: (line: string) => void;
  /** How often the first start is tried before `ready` rejects. Later starts are tried without end. */
  readonly firstAttempts: number;
  /** Whether ending with exit code 0 means that its work is done. */
  readonly mayFinish?: boolean;
}

const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** A life this long was no failed start, so the next pause is short again. */
const HEALTHY_LIFE_MS = 10_000;

/** Keeps a process running: pauses of 100 ms, doubling up to 2 s while it keeps dying young. */
export function keepRunning(options: KeepOptions): Kept {
  const keeper = new Keeper(options);
  return {
    name: options.name,
    ready: keeper.ready,
    pid: () => keeper.current?.pid,
    stop: () => keeper.stop(),
  };
}

class Keeper {
  readonly ready: Promise<void>;
  current: Running | undefined;
  private readonly stopping = new AbortController();
  private readonly ended: Promise<void>;

  constructor(private readonly options: KeepOptions) {
    let firstStarted: () => void = () => undefined;
    const started = new Promise<void>((resolve) => (firstStarted = resolve));
    this.ended = this.run(firstStarted);
    this.ready = Promise.race([started, this.ended]);
    // Whoever awaits these sees the failure; nobody has to, when a stop comes first.
    this.ready.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.current?.stop();
    await this.ended.catch(() => undefined);
  }

  private async run(firstStarted: () => void): Promise<void> {
    const { name, start, say, firstAttempts, mayFinish = false } = this.options;
    const { signal } = this.stopping;
    const stopped = (): boolean => signal.aborted;
    let lives = 0;
    let pauseMs = SHORTEST_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        const running = await start(lives > 0);
        const begunMs = Date.now();
        const end = new Promise<string>((resolve) => running.onExit(resolve));
        this.current = running;
        if (stopped()) await running.stop();
        else if (lives > 0) say(`${name} runs again (process ${running.pid})`);
        lives += 1;
        firstStarted();
        const how = await end;
        this.current = undefined;
        if (stopped() || (mayFinish && how === "exit code 0")) return;
        if (Date.now() - begunMs >= HEALTHY_LIFE_MS) pauseMs = SHORTEST_PAUSE_MS;
        say(`${name} (process ${running.pid}) ended: ${how}; starting it again`);
      } catch (error) {
        if (stopped()) return;
        if (lives === 0 && attempt >= firstAttempts) throw error;
        say(`${name}: ${describe(error)}; trying again`);
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (stopped()) return;
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    }
  }
}

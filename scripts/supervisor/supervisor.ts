import { setTimeout as sleep } from "node:timers/promises";
import type { LogFile } from "./log.js";
import { type KeepOptions, keepRunning, type Kept, type Running } from "./keep.js";
import { type RoleProgram, spawnRole } from "./role.js";

/** Server that the set runs itself, or the URL of a server that runs elsewhere. */
type ServerSource =
  { readonly url: string } | { readonly start: (again: boolean, signal: AbortSignal) => Promise<Server> };

/** Running server of the set. */
export interface Server extends Running {
  readonly url: string;
}

/** Parts of a set, in the order in which they start. */
export interface SetPlan {
  readonly postgres: ServerSource;
  readonly redis: ServerSource;
  /** Brings the database to the current schema before any role starts. */
  readonly migrate: (databaseUrl: string) => Promise<void>;
  /** Roles in the order in which they start; they stop in the opposite order. */
  readonly roles: readonly RoleProgram[];
  readonly log: LogFile;
  readonly say: (line: string) => void;
}

/** Set of processes under one supervisor. */
export interface ProcessSet {
  /** Resolves when every process runs; rejects when one could not be started. */
  readonly ready: Promise<void>;
  /** Starts one more role, which stops before the others. */
  add(program: RoleProgram): Promise<void>;
  pids(): ReadonlyMap<string, number>;
  /**
   * Stops every process in the opposite order of the start, and prints each step. Kills the processes that have not
   * ended within ten seconds, whatever they wait for.
   */
  stop(): Promise<void>;
  /** Kills every process at once, without a drain. */
  kill(): void;
}

const ROLE_ATTEMPTS = 3;
/**
 * Time in ms after which the next role stops although the one before it still drains, because a part that it needs is
 * missing.
 */
const ROLE_STEP_MS = 1_500;
/** Longest stop of all roles together, and of the roles and the servers, in ms; what still runs then is killed. */
const ROLES_STOP_MS = 6_500;
const ALL_STOP_MS = 9_000;

/** Starts a set: the servers, the migrations, then the roles. Each process restarts when it ends, until the stop. */
export function startSet(plan: SetPlan): ProcessSet {
  return new Supervisor(plan);
}

class Supervisor implements ProcessSet {
  readonly ready: ProcessSet["ready"];
  private readonly servers: Kept[] = [];
  private readonly roles: Kept[] = [];
  private addresses: Readonly<Record<string, string>> = {};
  private stopping = false;

  constructor(private readonly plan: SetPlan) {
    this.ready = this.boot();
    this.ready.catch(() => undefined);
  }

  pids(): ReadonlyMap<string, number> {
    const running = new Map<string, number>();
    for (const { name, pid } of [...this.servers, ...this.roles]) {
      const id = pid();
      if (id !== undefined) running.set(name, id);
    }
    return running;
  }

  async add(program: RoleProgram): Promise<void> {
    const log = this.plan.log.from(program.name);
    const env = { ...program.env, ...this.addresses };
    await this.keep(
      {
        name: program.name,
        start: (_again, signal) => spawnRole({ ...program, env }, log, signal),
        firstAttempts: ROLE_ATTEMPTS,
        mayFinish: program.mayFinish ?? false,
      },
      this.roles,
    );
  }

  async stop(): Promise<void> {
    this.stopping = true;
    const begunMs = Date.now();
    const untilMs = (ms: number): number => Math.max(0, begunMs + ms - Date.now());
    const stops: Promise<void>[] = [];
    for (const { name, stop } of this.roles.toReversed()) {
      this.plan.say(`stopping ${name}`);
      const stopped = stop(untilMs(ROLES_STOP_MS));
      stops.push(stopped);
      await Promise.race([stopped, sleep(ROLE_STEP_MS, undefined, { ref: false })]);
    }
    await Promise.all(stops);
    await Promise.all(
      this.servers.toReversed().map(({ name, stop }) => {
        this.plan.say(`stopping ${name}`);
        return stop(untilMs(ALL_STOP_MS));
      }),
    );
    // A migration on a server that hangs does not end.
    await Promise.race([
      this.ready.catch(() => undefined),
      sleep(untilMs(ALL_STOP_MS), undefined, { ref: false }),
    ]);
  }

  kill(): void {
    this.stopping = true;
    for (const pid of this.pids().values()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process has just ended by itself.
      }
    }
  }

  private async boot(): Promise<void> {
    const { plan } = this;
    const [databaseUrl, redisUrl] = await Promise.all([
      this.server("postgres", plan.postgres),
      this.server("redis", plan.redis),
    ]);
    this.refuseWhenStopping();
    await plan.migrate(databaseUrl);
    this.addresses = { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl };
    for (const role of plan.roles) await this.add(role);
  }

  private async server(name: string, source: ServerSource): Promise<string> {
    if ("url" in source) return source.url;
    let url = "";
    const start = async (again: boolean, signal: AbortSignal): Promise<Server> => {
      const server = await source.start(again, signal);
      url = server.url;
      return server;
    };
    await this.keep({ name, start, firstAttempts: 1 }, this.servers);
    return url;
  }

  private async keep(options: Omit<KeepOptions, "say">, list: Kept[]): Promise<void> {
    this.refuseWhenStopping();
    const kept = keepRunning({ ...options, say: this.plan.say });
    list.push(kept);
    await kept.ready;
  }

  /** Throws after a stop, so that a start in progress adds no further process. */
  private refuseWhenStopping(): void {
    if (this.stopping) throw new Error("stopped while starting");
  }
}

import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { isBehindMessage } from "../roles/behind.js";
import type { LogFile } from "./log.js";
import { type KeepOptions, keepRunning, type Kept, type Running } from "./keep.js";
import { BACKGROUND, Priorities, REDIS } from "./priorities.js";
import { type RoleProgram, spawnRole } from "./role.js";
import { StartError } from "./start-error.js";

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
  /**
   * Processes of the roles. The roles start in this order and stop in the opposite one; the processes of one role start
   * and stop together.
   */
  readonly roles: readonly RoleProgram[];
  /** Longest stop of a process that is replaced, in ms. */
  readonly replaceMs: number;
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
   * Replaces the processes of all roles, one after the other: a successor starts, and when it is ready, the process
   * stops. Rejects when a successor cannot start; its process and the remaining ones go on.
   */
  restart(): Promise<void>;
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
  private readonly roles: { readonly program: RoleProgram; readonly kept: Kept }[] = [];
  private addresses: Readonly<Record<string, string>> = {};
  private readonly priorities: Priorities;
  private stopping = false;

  constructor(private readonly plan: SetPlan) {
    this.priorities = new Priorities(plan.log.from("supervisor"));
    this.ready = this.boot();
    this.ready.catch(() => undefined);
  }

  pids(): ReadonlyMap<string, number> {
    const running = new Map<string, number>();
    for (const { name, pid } of [...this.servers, ...this.roles.map(({ kept }) => kept)]) {
      const id = pid();
      if (id !== undefined) running.set(name, id);
    }
    return running;
  }

  async add(program: RoleProgram): Promise<void> {
    const log = this.plan.log.from(program.name);
    const env = { ...program.env, ...this.addresses };
    const kept = this.keep({
      name: program.name,
      start: async (_again, signal) => {
        const onReady = (child: ChildProcess): void => {
          program.onReady?.(child);
          this.followLag(child);
        };
        const running = await spawnRole({ ...program, env, onReady }, log, signal);
        if (program.niceness !== undefined) this.priorities.add(running, program.niceness);
        return running;
      },
      firstAttempts: ROLE_ATTEMPTS,
      mayFinish: program.mayFinish ?? false,
    });
    this.roles.push({ program, kept });
    await kept.ready;
  }

  async restart(): Promise<void> {
    await this.ready;
    for (const { program, kept } of this.roles) {
      if (this.stopping) throw new StartError("the set stops");
      // A process that may finish is a client of the set.
      if (program.mayFinish !== true) await kept.replace(this.plan.replaceMs);
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.priorities.stop();
    const begunMs = Date.now();
    const untilMs = (ms: number): number => Math.max(0, begunMs + ms - Date.now());
    const stops: Promise<void>[] = [];
    for (const role of this.roleNames().toReversed()) {
      const stopped = this.roles
        .filter(({ program }) => program.role === role)
        .map(({ kept }) => {
          this.plan.say(`stopping ${kept.name}`);
          return kept.stop(untilMs(ROLES_STOP_MS));
        });
      stops.push(...stopped);
      await Promise.race([Promise.all(stopped), sleep(ROLE_STEP_MS, undefined, { ref: false })]);
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
      this.server("postgres", plan.postgres, (server) => this.priorities.add(server, BACKGROUND)),
      this.server("redis", plan.redis, (server) => this.priorities.add(server, REDIS)),
    ]);
    this.refuseWhenStopping();
    await plan.migrate(databaseUrl);
    this.addresses = { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl };
    for (const role of new Set(plan.roles.map((program) => program.role))) {
      await Promise.all(
        plan.roles.filter((program) => program.role === role).map((program) => this.add(program)),
      );
    }
  }

  /** Lets a projector that is behind catch up. */
  private followLag(child: ChildProcess): void {
    child.on("message", (message: unknown) => {
      if (isBehindMessage(message) && child.pid !== undefined)
        this.priorities.setBehind(child.pid, message.behind);
    });
  }

  /** Returns the roles in the order in which they have started. */
  private roleNames(): string[] {
    return [...new Set(this.roles.map(({ program }) => program.role))];
  }

  private async server(
    name: string,
    source: ServerSource,
    onStarted?: (server: Server) => void,
  ): Promise<string> {
    if ("url" in source) return source.url;
    let url = "";
    const start = async (again: boolean, signal: AbortSignal): Promise<Server> => {
      const server = await source.start(again, signal);
      url = server.url;
      onStarted?.(server);
      return server;
    };
    const kept = this.keep({ name, start, firstAttempts: 1 });
    this.servers.push(kept);
    await kept.ready;
    return url;
  }

  private keep(options: Omit<KeepOptions, "say">): Kept {
    this.refuseWhenStopping();
    return keepRunning({ ...options, say: this.plan.say });
  }

  /** Throws after a stop, so that a start in progress adds no further process. */
  private refuseWhenStopping(): void {
    if (this.stopping) throw new Error("stopped while starting");
  }
}

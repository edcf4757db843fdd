import type { LogFile } from "./log.js";
import { type KeepOptions, keepRunning, type Kept, type Running } from "./keep.js";
import { type RoleProgram, spawnRole } from "./role.js";

/** A server that the set runs itself, or the address of one that runs elsewhere. */
export type ServerSource = { readonly url: string } | { readonly start: (again: boolean) => Promise<Server> };

/** A running server of the set. */
export interface Server extends Running {
  readonly url: string;
}

/** What belongs to a set, in the order in which it starts. */
export interface SetPlan {
  readonly postgres: ServerSource;
  readonly redis: ServerSource;
  /** Brings the database to the present schema, before any role runs. */
  readonly migrate: (databaseUrl: string) => Promise<void>;
  /** The roles in the order in which they start; they stop in the opposite one. */
  readonly roles: readonly RoleProgram[];
  readonly log: LogFile;
  readonly say: (line: string) => void;
}

/** A set of processes under one supervisor. */
export interface ProcessSet {
  /** Resolves when everything runs; rejects when something could not be started. */
  readonly ready: Promise<void>;
  /** Starts one more role, which is stopped before all that run already. */
  add(program: RoleProgram): Promise<void>;
  pids(): ReadonlyMap<string, number>;
  /** Stops everything in the opposite order of the start, saying each step. */
  stop(): Promise<void>;
  /** Ends everything at once, without draining. */
  kill(): void;
}

const ROLE_ATTEMPTS = 3;

/** Starts a set: the servers, the migrations, then the roles; each process is kept running until the stop. */
export function startSet(plan: SetPlan): ProcessSet {
  return new Supervisor(plan);
}

class Supervisor implements ProcessSet {
  readonly ready: ProcessSet["ready"];
  private readonly kept: Kept[] = [];
  private addresses: Readonly<Record<string, string>> = {};
  private stopping = false;

  constructor(private readonly plan: SetPlan) {
    this.ready = this.boot();
    this.ready.catch(() => undefined);
  }

  pids(): ReadonlyMap<string, number> {
    const running = new Map<string, number>();
    for (const { name, pid } of this.kept) {
      const id = pid();
      if (id !== undefined) running.set(name, id);
    }
    return running;
  }

  async add(program: RoleProgram): Promise<void> {
    const log = this.plan.log.from(program.name);
    const env = { ...program.env, ...this.addresses };
    await this.keep({
      name: program.name,
      start: () => spawnRole({ ...program, env }, log),
      firstAttempts: ROLE_ATTEMPTS,
      mayFinish: program.mayFinish ?? false,
    });
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const { name, stop } of this.kept.toReversed()) {
      this.plan.say(`stopping ${name}`);
      await stop();
    }
    await this.ready.catch(() => undefined);
  }

  kill(): void {
    this.stopping = true;
    for (const pid of this.pids().values()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It ended by itself in this moment.
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
    const start = async (again: boolean): Promise<Server> => {
      const server = await source.start(again);
      url = server.url;
      return server;
    };
    await this.keep({ name, start, firstAttempts: 1 });
    return url;
  }

  private async keep(options: Omit<KeepOptions, "say">): Promise<void> {
    this.refuseWhenStopping();
    const kept = keepRunning({ ...options, say: this.plan.say });
    this.kept.push(kept);
    await kept.ready;
  }

  /** A stop during the start leaves nothing new behind. */
  private refuseWhenStopping(): void {
    if (this.stopping) throw new Error("stopped while starting");
  }
}

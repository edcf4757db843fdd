import { RoleProcess } from "./role-process.js";

/** Worker that runs as under a supervisor. */
export class WorkerProcess extends RoleProcess {
  constructor(redisUrl: string | undefined) {
    // An empty variable counts as absent.
    super("worker", { REDIS_URL: redisUrl ?? "" });
  }
}

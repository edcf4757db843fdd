/** Runs of an action that many callers want at the same time. */

/**
 * Runs at most one action of a name at a time. Callers that come meanwhile share the next run: the one in progress may
 * miss what they have just done.
 */
export class SharedRuns<Value> {
  readonly #running = new Map<string, Promise<Value>>();
  readonly #next = new Map<string, Promise<Value>>();

  /** Returns the result of a run that begins after this call. Of callers that share a run, the first one's action runs. */
  run(name: string, action: () => Promise<Value>): Promise<Value> {
    const next = this.#next.get(name);
    if (next !== undefined) return next;
    const running = this.#running.get(name);
    if (running === undefined) return this.#start(name, action);
    const start = (): Promise<Value> => {
      this.#next.delete(name);
      return this.#start(name, action);
    };
    const waiting = running.then(start, start);
    this.#next.set(name, waiting);
    return waiting;
  }

  #start(name: string, action: () => Promise<Value>): Promise<Value> {
    const run = action().finally(() => {
      if (this.#running.get(name) === run) this.#running.delete(name);
    });
    this.#running.set(name, run);
    return run;
  }
}

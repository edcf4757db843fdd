/** Runs the flushes of one tick of the event loop: rooms before outboxes, so that frames leave in the same tick. */

/** Something that collects data during a tick and passes it on at the end of the tick. */
export interface Flushable {
  flush(): void;
}

/** Flushes at the end of the tick, each scheduled room once and then each scheduled outbox once. */
export class FlushScheduler {
  readonly #rooms = new Set<Flushable>();
  #outboxes = new Set<Flushable>();
  #scheduled = false;

  scheduleRoom(room: Flushable): void {
    this.#rooms.add(room);
    this.#schedule();
  }

  scheduleOutbox(outbox: Flushable): void {
    this.#outboxes.add(outbox);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      for (const room of this.#rooms) room.flush();
      this.#rooms.clear();
      const outboxes = this.#outboxes;
      // An outbox that is scheduled during its flush is flushed in the next tick.
      this.#outboxes = new Set();
      this.#scheduled = false;
      for (const outbox of outboxes) outbox.flush();
    });
  }
}

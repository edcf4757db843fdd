/**
 * Turns of the requests of each sender: some are in progress at a time, and the others wait. So the request of another
 * sender comes after a few of a flood, and not after all of it.
 */

/** Requests of a sender that are in progress at a time. */
const AT_ONCE = 8;
/** Longest turn, in ms. A request that takes longer mostly waits, such as for the database, and keeps nobody up. */
const LONGEST_TURN_MS = 50;

interface Sender {
  running: number;
  /** Starts of the requests that wait, in order. */
  readonly waiting: Set<() => void>;
}

export class Turns {
  /** Senders with a request in progress. */
  readonly #senders = new Map<string, Sender>();

  constructor(
    private readonly atOnce = AT_ONCE,
    private readonly longestMs = LONGEST_TURN_MS,
  ) {}

  /** Calls `start` in the turn of a request. The returned function ends the turn, or gives it up before it has begun. */
  enter(name: string, start: () => void): () => void {
    const sender = this.#senders.get(name) ?? { running: 0, waiting: new Set() };
    this.#senders.set(name, sender);
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      this.#end(name, sender);
    };
    const begin = (): void => {
      sender.running += 1;
      timer = setTimeout(end, this.longestMs);
      start();
    };
    if (sender.running < this.atOnce) begin();
    else sender.waiting.add(begin);
    return () => {
      sender.waiting.delete(begin);
      end();
    };
  }

  #end(name: string, sender: Sender): void {
    sender.running -= 1;
    const [next] = sender.waiting;
    if (next !== undefined) {
      sender.waiting.delete(next);
      next();
    } else if (sender.running === 0) this.#senders.delete(name);
  }
}

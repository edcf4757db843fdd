/**
 * Turns of the requests of each sender until they are admitted: a few are checked at a time, and the others wait. So the
 * request of another sender comes after a few of a flood, and not after all of it. What an admitted request does is bounded
 * by the tokens of its caller; one without a caller keeps its turn until it is answered.
 */

/** Requests of a sender that are checked at a time, and those of them that begin in one iteration of the event loop. */
const AT_ONCE = 64;
const BEGIN_AT_ONCE = 16;
/** Requests of a sender that wait. Further ones are refused. */
const MAX_WAITING = 1_000;
/** Longest turn, in ms. A request that takes longer mostly waits, such as for the database, and keeps nobody up. */
const LONGEST_TURN_MS = 50;

interface Sender {
  running: number;
  /** Starts of the requests that wait, in order. */
  readonly waiting: Set<() => void>;
  /** True while the next of them begin with the next iteration of the event loop. */
  isDue: boolean;
}

export class Turns {
  /** Senders with a request in progress. */
  readonly #senders = new Map<string, Sender>();

  constructor(
    private readonly atOnce = AT_ONCE,
    private readonly maxWaiting = MAX_WAITING,
    private readonly longestMs = LONGEST_TURN_MS,
    private readonly beginAtOnce = BEGIN_AT_ONCE,
  ) {}

  /**
   * Calls `start` in the turn of a request. The returned function ends the turn, or gives it up before it has begun. Returns
   * `undefined`, and never calls `start`, when too many requests of the sender wait.
   */
  enter(name: string, start: () => void): (() => void) | undefined {
    const sender = this.#senders.get(name) ?? { running: 0, waiting: new Set(), isDue: false };
    if (sender.waiting.size >= this.maxWaiting) return undefined;
    this.#senders.set(name, sender);
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      sender.running -= 1;
      this.#next(name, sender);
    };
    const begin = (): void => {
      sender.running += 1;
      timer = setTimeout(end, this.longestMs);
      start();
    };
    if (sender.running < this.atOnce && sender.waiting.size === 0) begin();
    else sender.waiting.add(begin);
    return () => {
      sender.waiting.delete(begin);
      end();
    };
  }

  /** Begins the next requests of a sender, a few in each iteration of the event loop, or forgets a sender without one. */
  #next(name: string, sender: Sender): void {
    if (sender.isDue) return;
    if (sender.waiting.size === 0) {
      if (sender.running === 0) this.#senders.delete(name);
      return;
    }
    if (sender.running >= this.atOnce) return;
    sender.isDue = true;
    setImmediate(() => {
      for (let begun = 0; begun < this.beginAtOnce && sender.running < this.atOnce; begun += 1) {
        const [begin] = sender.waiting;
        if (begin === undefined) break;
        sender.waiting.delete(begin);
        begin();
      }
      sender.isDue = false;
      this.#next(name, sender);
    });
  }
}

/**
 * Turns of the requests of each sender: a few are served at a time, and the others wait. So the request of another sender
 * comes after a few of a flood, and not after all of it. How many depends on the credit of the sender: each request that its
 * caller has paid for adds to it, and each answer that costs no token halves it. A turn lasts until the answer is ready;
 * with the highest credit it ends when the request is admitted, because the tokens of its caller bound what it does then.
 */

/** Requests of a sender that are served at a time: without credit, and with the highest. */
const FEWEST = 4;
const MOST = 64;
/** Admitted requests of a sender for which one more is served at a time. */
const CREDIT_STEP = 16;
/**
 * Pause in ms before the waiting requests of a sender without credit begin, a few at a time. It is shorter with credit, by as
 * much as more of them are served at a time.
 */
const PAUSE_MS = 10;
/** Requests of a sender that wait. Further ones are refused. */
const MAX_WAITING = 400;
/**
 * Longest turn of a request that is being served, in ms. One that takes longer mostly waits, such as for the database, and
 * keeps nobody up.
 */
const LONGEST_TURN_MS = 50;
/** Longest wait for a turn, in ms. A request that waits longer is refused while there is still time to answer it. */
const LONGEST_WAIT_MS = 2_000;
/** Idle senders whose credit is remembered. */
const MAX_REMEMBERED = 10_000;

/** Turn of one request. Only the first call of its methods that ends it has an effect. */
export interface Turn {
  /** Adds to the credit of the sender. Ends the turn if that is the highest. */
  readonly admitted: () => void;
  /** Halves the credit of the sender of a request whose answer costs no token, and ends its turn. */
  readonly free: () => void;
  /** Ends the turn of a request that is answered, or gives it up before it has begun. */
  readonly end: () => void;
}

export interface TurnLimits {
  readonly fewest: number;
  readonly most: number;
  readonly creditStep: number;
  readonly maxWaiting: number;
  readonly longestMs: number;
  readonly longestWaitMs: number;
}

const LIMITS: TurnLimits = {
  fewest: FEWEST,
  most: MOST,
  creditStep: CREDIT_STEP,
  maxWaiting: MAX_WAITING,
  longestMs: LONGEST_TURN_MS,
  longestWaitMs: LONGEST_WAIT_MS,
};

interface Sender {
  credit: number;
  running: number;
  /** Starts of the requests that wait, in order. */
  readonly waiting: Set<() => void>;
  /** True during the pause before the next of them begin. */
  isDue: boolean;
}

export class Turns {
  readonly #limits: TurnLimits;
  /** Senders with a request in progress, and those with credit. */
  readonly #senders = new Map<string, Sender>();
  readonly #maxCredit: number;

  constructor(limits: Partial<TurnLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    this.#maxCredit = (this.#limits.most - this.#limits.fewest) * this.#limits.creditStep;
  }

  /**
   * Calls `start` in the turn of a request, or `giveUp` when it has waited for too long. Returns `undefined`, and calls
   * neither, when too many requests of the sender wait.
   */
  enter(name: string, start: () => void, giveUp: () => void): Turn | undefined {
    const sender = this.#senderOf(name);
    if (sender.waiting.size >= this.#limits.maxWaiting) return undefined;
    let patience: NodeJS.Timeout | undefined;
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      sender.running -= 1;
      this.#next(name, sender);
    };
    const begin = (): void => {
      clearTimeout(patience);
      sender.running += 1;
      timer = setTimeout(end, this.#limits.longestMs);
      start();
    };
    if (sender.running < this.#atOnce(sender) && sender.waiting.size === 0) begin();
    else {
      sender.waiting.add(begin);
      patience = setTimeout(() => {
        sender.waiting.delete(begin);
        giveUp();
      }, this.#limits.longestWaitMs);
    }
    return {
      admitted: () => {
        if (sender.credit === this.#maxCredit) end();
        else sender.credit += 1;
      },
      free: () => {
        sender.credit >>= 1;
        end();
      },
      end: () => {
        clearTimeout(patience);
        sender.waiting.delete(begin);
        end();
      },
    };
  }

  #senderOf(name: string): Sender {
    const known = this.#senders.get(name);
    if (known !== undefined) return known;
    const sender = { credit: 0, running: 0, waiting: new Set<() => void>(), isDue: false };
    this.#senders.set(name, sender);
    return sender;
  }

  /** Returns the number of requests of a sender that are served at a time. */
  #atOnce({ credit }: Sender): number {
    return this.#limits.fewest + Math.floor(credit / this.#limits.creditStep);
  }

  /** Begins the next requests of a sender after a pause, or forgets a sender without one. */
  #next(name: string, sender: Sender): void {
    if (sender.isDue) return;
    if (sender.waiting.size === 0) {
      if (sender.running === 0) this.#forget(name, sender);
      return;
    }
    const atOnce = this.#atOnce(sender);
    if (sender.running >= atOnce) return;
    const { fewest } = this.#limits;
    sender.isDue = true;
    setTimeout(
      () => {
        let left = Math.min(this.#atOnce(sender) - sender.running, fewest);
        for (const begin of sender.waiting) {
          if (left <= 0) break;
          left -= 1;
          sender.waiting.delete(begin);
          begin();
        }
        sender.isDue = false;
        this.#next(name, sender);
      },
      (PAUSE_MS * fewest) / atOnce,
    );
  }

  /** Forgets an idle sender, unless it has credit and there is room to remember it. */
  #forget(name: string, { credit }: Sender): void {
    if (credit === 0 || this.#senders.size > MAX_REMEMBERED) this.#senders.delete(name);
  }
}

/**
 * Asking actors. A command goes to the actor's mailbox with an id of its own, the answer comes back on this process's
 * reply feed. Where the outcome is unknown the same command is sent again with the same id; the actor carries it out
 * once and gives the same answer.
 */

import { type ActorId, ledgerActor, marketActor, partitionOf } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { Clock } from "./clock.js";
import type { Delivery, Log, Subscription } from "./log.js";
import type { Logger } from "./logger.js";
import { packEnvelope, parseReplies } from "./packing.js";
import { replyFeed } from "./reply-feed.js";
import { type AskOptions, type Exchange, Unavailable } from "./ports.js";

export interface ExchangeOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes ids that nobody else makes. */
  readonly newId: () => string;
  /** How many messages may wait in one mailbox (default 100,000). */
  readonly mailboxCapacity?: number | undefined;
  /** The part of the log's memory above which nothing more is asked (default 0.7). */
  readonly memoryLimit?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** When a command without an answer is sent again: the time since the last try, then doubled. */
const RESEND_MS = 1_000;
/** When a command that may not have reached its mailbox is sent again. */
const RESEND_LOST_MS = 100;
const MEMORY_MS = 1_000;
const MAX_APPEND = 500;

interface QueuedCommand {
  readonly actor: ActorId;
  readonly body: string;
  /** Called when the message is in the mailbox (`taken`), was refused (`full`), or may be neither (`unknown`). */
  readonly sent: (outcome: "taken" | "full" | "unknown") => void;
}

export class LogExchange implements Exchange {
  readonly #options: ExchangeOptions;
  readonly #feed: string;
  readonly #listeners = new Map<string, Set<(reply: unknown) => void>>();
  readonly #queues = new Map<string, QueuedCommand[]>();
  readonly #sending = new Set<string>();
  #subscription: Subscription | undefined;
  #cancelMemory: () => void = () => undefined;
  #memoryUse = 0;
  #closed = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#feed = replyFeed(options.newId());
  }

  /** Begins to hear answers. Nothing can be asked before. */
  async start(): Promise<void> {
    this.#subscription = await this.#options.log.subscribe(this.#feed, {
      onBody: (body) => this.#receiveReplies(body),
      // Whoever waits for a missed answer asks again, and gets it again.
      onMissed: () => undefined,
    });
    await this.#watchMemory();
  }

  async #watchMemory(): Promise<void> {
    const { log, clock, logger } = this.#options;
    try {
      this.#memoryUse = await log.memoryUse();
    } catch (error) {
      logger.warn({ err: error }, "cannot tell how full the log is");
    }
    if (this.#closed) return;
    this.#cancelMemory = clock.after(MEMORY_MS, () => {
      void this.#watchMemory();
    });
  }

  #receiveReplies(body: string): void {
    for (const [id, reply] of parseReplies(body)) {
      for (const resolve of this.#listeners.get(id) ?? []) resolve(reply);
    }
  }

  market(marketId: string, command: MarketCommand, options?: AskOptions): Promise<MarketReply> {
    return this.ask(marketActor(marketId), command, options) as Promise<MarketReply>;
  }

  ledger(shard: number, command: LedgerCommand, options?: AskOptions): Promise<LedgerReply> {
    return this.ask(ledgerActor(shard), command, options) as Promise<LedgerReply>;
  }

  /** Sends any command to any actor and waits for its answer; see `Exchange`. */
  ask(actor: ActorId, command: unknown, options: AskOptions = {}): Promise<unknown> {
    const { clock, newId, memoryLimit = 0.7 } = this.#options;
    if (this.#closed || this.#subscription === undefined) {
      return Promise.reject(new Unavailable("this process does not hear answers"));
    }
    if (this.#memoryUse > memoryLimit) return Promise.reject(new Unavailable("the log is short of memory"));
    const { id = newId(), timeoutMs = DEFAULT_TIMEOUT_MS, rememberMs } = options;
    const notAfterMs = clock.now() + timeoutMs;
    const body = packEnvelope({ id, replyTo: this.#feed, rememberMs, notAfterMs, commands: [command] });
    return new Promise((resolve, reject) => {
      let cancelResend: () => void = () => undefined;
      let wait = RESEND_MS;
      const listener = (reply: unknown): void => finish(() => resolve(reply));
      const finish = (settle: () => void): void => {
        cancelResend();
        cancelTimeout();
        this.#unlisten(id, listener);
        settle();
      };
      const resendAfter = (ms: number): void => {
        cancelResend();
        cancelResend = clock.after(ms, send);
      };
      const send = (): void =>
        this.#send({
          actor,
          body,
          sent: (outcome) => {
            if (!this.#listens(id, listener)) return;
            if (outcome === "full") {
              finish(() => reject(new Unavailable("mailbox full")));
            } else if (outcome === "unknown") {
              resendAfter(RESEND_LOST_MS);
            } else {
              resendAfter(wait);
              wait *= 2;
            }
          },
        });
      const cancelTimeout = clock.after(timeoutMs, () => {
        finish(() => reject(new Unavailable(`no answer from ${actor} in ${timeoutMs} ms`)));
      });
      this.#listen(id, listener);
      send();
    });
  }

  #listen(id: string, listener: (reply: unknown) => void): void {
    const listeners = this.#listeners.get(id);
    if (listeners === undefined) this.#listeners.set(id, new Set([listener]));
    else listeners.add(listener);
  }

  #listens(id: string, listener: (reply: unknown) => void): boolean {
    return this.#listeners.get(id)?.has(listener) ?? false;
  }

  #unlisten(id: string, listener: (reply: unknown) => void): void {
    const listeners = this.#listeners.get(id);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(id);
  }

  /** Queues a message; what comes together for one partition travels together. */
  #send(ask: QueuedCommand): void {
    const partition = partitionOf(ask.actor);
    const queue = this.#queues.get(partition);
    if (queue === undefined) this.#queues.set(partition, [ask]);
    else queue.push(ask);
    if (this.#sending.has(partition)) return;
    this.#sending.add(partition);
    queueMicrotask(() => {
      void this.#flush(partition);
    });
  }

  async #flush(partition: string): Promise<void> {
    const { log, mailboxCapacity = 100_000 } = this.#options;
    const queue = this.#queues.get(partition) ?? [];
    while (queue.length > 0) {
      const asks = queue.splice(0, MAX_APPEND);
      const deliveries: Delivery[] = asks.map(({ actor, body }) => ({ to: actor, body }));
      try {
        const taken = await log.append(partition, deliveries, mailboxCapacity);
        for (const [index, { sent }] of asks.entries()) sent(taken[index] === true ? "taken" : "full");
      } catch {
        for (const { sent } of asks) sent("unknown");
      }
    }
    this.#queues.delete(partition);
    this.#sending.delete(partition);
  }

  /** Stops hearing answers; whoever still waits is told after the time-out. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelMemory();
    await this.#subscription?.close();
  }
}

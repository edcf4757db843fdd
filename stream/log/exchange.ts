/**
 * Sends commands to actors and waits for the answers. A command goes to the mailbox of the actor under an id, and the
 * answer returns on the reply feed of this process. While the outcome is unknown, the command is sent again under the
 * same id; the actor executes it once and repeats its answer.
 */

import { type ActorId, ledgerActor, marketActor, partitionOf } from "../../actors/actor.js";
import { type Formats, latestFormat } from "../../actors/format.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { Clock } from "./clock.js";
import { LogGuard } from "../services/log-guard.js";
import { type Delivery, type Log, type Subscription, WriteRefused } from "./log.js";
import type { Logger } from "./logger.js";
import { isQuarantinedReply, packEnvelope, parseReplies, replyFeed } from "./packing.js";
import {
  type Answered,
  type AskOptions,
  type GatewayExchange,
  NotSent,
  Quarantined,
  Unavailable,
} from "./ports.js";

export interface ExchangeOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a globally unique id. */
  readonly newId: () => string;
  /** Most messages in one mailbox; further commands are rejected (default 100,000). */
  readonly mailboxCapacity?: number | undefined;
  /** Restores a removed actor that has received a command; it may fail, and is called by the jobs too. */
  readonly restore?: ((actor: ActorId) => Promise<unknown>) | undefined;
  /** Format of the commands (default the latest). */
  readonly formats?: Formats | undefined;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** Time after which a command without an answer is sent again; it doubles with each repeat. */
const RESEND_MS = 1_000;
/** Time after which a command that may not have reached its mailbox is sent again. */
const RESEND_LOST_MS = 100;
/** Most messages in one append. */
const MAX_APPEND = 500;

type Listener = (answer: Answered<unknown>) => void;

interface QueuedCommand {
  readonly actor: ActorId;
  readonly body: string;
  /** Called with the outcome of the append; `full`: the mailbox has no room; `WriteRefused`: the log took no write. */
  readonly onSent: (outcome: "appended" | "full" | "unknown" | WriteRefused) => void;
}

export class LogExchange implements GatewayExchange {
  readonly #options: ExchangeOptions;
  readonly #feed: string;
  /** Listeners for the answer, by command id. */
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Commands to append, by partition. */
  readonly #queues = new Map<string, QueuedCommand[]>();
  /** Partitions to which commands are being appended. */
  readonly #sending = new Set<string>();
  /** Refuses commands while the log is short of memory or disk. */
  readonly guard: LogGuard;
  #subscription: Subscription | undefined;
  #closed = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.guard = new LogGuard(options);
    this.#feed = replyFeed(options.newId());
  }

  /** Subscribes to the answers. Commands are rejected before that. */
  async start(): Promise<void> {
    this.#subscription = await this.#options.log.subscribe(this.#feed, {
      onBody: (body) => this.#receiveReplies(body),
      // A command whose answer was missed is sent again, and the actor repeats the answer.
      onMissed: () => undefined,
    });
    await this.guard.start();
  }

  #receiveReplies(body: string): void {
    for (const { id, ...answer } of parseReplies(body)) {
      for (const resolve of this.#listeners.get(id) ?? []) resolve(answer);
    }
  }

  market(marketId: string, command: MarketCommand, options?: AskOptions): Promise<MarketReply> {
    return this.ask(marketActor(marketId), command, options) as Promise<MarketReply>;
  }

  ledger(shard: number, command: LedgerCommand, options?: AskOptions): Promise<LedgerReply> {
    return this.ask(ledgerActor(shard), command, options) as Promise<LedgerReply>;
  }

  ledgerOnce(
    shard: number,
    command: LedgerCommand,
    options: AskOptions & { readonly id: string },
  ): Promise<Answered<LedgerReply>> {
    return this.askOnce(ledgerActor(shard), command, options) as Promise<Answered<LedgerReply>>;
  }

  /** Sends any command to any actor and resolves with its answer; see `Exchange`. */
  async ask(actor: ActorId, command: unknown, options?: AskOptions): Promise<unknown> {
    return (await this.askOnce(actor, command, options)).reply;
  }

  /** Sends any command to any actor, and says whether the answer is repeated; see `GatewayExchange`. */
  askOnce(actor: ActorId, command: unknown, options: AskOptions = {}): Promise<Answered<unknown>> {
    const { clock, newId, formats = latestFormat } = this.#options;
    if (this.#closed || this.#subscription === undefined) {
      return Promise.reject(new Unavailable("this process is not ready for commands; try again"));
    }
    const refusal = this.guard.refusalOf({ opensOrders: opensOrders(command) });
    if (refusal !== undefined) return Promise.reject(new NotSent(refusal));
    const { id = newId(), timeoutMs = DEFAULT_TIMEOUT_MS, rememberMs, isAnswer = () => true } = options;
    const notAfterMs = clock.now() + timeoutMs;
    const body = packEnvelope({
      id,
      replyTo: this.#feed,
      rememberMs,
      notAfterMs,
      commands: [command],
      format: formats.active(),
    });
    return new Promise((resolve, reject) => {
      let cancelResend: () => void = () => undefined;
      let wait = RESEND_MS;
      /** True until an append of the command may have had an effect. */
      let isFirst = true;
      let appends = 0;
      const listener: Listener = ({ reply, repeated }) => {
        if (!isQuarantinedReply(reply) && !isAnswer(reply)) return;
        finish(() => {
          // After a second append, the command that got the answer first may be this one.
          if (!isQuarantinedReply(reply)) resolve({ reply, repeated: repeated && appends < 2 });
          else reject(new Quarantined(`${actor} has failed on the command, which is in the quarantine`));
        });
      };
      const finish = (complete: () => void): void => {
        cancelResend();
        cancelTimeout();
        this.#unlisten(id, listener);
        complete();
      };
      const resendAfter = (ms: number): void => {
        cancelResend();
        cancelResend = clock.after(ms, send);
      };
      const send = (): void => {
        appends += 1;
        this.#send({
          actor,
          body,
          onSent: (outcome) => {
            if (!this.#listens(id, listener)) return;
            if (outcome instanceof WriteRefused) {
              // An earlier append of this command may have reached the mailbox, so its answer may still come.
              if (isFirst)
                finish(() => reject(new Unavailable(`the exchange accepts no commands: ${outcome.message}`)));
              else resendAfter(wait);
              return;
            }
            isFirst = false;
            if (outcome === "full") {
              finish(() => reject(new Unavailable("too many commands are waiting; try again later")));
            } else if (outcome === "unknown") {
              resendAfter(RESEND_LOST_MS);
            } else {
              resendAfter(wait);
              wait *= 2;
            }
          },
        });
      };
      const cancelTimeout = clock.after(timeoutMs, () => {
        finish(() =>
          reject(new Unavailable(`${actor} did not answer within ${timeoutMs} ms; the outcome is unknown`)),
        );
      });
      this.#listen(id, listener);
      send();
    });
  }

  #listen(id: string, listener: Listener): void {
    const listeners = this.#listeners.get(id);
    if (listeners === undefined) this.#listeners.set(id, new Set([listener]));
    else listeners.add(listener);
  }

  #listens(id: string, listener: Listener): boolean {
    return this.#listeners.get(id)?.has(listener) ?? false;
  }

  #unlisten(id: string, listener: Listener): void {
    const listeners = this.#listeners.get(id);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(id);
  }

  #restore(actor: ActorId): void {
    const { restore, logger } = this.#options;
    restore?.(actor).catch((error: unknown) => {
      logger.warn({ err: error, actor }, "cannot restore a removed actor; the jobs try again");
    });
  }

  /** Queues a command. The commands that are queued for one partition in the same turn share an append. */
  #send(command: QueuedCommand): void {
    const partition = partitionOf(command.actor);
    const queue = this.#queues.get(partition);
    if (queue === undefined) this.#queues.set(partition, [command]);
    else queue.push(command);
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
      const commands = queue.splice(0, MAX_APPEND);
      const deliveries: Delivery[] = commands.map(({ actor, body }) => ({ to: actor, body }));
      try {
        const appended = await log.append(partition, deliveries, mailboxCapacity);
        for (const [index, { actor, onSent }] of commands.entries()) {
          const outcome = appended[index] ?? "full";
          if (outcome === "removed") this.#restore(actor);
          onSent(outcome === "full" ? "full" : "appended");
        }
      } catch (error) {
        for (const { onSent } of commands) onSent(error instanceof WriteRefused ? error : "unknown");
      }
    }
    this.#queues.delete(partition);
    this.#sending.delete(partition);
  }

  /** Ends the subscription to the answers. A command that still waits rejects after its time-out. */
  async close(): Promise<void> {
    this.#closed = true;
    this.guard.close();
    await this.#subscription?.close();
  }
}

/** Returns true for a command that may open an order, and so takes memory until the order is gone. */
function opensOrders(command: unknown): boolean {
  const { kind } = command as LedgerCommand | MarketCommand;
  return kind === "place" || kind === "amend";
}

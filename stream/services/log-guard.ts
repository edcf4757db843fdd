/**
 * Guard of the log's memory and disk. New orders are refused while there is still room for everything else, because
 * cancels, reads, settlements and the commits of the actors must go on until the room is back.
 */

import { LEDGER_SHARDS, ledgerActor, partitionOf } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import { entriesAfter, lineageAt } from "../log/lineage.js";
import type { Head, Log, LogCondition } from "../log/log.js";
import type { Logger } from "../log/logger.js";

export interface GuardOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** State of the guard, for operators. */
export interface Room {
  /** Commands that pass now; `cancels` are all but those that open orders. */
  readonly accepts: "all" | "cancels" | "nothing";
  /** Why others are refused; null while all pass. */
  readonly reason: string | null;
  /** Memory of the log that is left until new orders are refused, in per cent of its limit; 0 while they are. */
  readonly memoryPercent: number;
}

/** Share of the log's memory from which commands are refused, and the lower share below which they pass again. */
interface Limit {
  readonly from: number;
  readonly until: number;
}

/** Limit of commands that open orders. */
const ORDERS: Limit = { from: 0.7, until: 0.65 };
/** Limit of all commands. */
const COMMANDS: Limit = { from: 0.9, until: 0.85 };
/** Interval of reading the condition of the log. */
const CHECK_MS = 250;
const LEDGERS = Array.from({ length: LEDGER_SHARDS }, (_, shard) => ledgerActor(shard));
const NOT_READ: LogCondition = { memoryUse: 0, memoryBytes: 0, memoryLimitBytes: 0 };

export class LogGuard {
  readonly #options: GuardOptions;
  #cancel: () => void = () => undefined;
  #condition = NOT_READ;
  #refusesOrders = false;
  #refusesCommands = false;
  /** Number of entries that the read model lacks, while they are most of the entries in the log. */
  #behind = 0;
  #closed = false;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Reads the condition of the log now, and from now on. */
  async start(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#check();
    } catch (error) {
      logger.warn({ err: error }, "cannot read the condition of the log; trying again");
    }
    if (this.#closed) return;
    this.#cancel = clock.after(CHECK_MS, () => void this.start());
  }

  async #check(): Promise<void> {
    const { log, logger } = this.#options;
    const condition = await log.condition();
    const refusesOrders = isBeyond(ORDERS, condition.memoryUse, this.#refusesOrders);
    // A refusal names its cause, so the cause is read before the first refusal, which does not depend on it.
    const behind = refusesOrders ? await this.#entriesBehind() : 0;
    const before = this.#reason(true);
    this.#condition = condition;
    this.#refusesOrders = refusesOrders;
    this.#refusesCommands = isBeyond(COMMANDS, condition.memoryUse, this.#refusesCommands);
    this.#behind = behind;
    const reason = this.#reason(true);
    if (before === undefined && reason !== undefined) logger.error({ condition }, reason);
    if (before !== undefined && reason === undefined) logger.info({ condition }, "orders are accepted again");
  }

  /** Returns the number of ledger entries that the read model lacks, or 0 when others fill the log or nobody knows. */
  async #entriesBehind(): Promise<number> {
    try {
      return await this.#countBehind();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "cannot read by how much the database is behind");
      return 0;
    }
  }

  async #countBehind(): Promise<number> {
    const { log } = this.#options;
    const actors = await Promise.all(
      LEDGERS.map(async (actor) => {
        const partition = partitionOf(actor);
        const [[head], [size]] = await Promise.all([
          log.heads(partition, [actor]),
          log.sizes(partition, [actor]),
        ]);
        const behind = head === undefined ? 0 : unprojectedEntries(head);
        return { behind, entries: size?.deltas.entries ?? 0 };
      }),
    );
    const behind = actors.reduce((sum, actor) => sum + actor.behind, 0);
    const entries = actors.reduce((sum, actor) => sum + actor.entries, 0);
    return 2 * behind > entries ? behind : 0;
  }

  /** Memory that the log uses, in bytes. */
  get memoryBytes(): number {
    return this.#condition.memoryBytes;
  }

  /** Returns the share of the log's memory that is left until such commands are refused; 0 while they are. */
  headRoom({ opensOrders }: { readonly opensOrders: boolean }): number {
    if (this.#reason(opensOrders) !== undefined) return 0;
    const { from } = opensOrders ? ORDERS : COMMANDS;
    return Math.max(0, from - this.#condition.memoryUse);
  }

  get room(): Room {
    const reason = this.#reason(true);
    const others = this.#reason(false) === undefined ? "cancels" : "nothing";
    return {
      accepts: reason === undefined ? "all" : others,
      reason: reason ?? null,
      memoryPercent: Math.round(1_000 * this.headRoom({ opensOrders: true })) / 10,
    };
  }

  /** Returns why a command is refused now; `undefined` when it may be sent. */
  refusalOf(command: { readonly opensOrders: boolean }): string | undefined {
    return this.#reason(command.opensOrders);
  }

  #reason(opensOrders: boolean): string | undefined {
    const { memoryUse, fault, disk } = this.#condition;
    const memory = `the log uses ${Math.round(100 * memoryUse)} % of its memory`;
    if (fault !== undefined) return `the exchange accepts no commands: ${fault}`;
    if (this.#refusesCommands) return `the exchange accepts no commands: ${memory}`;
    if (!opensOrders) return undefined;
    if (this.#refusesOrders) {
      const cause = this.#behind === 0 ? "" : `, because the database is ${this.#behind} entries behind`;
      return `the exchange accepts no new orders: ${memory}${cause}; cancels and reads go on`;
    }
    if (disk !== undefined) return `the exchange accepts no new orders: ${disk}; cancels and reads go on`;
    return undefined;
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }
}

/** Returns the number of entries of an actor that the read model lacks, without the seqs that incarnations leave out. */
function unprojectedEntries(head: Head): number {
  return entriesAfter({ seq: head.projected, lineage: lineageAt(head, head.projected) }, head);
}

function isBeyond({ from, until }: Limit, use: number, wasBeyond: boolean): boolean {
  return use >= (wasBeyond ? until : from);
}

/** A connection that does nothing but wait for streams to grow. */

import { Redis } from "ioredis";
import { BLOCK_MS, connect, type Connection, onConnectionLost } from "./connection.js";

export type StreamMessage = readonly [id: string, fields: string[]];

const COUNT = 1_000;
/** An answer that is so much later than the block means that the connection is dead. */
const WATCHDOG_MS = 900;
const INTERRUPT_RETRY_MS = 5;

export class BlockingReader {
  readonly #connection: Connection;
  readonly #commands: Connection;
  #client: number | undefined;
  #reads = 0;
  #reading = false;
  #closed = false;

  /** `onLost` is called whenever the connection was lost, before anything is read on the next one. */
  constructor(url: string, commands: Connection, onLost: () => void) {
    this.#commands = commands;
    this.#connection = connect(url, "blocking");
    onConnectionLost(this.#connection, () => {
      this.#client = undefined;
      if (!this.#closed) onLost();
    });
  }

  isClosed(): boolean {
    return this.#closed;
  }

  /** The last id of each stream, `0-0` of one that has none. */
  async lastIds(keys: readonly string[]): Promise<readonly string[]> {
    const pipeline = this.#connection.pipeline();
    for (const key of keys) pipeline.xrevrange(key, "+", "-", "COUNT", 1);
    const replies = (await pipeline.exec()) ?? [];
    return replies.map(([error, messages]) => {
      if (error !== null) throw error;
      return (messages as StreamMessage[])[0]?.[0] ?? "0-0";
    });
  }

  /** Waits, at most `BLOCK_MS`, for messages after the given ids. */
  async read(
    streams: readonly { readonly key: string; readonly after: string }[],
  ): Promise<ReadonlyMap<string, readonly StreamMessage[]>> {
    if (this.#client === undefined && this.#connection instanceof Redis) {
      this.#client = await this.#connection.client("ID");
    }
    const began = performance.now();
    this.#reading = true;
    try {
      const reply = await this.#connection.xread(
        "COUNT",
        COUNT,
        "BLOCK",
        BLOCK_MS,
        "STREAMS",
        ...streams.map(({ key }) => key),
        ...streams.map(({ after }) => after),
      );
      if (reply === null && performance.now() - began > BLOCK_MS + WATCHDOG_MS) this.#reconnect();
      return new Map(reply);
    } finally {
      this.#reading = false;
      this.#reads += 1;
    }
  }

  #reconnect(): void {
    if (!this.#closed) this.#connection.disconnect(true);
  }

  /** Makes a read that waits return at once, as if its time were up. */
  async interrupt(): Promise<void> {
    const read = this.#reads;
    while (this.#reading && read === this.#reads && this.#client !== undefined && !this.#closed) {
      // The read may have been sent and not yet have arrived, so one try is not enough. Losing them all costs a block.
      await this.#commands.client("UNBLOCK", this.#client).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, INTERRUPT_RETRY_MS));
    }
  }

  close(): void {
    this.#closed = true;
    this.#connection.disconnect();
  }
}

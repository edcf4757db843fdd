/** A client that comes and goes: it folds what it is told, and keeps account of every seq that it saw. */

import { expect } from "chai";
import { WebSocket } from "ws";
import type { TestKey } from "../../support/traders.js";
import { type Client, type Json, Mirror, openStream } from "./client.js";
import { until } from "./timing.js";

interface Account {
  last: number;
  /** Seqs that came as deltas. */
  seen: number;
  /** Seqs that a snapshot had in it already. */
  skipped: number;
}

/** What came of each stream of seqs, over all connections. Throws for a seq that comes twice, or not at all. */
export class Seen {
  readonly #accounts = new Map<string, Account>();
  /** How many channels went on where they were, and how many began with a snapshot. */
  resumed = 0;
  begun = 0;

  take(frame: Json): void {
    for (const [marketId, channels] of Object.entries((frame["delta"] ?? {}) as Record<string, Json>)) {
      for (const [channel, batch] of Object.entries(channels)) {
        if (channel !== "eventId") this.#batch(`${marketId} ${channel}`, batch);
      }
    }
    const isDelta = frame["delta"] !== undefined;
    for (const channel of ["orders", "positions"]) {
      const part = frame[channel];
      if (part === undefined) continue;
      if (isDelta) this.#batch(channel, part);
      else this.#snapshot(channel, part);
    }
    for (const [marketId, channels] of Object.entries((frame["snapshot"] ?? {}) as Record<string, Json>)) {
      for (const [channel, part] of Object.entries(channels)) {
        if (channel !== "eventId") this.#snapshot(`${marketId} ${channel}`, part);
      }
    }
    for (const resumed of Object.values((frame["resumed"] ?? {}) as Json)) {
      const channels = typeof resumed === "object" ? Object.values(resumed as Json) : [resumed];
      this.resumed += channels.filter((one) => one === true).length;
    }
  }

  get seqs(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#accounts].map(([stream, { last }]) => [stream, last]));
  }

  /** Seqs that came as deltas, of all streams. */
  get total(): number {
    return [...this.#accounts.values()].reduce((sum, { seen }) => sum + seen, 0);
  }

  /** Every seq up to the last was seen once, or was in a snapshot. */
  check(): void {
    for (const [stream, { last, seen, skipped }] of this.#accounts)
      expect(seen + skipped, stream).to.equal(last);
  }

  #batch(stream: string, batch: unknown): void {
    const account = this.#account(stream);
    const { seq } = batch as { seq: number };
    expect(seq, stream).to.equal(account.last + 1);
    account.last = seq;
    account.seen += 1;
  }

  #snapshot(stream: string, part: unknown): void {
    const account = this.#account(stream);
    const { seq } = part as { seq: number };
    expect(seq, `${stream} goes back`).to.be.at.least(account.last);
    account.skipped += seq - account.last;
    account.last = seq;
    this.begun += 1;
  }

  #account(stream: string): Account {
    const account = this.#accounts.get(stream) ?? { last: 0, seen: 0, skipped: 0 };
    this.#accounts.set(stream, account);
    return account;
  }
}

/** One reader of the stream over as many connections as it takes. It watches books of one currency. */
export class Watcher {
  readonly mirror = new Mirror();
  readonly seen = new Seen();
  readonly #key: TestKey;
  readonly #selection: Json;
  #client: Client | undefined;
  #read = 0;
  /** By market, when something was told of it, as `performance.now()` has it. */
  readonly receivedAt = new Map<string, number[]>();

  constructor(key: TestKey, selection: Json) {
    this.#key = key;
    this.#selection = selection;
  }

  /** Opens a connection, and subscribes from the last seqs on or from snapshots. Gives the answer. */
  async begin(url: string, resume: boolean): Promise<Json> {
    const client = await openStream(url, this.#key);
    this.#client = client;
    this.#read = 0;
    client.socket.on("message", () => this.#catchUp(client));
    const since = new Map<string, unknown>(Object.entries(this.mirror.seqs));
    for (const [marketId, { seqs }] of this.mirror.markets) since.set(`market:${marketId}`, seqs);
    return client.request("subscribe", {
      ...this.#selection,
      ...(resume ? { since: Object.fromEntries(since) } : {}),
    });
  }

  /** Whether the connection stands. */
  get connected(): boolean {
    return this.#client?.socket.readyState === WebSocket.OPEN;
  }

  /** Cuts the connection without a word, as a network does. */
  async cut(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    client.socket.terminate();
    await client.closed;
    this.#catchUp(client);
  }

  /** Waits until every one of these seqs is there. */
  async reach(seqs: Readonly<Record<string, number>>, timeoutMs: number): Promise<void> {
    const behind = (): string[] =>
      Object.entries(seqs)
        .filter(([stream, seq]) => seq > 0 && this.seen.seqs[stream] !== seq)
        .map(([stream, seq]) => `${stream} is at ${this.seen.seqs[stream] ?? 0} of ${seq}`);
    await until(() => behind().length === 0, timeoutMs).catch(() => {
      throw new Error(`the watcher never got there: ${behind().slice(0, 10).join(", ")}`);
    });
  }

  #catchUp(client: Client): void {
    for (; this.#read < client.frames.length; this.#read += 1) {
      const frame = client.frames[this.#read] ?? {};
      this.seen.take(frame);
      this.mirror.take(frame);
      for (const marketId of Object.keys(frame["delta"] ?? {})) {
        const times = this.receivedAt.get(marketId) ?? [];
        this.receivedAt.set(marketId, times);
        times.push(performance.now());
      }
    }
  }
}

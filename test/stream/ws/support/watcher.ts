/** A client that connects and disconnects, folds its frames and records every seq that it received. */

import { expect } from "chai";
import { WebSocket } from "ws";
import type { TestKey } from "../../../support/traders.js";
import { type Client, type Json, Mirror, openStream } from "./client.js";
import { until } from "../../../support/until.js";

interface Channel {
  last: number;
  /** Number of seqs that arrived as deltas. */
  received: number;
  /** Number of seqs that a snapshot contained. */
  inSnapshots: number;
}

/** Record of each channel over all connections. Throws when a seq arrives twice or is missing. */
class SeqRecord {
  readonly #channels = new Map<string, Channel>();
  /** Number of channels that resumed. */
  resumed = 0;
  /** Number of channels that started with a snapshot. */
  fromSnapshot = 0;

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
    return Object.fromEntries([...this.#channels].map(([stream, { last }]) => [stream, last]));
  }

  /** Number of seqs of all channels that arrived as deltas. */
  get total(): number {
    return [...this.#channels.values()].reduce((sum, { received }) => sum + received, 0);
  }

  /** Checks that every seq up to the last arrived once or was in a snapshot. */
  check(): void {
    for (const [stream, { last, received, inSnapshots }] of this.#channels)
      expect(received + inSnapshots, stream).to.equal(last);
  }

  #batch(stream: string, batch: unknown): void {
    const channel = this.#channel(stream);
    const { seq } = batch as { seq: number };
    expect(seq, stream).to.equal(channel.last + 1);
    channel.last = seq;
    channel.received += 1;
  }

  #snapshot(stream: string, part: unknown): void {
    const channel = this.#channel(stream);
    const { seq } = part as { seq: number };
    expect(seq, `${stream} goes back`).to.be.at.least(channel.last);
    channel.inSnapshots += seq - channel.last;
    channel.last = seq;
    this.fromSnapshot += 1;
  }

  #channel(stream: string): Channel {
    const channel = this.#channels.get(stream) ?? { last: 0, received: 0, inSnapshots: 0 };
    this.#channels.set(stream, channel);
    return channel;
  }
}

/** One reader of the stream over any number of connections. It watches books of one currency. */
export class Watcher {
  readonly mirror = new Mirror();
  readonly seqRecord = new SeqRecord();
  readonly #key: TestKey;
  readonly #selection: Json;
  #client: Client | undefined;
  #read = 0;
  /** Times of the deltas of each market, from `performance.now()`. */
  readonly receivedAt = new Map<string, number[]>();

  constructor(key: TestKey, selection: Json) {
    this.#key = key;
    this.#selection = selection;
  }

  /** Opens a connection and subscribes, from the last seqs or with snapshots. Returns the answer. */
  async connect(url: string, resume: boolean): Promise<Json> {
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

  /** True while the connection is open. */
  get connected(): boolean {
    return this.#client?.socket.readyState === WebSocket.OPEN;
  }

  /** Cuts the connection without a close frame, as a network failure does. */
  async cut(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    client.socket.terminate();
    await client.closed;
    this.#catchUp(client);
  }

  /** Waits until every one of these seqs has arrived. */
  async reach(seqs: Readonly<Record<string, number>>): Promise<void> {
    const behind = (): string[] =>
      Object.entries(seqs)
        .filter(([stream, seq]) => seq > 0 && this.seqRecord.seqs[stream] !== seq)
        .map(([stream, seq]) => `${stream} is at ${this.seqRecord.seqs[stream] ?? 0} of ${seq}`);
    await until(() => behind().length === 0).catch(() => {
      throw new Error(`the watcher did not receive all seqs: ${behind().slice(0, 10).join(", ")}`);
    });
  }

  #catchUp(client: Client): void {
    for (; this.#read < client.frames.length; this.#read += 1) {
      const frame = client.frames[this.#read] ?? {};
      this.seqRecord.take(frame);
      this.mirror.take(frame);
      for (const marketId of Object.keys(frame["delta"] ?? {})) {
        const times = this.receivedAt.get(marketId) ?? [];
        this.receivedAt.set(marketId, times);
        times.push(performance.now());
      }
    }
  }
}

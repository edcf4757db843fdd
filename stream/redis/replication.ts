/**
 * Waits until writes are on replicas, so that a fail-over to one of them does not lose the writes. The wait is sent on
 * the connection that has written, because Redis counts the replicas that have the last write of a connection. It blocks
 * that connection for the time to a replica and back.
 */

import type { Redis } from "ioredis";
import type { Servers } from "./servers.js";

/** Longest time that one WAIT blocks the connection, in ms: other commands must pass while a replica is away. */
const WAIT_MS = 100;
/** Pause before the next WAIT, in ms. */
const PAUSE_MS = 20;
/** Time in ms after which a write without enough replicas counts as one with an unknown outcome. */
const GIVE_UP_MS = 2_000;

/** Thrown when a write may be lost by a fail-over. */
export class NotReplicated extends Error {
  override readonly name = "NotReplicated";
}

export class Replication {
  readonly #servers: Servers;
  readonly #replicas: number;
  readonly #waits = new WeakMap<Redis, ServerWaits>();

  /** `replicas` is the number of replicas that a write waits for; with 0 it waits for none. */
  constructor(servers: Servers, replicas: number) {
    this.#servers = servers;
    this.#replicas = replicas;
  }

  /** True when writes wait for replicas. */
  get isOn(): boolean {
    return this.#replicas > 0;
  }

  /**
   * Resolves with the reply of a write when the replicas have it. `key` is a key of the write that exists afterwards.
   * Rejects with `NotReplicated` when too few replicas have it in time, or when another server may have executed it.
   */
  async written<Reply>(partition: string, key: string, write: () => Promise<Reply>): Promise<Reply> {
    if (!this.isOn) return write();
    const server = this.#servers.serverOf(partition);
    if (server === undefined) throw new NotReplicated(`there is no connection to the server of ${partition}`);
    const waits = this.#waitsOf(server);
    const closes = waits.closes;
    const reply = await write();
    const isSame = (): boolean => waits.closes === closes && this.#servers.serverOf(partition) === server;
    if (isSame()) await waits.replicated(key);
    if (!isSame()) throw new NotReplicated(`${partition} is on another server since the write`);
    return reply;
  }

  #waitsOf(server: Redis): ServerWaits {
    let waits = this.#waits.get(server);
    if (waits === undefined) {
      waits = new ServerWaits(server, this.#replicas);
      this.#waits.set(server, waits);
    }
    return waits;
  }
}

/** The writes of one connection that wait for replicas. Writes that end during a WAIT share the next one. */
class ServerWaits {
  readonly #server: Redis;
  readonly #replicas: number;
  #current: Promise<ReadonlySet<string>> | undefined;
  #next: { readonly keys: Set<string>; readonly done: Promise<ReadonlySet<string>> } | undefined;
  /** Number of times that the connection was closed. */
  closes = 0;

  constructor(server: Redis, replicas: number) {
    this.#server = server;
    this.#replicas = replicas;
    server.on("close", () => (this.closes += 1));
  }

  async replicated(key: string): Promise<void> {
    if (this.#next === undefined) {
      const keys = new Set<string>();
      this.#next = { keys, done: this.#wait(keys, this.#current) };
    }
    this.#next.keys.add(key);
    const present = await this.#next.done;
    if (!present.has(key)) throw new NotReplicated(`${key} is moving to another server`);
  }

  /** Waits for the writes of some keys, and returns those keys that are on this server. */
  async #wait(keys: Set<string>, before: Promise<unknown> | undefined): Promise<ReadonlySet<string>> {
    await before?.catch(() => undefined);
    this.#current = this.#next?.done;
    this.#next = undefined;
    const present = this.#presentOf([...keys]);
    const untilMs = performance.now() + GIVE_UP_MS;
    while ((await this.#server.wait(this.#replicas, WAIT_MS)) < this.#replicas) {
      if (performance.now() > untilMs)
        throw new NotReplicated(`fewer than ${this.#replicas} replicas have the last writes`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return present;
  }

  /**
   * Returns the keys that are on this server. While a slot moves, its new server may have executed a write; that server
   * then has every key of the write, and this one answers for none of them.
   */
  async #presentOf(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await Promise.allSettled(keys.map((key) => this.#server.exists(key)));
    return new Set(
      keys.filter((_, index) => {
        const result = found[index];
        return result?.status === "fulfilled" && result.value === 1;
      }),
    );
  }
}

/**
 * Every Redis key. The keys of a partition have the partition's name as their hash tag. On a cluster they are therefore
 * all in one slot, so that one script can use them, and each partition is a commit group of its own.
 */

import type { ActorId } from "../../actors/actor.js";
import type { NotificationKind } from "../log/log.js";

/** Kind of a key, for measurements. */
export type KeyKind = "head" | "stream or snapshot" | "first answer" | "bucket" | "quarantine" | "other";

/** Prefix of the keys of an installation that has Redis to itself. */
const DEFAULT_PREFIX = "overround:";

export class Keys {
  readonly #prefix: string;

  /** Throws on a prefix with braces, because braces would replace the hash tag. */
  constructor(prefix = DEFAULT_PREFIX) {
    if (/[{}]/.test(prefix)) throw new Error(`the key prefix ${prefix} has braces: remove them`);
    this.#prefix = prefix;
  }

  #of(tag: string, name: string): string {
    return `${this.#prefix}{${tag}}:${name}`;
  }

  /**
   * Hash: the `epoch` of a partition and its `owner`, a worker; the `server` (run_id) at its last take, and the
   * `incarnation` since that server changed.
   */
  lease(partition: string): string {
    return this.#of(partition, "lease");
  }

  /**
   * Counter of the notifications of a partition, or of a commit group, and the channel on which they are published; see
   * `log/notifications.ts`. The stored name cannot change: earlier builds publish on the channel of the commit group.
   */
  notifications(partition: string, kind: NotificationKind): string {
    return this.#of(partition, `rings:${kind}`);
  }

  /** Set: the actors of a partition that have received a message, without the removed ones that have received none since. */
  actors(partition: string): string {
    return this.#of(partition, "actors");
  }

  /** Sorted set: actors by the time of their next tick (Unix ms). */
  deadlines(partition: string): string {
    return this.#of(partition, "deadlines");
  }

  /** Set: the removed actors of a partition that have received a message since. */
  wanted(partition: string): string {
    return this.#of(partition, "wanted");
  }

  /** Hash: the lowest epoch of each other partition whose relayed messages a partition takes. */
  fences(partition: string): string {
    return this.#of(partition, "fences");
  }

  /** Stream of packed messages on which actors of a partition have failed. */
  quarantine(partition: string): string {
    return this.#of(partition, "quarantine");
  }

  /** Hash: the fields of `Head`. */
  head(partition: string, actor: ActorId): string {
    return this.headPrefix(partition) + actor;
  }

  /** Returns the name of a head without its actor. */
  headPrefix(partition: string): string {
    return this.#of(partition, "head:");
  }

  /** Stream of the commands that are not applied yet. */
  mailbox(partition: string, actor: ActorId): string {
    return this.#of(partition, `mailbox:${actor}`);
  }

  /** Stream of packed entries, with the ids `<seq>-0`. */
  deltas(partition: string, actor: ActorId): string {
    return this.#of(partition, `deltas:${actor}`);
  }

  /** Hash: the fields of `Snapshot`, and in `parts` the hashes of the parts that its body names. */
  snapshot(partition: string, actor: ActorId, which: "latest" | "previous"): string {
    return this.#of(partition, `snapshot:${which}:${actor}`);
  }

  /** Hash: the parts of the snapshots of an actor, by their hashes. */
  parts(partition: string, actor: ActorId): string {
    return this.#of(partition, `parts:${actor}`);
  }

  /** Sorted set: workers by the time of their last heartbeat (Unix ms). Earlier builds take the live workers from it. */
  workers(): string {
    return this.#of("control", "workers");
  }

  /** Sorted set: roles, by the time of their last announcement (Unix ms); see `log/formats.ts`. */
  roles(): string {
    return this.#of("control", "roles");
  }

  /** String: the active format, and since when (Unix ms) every role has announced a later one, if so. */
  format(): string {
    return this.#of("control", "format");
  }

  /** Hash: the record of each worker, as `heartbeat.lua` describes it. */
  workerRecords(): string {
    return this.#of("control", "worker-records");
  }

  /** Hash: the time in which the log has answered heartbeats, as `heartbeat.lua` describes it. */
  timeInService(): string {
    return this.#of("control", "time-in-service");
  }

  /** Hash: the difference of engine time from the clock of Redis, and what `time.lua` records with it. */
  engineTime(): string {
    return this.#of("control", "engine-time");
  }

  /** Hash: processes whose host has another time than Redis, with the difference and the time (Unix ms) of the record. */
  hostClocks(): string {
    return this.#of("control", "host-clocks");
  }

  /** Hash: the reason of each halted actor. */
  halted(): string {
    return this.#of("control", "halted");
  }

  /** String with an expiry: report that a disk is nearly full. */
  disk(): string {
    return this.#of("control", "disk");
  }

  /** Hash: the facts recorded at the first start. */
  installation(): string {
    return this.#of("control", "installation");
  }

  /** String: the level of a token bucket and the time of that level; absent while the bucket is full. */
  bucket(subject: string, name: string): string {
    return this.#of(`throttle:${subject}`, name);
  }

  /** Hash: the first answer to a request, or the claim of the process that carries the request out. */
  firstAnswer(subject: string, id: string): string {
    return this.#of(`answers:${subject}`, id);
  }

  /** String: the meaning of a one-use ticket, by the hash of the ticket. */
  ticket(hash: string): string {
    return this.#of(`ticket:${hash}`, "meaning");
  }

  /** Stream: the samples of a kind. */
  samples(name: string): string {
    return this.#of(`samples:${name}`, "entries");
  }

  /** Sorted set: gateways by the time of their last heartbeat (Unix ms). */
  gateways(): string {
    return this.#of("gateways", "alive");
  }

  /** Set: expired gateways whose armed wallets are still to be canceled. The stored name cannot change. */
  expiredGateways(): string {
    return this.#of("gateways", "fallen");
  }

  /** Hash: the time of the last check of the gateways, and since when the checks have come in time (Unix ms). */
  gatewayChecks(): string {
    return this.#of("gateways", "checks");
  }

  /** Hash: the wallets armed by a gateway, with their traders. */
  armed(gateway: string): string {
    return this.#of("gateways", `armed:${gateway}`);
  }

  /** Returns the kind of a key; `undefined` for a key of another installation. */
  kindOf(key: string): KeyKind | undefined {
    if (!key.startsWith(`${this.#prefix}{`)) return undefined;
    const [, tag = "", name = ""] = /^\{([^}]*)\}:(.*)$/s.exec(key.slice(this.#prefix.length)) ?? [];
    if (tag.startsWith("answers:")) return "first answer";
    if (tag.startsWith("throttle:")) return "bucket";
    if (name.startsWith("head:")) return "head";
    if (/^(?:mailbox|deltas|snapshot|parts):/.test(name)) return "stream or snapshot";
    return name === "quarantine" ? "quarantine" : "other";
  }

  /** Channel of a feed. */
  feed(name: string): string {
    return this.#of(`feed:${name}`, "messages");
  }
}

/**
 * Every Redis key. All keys of a partition carry the partition's name as their hash tag, so that a script over them
 * runs in one slot of a cluster, where each partition is a domain of its own.
 */

import type { ActorId } from "../../actors/actor.js";
import type { NotificationKind } from "../log/log.js";

export class Keys {
  readonly #prefix: string;

  /** Throws on a prefix with braces, which would move the hash tag. */
  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) throw new Error(`a key prefix cannot have braces: ${prefix}`);
    this.#prefix = prefix;
  }

  #of(tag: string, name: string): string {
    return `${this.#prefix}{${tag}}:${name}`;
  }

  /** Hash: the partition's `epoch` and the `owner` that holds it. */
  lease(partition: string): string {
    return this.#of(partition, "lease");
  }

  /** Number of rings, and the channel on which they are heard; see `bells.ts`. */
  notifications(group: string, kind: NotificationKind): string {
    return this.#of(group, `rings:${kind}`);
  }

  /** Set of the actors that ever got a message. */
  actors(partition: string): string {
    return this.#of(partition, "actors");
  }

  /** Sorted set: when each actor's next tick is due. */
  deadlines(partition: string): string {
    return this.#of(partition, "deadlines");
  }

  /** Hash: see `Head`. */
  head(partition: string, actor: ActorId): string {
    return this.#of(partition, `head:${actor}`);
  }

  /** Stream of commands, trimmed as they are applied. */
  mailbox(partition: string, actor: ActorId): string {
    return this.#of(partition, `mailbox:${actor}`);
  }

  /** Stream of packed entries; the id is `<seq>-0`. */
  deltas(partition: string, actor: ActorId): string {
    return this.#of(partition, `deltas:${actor}`);
  }

  /** Hash: see `Snapshot`. */
  snapshot(partition: string, actor: ActorId, which: "latest" | "previous"): string {
    return this.#of(partition, `snapshot:${which}:${actor}`);
  }

  /** Sorted set of workers by the time of their last heartbeat. */
  workers(): string {
    return this.#of("control", "workers");
  }

  /** Hash of stopped actors and why. */
  halted(): string {
    return this.#of("control", "halted");
  }

  /** Hash of what was fixed at the first start. */
  installation(): string {
    return this.#of("control", "installation");
  }

  /** String: the level of a token bucket and since when, while it is not full. */
  bucket(subject: string, name: string): string {
    return this.#of(`throttle:${subject}`, name);
  }

  /** Hash: the first answer to a request, or who is about to give it. */
  firstAnswer(subject: string, id: string): string {
    return this.#of(`answers:${subject}`, id);
  }

  /** String: what a one-use ticket stands for, by the ticket's hash. */
  ticket(hash: string): string {
    return this.#of(`ticket:${hash}`, "meaning");
  }

  /** Sorted set of gateways by the time of their last heartbeat. */
  gateways(): string {
    return this.#of("gateways", "alive");
  }

  /** Set of gateways that fell, until the orders of their sockets are canceled. */
  expiredGateways(): string {
    return this.#of("gateways", "fallen");
  }

  /** Hash: the wallets whose orders go with a gateway, and their traders. */
  armed(gateway: string): string {
    return this.#of("gateways", `armed:${gateway}`);
  }

  /** Channel. */
  feed(name: string): string {
    return this.#of(`feed:${name}`, "messages");
  }
}

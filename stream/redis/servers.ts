/** The servers that have the keys: a single one, or the nodes of a cluster. */

import { type Cluster, Redis } from "ioredis";
import type { Connection } from "./connection.js";

/** Finds the server of each partition, and notices when a partition may have lost writes with its server. */
export interface Servers {
  /**
   * Returns the connection to the server of a partition, `undefined` while there is none. On a cluster it never
   * reconnects: a new connection is another object.
   */
  serverOf(partition: string): Redis | undefined;
  /** Calls the listener after a loss; the predicate returns true for the partitions whose server was lost. */
  onLost(listener: (isLost: (partition: string) => boolean) => void): void;
}

/** Returns the servers of a connection. `keyOf` returns a key of a partition. */
export function serversOf(
  connection: Connection,
  partitions: readonly string[],
  keyOf: (partition: string) => string,
): Servers {
  if (connection instanceof Redis) return singleServer(connection);
  return new ClusterServers(
    connection,
    new Map(partitions.map((partition) => [partition, slotOf(keyOf(partition))])),
  );
}

const SLOTS = 16_384;
/** Polynomial of the CRC-16 of the slots. */
const POLYNOMIAL = 0x1021;

/** Returns the slot of a key: the CRC-16 of its hash tag, as the specification of Redis Cluster has it. */
function slotOf(key: string): number {
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0)) & 0xffff;
  }
  return crc % SLOTS;
}

function singleServer(connection: Redis): Servers {
  return {
    serverOf: () => connection,
    onLost: (listener) => void connection.on("close", () => listener(() => true)),
  };
}

/** Address of a node, as the slot table of the client has it. */
function addressOf({ options }: Redis): string {
  return `${options.host ?? ""}:${options.port ?? 0}`;
}

class ClusterServers implements Servers {
  readonly #cluster: Cluster;
  readonly #slots: ReadonlyMap<string, number>;
  /** The address of the server of each partition, as last seen. */
  readonly #addresses = new Map<string, string>();
  readonly #listeners: ((isLost: (partition: string) => boolean) => void)[] = [];

  constructor(cluster: Cluster, slots: ReadonlyMap<string, number>) {
    this.#cluster = cluster;
    this.#slots = slots;
    this.#look();
    const watch = (node: Redis): void => {
      const address = addressOf(node);
      node.on("close", () => this.#lost((partition) => this.#addresses.get(partition) === address));
    };
    for (const node of cluster.nodes("all")) watch(node);
    cluster.on("+node", watch);
    cluster.on("refresh", () => {
      const moved = this.#look();
      if (moved.size > 0) this.#lost((partition) => moved.has(partition));
    });
    cluster.on("close", () => this.#lost(() => true));
  }

  /** Reads the slot table of the client. Returns the partitions whose server has another address than before. */
  #look(): ReadonlySet<string> {
    const moved = new Set<string>();
    for (const [partition, slot] of this.#slots) {
      const address = this.#cluster.slots[slot]?.[0];
      if (address === undefined) continue;
      const before = this.#addresses.get(partition);
      this.#addresses.set(partition, address);
      if (before !== undefined && before !== address) moved.add(partition);
    }
    return moved;
  }

  #lost(isLost: (partition: string) => boolean): void {
    for (const listener of this.#listeners) listener(isLost);
  }

  serverOf(partition: string): Redis | undefined {
    const address = this.#cluster.slots[this.#slots.get(partition) ?? -1]?.[0];
    return this.#cluster.nodes("all").find((node) => addressOf(node) === address);
  }

  onLost(listener: (isLost: (partition: string) => boolean) => void): void {
    this.#listeners.push(listener);
  }
}

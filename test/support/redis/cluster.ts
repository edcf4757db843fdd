/** A Redis Cluster on this machine, whose nodes a test can stop, kill and move slots between. */

import fs from "node:fs";
import type { Redis } from "ioredis";
import { untilWithin } from "../until.js";
import {
  administer,
  freePorts,
  PASSWORD,
  ServerProcess,
  serverDirectory,
  urlOf,
  writeConfig,
} from "./server-process.js";

const SLOTS = 16_384;
const PRIMARIES = 3;
/** Silence in ms after which the other nodes replace a primary by its replica. */
const NODE_TIMEOUT_MS = 2_000;
const READY_MS = 30_000;

/** A node of the cluster. */
export class ClusterNode {
  readonly port: number;
  readonly #bus: number;
  readonly #directory: string;
  readonly admin: Redis;
  id = "";
  #server: ServerProcess;

  constructor(directory: string, port: number, bus: number) {
    this.port = port;
    this.#bus = bus;
    this.#directory = directory;
    this.#server = this.#start();
    this.admin = administer(port);
  }

  get url(): string {
    return urlOf(this.port);
  }

  #start(): ServerProcess {
    const settings = {
      port: this.port,
      "cluster-port": this.#bus,
      bind: "127.0.0.1",
      requirepass: `"${PASSWORD}"`,
      masterauth: `"${PASSWORD}"`,
      "cluster-enabled": "yes",
      "cluster-config-file": `nodes-${this.port}.conf`,
      "cluster-node-timeout": NODE_TIMEOUT_MS,
      // A replica that lags takes over too, so that the test decides what is lost.
      "cluster-replica-validity-factor": 0,
      "cluster-require-full-coverage": "no",
      "repl-diskless-sync-delay": 0,
      save: '""',
    };
    const config = writeConfig(this.#directory, `${this.port}.conf`, Object.entries(settings));
    return new ServerProcess(this.#directory, config);
  }

  call(...command: readonly [string, ...(string | number)[]]): Promise<unknown> {
    const [name, ...args] = command;
    return this.admin.call(name, args);
  }

  async meet({ port }: ClusterNode, bus: number): Promise<void> {
    await this.call("CLUSTER", "MEET", "127.0.0.1", port, bus);
  }

  get bus(): number {
    return this.#bus;
  }

  /** Stops the process; the returned function lets it continue. */
  hold(): () => void {
    this.#server.child.kill("SIGSTOP");
    return () => this.#server.child.kill("SIGCONT");
  }

  /** Ends the replication of this primary for good. It serves its clients as before. */
  async cutReplication(): Promise<void> {
    await this.call("ACL", "SETUSER", "default", "-psync", "-sync");
    await this.call("CLIENT", "KILL", "TYPE", "replica");
  }

  kill(): Promise<void> {
    return this.#server.kill();
  }

  /** Starts the process again after `kill`, without data: it returns as a replica of the node that has replaced it. */
  restart(): void {
    this.#server = this.#start();
  }

  async stop(): Promise<void> {
    this.admin.disconnect();
    await this.kill();
  }
}

export class RunningCluster {
  /** The primaries at the start, and then their replicas in the same order. */
  readonly nodes: readonly ClusterNode[];
  readonly #directory: string;

  constructor(directory: string, nodes: readonly ClusterNode[]) {
    this.#directory = directory;
    this.nodes = nodes;
  }

  /** The nodes, in the form that `RedisLog.open` expects. */
  get url(): string {
    return this.nodes.map(({ url }) => url).join(",");
  }

  /** Returns a primary other than that of a key. */
  async otherThan(key: string): Promise<ClusterNode> {
    const primary = await this.primaryOf(key);
    for (const node of this.nodes) {
      const isPrimary = String(await node.call("INFO", "replication")).includes("role:master");
      if (isPrimary && node !== primary) return node;
    }
    throw new Error("the cluster has one primary");
  }

  /** Returns the primary of a key. */
  async primaryOf(key: string): Promise<ClusterNode> {
    for (const node of this.nodes) {
      const slot = Number(await node.call("CLUSTER", "KEYSLOT", key).catch(() => NaN));
      const owner = (await slotsOf(node)).find(({ first, last }) => first <= slot && slot <= last);
      const primary = this.nodes.find(({ port }) => port === owner?.port);
      if (primary !== undefined) return primary;
    }
    throw new Error(`no node has ${key}`);
  }

  /** Returns the replica of a primary; after a fail-over, the primary is one of the former replicas. */
  replicaOf(primary: ClusterNode): ClusterNode {
    const replica = this.nodes[(this.nodes.indexOf(primary) + PRIMARIES) % this.nodes.length];
    if (replica === undefined) throw new Error("the cluster has no replicas");
    return replica;
  }

  /** Resolves when a node is a primary and its slots are served. */
  async promoted(node: ClusterNode): Promise<void> {
    await untilWithin(READY_MS, async () =>
      String(await node.call("INFO", "replication")).includes("role:master"),
    );
  }

  /**
   * Moves the slot of a key with all its keys to another primary, one key after the other. Calls `onMoved` after each,
   * while some keys are on the one node and some on the other.
   */
  async moveSlotOf(key: string, to: ClusterNode, onMoved: () => Promise<void>): Promise<void> {
    const from = await this.primaryOf(key);
    const slot = Number(await from.call("CLUSTER", "KEYSLOT", key));
    await to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
    await from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id);
    for (;;) {
      const [moved] = (await from.call("CLUSTER", "GETKEYSINSLOT", slot, 1)) as string[];
      if (moved === undefined) break;
      await from.call("MIGRATE", "127.0.0.1", to.port, moved, 0, 5_000, "AUTH", PASSWORD);
      await onMoved();
    }
    for (const node of [to, from]) await node.call("CLUSTER", "SETSLOT", slot, "NODE", to.id);
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    fs.rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function slotsOf(node: ClusterNode): Promise<{ first: number; last: number; port: number }[]> {
  const ranges = (await node.call("CLUSTER", "SLOTS").catch(() => [])) as [
    number,
    number,
    [string, number],
  ][];
  return ranges.map(([first, last, [, port]]) => ({ first, last, port }));
}

/** Starts three primaries, each with `replicas` replicas (0 or 1). */
export async function startCluster({
  replicas = 0,
}: { readonly replicas?: 0 | 1 } = {}): Promise<RunningCluster> {
  const directory = serverDirectory();
  const ports = await freePorts(2 * PRIMARIES * (1 + replicas));
  const nodes: ClusterNode[] = [];
  for (let n = 0; n < ports.length; n += 2)
    nodes.push(new ClusterNode(directory, ports[n] ?? 0, ports[n + 1] ?? 0));
  const cluster = new RunningCluster(directory, nodes);
  try {
    await join(nodes);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function join(nodes: readonly ClusterNode[]): Promise<void> {
  const primaries = nodes.slice(0, PRIMARIES);
  for (const [index, node] of nodes.entries()) {
    node.id = String(await node.call("CLUSTER", "MYID"));
    await node.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
  }
  for (const [index, primary] of primaries.entries()) {
    const first = Math.floor((index * SLOTS) / PRIMARIES);
    const last = Math.floor(((index + 1) * SLOTS) / PRIMARIES) - 1;
    await primary.call("CLUSTER", "ADDSLOTSRANGE", first, last);
  }
  // Each node meets every other one, because the gossip of a single introduction takes seconds.
  for (const node of nodes) for (const other of nodes) if (node !== other) await node.meet(other, other.bus);
  await untilWithin(READY_MS, async () => {
    for (const node of nodes) {
      const info = String(await node.call("CLUSTER", "INFO"));
      if (!info.includes("cluster_state:ok") || !info.includes(`cluster_known_nodes:${nodes.length}`))
        throw new Error(info);
    }
  });
  for (const [index, replica] of nodes.slice(PRIMARIES).entries())
    await replica.call("CLUSTER", "REPLICATE", primaries[index]?.id ?? "");
  await untilWithin(READY_MS, async () => {
    for (const replica of nodes.slice(PRIMARIES)) {
      const info = String(await replica.call("INFO", "replication"));
      if (!info.includes("master_link_status:up")) throw new Error(info);
    }
    // The primaries know their replicas before a fail-over may need them.
    for (const primary of primaries) {
      const known = String(await primary.call("CLUSTER", "NODES"));
      if (known.split(" slave ").length - 1 !== nodes.length - PRIMARIES) throw new Error(known);
    }
  });
}

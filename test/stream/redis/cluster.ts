/** A Redis Cluster of three nodes without replicas, on this machine. */

import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { programPath } from "../../../scripts/config.js";
import { freePort } from "../../../scripts/embedded/ports.js";
import { findRedis } from "../../../scripts/embedded/redis-binary.js";
import { cacheDir } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";

const SLOTS = 16_384;
const NODES = 3;

export interface RunningCluster {
  /** The nodes, in the form that `RedisLog.open` expects. */
  readonly url: string;
  readonly nodes: readonly string[];
  stop(): Promise<void>;
}

/** Returns two free ports: one for clients of a node, and one for its cluster bus. */
async function portPair(): Promise<readonly [number, number]> {
  return [await freePort(), await freePort()];
}

export async function startCluster(): Promise<RunningCluster> {
  const quiet = (): void => undefined;
  const binary = findRedis({
    serverBin: process.env["REDIS_SERVER_BIN"],
    programPath: programPath(),
    cacheDir,
    log: quiet,
  });
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "overround-cluster-"));
  const children: ChildProcess[] = [];
  const admins: Redis[] = [];
  const ports: (readonly [number, number])[] = [];
  for (let node = 0; node < NODES; node += 1) {
    const [port, bus] = await portPair();
    ports.push([port, bus]);
    const settings = {
      port,
      "cluster-port": bus,
      bind: "127.0.0.1",
      "cluster-enabled": "yes",
      "cluster-config-file": `nodes-${node}.conf`,
      "cluster-node-timeout": 2_000,
      dir: directory,
      save: "",
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    children.push(spawn(binary.command, args, { env: { ...process.env, ...binary.env }, stdio: "ignore" }));
    admins.push(new Redis(port, "127.0.0.1", { retryStrategy: () => 50 }));
  }
  const stop = async (): Promise<void> => {
    for (const admin of admins) admin.disconnect();
    await Promise.all(
      children.map(
        (child) =>
          new Promise((resolve) => {
            child.once("exit", resolve);
            child.kill("SIGKILL");
          }),
      ),
    );
    fs.rmSync(directory, { recursive: true, force: true });
  };
  try {
    await join(admins, ports);
  } catch (error) {
    await stop();
    throw error;
  }
  const nodes = ports.map(([port]) => `redis://127.0.0.1:${port}`);
  return { url: nodes.join(","), nodes, stop };
}

async function join(admins: readonly Redis[], ports: readonly (readonly [number, number])[]): Promise<void> {
  for (const [node, admin] of admins.entries()) {
    const first = Math.floor((node * SLOTS) / NODES);
    const last = Math.floor(((node + 1) * SLOTS) / NODES) - 1;
    await admin.call("CLUSTER", "ADDSLOTSRANGE", first, last);
    await admin.call("CLUSTER", "SET-CONFIG-EPOCH", node + 1);
  }
  for (const [port, bus] of ports.slice(1)) await admins[0]?.call("CLUSTER", "MEET", "127.0.0.1", port, bus);
  await untilWithin(15_000, async () => {
    for (const admin of admins) {
      const info = String(await admin.call("CLUSTER", "INFO"));
      if (!info.includes("cluster_state:ok") || !info.includes(`cluster_known_nodes:${NODES}`))
        throw new Error(info);
    }
  });
}

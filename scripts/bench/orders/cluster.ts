/** Redis Cluster of three primaries without replicas, on an empty directory. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { childEnvironment, loadConfig, programPath } from "../../config.js";
import { freePort } from "../../embedded/ports.js";
import { findRedis } from "../../embedded/redis-binary.js";
import type { Servers } from "./stage.js";

const NODES = 3;
const SLOTS = 16_384;
/** Longest time until the nodes know each other, in ms. */
const JOINED_MS = 30_000;
const POLL_MS = 50;

interface Node {
  readonly port: number;
  readonly busPort: number;
  readonly pid: number;
  readonly admin: Redis;
  kill(): Promise<void>;
}

/** Starts a cluster whose nodes keep append-only files. */
export async function startCluster(fsync: "always" | "everysec"): Promise<Servers> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "overround-bench-cluster-"));
  const nodes: Node[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    fs.rmSync(directory, { recursive: true, force: true });
  };
  try {
    for (let n = 0; n < NODES; n += 1) nodes.push(await startNode(path.join(directory, String(n)), fsync));
    await join(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const url = nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join();
  return { url, pids: nodes.map(({ pid }) => pid), stop };
}

async function startNode(directory: string, fsync: "always" | "everysec"): Promise<Node> {
  fs.mkdirSync(directory);
  const { redisServerBin: serverBin } = loadConfig();
  const ignore = (): void => undefined;
  const { command, env } = findRedis({
    serverBin,
    programPath: programPath(),
    cacheDir: path.resolve(".cache"),
    log: ignore,
  });
  const [port, busPort] = [await freePort(), await freePort()];
  const settings = {
    port,
    "cluster-port": busPort,
    bind: "127.0.0.1",
    "cluster-enabled": "yes",
    dir: directory,
    save: "",
    appendonly: "yes",
    appendfsync: fsync,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(command, args, { env: childEnvironment(env), stdio: "ignore" });
  const endWithThis = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithThis);
  const admin = new Redis(port, "127.0.0.1", { retryStrategy: () => POLL_MS });
  admin.on("error", ignore);
  return {
    port,
    busPort,
    pid: child.pid ?? 0,
    admin,
    async kill() {
      process.off("exit", endWithThis);
      admin.disconnect();
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Gives each node its slots, and introduces the nodes to each other. */
async function join(nodes: readonly Node[]): Promise<void> {
  for (const [index, { admin }] of nodes.entries()) {
    const [first, next] = [index, index + 1].map((n) => Math.floor((n * SLOTS) / NODES));
    await admin.call("CLUSTER", "ADDSLOTSRANGE", first ?? 0, (next ?? SLOTS) - 1);
    await admin.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
  }
  for (const { admin } of nodes)
    for (const { port, busPort } of nodes) await admin.call("CLUSTER", "MEET", "127.0.0.1", port, busPort);
  const isJoined = async ({ admin }: Node): Promise<boolean> => {
    const info = String(await admin.call("CLUSTER", "INFO"));
    return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${NODES}\r`);
  };
  for (const untilMs = Date.now() + JOINED_MS; Date.now() < untilMs;) {
    const joined = await Promise.all(nodes.map(isJoined));
    if (joined.every((is) => is)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error("the nodes of the cluster do not find each other");
}

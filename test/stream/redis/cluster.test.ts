import { expect } from "chai";
import { Redis } from "ioredis";
import { ledgerActor, PARTITIONS } from "../../../actors/actor.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { type RunningCluster, startCluster } from "./cluster.js";
import { conformance } from "../log/conformance.js";
import { Deployment, sendCommand } from "../runtime/deployment.js";
import { counterInLog } from "../log/support.js";
import { until } from "../../support/until.js";

describe("the log on a Redis Cluster", () => {
  let cluster: RunningCluster;
  let count = 0;
  const logs: RedisLog[] = [];

  before(async () => {
    cluster = await startCluster();
  });

  after(() => cluster.stop());

  async function open(): Promise<RedisLog> {
    const log = await RedisLog.open({
      url: cluster.url,
      prefix: `t${count}:`,
    });
    logs.push(log);
    return log;
  }

  async function closeAll(): Promise<void> {
    count += 1;
    await Promise.all(logs.splice(0).map((log) => log.close()));
  }

  async function cutAll(): Promise<void> {
    for (const node of cluster.nodes) {
      const admin = new Redis(node);
      for (const type of ["normal", "pubsub"]) await admin.client("KILL", "TYPE", type, "SKIPME", "yes");
      admin.disconnect();
    }
  }

  conformance(() => Promise.resolve({ open, cut: cutAll, close: closeAll }), "many");

  it("spreads the partitions over all nodes", async () => {
    const log = await open();
    for (const partition of PARTITIONS) await log.take(partition, "w", 0);
    for (const node of cluster.nodes) {
      const admin = new Redis(node);
      expect((await admin.keys(`t${count}:*:lease`)).length).to.be.above(10);
      admin.disconnect();
    }
    await closeAll();
  });

  it("relays messages between actors on different nodes", async () => {
    const deployment = new Deployment();
    try {
      await deployment.worker(await open()).start();
      const exchange = await deployment.exchange(await open());
      const [a, b] = [ledgerActor(1), ledgerActor(2)];
      for (let n = 1; n <= 10; n += 1) await sendCommand(exchange, a, { kind: "send", to: b, numbers: [n] });
      const log = await open();
      const all = Array.from({ length: 10 }, (_, index) => index + 1);
      await until(async () => expect((await counterInLog(log, b)).received).to.deep.equal({ [a]: all }));
    } finally {
      await deployment.close();
      await closeAll();
    }
  });
}).timeout(30_000);

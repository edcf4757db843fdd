import { expect } from "chai";
import { Redis } from "ioredis";
import { ledgerActor, marketActor, PARTITIONS } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";
import { WriteRefused } from "../../../stream/log/log.js";
import { NotReplicated } from "../../../stream/redis/replication.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { type RunningCluster, startCluster } from "../../support/redis/cluster.js";
import { conformance } from "../log/conformance.js";
import { Deployment, sendCommand } from "../runtime/deployment.js";
import { commitIn, counterInLog, pause, takeFromAnyone } from "../log/support.js";
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
      const admin = new Redis(node.url);
      for (const type of ["normal", "pubsub"]) await admin.client("KILL", "TYPE", type, "SKIPME", "yes");
      admin.disconnect();
    }
  }

  conformance(() => Promise.resolve({ open, cut: cutAll, close: closeAll }), "many");

  it("spreads the partitions over all nodes", async () => {
    const log = await open();
    for (const partition of PARTITIONS) await log.take(partition, "w", 0);
    for (const node of cluster.nodes) {
      const admin = new Redis(node.url);
      expect((await admin.keys(`t${count}:*:lease`)).length).to.be.above(10);
      admin.disconnect();
    }
    await closeAll();
  });

  it("reads every actor while the keys of a partition move to another node", async () => {
    const log = await open();
    const [one, two] = [marketActor("1"), marketActor("2")];
    const epoch = await takeFromAnyone(log, "m0", "w");
    for (const actor of [one, two]) {
      await log.append("m0", [{ to: actor, body: "a command" }]);
      await commitIn(log, { partition: "m0", epoch }, [
        { actor, expectedSeq: 0, cursor: "0-1", entry: "an entry", deadlineMs: 5 },
      ]);
    }
    const read = async () => ({
      statuses: await log.scan("m0"),
      heads: await log.heads("m0", [one, two]),
      // A stream has another size in bytes after its move.
      entries: (await log.sizes("m0", [one, two])).map(({ deltas }) => deltas.entries),
    });
    const before = await read();
    const key = new Keys(`t${count}:`).lease("m0");
    let moved = 0;
    await cluster.moveSlotOf(key, await cluster.otherThan(key), async () => {
      moved += 1;
      expect(await read()).to.deep.equal(before);
    });
    expect(moved).to.be.above(5);
    expect(await read()).to.deep.equal(before);
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

  it("takes no partition, and commits nothing, that no replica has, when replicas are asked for", async () => {
    const log = await open();
    const epoch = await takeFromAnyone(log, "m0", "w");
    const waiting = await RedisLog.open({ url: cluster.url, prefix: `t${count}:`, waitReplicas: 1 });
    logs.push(waiting);
    const [actor, from] = [marketActor("1"), { partition: "l0", epoch: 1 }];
    await waiting.append("m0", [{ to: actor, body: "a command, whose sender waits for the answer" }]);
    const writes = [
      waiting.take("m1", "w", 0),
      waiting.append("m0", [{ to: actor, body: "a message of another actor", from }]),
      commitIn(waiting, { partition: "m0", epoch }, [
        { actor, expectedSeq: 0, cursor: "0-1", entry: "an entry" },
      ]),
    ];
    for (const outcome of await Promise.allSettled(writes)) {
      expect(outcome.status).to.equal("rejected");
      if (outcome.status === "rejected") expect(outcome.reason).to.be.instanceOf(NotReplicated);
    }
    expect((await log.heads("m0", [actor]))[0]?.seq).to.equal(1);
    await closeAll();
  });

  it("refuses commands at once when its nodes want replicas that are away", async () => {
    const log = await open();
    for (const node of cluster.nodes) await node.call("CONFIG", "SET", "min-replicas-to-write", 1);
    const failure = await log
      .append("m0", [{ to: marketActor("1"), body: "a command" }])
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(WriteRefused);
    for (const node of cluster.nodes) await node.call("CONFIG", "SET", "min-replicas-to-write", 0);
    await closeAll();
  });

  describe("of which a node dies", () => {
    it("rejects a command in progress at once, reports its partitions as lost, and has the leases and the memory of the others", async () => {
      const log = await open();
      const node = await cluster.primaryOf(new Keys(`t${count}:`).lease("m0"));
      const ofNode: string[] = [];
      for (const partition of PARTITIONS) {
        const primary = await cluster.primaryOf(new Keys(`t${count}:`).lease(partition));
        if (primary === node) ofNode.push(partition);
      }
      const lost = new Set<string>();
      log.onLost((isLost) => {
        for (const partition of PARTITIONS) if (isLost(partition)) lost.add(partition);
      });
      const resume = node.hold();
      const taking = log.take("m0", "w", 0).then(
        () => undefined,
        () => performance.now(),
      );
      await pause(50);
      const diedMs = performance.now();
      await node.kill();
      resume();
      expect(((await taking) ?? Infinity) - diedMs).to.be.below(1_000);
      expect([...lost]).to.have.members(ofNode);
      const leases = await log.leases(PARTITIONS);
      expect([...leases.keys(), ...ofNode]).to.have.members(PARTITIONS);
      expect((await (await open()).leases(PARTITIONS)).size).to.equal(leases.size);
      const { memoryBytes } = await log.condition();
      expect(memoryBytes).to.be.above(0);
      await closeAll();
    });
  });
}).timeout(30_000);

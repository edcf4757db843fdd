import { expect } from "chai";
import type { LogExchange } from "../../../stream/log/exchange.js";
import { QUARANTINE_MESSAGES } from "../../../stream/log/log.js";
import { Quarantined } from "../../../stream/log/ports.js";
import { parseQuarantined } from "../../../stream/log/packing.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import type { Worker } from "../../../stream/runtime/worker.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { a, b, Deployment, sendCommand } from "./deployment.js";
import { cutConnections, Proxy } from "../redis/redis-faults.js";
import { counterInLog } from "../log/support.js";
import { until, untilWithin } from "../../support/until.js";
import { stopwatch } from "../../support/stopwatch.js";

describe("workers on Redis", () => {
  let redis: FreshRedis;
  let deployment: Deployment;
  const logs: RedisLog[] = [];

  beforeEach(async () => {
    redis = await freshRedis();
    deployment = new Deployment();
  });

  afterEach(async () => {
    await deployment.close();
    await Promise.all(logs.splice(0).map((log) => log.close()));
    await redis.drop();
  });

  async function connect(): Promise<RedisLog> {
    const log = await RedisLog.open({ url: redis.url, prefix: redis.prefix });
    logs.push(log);
    return log;
  }

  it("share the partitions, relay messages and answer", async () => {
    const [one, two] = [deployment.worker(await connect()), deployment.worker(await connect())];
    await Promise.all([one.start(), two.start()]);
    const exchange = await deployment.exchange(await connect());
    for (let n = 1; n <= 20; n += 1) {
      await sendCommand(exchange, a, { kind: "send", to: b, numbers: [n] });
      await sendCommand(exchange, b, { kind: "send", to: a, numbers: [n] });
    }
    await until(() => expect([one.held.size, two.held.size]).to.deep.equal([1, 1]));
    const all = Array.from({ length: 20 }, (_, index) => index + 1);
    const log = await connect();
    await until(async () => expect((await counterInLog(log, b)).received).to.deep.equal({ [a]: all }));
    await until(async () => expect((await counterInLog(log, a)).received).to.deep.equal({ [b]: all }));
  });

  it("put a command on which an actor fails into the quarantine, answer it, and go on", async () => {
    await deployment.worker(await connect()).start();
    const log = await connect();
    const exchange = await deployment.exchange(await connect());
    await sendCommand(exchange, a, { kind: "add", n: 1 });
    for (let n = 0; n < QUARANTINE_MESSAGES + 2; n += 1) {
      const failure = await sendCommand(exchange, a, { kind: "break" }).catch((error: unknown) => error);
      expect(failure).to.be.an.instanceOf(Quarantined);
    }
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(2);
    expect(await sendCommand(exchange, b, { kind: "add", n: 1 })).to.equal(1);
    expect((await counterInLog(log, a)).value).to.equal(2);
    expect([...(await log.halted())]).to.deep.equal([]);
    expect(await log.quarantineSize(), "the quarantine forgets the oldest").to.equal(QUARANTINE_MESSAGES);
    const messages = (await log.quarantine()).map(({ body }) => parseQuarantined(body));
    expect(
      messages.every(({ actor, reason }) => actor === a && reason.includes("broken on request")),
    ).to.equal(true);
  });

  it("take over from a dead worker within a second, and lose or repeat no command", async () => {
    const dying = await connect();
    const first = deployment.worker(dying);
    await first.start();
    const exchange = await deployment.exchange(await connect());
    await sendCommand(exchange, a, { kind: "add", n: 1 });
    await deployment.worker(await connect()).start();
    await until(() => expect([...first.held.keys()]).to.deep.equal(["l2"]));
    // Closing the connections ends the heartbeats, as a kill does.
    await dying.close();
    const elapsedMs = stopwatch();
    const values = await Promise.all([
      sendCommand(exchange, a, { kind: "add", n: 1 }),
      sendCommand(exchange, b, { kind: "add", n: 1 }),
    ]);
    expect(elapsedMs(), "ms to the first answers").to.be.below(1_200);
    expect(values).to.deep.equal([2, 1]);
  });

  it("hand over at once when they stop", async () => {
    const first = deployment.worker(await connect());
    await first.start();
    const exchange = await deployment.exchange(await connect());
    await sendCommand(exchange, a, { kind: "add", n: 1 });
    const second = deployment.worker(await connect());
    await second.start();
    await first.stop();
    const elapsedMs = stopwatch();
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(2);
    expect(elapsedMs(), "ms to the first answer").to.be.below(300);
    expect(second.held.size).to.equal(2);
  });

  it("execute every command once while their connections are cut", async () => {
    const worker = deployment.worker(await connect());
    await worker.start();
    const exchange = await deployment.exchange(await connect());
    const answers: Promise<number>[] = [];
    for (let round = 0; round < 5; round += 1) {
      for (let i = 0; i < 20; i += 1) answers.push(sendCommand(exchange, a, { kind: "add", n: 1 }));
      await new Promise((resolve) => setTimeout(resolve, 30));
      await cutConnections(redis.url);
    }
    const values = await Promise.all(answers);
    expect(values.sort((x, y) => x - y)).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1));
  }).timeout(20_000);

  describe("whose replies from Redis are lost", () => {
    let proxy: Proxy;
    let exchange: LogExchange;
    let worker: Worker;

    beforeEach(async () => {
      const opened = await Proxy.open(redis.url);
      proxy = opened.proxy;
      const log = await RedisLog.open({ url: opened.url, prefix: redis.prefix });
      logs.push(log);
      worker = deployment.worker(log);
      await worker.start();
      exchange = await deployment.exchange(await connect());
      await sendCommand(exchange, a, { kind: "add", n: 1 });
    });

    afterEach(() => proxy.close());

    it("recover from the log when the connection breaks, and execute every command once", async () => {
      for (let round = 1; round <= 5; round += 1) {
        proxy.silence();
        const answers = Promise.all([1, 2, 3].map(() => sendCommand(exchange, a, { kind: "add", n: 1 })));
        await new Promise((resolve) => setTimeout(resolve, 60));
        proxy.cut();
        const values = await answers;
        expect(values.sort((x, y) => x - y)).to.deep.equal([3 * round - 1, 3 * round, 3 * round + 1]);
      }
    });

    it("close a connection that stays silent, and recover from the log", async () => {
      proxy.silence();
      const answer = sendCommand(exchange, a, { kind: "add", n: 1 }, { timeoutMs: 15_000 });
      await untilWithin(10_000, () => expect(worker.held.size).to.equal(0));
      expect(await answer).to.equal(2);
      expect(await sendCommand(exchange, a, { kind: "read" })).to.equal(2);
    });
  }).timeout(30_000);
});

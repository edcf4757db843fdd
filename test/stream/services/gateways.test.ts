import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Redis } from "ioredis";
import { ledgerShardOf } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { ExpiredGateways, GatewayLease } from "../../../stream/services/gateways.js";
import { type Exchange, Unavailable } from "../../../stream/log/ports.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";
import { block, pause } from "../log/support.js";

/** A `cancelAll` that the exchange received. */
interface Cancel {
  readonly shard: number;
  readonly wallet: string;
  readonly id: string | undefined;
}

describe("cancel on disconnect of a gateway that dies", function () {
  this.timeout(30_000);
  let redis: FreshRedis;
  let client: Redis;
  let canceled: Cancel[];
  let failures: number;
  /** A wallet whose ledger does not answer. */
  let failing: string | undefined;
  let lost: number;
  let errors: unknown[];
  const closing: (() => Promise<void>)[] = [];
  const connections: ServiceConnection[] = [];
  const [ann, bob] = [randomUUID(), randomUUID()];

  beforeEach(async () => {
    redis = await freshRedis();
    client = new Redis(redis.url);
    [canceled, failures, failing, lost, errors] = [[], 0, undefined, 0, []];
  });

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    for (const connection of connections.splice(0)) connection.close();
    client.disconnect();
    await redis.drop();
  });

  const onError = (error: unknown): void => void errors.push(error);

  const armedAt = (gateway: string) => client.hgetall(new Keys(redis.prefix).armed(gateway));

  /** The connection of one more process. */
  function connect(): ServiceConnection {
    const connection = new ServiceConnection({ url: redis.url, prefix: redis.prefix });
    connections.push(connection);
    return connection;
  }

  function lease(newId: () => string = randomUUID): GatewayLease {
    const started = new GatewayLease(connect(), { newId, onError, onLost: () => void (lost += 1) });
    started.start();
    closing.push(() => started.close());
    return started;
  }

  function startChecks(): void {
    const exchange: Pick<Exchange, "ledger"> = {
      ledger: (shard, command, options) => {
        if (command.kind !== "cancelAll") throw new Error(`the command is ${command.kind}`);
        expect(command).to.include({ reason: "DISCONNECTED" });
        failures -= 1;
        if (failures >= 0 || command.wallet === failing) return Promise.reject(new Unavailable("no answer"));
        canceled.push({ shard, wallet: command.wallet, id: options?.id });
        return Promise.resolve({ ok: true, kind: "cancels", queued: [], unknown: [] });
      },
    };
    const expired = new ExpiredGateways(connect(), { exchange, onError });
    expired.start();
    closing.push(() => expired.stop());
  }

  it("cancels for the armed wallets within five seconds, once for all processes that check", async () => {
    startChecks();
    startChecks();
    const [dying, living] = [lease(), lease()];
    await dying.arm("wallet of ann", ann);
    const disarm = await dying.arm("disarmed", bob);
    await disarm();
    await living.arm("wallet of bob", bob);
    // Both checks must have reached Redis for a lease time before they judge a lease.
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    await dying.close();
    const closedMs = Date.now();
    await untilWithin(5_000, () => canceled.length > 0);
    expect(Date.now() - closedMs).to.be.above(1_900);
    await untilWithin(3_000, async () => (await client.keys(`${redis.prefix}*`)).length === 3);
    expect(new Set(canceled.map(({ wallet }) => wallet))).to.deep.equal(new Set(["wallet of ann"]));
    expect(new Set(canceled.map(({ id }) => id)).size).to.equal(1);
    expect(canceled[0]?.shard).to.equal(ledgerShardOf(ann));
    expect({ lost, errors }).to.deep.equal({ lost: 0, errors: [] });
  });

  it("keeps the lease of a gateway whose event loop is blocked for longer than a lease", async () => {
    const busy = lease(() => "gateway");
    await busy.arm("w", ann);
    await pause(1_500);
    block(4_500);
    const score = client.zscore(new Keys(redis.prefix).gateways(), "gateway");
    const [seconds, microseconds] = await client.time();
    const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    expect(nowMs - Number(await score), "ms since the last renewal").to.be.below(2_500);
    expect({ lost, errors }).to.deep.equal({ lost: 0, errors: [] });
  });

  it("cancels nothing for a live gateway after a stall of Redis, of any length", async () => {
    startChecks();
    const living = lease();
    await living.arm("wallet of ann", ann);
    await pause(3_500);
    for (const ms of [1_400, 2_000, 2_900]) {
      await client.client("PAUSE", ms, "ALL");
      await pause(ms + 1_600);
    }
    // Leases that are late for another reason count again when Redis has answered for the time of a lease.
    expect({ canceled, lost }).to.deep.equal({ canceled: [], lost: 0 });
    await living.close();
    await untilWithin(8_000, () => canceled.length === 1);
  });

  it("expires no lease until the checks have come in time for a lease", async () => {
    const { run } = connect();
    const keys = new Keys(redis.prefix);
    const names = [keys.gateways(), keys.expiredGateways(), keys.gatewayChecks()];
    const check = () => run("expired-gateways", names, [300, 150]);
    await client.zadd(keys.gateways(), Date.now() - 10_000, "late");
    const began = performance.now();
    while (performance.now() - began < 250) {
      expect(await check()).to.deep.equal([]);
      await pause(20);
    }
    await pause(400);
    expect(await check(), "after a silence").to.deep.equal([]);
    const resumed = performance.now();
    await untilWithin(2_000, async () => expect(await check()).to.deep.equal(["late"]));
    expect(performance.now() - resumed).to.be.above(290);
  });

  it("cancels for a gateway that has died before the clock of Redis was set back", async () => {
    const keys = new Keys(redis.prefix);
    await client.zadd(keys.gateways(), Date.now() + 3_600_000, "dead");
    await client.hset(keys.armed("dead"), ann, randomUUID());
    startChecks();
    await untilWithin(10_000, () => canceled.some(({ wallet }) => wallet === ann));
  });

  it("keeps a wallet armed until its last socket disarms it", async () => {
    const gateway = lease(() => "gateway");
    const [first, second] = [await gateway.arm("w", ann), await gateway.arm("w", ann)];
    await first();
    await first();
    expect(await armedAt("gateway")).to.deep.equal({ w: ann });
    await second();
    expect(await armedAt("gateway")).to.deep.equal({});
  });

  it("keeps a wallet armed whose socket reconnects, however late Redis answers", async () => {
    const gateway = lease(() => "gateway");
    let disarm = await gateway.arm("w", ann);
    for (let reconnects = 0; reconnects < 3; reconnects += 1) {
      await client.client("PAUSE", 100, "ALL");
      const ended = disarm();
      const armed = gateway.arm("w", ann);
      await Promise.all([ended, armed]);
      disarm = await armed;
      await client.client("PAUSE", 100, "ALL");
      const again = gateway.arm("w", ann);
      await disarm();
      disarm = await again;
      expect(await armedAt("gateway")).to.deep.equal({ w: ann });
    }
    await disarm();
    expect(await armedAt("gateway")).to.deep.equal({});
  });

  it("counts no arming without a reply, and takes a failed disarm again", async () => {
    const gateway = lease(() => "gateway");
    const disarm = await gateway.arm("w", ann);
    await client.client("PAUSE", 3_500, "ALL");
    const failed = gateway.arm("w", ann);
    const outcomes = await Promise.allSettled([failed, disarm()]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(["rejected", "fulfilled"]);
    expect(await armedAt("gateway")).to.deep.equal({});

    const armed = await gateway.arm("w", ann);
    await client.client("PAUSE", 3_500, "ALL");
    const failure = await armed().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);
    await armed();
    expect(await armedAt("gateway")).to.deep.equal({});
  });

  it("notifies a slow gateway, which continues under another id, where the sockets of the first disarm nothing", async () => {
    startChecks();
    // The heartbeats come half a second after the checks, which leaves time to make a heartbeat late in between.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const ids = ["first", "second"];
    const slow = lease(() => ids.shift() ?? "another");
    const ended = await slow.arm("w", ann);
    await untilWithin(8_000, async () => {
      await client.zadd(new Keys(redis.prefix).gateways(), "XX", 0, "first");
      return canceled.length > 0;
    });
    await untilWithin(3_000, () => lost === 1);
    await slow.arm("w", ann);
    await ended();
    expect(await armedAt("second")).to.deep.equal({ w: ann });
    expect(canceled.map(({ wallet }) => wallet)).to.deep.equal(["w"]);
  });

  it("cancels once for each other wallet while the ledger of one does not answer", async () => {
    failing = "w";
    const dying = lease(() => "dying");
    await dying.arm("w", ann);
    await dying.arm("v", bob);
    await dying.close();
    startChecks();
    await untilWithin(12_000, () => errors.length >= 2);
    expect(canceled.map(({ wallet }) => wallet)).to.deep.equal(["v"]);
    expect(await armedAt("dying")).to.deep.equal({ w: ann });
    failing = undefined;
    await untilWithin(3_000, () => canceled.length > 1);
    expect(canceled.map(({ wallet }) => wallet)).to.deep.equal(["v", "w"]);
  });

  it("tries again when a ledger does not answer", async () => {
    failures = 1;
    const dying = lease();
    await dying.arm("w", ann);
    await dying.close();
    startChecks();
    await untilWithin(12_000, () => canceled.length === 1);
    expect(errors).to.have.length(1);
    await untilWithin(3_000, async () => (await client.keys(`${redis.prefix}*`)).length === 1);
  });
});

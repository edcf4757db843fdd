import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Redis } from "ioredis";
import { ledgerShardOf } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";
import { ExpiredGateways, GatewayLease } from "../../../stream/services/gateways.js";
import { type Exchange, Unavailable } from "../../../stream/log/ports.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

interface Asked {
  readonly shard: number;
  readonly wallet: string;
  readonly id: string | undefined;
}

describe("cancel on disconnect of a gateway that dies", function () {
  this.timeout(30_000);
  let redis: FreshRedis;
  let client: Redis;
  let asked: Asked[];
  let failures: number;
  let lost: number;
  let errors: unknown[];
  const closing: (() => Promise<void>)[] = [];
  const [ann, bob] = [randomUUID(), randomUUID()];

  beforeEach(async () => {
    redis = await freshRedis();
    client = new Redis(redis.url);
    [asked, failures, lost, errors] = [[], 0, 0, []];
  });

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    client.disconnect();
    await redis.drop();
  });

  const onError = (error: unknown): void => void errors.push(error);

  function lease(newId: () => string = randomUUID): GatewayLease {
    const options = { url: redis.url, prefix: redis.prefix, newId, onError, onLost: () => void (lost += 1) };
    const made = new GatewayLease(options);
    made.start();
    closing.push(() => made.close());
    return made;
  }

  function look(): void {
    const exchange: Pick<Exchange, "ledger"> = {
      ledger: (shard, command, options) => {
        if (command.kind !== "cancelAll") throw new Error(`asked to ${command.kind}`);
        expect(command).to.include({ reason: "DISCONNECTED" });
        failures -= 1;
        if (failures >= 0) return Promise.reject(new Unavailable("no answer"));
        asked.push({ shard, wallet: command.wallet, id: options?.id });
        return Promise.resolve({ ok: true, kind: "cancels", queued: [], unknown: [] });
      },
    };
    const expired = new ExpiredGateways({ url: redis.url, prefix: redis.prefix, exchange, onError });
    expired.start();
    closing.push(() => expired.stop());
  }

  async function until(condition: () => boolean | Promise<boolean>, withinMs: number): Promise<number> {
    const began = Date.now();
    while (!(await condition())) {
      if (Date.now() - began > withinMs) throw new Error(`it did not come about in ${withinMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return Date.now() - began;
  }

  it("comes within five seconds, for the wallets that were armed and once whoever looks", async () => {
    look();
    look();
    const [dying, living] = [lease(), lease()];
    await dying.arm("wallet of ann", ann);
    await dying.arm("disarmed", bob);
    await dying.disarm("disarmed");
    await living.arm("wallet of bob", bob);
    // Both have to have looked for a while before they judge.
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    await dying.close();
    const took = await until(() => asked.length > 0, 5_000);
    expect(took).to.be.above(1_900);
    await until(async () => (await client.keys(`${redis.prefix}*`)).length === 2, 3_000);
    expect(new Set(asked.map(({ wallet }) => wallet))).to.deep.equal(new Set(["wallet of ann"]));
    expect(new Set(asked.map(({ id }) => id)).size).to.equal(1);
    expect(asked[0]?.shard).to.equal(ledgerShardOf(ann));
    expect({ lost, errors }).to.deep.equal({ lost: 0, errors: [] });
  });

  it("waits for the last socket of a wallet to disarm it", async () => {
    const gateway = lease(() => "gateway");
    await gateway.arm("w", ann);
    await gateway.arm("w", ann);
    await gateway.disarm("w");
    const armed = new Keys(redis.prefix).armed("gateway");
    expect(await client.hgetall(armed)).to.deep.equal({ w: ann });
    await gateway.disarm("w");
    await gateway.disarm("w");
    expect(await client.hgetall(armed)).to.deep.equal({});
  });

  it("is told to a gateway that was only slow, which begins again under another name", async () => {
    look();
    // Half a second apart from its looking, so that its heartbeats leave time to be made late in between.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const names = ["first", "second"];
    const slow = lease(() => names.shift() ?? "another");
    await slow.arm("w", ann);
    await until(async () => {
      await client.zadd(new Keys(redis.prefix).gateways(), "XX", 0, "first");
      return asked.length > 0;
    }, 8_000);
    await until(() => lost === 1, 3_000);
    await slow.arm("v", bob);
    expect(await client.hgetall(new Keys(redis.prefix).armed("second"))).to.deep.equal({ v: bob });
    await slow.disarm("w");
    expect(asked.map(({ wallet }) => wallet)).to.deep.equal(["w"]);
  });

  it("is tried again when a ledger does not answer", async () => {
    failures = 1;
    const dying = lease();
    await dying.arm("w", ann);
    await dying.close();
    look();
    await until(() => asked.length === 1, 12_000);
    expect(errors).to.have.length(1);
    await until(async () => (await client.keys(`${redis.prefix}*`)).length === 0, 3_000);
  });
});

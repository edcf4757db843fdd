import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Redis } from "ioredis";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { FirstAnswers } from "../../../stream/services/first-answers.js";
import { GatewayLease } from "../../../stream/services/gateways.js";
import { Tickets } from "../../../stream/services/tickets.js";
import { TokenBuckets } from "../../../stream/services/token-buckets.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

const onError = (): void => undefined;
const spending = [{ bucket: { name: "bucket", capacity: 9, refill: 1, periodMs: 3_600_000 }, cost: 1 }];

describe("the connection of the services", () => {
  let redis: FreshRedis;
  let admin: Redis;
  let connection: ServiceConnection;

  beforeEach(async () => {
    redis = await freshRedis();
    admin = new Redis(redis.url);
    connection = new ServiceConnection({ url: redis.url, prefix: redis.prefix });
  });

  afterEach(async () => {
    connection.close();
    admin.disconnect();
    await redis.drop();
  });

  async function useAll(): Promise<void> {
    const newId = randomUUID;
    const lease = new GatewayLease(connection, { newId, onLost: onError, onError });
    const answers = new FirstAnswers(connection, { rememberMs: 1_000, newId, onError });
    expect((await new TokenBuckets(connection).spend("subject", spending)).granted).to.equal(true);
    expect(await new Tickets(connection).issue("a session", 1_000)).to.be.a("string");
    const claimed = await answers.claim({ subject: "a key", id: newId() });
    if (claimed.kind === "claimed") await claimed.claim.noEffect();
    expect(claimed).to.include({ kind: "claimed" });
    const disarm = await lease.arm("wallet", newId());
    await disarm();
    await lease.close();
  }

  /** The connections to the database of this test, without the one of `admin`. */
  async function clients(): Promise<readonly string[]> {
    const database = new URL(redis.url).pathname.slice(1);
    const all = String(await admin.call("CLIENT", "LIST")).split("\n");
    const own = `id=${String(await admin.call("CLIENT", "ID"))} `;
    return all.filter((client) => client.includes(` db=${database} `) && !client.startsWith(own));
  }

  it("is one connection for all of them", async () => {
    await useAll();
    expect(await clients()).to.have.length(1);
  });

  it("serves all of them again after it was lost", async () => {
    await useAll();
    const [id = ""] = (await clients()).map((client) => /^id=(\d+)/.exec(client)?.[1]);
    await admin.call("CLIENT", "KILL", "ID", id);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await useAll();
  });
});

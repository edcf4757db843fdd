import { expect } from "chai";
import { Redis } from "ioredis";
import { ledgerActor } from "../../../actors/actor.js";
import type { Log, Notification } from "../../../stream/log/log.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { conformance } from "../log/conformance.js";
import { cutConnections } from "./redis-faults.js";
import { commitIn, takeFromAnyone } from "../log/support.js";
import { until } from "../../support/until.js";

const actor = ledgerActor(0);

describe("the log on Redis", () => {
  let redis: FreshRedis;
  const logs: RedisLog[] = [];

  async function open(): Promise<RedisLog> {
    const log = await RedisLog.open({ url: redis.url, prefix: redis.prefix });
    logs.push(log);
    return log;
  }

  async function closeAll(): Promise<void> {
    await Promise.all(logs.splice(0).map((log) => log.close()));
    await redis.drop();
  }

  conformance(async () => {
    redis = await freshRedis();
    return { open, cut: () => cutConnections(redis.url), close: closeAll };
  }, "one");

  describe("with a server", () => {
    let admin: Redis;

    beforeEach(async () => {
      redis = await freshRedis();
      admin = new Redis(redis.url);
    });

    afterEach(async () => {
      admin.disconnect();
      await closeAll();
    });

    it("keeps every key of a partition in one slot of a cluster", async () => {
      const log = await open();
      const epoch = await takeFromAnyone(log, "l0", "w");
      await log.append("l0", [{ to: actor, body: "x" }]);
      await commitIn(log, { partition: "l0", epoch }, [
        { actor, expectedSeq: 0, cursor: "0-1", entry: "e", deadlineMs: 1 },
      ]);
      await log.writeSnapshot("l0", epoch, actor, { seq: 1, cursor: "0-1", hash: "h", body: "b" });
      await log.writeSnapshot("l0", epoch, actor, { seq: 1, cursor: "0-1", hash: "h", body: "b" });
      const keys = (await admin.keys("*")).filter((key) => !key.includes(":rings:"));
      expect(keys).to.have.length(8);
      for (const key of keys) expect(key.startsWith(`${redis.prefix}{l0}:`), key).to.equal(true);
    });

    it("sends its scripts again when the server has lost them", async () => {
      const log = await open();
      await log.append("l0", [{ to: actor, body: "1" }]);
      await admin.script("FLUSH");
      expect(await log.append("l0", [{ to: actor, body: "2" }])).to.deep.equal(["appended"]);
      const mailboxes = await log.readMailboxes([{ partition: "l0", actor, after: "0-0" }], 9);
      expect(mailboxes.get(actor)?.map(({ body }) => body)).to.deep.equal(["1", "2"]);
    });

    it("rejects the commands in progress at once when the connection is lost, and does not repeat them", async () => {
      const log: Log = await open();
      await log.append("l0", [{ to: actor, body: "1" }]);
      await admin.client("PAUSE", 300, "WRITE");
      const began = Date.now();
      const append = log.append("l0", [{ to: actor, body: "2" }]).then(
        () => "answered",
        () => "rejected",
      );
      await cutConnections(redis.url).catch(() => undefined);
      expect(await append).to.equal("rejected");
      expect(Date.now() - began).to.be.below(2_000);
      await admin.client("UNPAUSE").catch(() => undefined);
      await until(async () => {
        const mailboxes = await log.readMailboxes([{ partition: "l0", actor, after: "0-0" }], 9);
        expect(mailboxes.get(actor)?.map(({ body }) => body)).to.deep.equal(["1"]);
      });
    });

    it("requests a scan after a lost notification, with or without a later one", async () => {
      const log = await open();
      const scans: boolean[] = [];
      log.listen("commands", ({ scanAll }) => scans.push(scanAll)).watch(["l0"]);
      await until(() => expect(scans).to.deep.equal([true]));
      const channel = `${redis.prefix}{all}:rings:commands`;
      await admin.incr(channel);
      await log.append("l0", [{ to: actor, body: "x" }]);
      await until(() => expect(scans).to.deep.equal([true, false, true]));
      await log.append("l0", [{ to: actor, body: "x" }]);
      await until(() => expect(scans).to.deep.equal([true, false, true, false]));
      await admin.incr(channel);
      await until(() => expect(scans).to.deep.equal([true, false, true, false, true]));
      await log.append("l0", [{ to: actor, body: "x" }]);
      await until(() => expect(scans).to.deep.equal([true, false, true, false, true, false]));
    });

    it("includes short bodies in a notification, and names only the actors of long ones", async () => {
      const log = await open();
      const notifications: Notification[] = [];
      log.listen("commands", (notification) => notifications.push(notification)).watch(["l0"]);
      await until(() => expect(notifications).to.have.length(1));
      const bodies = ["short", "two\nlines", "€".repeat(6_000)];
      for (const body of bodies) await log.append("l0", [{ to: actor, body }]);
      await until(() =>
        expect(notifications.slice(1).map(({ notices }) => notices)).to.deep.equal([
          [{ actor, inline: { position: 1, body: "short" } }],
          [{ actor, inline: undefined }],
          [{ actor, inline: undefined }],
        ]),
      );
    });

    it("does not open without a server", async () => {
      let message = "";
      await RedisLog.open({ url: "redis://127.0.0.1:1" }).catch((error: unknown) => {
        message = String(error);
      });
      expect(message).not.to.equal("");
    });
  });
});

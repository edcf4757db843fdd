import { expect } from "chai";
import { Redis } from "ioredis";
import { ledgerActor } from "../../../actors/actor.js";
import { type Log, type Notification, QUARANTINE_MESSAGES } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { MAX_INLINE_BYTES } from "../../../stream/log/notifications.js";
import { Keys } from "../../../stream/redis/keys.js";
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

    it("warns of a server that cuts a torn append-only file by itself", async () => {
      const warnings: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, message: string) => warnings.push(message) };
      const openWith = async (setting: string): Promise<void> => {
        await admin.config("SET", "aof-load-truncated", setting);
        logs.push(await RedisLog.open({ url: redis.url, prefix: redis.prefix, logger }));
      };
      try {
        await openWith("no");
        expect(warnings).to.deep.equal([]);
        await openWith("yes");
        expect(warnings.join()).to.include("npm run repair-aof");
      } finally {
        await admin.config("SET", "aof-load-truncated", "no");
      }
    });

    it("opens no log on a server that evicts keys, and warns of one without a limit of its memory", async () => {
      const warnings: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, message: string) => warnings.push(message) };
      const open = async (): Promise<void> => {
        logs.push(await RedisLog.open({ url: redis.url, prefix: redis.prefix, logger }));
      };
      const [, limit = ""] = (await admin.config("GET", "maxmemory")) as string[];
      try {
        await open();
        expect(warnings).to.deep.equal([]);
        await admin.config("SET", "maxmemory-policy", "allkeys-lru");
        const refusal = await open().catch(String);
        expect(refusal).to.match(
          /^RedisUnreachable: .* set maxmemory-policy to noeviction \(it is allkeys-lru\)$/,
        );
        await admin.config("SET", "maxmemory", "0");
        await open();
        expect(warnings.join()).to.include("set maxmemory");
      } finally {
        await admin.config("SET", "maxmemory", limit);
        await admin.config("SET", "maxmemory-policy", "noeviction");
      }
    });

    it("logs the messages that a full quarantine drops", async () => {
      const dropped: object[] = [];
      const logger = { ...silentLogger, error: (fields: object) => dropped.push(fields) };
      const log = await RedisLog.open({ url: redis.url, prefix: redis.prefix, logger });
      logs.push(log);
      const epoch = await takeFromAnyone(log, "l0", "w");
      for (let n = 0; n < QUARANTINE_MESSAGES + 2; n += 1) {
        const quarantined = `message ${n}`;
        const outcome = await commitIn(log, { partition: "l0", epoch }, [
          { actor, expectedSeq: 0, cursor: "0-0", quarantined },
        ]);
        expect(outcome).to.deep.equal({ kind: "ok" });
      }
      expect(dropped).to.deep.equal([
        { dropped: "message 0", total: 1 },
        { dropped: "message 1", total: 2 },
      ]);
      expect(await log.quarantineSize()).to.equal(QUARANTINE_MESSAGES);
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

    it("forgets the clock of a process that has ended when another one records its own", async () => {
      const log = await open();
      const key = new Keys(redis.prefix).hostClocks();
      const report = (name: string) =>
        log.time({ name, engineMs: undefined, confirmed: 0, hostDifferenceMs: 7_000 });
      await report("live");
      await admin.hset(key, {
        ended: `7000 ${Date.now() - 100_000}`,
        "ahead of a clock": `7000 ${Date.now() + 100_000}`,
      });
      await report("live");
      expect(await admin.hlen(key)).to.equal(3);
      await report("new");
      expect((await admin.hkeys(key)).sort()).to.deep.equal(["live", "new"]);
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
      const channel = `${redis.prefix}{l0}:rings:commands`;
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

    it("is refused in a database that the server does not have", async () => {
      for (const [name, number] of [
        ["5000", "5000"],
        ["one", "NaN"],
      ] as const) {
        const opened = RedisLog.open({ url: new URL(`/${name}`, redis.url).href }).then(
          () => "opened",
          (error: unknown) => String(error),
        );
        expect(await opened).to.match(new RegExp(`^RedisUnreachable: .* has no database ${number};`));
      }
    });

    it("takes no notification of a log in another database of the server", async () => {
      const elsewhere = await freshRedis();
      const openAt = async (url: string) => {
        const log = await RedisLog.open({ url, prefix: redis.prefix });
        logs.push(log);
        const received: (string | undefined)[] = [];
        let scans = 0;
        for (const kind of ["commands", "deltas"] as const) {
          const take = ({ scanAll, notices }: Notification): void => {
            if (scanAll) scans += 1;
            received.push(...notices.map(({ inline }) => inline?.body));
          };
          log.listen(kind, take).watch(["l0"]);
        }
        await until(() => expect(scans).to.equal(2));
        return { log, received };
      };
      const [here, there] = [await openAt(redis.url), await openAt(elsewhere.url)];
      for (const [{ log }, name] of [
        [here, "here"],
        [there, "there"],
      ] as const) {
        const epoch = await takeFromAnyone(log, "l0", "w");
        await log.append("l0", [{ to: actor, body: `command ${name}` }]);
        const change = { actor, expectedSeq: 0, cursor: "0-1", entry: `entry ${name}` };
        await commitIn(log, { partition: "l0", epoch }, [change]);
      }
      for (const { log } of [here, there]) await log.append("l0", [{ to: actor, body: "the last" }]);
      await until(() => {
        expect(here.received).to.deep.equal(["command here", "entry here", "the last"]);
        expect(there.received).to.deep.equal(["command there", "entry there", "the last"]);
      });
      await closeAll();
      await elsewhere.drop();
    });

    it("subscribes a process to its partitions alone", async () => {
      const [one, two] = [await open(), await open()];
      one.listen("commands", () => undefined).watch(["l0"]);
      two.listen("commands", () => undefined).watch(["l0", "l1"]);
      two.listen("deltas", () => undefined).watch(["l2"]);
      const channels = [
        "{l0}:rings:commands",
        "{l1}:rings:commands",
        "{l2}:rings:deltas",
        "{l2}:rings:commands",
      ];
      await until(async () => {
        const names = [...channels, "{all}:rings:commands"].map((name) => redis.prefix + name);
        const counts = (await admin.pubsub("NUMSUB", ...names)) as (string | number)[];
        expect(counts.filter((_, index) => index % 2 === 1)).to.deep.equal([2, 1, 1, 0, 0]);
      });
    });

    it("notifies a process of an earlier build while one listens to the channel of the commit group", async () => {
      const log = await open();
      const group = `${redis.prefix}{all}:rings:commands`;
      const published: string[] = [];
      const earlier = new Redis(redis.url);
      earlier.on("message", (_channel, text: string) => published.push(text));
      await earlier.subscribe(group);
      await log.append("l0", [{ to: actor, body: "x" }]);
      const epoch = await takeFromAnyone(log, "l1", "w");
      const departures = ["m0", "m1"].map((partition) => ({
        partition,
        to: `market:${partition}` as const,
        body: "y",
      }));
      await log.commit({ ownerships: [{ partition: "l1", epoch }], changes: [], departures });
      const database = new URL(redis.url).pathname.slice(1);
      const tooLong = { to: actor, body: "z".repeat(MAX_INLINE_BYTES) };
      await log.append("l0", [tooLong, { to: actor, body: "x" }]);
      const texts = ["1\nl0 ledger:0 1\nx", "2\nm0 market:m0 1\ny\nm1 market:m1 1\ny", "3\nl0 ledger:0\n"];
      await until(() => expect(published).to.deep.equal(texts.map((text) => `${text}\n${database}`)));
      await earlier.unsubscribe(group);
      await log.append("l0", [{ to: actor, body: "x" }]);
      expect(await admin.get(group), "notifications when no process listens").to.equal("3");
      earlier.disconnect();
    });

    it("receives the notifications of an earlier build, and scans after a lost one", async () => {
      const log = await open();
      const notifications: Notification[] = [];
      log.listen("commands", (notification) => notifications.push(notification)).watch(["l0", "l1"]);
      await until(() => expect(notifications).to.have.length(2));
      notifications.length = 0;
      const group = `${redis.prefix}{all}:rings:commands`;
      const publish = async (text: string): Promise<unknown> =>
        admin.publish(group, `${await admin.incr(group)}\n${text}`);
      await publish("l0 ledger:0 1\nx\nm9 market:other 1\ny");
      // The body may be that of another database.
      const notices = [{ actor, inline: undefined }];
      await until(() => expect(notifications).to.deep.equal([{ partition: "l0", notices, scanAll: false }]));
      await admin.incr(group);
      await publish("l1 ledger:1 1\nz");
      await until(() =>
        expect(
          notifications.filter(({ scanAll }) => scanAll).map(({ partition }) => partition),
        ).to.deep.equal(["l0", "l1"]),
      );
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

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { type ActorId, ledgerActor, marketActor, partitionOf } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import type { EveryActor } from "../../../stream/log/every-actor.js";
import { checkInstallation } from "../../../stream/log/installation.js";
import { Invalidations } from "../../../stream/services/invalidations.js";
import type { Log } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { packEntry } from "../../../stream/log/packing.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { loadState } from "../../../stream/runtime/recovery.js";
import { LogTail } from "../../../stream/log/tail.js";
import type { Entry } from "../../../stream/log/ports.js";
import { freshRedis } from "../../support/servers.js";
import { counter, type CounterState } from "../runtime/counter.js";
import { NEWER_ENTRY, RecordingFollower, Writer } from "./followers.js";
import { commitIn, microtasksDone } from "./support.js";
import { until } from "../../support/until.js";

const a = marketActor("a");
const b = ledgerActor(2);

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);

const subjects: Record<string, () => Promise<{ open(): Promise<Log>; close(): Promise<void> }>> = {
  "in memory": () => {
    const store = new MemoryStore();
    return Promise.resolve({
      open: () => Promise.resolve(new MemoryLog(store)),
      close: () => Promise.resolve(),
    });
  },
  "on Redis": async () => {
    const redis = await freshRedis();
    return { open: () => RedisLog.open({ url: redis.url, prefix: redis.prefix }), close: () => redis.drop() };
  },
};

for (const [name, create] of Object.entries(subjects)) {
  describe(`the tail of the log ${name}`, () => {
    let subject: Awaited<ReturnType<typeof create>>;
    let log: Log;
    let writer: Writer;
    let tail: LogTail;

    const logs: Log[] = [];
    const open = async (): Promise<Log> => {
      const opened = await subject.open();
      logs.push(opened);
      return opened;
    };

    beforeEach(async () => {
      subject = await create();
      log = await open();
      writer = new Writer(await open());
      tail = new LogTail({ log, clock: systemClock, logger: silentLogger });
    });

    afterEach(async () => {
      await tail.close();
      await Promise.all(logs.splice(0).map((opened) => opened.close()));
      await subject.close();
    });

    it("delivers the entries after a seq and then each new one, without a gap", async () => {
      await writer.add(a, 5);
      const follower = new RecordingFollower();
      tail.follow(a, 2, follower.onEntries, follower.onGap);
      await until(() => expect(follower.seqs).to.deep.equal([3, 4, 5]));
      await writer.add(a, 1_200);
      await until(() => expect(follower.seqs).to.deep.equal(upTo(1_205, 3)));
      expect(follower.gaps).to.equal(0);
    });

    it("delivers entries as they were committed", async () => {
      await writer.add(a, 1);
      const received: Entry[] = [];
      tail.follow(
        a,
        0,
        (entries) => received.push(...entries),
        () => undefined,
      );
      await until(() =>
        expect(received).to.deep.equal([
          {
            actor: a,
            seq: 1,
            cursor: "0-1",
            sources: {},
            answers: [],
            batches: [{ ts: 1_001, deltas: [{ type: "added", n: 1 }] }],
            format: 1,
          },
        ]),
      );
    });

    it("serves followers of one actor from different seqs, and followers of other actors", async () => {
      await writer.add(a, 4);
      const [early, late, last, other] = [
        new RecordingFollower(),
        new RecordingFollower(),
        new RecordingFollower(),
        new RecordingFollower(),
      ];
      tail.follow(a, 0, early.onEntries, early.onGap);
      await until(() => expect(early.seqs).to.deep.equal([1, 2, 3, 4]));
      tail.follow(a, 1, late.onEntries, late.onGap);
      tail.follow(a, 4, last.onEntries, last.onGap);
      tail.follow(b, 0, other.onEntries, other.onGap);
      await writer.add(a, 4);
      await writer.add(b, 2);
      await until(() => {
        expect(early.seqs).to.deep.equal(upTo(8));
        expect(late.seqs).to.deep.equal(upTo(8, 2));
        expect(last.seqs).to.deep.equal(upTo(8, 5));
        expect(other.seqs).to.deep.equal([1, 2]);
      });
    });

    it("reads earlier entries, unless some of them are trimmed or the first is of a newer build", async () => {
      await writer.add(a, 6);
      const seqsOf = async (afterSeq: number, throughSeq: number): Promise<unknown> =>
        (await tail.read(a, afterSeq, throughSeq))?.map(({ parse }) => parse()?.seq);
      expect(await seqsOf(0, 6)).to.deep.equal(upTo(6));
      expect(await seqsOf(2, 4)).to.deep.equal([3, 4]);
      expect((await tail.read(a, 3, 4))?.[0]?.bytes).to.be.above(10);
      await writer.addPacked(a, NEWER_ENTRY);
      expect(await seqsOf(4, 7)).to.deep.equal([5, 6, undefined]);
      expect(await seqsOf(6, 7)).to.equal(undefined);
      expect(await seqsOf(4, 6)).to.deep.equal([5, 6]);
      expect(await tail.read(b, 0, 3)).to.equal(undefined);
    });

    it("reads for a follower that comes while later entries of its actor are read", async () => {
      await writer.add(a, 10);
      const [late, early] = [new RecordingFollower(), new RecordingFollower()];
      let hasRead: () => void = () => undefined;
      const firstRead = new Promise<void>((resolve) => (hasRead = resolve));
      let goOn: () => void = () => undefined;
      const held = new Promise<void>((resolve) => (goOn = resolve));
      const slow = new Proxy(log, {
        get: (target, property) => {
          const value: unknown = Reflect.get(target, property);
          if (typeof value !== "function") return value;
          if (property !== "readEntries") return value.bind(target) as unknown;
          return async (...args: Parameters<Log["readEntries"]>) => {
            const found = await target.readEntries(...args);
            hasRead();
            await held;
            return found;
          };
        },
      });
      const slowTail = new LogTail({ log: slow, clock: systemClock, logger: silentLogger });
      slowTail.follow(a, 8, late.onEntries, late.onGap);
      await firstRead;
      slowTail.follow(a, 2, early.onEntries, early.onGap);
      goOn();
      await until(() => expect([late.seqs, early.seqs]).to.deep.equal([[9, 10], upTo(10, 3)]));
      expect([late.gaps, early.gaps]).to.deep.equal([0, 0]);
      await slowTail.close();
    });

    it("stops the followers of an actor at an entry of a newer build, and serves those of other actors", async () => {
      await writer.add(a, 1);
      await writer.addPacked(a, NEWER_ENTRY);
      await writer.add(b, 1);
      const [unreadable, other] = [new RecordingFollower(), new RecordingFollower()];
      tail.follow(a, 1, unreadable.onEntries, unreadable.onGap);
      tail.follow(b, 0, other.onEntries, other.onGap);
      await until(() => {
        expect(unreadable.gaps).to.equal(1);
        expect(other.seqs).to.deep.equal([1]);
      });
      expect([...tail.unreadable.keys()]).to.deep.equal([a]);
      expect(tail.unreadable.get(a)).to.match(
        /^entry 2 of market:a has format 99, .* run a build that reads it$/,
      );
      await writer.addPacked(a, NEWER_ENTRY);
      await writer.add(b, 2);
      await until(() => expect(other.seqs).to.deep.equal([1, 2, 3]));
      expect(unreadable.seqs).to.deep.equal([]);
    });

    it("stops a follower, also from its own call, and isolates the error of a follower", async () => {
      const [follower, once] = [new RecordingFollower(), new RecordingFollower()];
      const stopOnce = tail.follow(
        a,
        0,
        (entries) => {
          once.onEntries(entries);
          stopOnce();
          throw new Error("this follower is broken");
        },
        once.onGap,
      );
      const stop = tail.follow(a, 0, follower.onEntries, follower.onGap);
      await writer.add(a, 1);
      await until(() => expect(follower.seqs).to.deep.equal([1]));
      await writer.add(a, 1);
      await until(() => expect(follower.seqs).to.deep.equal([1, 2]));
      stop();
      await writer.add(a, 1);
      const next = new RecordingFollower();
      tail.follow(a, 0, next.onEntries, next.onGap);
      await until(() => expect(next.seqs).to.deep.equal([1, 2, 3]));
      expect([follower.seqs, once.seqs]).to.deep.equal([[1, 2], [1]]);
    });

    it("reports a gap to followers whose entries were trimmed, and to no others", async () => {
      await writer.add(a, 10);
      await writer.trim(a, 8);
      const [lost, just] = [new RecordingFollower(), new RecordingFollower()];
      tail.follow(a, 6, lost.onEntries, lost.onGap);
      tail.follow(a, 7, just.onEntries, just.onGap);
      await until(() => expect(just.seqs).to.deep.equal([8, 9, 10]));
      await writer.add(a, 1);
      await until(() => expect(just.seqs).to.deep.equal([8, 9, 10, 11]));
      expect([lost.seqs, lost.gaps, just.gaps]).to.deep.equal([[], 1, 0]);
    });

    it("returns the head of an actor, and its state can be loaded", async () => {
      const recovery = { log, actorOf: () => counter, logger: silentLogger };
      expect(await tail.head(a)).to.equal(0);
      expect(await loadState(recovery, a)).to.deep.include({ seq: 0 });
      await writer.add(a, 10);
      await writer.trim(a, 9);
      await writer.add(a, 3);
      expect(await tail.head(a)).to.equal(13);
      const { state, seq } = await loadState(recovery, a);
      expect(seq).to.equal(13);
      expect((state as CounterState).value).to.equal(13);
    });

    describe("for a read model", () => {
      let following: EveryActor[] = [];

      afterEach(async () => {
        await Promise.all(following.map((follower) => follower.stop()));
        following = [];
      });

      function everyActor(
        cursors: ReadonlyMap<ActorId, number>,
        onEntries: (entries: readonly Entry[]) => Promise<void>,
      ) {
        const gaps: [ActorId, number | string][] = [];
        following.push(
          tail.everyActor({
            cursors: new Map([...cursors].map(([actor, seq]) => [actor, { seq, lineage: "" }])),
            onEntries,
            onGap: (actor, afterSeq) => gaps.push([actor, afterSeq]),
            onUnreadable: (actor, { name }) => gaps.push([actor, name]),
          }),
        );
        return gaps;
      }

      it("has few large entries in memory at once", async () => {
        const actors = Array.from({ length: 40 }, (_, n) => marketActor(`large ${n}`));
        const deltas = [{ type: "added", n: "x".repeat(30_000) }];
        for (const actor of actors) {
          await log.append(partitionOf(actor), [{ to: actor, body: "makes the actor exist" }]);
          for (let seq = 1; seq <= 30; seq += 1) {
            const facts = { actor, seq, cursor: "0-1", sources: {}, answers: [] };
            await writer.addPacked(actor, packEntry({ ...facts, batches: [{ ts: seq, deltas }] }));
          }
        }
        const sizes: number[] = [];
        everyActor(new Map(), (entries) => {
          sizes.push(entries.length);
          return Promise.resolve();
        });
        await until(() => expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(1_200));
        expect(Math.max(...sizes), "entries of 30 kB in one batch").to.be.below(600);
      });

      it("is forgotten when it has stopped", async () => {
        setFlagsFromString("--expose-gc");
        const collectGarbage = runInNewContext("gc") as () => void;
        const follow = (): [EveryActor, WeakRef<object>] => {
          const onEntries = (): Promise<void> => Promise.resolve();
          const never = (): void => undefined;
          const options = { cursors: new Map(), onEntries, onGap: never, onUnreadable: never };
          return [tail.everyActor(options), new WeakRef(onEntries)];
        };
        const stopped = await (async () => {
          const [follower, entries] = follow();
          await follower.stop();
          return entries;
        })();
        await until(() => {
          collectGarbage();
          return stopped.deref() === undefined;
        });
      });

      it("delivers every entry of every actor after its cursor, in order for each actor", async () => {
        await writer.add(a, 4);
        const seqs = new Map<ActorId, number[]>();
        everyActor(new Map([[a, 2]]), (entries) => {
          for (const { actor, seq } of entries) seqs.set(actor, [...(seqs.get(actor) ?? []), seq]);
          return Promise.resolve();
        });
        await until(() => expect(seqs.get(a)).to.deep.equal([3, 4]));
        await writer.add(b, 3);
        await writer.add(a, 700);
        await writer.add(marketActor("new"), 1);
        await until(() => {
          expect(seqs.get(a)).to.deep.equal(upTo(704, 3));
          expect(seqs.get(b)).to.deep.equal([1, 2, 3]);
          expect(seqs.get(marketActor("new"))).to.deep.equal([1]);
        });
      });

      it("loads the positions of actors that it has not, or has forgotten, and reads on from there", async () => {
        await writer.add(a, 5);
        await writer.trim(a, 5);
        await writer.add(b, 1);
        const stored = new Map<ActorId, number>([[a, 5]]);
        const asked: ActorId[] = [];
        const gaps: ActorId[] = [];
        const follower = tail.everyActor({
          cursors: new Map(),
          positionsOf: (actors) => {
            asked.push(...actors);
            const known = actors.flatMap((actor) => {
              const seq = stored.get(actor);
              return seq === undefined ? [] : [[actor, { seq, lineage: "" }] as const];
            });
            return Promise.resolve(new Map(known));
          },
          onEntries: (entries) => {
            for (const { actor, seq } of entries) stored.set(actor, seq);
            return Promise.resolve();
          },
          onGap: (actor) => gaps.push(actor),
          onUnreadable: (actor) => gaps.push(actor),
        });
        following.push(follower);
        await until(() =>
          expect([...stored]).to.deep.equal([
            [a, 5],
            [b, 1],
          ]),
        );
        await writer.add(a, 2);
        await until(() => expect(stored.get(a)).to.equal(7));
        follower.forget([a]);
        await writer.add(a, 2);
        await writer.add(b, 1);
        await until(() =>
          expect([...stored]).to.deep.equal([
            [a, 9],
            [b, 2],
          ]),
        );
        expect(asked.toSorted()).to.deep.equal([a, a, b].toSorted());
        expect(gaps).to.deep.equal([]);
      });

      it("delivers one batch at a time, and delivers a batch again that was not stored", async () => {
        const stored: number[] = [];
        let tries = 0;
        let busy = false;
        everyActor(new Map(), async (entries) => {
          expect(busy).to.equal(false);
          busy = true;
          await new Promise((resolve) => setTimeout(resolve, 1));
          busy = false;
          tries += 1;
          if (tries === 2) throw new Error("the database is down");
          stored.push(...entries.map(({ seq }) => seq));
        });
        await writer.add(a, 1);
        await until(() => expect(stored).to.deep.equal([1]));
        await writer.add(a, 30);
        await until(() => expect(stored).to.deep.equal(upTo(31)));
      });

      it("records what the read model has stored, so that the log can trim it", async () => {
        await writer.add(a, 5);
        await tail.projected(new Map([[a, 4]]));
        expect((await log.heads(partitionOf(a), [a]))[0]?.projected).to.equal(4);
      });

      it("reports a gap of one actor, and continues with the others", async () => {
        await writer.add(a, 5);
        await writer.trim(a, 4);
        const delivered: ActorId[] = [];
        const gaps = everyActor(new Map([[a, 1]]), (entries) => {
          delivered.push(...entries.map(({ actor }) => actor));
          return Promise.resolve();
        });
        await until(() => expect(gaps).to.deep.equal([[a, 1]]));
        await writer.add(b, 1);
        await until(() => expect(delivered).to.deep.equal([b]));
      });

      it("reports an actor with an entry of a newer build, and continues with the others", async () => {
        await writer.add(a, 1);
        await writer.addPacked(a, NEWER_ENTRY);
        await writer.add(b, 1);
        const delivered: ActorId[] = [];
        const stops = everyActor(new Map(), (entries) => {
          delivered.push(...entries.map(({ actor }) => actor));
          return Promise.resolve();
        });
        await until(() => {
          expect(stops).to.deep.equal([[a, "NewerFormat"]]);
          expect(delivered.toSorted()).to.deep.equal([b, a]);
        });
        await writer.addPacked(a, NEWER_ENTRY);
        await writer.add(b, 1);
        await until(() => expect(delivered.toSorted()).to.deep.equal([b, b, a]));
        expect(stops).to.have.length(1);
      });
    });

    describe("beside the tail", () => {
      it("an invalidation reaches every process", async () => {
        const [one, two] = [new Invalidations(log), new Invalidations(await open())];
        const received: string[] = [];
        const subscription = await one.subscribe(
          (kind, id) => received.push(`${kind} ${id}`),
          () => received.push("missed"),
        );
        await two.publish("key", "1");
        await one.publish("market", "2");
        await until(() => expect(received).to.deep.equal(["key 1", "market 2"]));
        await subscription.close();
      });

      it("an installation keeps its partition counts, and rejects others", async () => {
        await checkInstallation(log);
        await checkInstallation(log);
        const other = await open();
        const counts = await other.installation({});
        expect(counts).to.include({ marketPartitions: "64", ledgerShards: "16" });
        other.installation = () => Promise.resolve({ ...counts, ledgerShards: "8" });
        let message = "";
        await checkInstallation(other).catch((error: unknown) => {
          message = String(error);
        });
        expect(message).to.match(/ledgerShards 8, and this program has 16/);
      });
    });
  });
}

describe("the tail of a log after a power cut", () => {
  it("reports a gap to followers that are ahead of the log", async () => {
    const store = new MemoryStore();
    const log = new MemoryLog(store);
    const writer = new Writer(new MemoryLog(store));
    const tail = new LogTail({ log, clock: systemClock, logger: silentLogger });
    await writer.add(a, 2);
    store.sync();
    await writer.add(a, 2);
    const [ahead, behind] = [new RecordingFollower(), new RecordingFollower()];
    tail.follow(a, 0, ahead.onEntries, ahead.onGap);
    await until(() => expect(ahead.seqs).to.deep.equal([1, 2, 3, 4]));
    tail.follow(b, 0, behind.onEntries, behind.onGap);
    store.powerCut();
    await until(() => expect(ahead.gaps).to.equal(1));
    expect(behind.gaps).to.equal(0);
    await tail.close();
  });

  it("reports a gap of an actor to a read model, also of one that the log has lost altogether", async () => {
    const store = new MemoryStore();
    const tail = new LogTail({ log: new MemoryLog(store), clock: systemClock, logger: silentLogger });
    const writer = new Writer(new MemoryLog(store));
    const [kept, fallenBack, lost] = [a, b, marketActor("lost")];
    await writer.add(kept, 2);
    await writer.add(fallenBack, 2);
    store.sync();
    await writer.add(fallenBack, 2);
    await writer.add(lost, 2);
    let entries = 0;
    const gaps: ActorId[] = [];
    const feed = tail.everyActor({
      cursors: new Map(),
      onEntries: ({ length }) => Promise.resolve(void (entries += length)),
      onGap: (actor) => gaps.push(actor),
      onUnreadable: (_actor, error) => expect.fail(error.message),
    });
    await until(() => expect(entries).to.equal(8));
    store.powerCut();
    await until(() => expect(gaps).to.have.members([fallenBack, lost]));
    await writer.add(kept, 1);
    await until(() => expect(entries).to.equal(9));
    await feed.stop();
    await tail.close();
  });

  it("delivers no entry to followers that are ahead of the log, until their gap is known", async () => {
    const store = new MemoryStore();
    let headsHeld = Promise.resolve();
    const gate: Gate = async (operation, apply) => {
      const result = apply();
      if (operation === "heads") await headsHeld;
      return result;
    };
    const log = new MemoryLog(store, { gate });
    const tail = new LogTail({ log, clock: systemClock, logger: silentLogger });
    const other = new MemoryLog(store);
    const writer = new Writer(other);
    await writer.add(a, 2);
    const epoch = await writer.epochOf(a);
    store.sync();
    await writer.add(a, 2);
    const ahead = new RecordingFollower();
    tail.follow(a, 0, ahead.onEntries, ahead.onGap);
    await until(() => expect(ahead.seqs).to.deep.equal([1, 2, 3, 4]));
    let sendHeads: () => void = () => undefined;
    headsHeld = new Promise((resolve) => {
      sendHeads = resolve;
    });
    store.powerCut();
    for (let i = 0; i < 3; i += 1) await microtasksDone();
    const partition = partitionOf(a);
    const entry = packEntry({ actor: a, seq: 0, cursor: "0-1", sources: {}, answers: [], batches: [] });
    const changes = [2, 3, 4].map((expectedSeq) => ({ actor: a, expectedSeq, cursor: "0-1", entry }));
    await commitIn(other, { partition, epoch }, changes);
    for (let i = 0; i < 3; i += 1) await microtasksDone();
    sendHeads();
    await until(() => expect(ahead.gaps).to.equal(1));
    expect(ahead.seqs).to.deep.equal([1, 2, 3, 4]);
    await tail.close();
  });
});

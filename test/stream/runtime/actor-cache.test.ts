import { expect } from "chai";
import type { ActorId } from "../../../actors/actor.js";
import type { Clock } from "../../../stream/log/clock.js";
import { type Head, NO_CURSOR } from "../../../stream/log/log.js";
import { ActorCache } from "../../../stream/runtime/actor-cache.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { Instance } from "../../../stream/runtime/instance.js";
import { Retention } from "../../../stream/runtime/retention.js";
import { SNAPSHOT_LIMITS } from "../../../stream/runtime/snapshot-policy.js";

const HEAD: Head = {
  seq: 0,
  cursor: NO_CURSOR,
  relayed: 0,
  projected: 0,
  snapshot: 0,
  previous: 0,
  lineage: "",
};
const CLOCK = { now: () => 0, monotonic: () => 0, after: () => () => undefined };
const ROUND = SNAPSHOT_LIMITS.roundActors;

/** Returns a cache with markets in memory, and their ids. */
function cacheOf(
  count: number,
  clock: Clock = CLOCK,
  limits = SNAPSHOT_LIMITS,
): { readonly cache: ActorCache; readonly ids: readonly ActorId[] } {
  const cache = new ActorCache(clock, limits, new Retention(limits, clock).open());
  const ids = Array.from({ length: count }, (_, n): ActorId => `market:${n}`);
  for (const id of ids) cache.add(Instance.create(actorOf(id), id), HEAD, { entries: 0, bytes: 0 });
  return { cache, ids };
}

describe("an actor in a step", () => {
  it("is idle for nobody until the step is committed, also while the next step is decided", () => {
    let nowMs = 0;
    const { cache, ids } = cacheOf(2, { ...CLOCK, monotonic: () => nowMs });
    nowMs = 10 * SNAPSHOT_LIMITS.idleMs;
    const [first = "market:none", second = "market:none"] = ids;
    const idle = (): boolean[] => [first, second].map((id) => cache.isIdle(id));
    expect(idle()).to.deep.equal([true, true]);
    cache.stepBegins();
    cache.hold(first);
    cache.stepBegins();
    cache.hold(second);
    expect(idle()).to.deep.equal([false, false]);
    cache.stepEnded();
    expect(idle()).to.deep.equal([true, false]);
    cache.stepEnded();
    expect(idle()).to.deep.equal([true, true]);
  });
});

describe("an actor in memory", () => {
  it("is idle, and due for a snapshot, by the time that has passed, however engine time jumps", () => {
    const time = { engineMs: 0, passedMs: 0 };
    const clock = { ...CLOCK, now: () => time.engineMs, monotonic: () => time.passedMs };
    const large = 1_000;
    const { cache, ids } = cacheOf(1, clock, { ...SNAPSHOT_LIMITS, snapshotBytes: large });
    const [id = "market:none"] = ids;
    const taken = { seq: 1, bytes: 0, writtenBytes: 0, durationMs: 10, restedMs: 0 };
    cache.used(id, 1, large);
    expect(cache.dueForSnapshot(ids)).to.deep.equal(ids);
    cache.snapshotBegins(id);
    time.passedMs += 10;
    time.engineMs += 3_600_000;
    cache.snapshotEnds(id, taken);
    cache.used(id, 2, large);
    expect(cache.isIdle(id)).to.equal(false);
    expect(cache.dueForSnapshot(ids), "before the pause is over").to.deep.equal([]);
    time.passedMs += 10 * SNAPSHOT_LIMITS.snapshotPause;
    expect(cache.dueForSnapshot(ids)).to.deep.equal(ids);
    time.engineMs += 3_600_000;
    expect(cache.isIdle(id)).to.equal(false);
  });
});

describe("a maintenance round", () => {
  it("visits every actor of a small partition", () => {
    const { cache, ids } = cacheOf(ROUND);
    for (let round = 0; round < 3; round += 1) expect(cache.nextRound()).to.deep.equal(ids);
  });

  it("visits the actors of a large partition in turn", () => {
    const { cache, ids } = cacheOf(10 * ROUND + 1);
    for (let turn = 0; turn < 3; turn += 1) {
      const visited = new Set<ActorId>();
      for (let round = 0; round < 11; round += 1) {
        const actors = cache.nextRound();
        expect(actors).to.have.length(ROUND);
        for (const actor of actors) visited.add(actor);
      }
      expect([...visited]).to.have.members([...ids]);
    }
  });

  it("visits an actor that has committed since the last round, once", () => {
    const { cache, ids } = cacheOf(10 * ROUND);
    const last = ids.at(-1) ?? "market:none";
    cache.nextRound();
    cache.used(last, 1, 100);
    cache.used(last, 2, 100);
    const round = cache.nextRound();
    expect(round).to.have.length(ROUND + 1);
    expect(round.filter((actor) => actor === last)).to.have.length(1);
    expect(cache.nextRound()).not.to.include(last);
  });

  it("visits no actor that has left the memory", () => {
    const { cache, ids } = cacheOf(4 * ROUND);
    cache.nextRound();
    const gone = ids.filter((_, n) => n % 2 === 0);
    for (const actor of gone) {
      cache.used(actor, 1, 100);
      cache.remove(actor);
    }
    const visited = new Set<ActorId>();
    for (let round = 0; round < 6; round += 1) for (const actor of cache.nextRound()) visited.add(actor);
    expect(visited.size).to.equal(2 * ROUND);
    for (const actor of gone) expect(visited.has(actor)).to.equal(false);
  });
});

/**
 * A simulation of workers and gateways whose interests change: partitions move between workers, and followers of actors
 * come and go. Subscriptions take time, notifications are lost and connections are cut. Traffic pauses often, and must then
 * have reached every process within seconds, because no later message reveals a lost one. The same seed gives the same run.
 */

import { type ActorId, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { sleep } from "../../../stream/log/clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { packEnvelope } from "../../../stream/log/packing.js";
import { LogTail } from "../../../stream/log/tail.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { Random } from "../../simulation/machine/random.js";
import { counter } from "../runtime/counter.js";
import { ManualClock, microtasksDone } from "./support.js";

const ACTORS: readonly ActorId[] = [1, 2, 3, 4].map(ledgerActor);
const PARTITIONS = ACTORS.map(partitionOf);
const ROUNDS = 30;
/** Time within which everything has been received, in ms: a lost notification is found at the second check. */
const QUIET_MS = 4_000;
const SUBSCRIBE_MS = 20;
const LOST_NOTIFICATIONS = 0.1;

interface Follower {
  readonly actor: ActorId;
  seq: number;
  stop: () => void;
}

/** Runs a seed. Returns the number of rounds, and the failure that has ended them, if one has. */
export async function runInterests(
  seed: number,
): Promise<{ readonly rounds: number; readonly failure: string | undefined }> {
  const world = new InterestWorld(seed);
  let failure: string | undefined;
  try {
    await world.run();
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  await world.close();
  return { rounds: world.rounds, failure };
}

class InterestWorld {
  rounds = 0;
  readonly #clock = new ManualClock();
  readonly #store = new MemoryStore();
  readonly #observer = new MemoryLog(this.#store, { clock: this.#clock });
  readonly #random: Random;
  readonly #oneGroup: boolean;
  readonly #logs: MemoryLog[] = [];
  readonly #tails: LogTail[] = [];
  readonly #followers = new Set<Follower>();
  #workers: Worker[] = [];
  #started = 0;
  #posted = 0;
  #isFaulty = true;
  #violation: Error | undefined;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#oneGroup = this.#random.chance(0.5);
  }

  #connect(): MemoryLog {
    const gate: Gate = async (operation, apply) => {
      await sleep(this.#clock, this.#random.between(0, operation === "subscribe" ? SUBSCRIBE_MS : 2));
      return apply();
    };
    const log = new MemoryLog(this.#store, {
      clock: this.#clock,
      gate,
      oneGroup: this.#oneGroup,
      losesNotification: () => this.#isFaulty && this.#random.chance(LOST_NOTIFICATIONS),
    });
    this.#logs.push(log);
    return log;
  }

  #startWorker(): void {
    this.#started += 1;
    const worker = new Worker({
      id: `worker ${this.#started}`,
      log: this.#connect(),
      clock: this.#clock,
      logger: silentLogger,
      partitions: PARTITIONS,
      actorOf: () => counter,
    });
    this.#workers.push(worker);
    void worker.start();
  }

  /** Stops the oldest worker, so that its partitions move, and starts another one. */
  #replaceWorker(): void {
    this.#startWorker();
    void this.#workers.shift()?.stop();
  }

  #startGateway(): void {
    const log = this.#connect();
    this.#tails.push(new LogTail({ log, clock: this.#clock, logger: silentLogger }));
  }

  async #follow(): Promise<void> {
    const actor = this.#random.pick(ACTORS);
    const tail = this.#random.pick(this.#tails);
    const [head] = await this.#observer.heads(partitionOf(actor), [actor]);
    const follower: Follower = { actor, seq: head?.seq ?? 0, stop: () => undefined };
    follower.stop = tail.follow(
      actor,
      follower.seq,
      (entries) => {
        for (const { seq } of entries) {
          if (seq !== follower.seq + 1)
            this.#violation ??= new Error(`${actor}: ${seq} follows ${follower.seq}`);
          follower.seq = seq;
        }
      },
      () => {
        this.#violation ??= new Error(`${actor}: a follower has a gap after ${follower.seq}`);
      },
    );
    this.#followers.add(follower);
  }

  #unfollow(): void {
    const follower = [...this.#followers].at(0);
    if (follower === undefined) return;
    follower.stop();
    this.#followers.delete(follower);
  }

  async #post(): Promise<void> {
    this.#posted += 1;
    const from = this.#random.pick(ACTORS);
    const send = { kind: "send", to: this.#random.pick(ACTORS), numbers: [this.#posted] };
    const body = packEnvelope({ id: `command ${this.#posted}`, commands: [send] });
    await this.#observer.append(partitionOf(from), [{ to: from, body }]);
  }

  async #advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1) {
      this.#clock.advance(1);
      await microtasksDone();
    }
    if (this.#violation !== undefined) throw this.#violation;
  }

  /** Changes an interest, and posts at about the same time. */
  async #change(): Promise<void> {
    const choice = this.#random.between(0, 9);
    if (choice < 4) await this.#follow();
    else if (choice < 6) this.#unfollow();
    else if (choice < 8) this.#replaceWorker();
    else if (choice < 9) this.#random.pick(this.#logs).disconnect();
    for (let left = this.#random.between(0, 2); left > 0; left -= 1) {
      await this.#advance(this.#random.between(0, SUBSCRIBE_MS));
      await this.#post();
    }
  }

  async run(): Promise<void> {
    this.#startWorker();
    this.#startWorker();
    this.#startGateway();
    this.#startGateway();
    for (; this.rounds < ROUNDS; this.rounds += 1) {
      await this.#change();
      if (this.#random.chance(0.5)) await this.#untilQuiet();
    }
    await this.#untilQuiet();
  }

  async #untilQuiet(): Promise<void> {
    this.#isFaulty = false;
    let work = await this.#workLeft();
    for (let passed = 0; work !== undefined; passed += 10) {
      if (passed > QUIET_MS) throw new Error(`after ${QUIET_MS} ms ${work}`);
      await this.#advance(10);
      work = await this.#workLeft();
    }
    this.#isFaulty = true;
  }

  /** Names something that a process has not received; `undefined` when everything is received. */
  async #workLeft(): Promise<string | undefined> {
    for (const partition of PARTITIONS) {
      for (const { actor, waiting, head } of await this.#observer.scan(partition)) {
        if (waiting > 0) return `${actor} has ${waiting} messages`;
        for (const follower of this.#followers)
          if (follower.actor === actor && follower.seq < head.seq)
            return `a follower of ${actor} is at ${follower.seq} of ${head.seq}`;
      }
    }
    return undefined;
  }

  async close(): Promise<void> {
    await Promise.all([this.#observer, ...this.#logs].map((log) => log.close()));
  }
}

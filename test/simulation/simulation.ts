/**
 * The whole exchange in one process and on one clock, from one seed: the real actors, the real runtime on the log in
 * memory, gateways, workers and a projector that fail in every way there is. Three phases: faults, then healing and
 * liveness, then everything is compared with everything.
 */

import { createHash } from "node:crypto";
import { type ActorId, ledgerActor, marketActor, partitionOf } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import { market } from "../../actors/market/market.js";
import { actorOf } from "../../stream/runtime/actors.js";
import type { Commit, CommitOutcome } from "../../stream/log/log.js";
import { MemoryStore } from "../support/log/memory-store.js";
import { definitionOf, walletsOf } from "../actors/differential/world.js";
import { checkAnswers, checkPunctual, checkRecovery, checkRest, must } from "./checks.js";
import { Clients } from "./clients.js";
import { Deployment } from "./deployment.js";
import { Journal, KEYS } from "./journal.js";
import { type Call, type Faults, Network, NO_FAULTS, type Wire } from "./machine/network.js";
import { Random } from "./machine/random.js";
import { Scheduler } from "./machine/scheduler.js";
import { Trading } from "./trading.js";
import { onSmallScale } from "./machine/snapshot-scale.js";

const TRADERS = 4;
const KEYBOARDS = 4;
const START_MS = 1_700_000_000_000;
/** Simulated time: of the faults, and within which the healed exchange has to come to rest. */
const TROUBLE_MS = 3_000;
const REST_MS = 120_000;
/** How long what is due may take when nothing fails. */
const PUNCTUAL_MS = 2_000;

/** What a planted bug changes. */
export interface Sabotage {
  /** The store, which can ask which operation is being carried out. */
  readonly store?: (current: () => Call | undefined) => MemoryStore;
  readonly tamper?: (commit: Commit) => Commit;
  readonly believe?: (outcome: Promise<CommitOutcome>) => Promise<CommitOutcome>;
  /** The log answers before what it wrote is on the disk. */
  readonly answersEarly?: boolean;
  /** Changes the code itself; the result changes it back. */
  readonly patch?: () => () => void;
}

export interface Outcome {
  readonly seed: number;
  /** Of everything that happened, in order. */
  readonly hash: string;
  readonly events: number;
  readonly reached: ReadonlyMap<string, number>;
  readonly failure: Error | undefined;
}

export class Simulation {
  readonly #seed: number;
  readonly #trace: (line: string) => void;
  readonly #hash = createHash("sha256");
  readonly #reached = new Map<string, number>();
  readonly #random: Random;
  readonly #scheduler = new Scheduler(START_MS);
  readonly #store: MemoryStore;
  readonly #network: Network;
  readonly #journal: Journal;
  readonly #deployment: Deployment;
  readonly #clients: Clients;
  readonly #trading: Trading;
  readonly #patch: () => () => void;
  /** The operation that is reaching the log. */
  #current: Call | undefined;
  /** The epoch of each partition's tenure, and the highest it has had. */
  readonly #epochs = new Map<string, number>();
  readonly #highest = new Map<string, number>();
  #isOver = false;

  constructor(seed: number, sabotage: Sabotage = {}, trace: (line: string) => void = () => undefined) {
    this.#seed = seed;
    this.#trace = trace;
    this.#random = new Random(seed);
    this.#store = sabotage.store?.(() => this.#current) ?? new MemoryStore();
    this.#patch = sabotage.patch ?? (() => () => undefined);
    const random = new Random(seed, 1);
    const wallets = walletsOf(TRADERS);
    const definitions = Array.from({ length: random.between(1, 3) }, (_, n) =>
      definitionOf(n, {
        outcomes: random.pick([2, 2, 2, 3, 3, 4]),
        push: random.chance(0.5),
        fee: random.below(5),
        delay: random.chance(0.2) ? 1 : 0,
        live: false,
      }),
    );
    const ids: ActorId[] = [
      ...new Set(wallets.map(({ shard }) => ledgerActor(shard))),
      ...definitions.map(({ marketId }) => marketActor(marketId)),
    ];
    this.#journal = new Journal(this.#store, { market, ledger }, ids, (delta) => this.#reach(delta));
    const scheduler = this.#scheduler;
    this.#network = new Network(this.#store, scheduler, new Random(seed, 2), this.#wire());
    const together = random.chance(0.5);
    this.#network.answersEarly = sabotage.answersEarly ?? false;
    const { tamper = (commit: Commit) => commit, believe = (outcome: Promise<CommitOutcome>) => outcome } =
      sabotage;
    this.#deployment = new Deployment({
      machine: { store: this.#store, scheduler, network: this.#network, together, tamper, believe },
      actors: ids,
      actorOf,
      random: new Random(seed, 3),
      onFault: (kind) => this.#told(kind),
      onViolation: (error) => scheduler.fail(error),
    });
    const count = (what: string): void => this.#count(what);
    const gateways = (): Deployment["gateways"] => this.#deployment.gateways;
    this.#clients = new Clients(scheduler, new Random(seed, 4), gateways, count);
    const { clients, journal } = { clients: this.#clients, journal: this.#journal };
    const isOver = (): boolean => this.#isOver;
    this.#trading = new Trading({
      clients,
      journal,
      random: new Random(seed, 5),
      wallets,
      definitions,
      isOver,
    });
  }

  /** Runs to the end, or to the first thing that must not be. */
  async run(): Promise<Outcome> {
    const undo = [onSmallScale(), this.#patch()];
    let failure: Error | undefined;
    try {
      await this.#phases();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      this.#say(`FAILED ${failure.message}`);
    } finally {
      this.#deployment.stopAll();
      for (const one of undo.reverse()) one();
    }
    const { events } = this.#scheduler;
    return { seed: this.#seed, hash: this.#hash.digest("hex"), events, reached: this.#reached, failure };
  }

  async #phases(): Promise<void> {
    const deployment = this.#deployment;
    deployment.startWorker();
    deployment.startWorker();
    deployment.startGateway();
    deployment.startGateway();
    deployment.startProjector();
    await this.#until(this.#trading.open(), "the exchange does not open");

    this.#network.faults = this.#someFaults();
    const people = [this.#trading.operate()];
    for (let n = 0; n < KEYBOARDS; n += 1) people.push(this.#trading.trade());
    const endMs = this.#scheduler.nowMs + TROUBLE_MS;
    const trouble = this.#makeTrouble(endMs);
    await this.#until(trouble, "trouble does not end");

    this.#say("healing");
    this.#isOver = true;
    this.#network.faults = NO_FAULTS;
    deployment.heal();
    const answers = Promise.all(people).then(() => this.#clients.resolveUnknown());
    await this.#until(answers, "an answer does not come");
    await this.#until(this.#clients.sleep(PUNCTUAL_MS), "time stands still");
    checkPunctual(this.#journal, this.#scheduler.nowMs - PUNCTUAL_MS / 2);
    await this.#until(this.#trading.close(), "a settlement does not end");
    await this.#until(this.#quiet(), "the exchange does not come to rest");

    checkRest(this.#journal);
    checkAnswers(this.#journal, this.#clients.invocations);
    await checkRecovery(this.#store, this.#journal, actorOf, deployment);
  }

  /** Most runs have a bit of everything, some have none of some. */
  #someFaults(): Faults {
    const random = this.#random;
    const often = random.pick([0, 0.002, 0.01]);
    return {
      lostRequest: random.pick([0, often]),
      lostAnswer: random.pick([0, often]),
      repeated: random.pick([0, often, 0.05]),
      late: random.pick([0, often]),
      disconnected: random.pick([0, often / 2]),
    };
  }

  async #makeTrouble(endMs: number): Promise<void> {
    const random = this.#random;
    const powerFails = random.chance(0.5);
    while (this.#scheduler.nowMs < endMs) {
      await this.#clients.sleep(random.between(50, 900));
      if (powerFails && random.chance(0.25)) {
        this.#powerCut();
      } else this.#deployment.misfortune();
    }
  }

  #powerCut(): void {
    this.#deployment.powerCut();
    this.#journal.cut();
    for (const partition of this.#highest.keys()) {
      const epoch = Number(this.#store.get(KEYS.lease(partition), "epoch") ?? 0);
      this.#highest.set(partition, epoch);
      this.#epochs.set(partition, epoch);
    }
  }

  async #quiet(): Promise<void> {
    while (!this.#deployment.isQuiet || this.#journal.messagesUnderWay > 0) await this.#clients.sleep(20);
  }

  /** Lets the simulation run until a piece of work is done. */
  async #until(result: Promise<unknown>, otherwise: string): Promise<void> {
    let done = false;
    result.then(
      () => (done = true),
      (error: unknown) => this.#scheduler.fail(error),
    );
    const ended = await this.#scheduler.run(() => done, REST_MS);
    must(ended, ended ? "" : `${otherwise} (${this.#deployment.waiting})`);
  }

  #wire(): Wire {
    return {
      onArrival: (call) => this.#arrives(call),
      onResult: (call, result, repeated) => this.#arrived(call, result, repeated),
      onFault: (kind) => this.#told(kind),
    };
  }

  #arrives(call: Call): void {
    const { caller, operation, commit } = call;
    this.#current = call;
    if (commit === undefined) return;
    if (commit.ownerships.some(({ partition, epoch }) => this.#epochs.get(partition) !== epoch))
      this.#count("late commit of a former owner");
    if (!caller.isAlive) this.#count(`${operation} of a dead process`);
  }

  #arrived({ caller, operation, partition = "", commit }: Call, result: unknown, repeated: boolean): void {
    this.#current = undefined;
    const kind = kindOf(result);
    this.#say(`${caller.name} ${operation}${repeated ? " again" : ""} ${kind}`);
    this.#count(kind === "" ? operation : `${operation} ${kind}`);
    try {
      if (commit !== undefined && kind === "ok") this.#checkCommit(caller.name, commit);
      if (operation === "take" && kind === "taken") this.#checkTenure(partition, result as { epoch: number });
      this.#journal.read();
    } catch (error) {
      this.#scheduler.fail(error);
    }
  }

  /** Only the owner of a partition writes, and each entry takes the place it was meant for. */
  #checkCommit(name: string, { ownerships, changes }: Commit): void {
    for (const { partition, epoch } of ownerships) {
      const current = this.#epochs.get(partition) ?? 0;
      must(
        epoch === current,
        `${name} wrote to ${partition} in tenure ${epoch}, and it is in tenure ${current}`,
      );
    }
    const lasts = new Map<ActorId, number>();
    for (const { actor, expectedSeq, entry } of changes) {
      if (entry === undefined) continue;
      if (lasts.has(actor)) this.#count("several entries in one commit");
      lasts.set(actor, expectedSeq + 1);
      this.#hash.update(entry);
    }
    if (ownerships.length > 1 && lasts.size > 1) this.#count("commit of several partitions");
    for (const [actor, meant] of lasts) {
      const { last } = this.#store.stream(KEYS.deltas(partitionOf(actor), actor));
      must(last === meant, `${actor}: entry ${meant} was written as ${last}`);
    }
  }

  /** Every tenure has an epoch of its own, higher than all before. */
  #checkTenure(partition: string, { epoch }: { readonly epoch: number }): void {
    const highest = this.#highest.get(partition) ?? 0;
    must(epoch > highest, `${partition} is taken with epoch ${epoch} after ${highest}`);
    if (highest > 0) this.#count("takeover");
    this.#highest.set(partition, epoch);
    this.#epochs.set(partition, epoch);
  }

  #told(kind: string): void {
    this.#say(kind);
    this.#count(kind);
  }

  #say(what: string): void {
    const line = `${this.#scheduler.nowMs - START_MS} ${what}`;
    this.#hash.update(line);
    this.#trace(line);
  }

  #count(what: string): void {
    this.#reached.set(what, (this.#reached.get(what) ?? 0) + 1);
  }

  #reach(delta: MarketDelta | LedgerDelta): void {
    switch (delta.type) {
      case "accepted":
        this.#count(`order ${delta.order.tif}`);
        return;
      case "lifecycle":
        this.#count(`market ${delta.kind}`);
        return;
      case "order":
        if (!("seq" in delta)) return;
        if (delta.kind === "fill")
          this.#count(delta.wash ? "order wash" : delta.payout > 0 ? "order fill netting" : "order fill");
        else if (delta.kind === "reject" || delta.kind === "cancel")
          this.#count(`order ${delta.kind} ${delta.reason ?? ""}`.trim());
        else this.#count(`order ${delta.kind}`);
        return;
      case "payout":
      case "reversal":
      case "transfer":
      case "deadman":
        this.#count(delta.type);
        return;
      default:
    }
  }
}

function kindOf(result: unknown): string {
  if (result === false) return "refused";
  if (typeof result !== "object" || result === null || !("kind" in result)) return "";
  return String(result.kind);
}

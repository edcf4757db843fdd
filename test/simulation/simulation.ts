/**
 * Simulates the whole exchange in one process, on one clock and from one seed. The real actors and the real runtime run
 * on the log in memory, in gateways, workers and a projector that fail. A run has three phases: faults; then healing
 * and liveness; then the comparison of all copies of the state.
 */

import { createHash } from "node:crypto";
import { type ActorId, ledgerActor, marketActor, partitionOf } from "../../actors/actor.js";
import { type Bounds, BOUNDS } from "../../actors/limits.js";
import { OLDEST_FORMAT } from "../../actors/format.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import type { MarketState } from "../../actors/market/state.js";
import { market } from "../../actors/market/market.js";
import { actorOf as realActorOf } from "../../stream/runtime/actors.js";
import type { ActorOf, AnyActor } from "../../stream/runtime/instance.js";
import type { Commit, CommitOutcome, LiveWorker, StoredEntry } from "../../stream/log/log.js";
import { parseEntry } from "../../stream/log/packing.js";
import { boundsOfOrders } from "../support/exchange/network.js";
import { MemoryStore } from "../support/log/memory-store.js";
import { definitionOf, walletsOf } from "../actors/differential/world.js";
import {
  checkAnswers,
  checkFinalState,
  checkNothingOverdue,
  checkQuarantine,
  checkRecovery,
  checkSigned,
  must,
} from "./checks.js";
import { Clients } from "./clients.js";
import { Deployment } from "./deployment.js";
import { Journal, KEYS } from "./journal.js";
import { type Call, type Faults, Network, NO_FAULTS, type NetworkObserver } from "./machine/network.js";
import { Random } from "./machine/random.js";
import { checkingValues } from "./passed-values.js";
import { Scheduler } from "./machine/scheduler.js";
import { SignedClients } from "./signed.js";
import { Tables } from "./tables.js";
import { Trading } from "./trading.js";
import { scaleDownIds } from "./machine/id-scale.js";

const TRADERS = 4;
const TRADER_LOOPS = 4;
const START_MS = 1_700_000_000_000;
/** Duration of the faults, and time limit of each later step of a run, both in simulated ms. */
const FAULTS_MS = 3_000;
const REST_MS = 120_000;
/** Time after the faults until no dead worker counts as live: a lease is at most 3 s. */
const LEASES_END_MS = 4_000;
/** Time within which due work must happen when nothing fails. */
const PUNCTUAL_MS = 2_000;
/** Age of a heartbeat below which its worker must count as live: a lease less a margin of 50 ms. */
const SURELY_LIVE_MS = 250;
/** Longest time that a stall of the log counts in the age of a heartbeat: a third of a lease. */
const STALL_MS = 100;
/** Greatest difference of the time of an entry from the time at which it reaches the log. */
const MAX_OFF_MS = 20_000;

/** Changes that a planted bug makes to one simulation. */
export interface Mutation {
  /** Creates the store. The store may ask which operation is being applied. */
  readonly store?: (current: () => Call | undefined) => MemoryStore;
  readonly changeCommit?: (commit: Commit) => Commit;
  readonly changeOutcome?: (outcome: Promise<CommitOutcome>) => Promise<CommitOutcome>;
  /** Lets the log answer before its writes are on the disk. */
  readonly answersEarly?: boolean;
  /** Runs every seed on a single server. */
  readonly oneGroup?: boolean;
  /** Number of orders that a decision touches in every seed. */
  readonly orders?: number;
  /** Changes the code of an actor. */
  readonly changeActor?: (actor: AnyActor, id: ActorId) => AnyActor;
  /** Changes the code itself. Returns the function that restores it. */
  readonly patch?: () => () => void;
}

export interface Outcome {
  readonly seed: number;
  /** Hash of all trace lines and committed entries, in order. */
  readonly hash: string;
  readonly events: number;
  readonly reached: ReadonlyMap<string, number>;
  readonly failure: Error | undefined;
}

export class Simulation {
  readonly #seed: number;
  readonly #onTrace: (line: string) => void;
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
  readonly #signed: SignedClients;
  readonly #actorOf: ActorOf;
  readonly #patch: () => () => void;
  /** Operation that the log is applying. */
  #current: Call | undefined;
  /** Current epoch of each partition's ownership, and the highest epoch so far. */
  readonly #epochs = new Map<string, number>();
  readonly #highestEpochs = new Map<string, number>();
  #isHealing = false;
  /** Time of the last heartbeat of each worker, with the stalls of the log as `STALL_MS` each. */
  readonly #beats = new Map<string, number>();

  constructor(seed: number, mutation: Mutation = {}, trace: (line: string) => void = () => undefined) {
    this.#seed = seed;
    this.#onTrace = trace;
    this.#random = new Random(seed);
    this.#store = mutation.store?.(() => this.#current) ?? new MemoryStore();
    this.#patch = mutation.patch ?? (() => () => undefined);
    const random = new Random(seed, 1);
    const anyBounds = random.pick([...[1, 2, 3, 5].map(boundsOfOrders), BOUNDS]);
    const bounds = mutation.orders === undefined ? anyBounds : boundsOfOrders(mutation.orders);
    const { changeActor = (actor: AnyActor) => actor } = mutation;
    this.#actorOf = (id) => this.#inPieces(checkingValues(changeActor(realActorOf(id), id), id), bounds);
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
    this.#journal = new Journal(
      this.#store,
      { market, ledger },
      ids,
      (delta) => this.#countDelta(delta),
      () => this.#count("source forgotten"),
    );
    const scheduler = this.#scheduler;
    this.#network = new Network(this.#store, scheduler, new Random(seed, 2), this.#observer());
    const isOneServer = random.chance(0.5);
    const oneGroup = mutation.oneGroup ?? isOneServer;
    this.#network.answersEarly = mutation.answersEarly ?? false;
    const {
      changeCommit = (commit: Commit) => commit,
      changeOutcome = (outcome: Promise<CommitOutcome>) => outcome,
    } = mutation;
    this.#deployment = new Deployment({
      machine: {
        store: this.#store,
        scheduler,
        network: this.#network,
        logClock: { stepMs: 0 },
        oneGroup,
        changeCommit,
        changeOutcome,
        onViolation: (error) => scheduler.fail(error),
      },
      actors: ids,
      actorOf: this.#actorOf,
      random: new Random(seed, 3),
      builds: new Random(seed, 6),
      slices: new Random(seed, 7),
      onFault: (kind) => this.#recordFault(kind),
      onViolation: (error) => scheduler.fail(error),
    });
    const count = (name: string): void => this.#count(name);
    const gateways = (): Deployment["gateways"] => this.#deployment.gateways;
    this.#clients = new Clients(scheduler, new Random(seed, 4), gateways, count);
    const { clients, journal } = { clients: this.#clients, journal: this.#journal };
    const isHealing = (): boolean => this.#isHealing;
    const fail = (error: unknown): void => scheduler.fail(error);
    const tables = new Tables(this.#deployment.projected, journal);
    this.#signed = new SignedClients({
      clients,
      tables,
      gateways,
      random: new Random(seed, 8),
      count,
      fail,
      isHealing,
    });
    this.#trading = new Trading({
      clients,
      journal,
      tables,
      count,
      random: new Random(seed, 5),
      wallets,
      definitions,
      signed: this.#signed,
      // In every second seed such a command fails in a later piece.
      piecesOfPoison: seed % 2 === 0 ? 0 : 2,
      isHealing,
    });
  }

  /** Runs the seed to its end, or to the first violation. */
  async run(): Promise<Outcome> {
    const undo = [scaleDownIds(START_MS), this.#patch()];
    let failure: Error | undefined;
    try {
      await this.#phases();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      this.#traceLine(`FAILED ${failure.message}`);
    } finally {
      this.#deployment.stopAll();
      for (const restore of undo.reverse()) restore();
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

    this.#network.faults = this.#pickFaultRates();
    const loops = [this.#trading.operate()];
    for (let n = 0; n < TRADER_LOOPS; n += 1) loops.push(this.#trading.trade());
    const endMs = this.#scheduler.nowMs + FAULTS_MS;
    const faultsDone = this.#injectFaults(endMs);
    await this.#until(faultsDone, "the faults do not end");

    this.#traceLine("healing");
    this.#isHealing = true;
    this.#network.faults = NO_FAULTS;
    deployment.heal();
    const answers = Promise.all(loops)
      .then(() => this.#clients.resolveUnknown())
      .then(() => this.#signed.resolveUnknown());
    await this.#until(answers, "a command gets no answer");
    await this.#until(this.#clients.sleep(LEASES_END_MS + PUNCTUAL_MS), "the clock does not advance");
    checkNothingOverdue(this.#journal, this.#scheduler.nowMs - PUNCTUAL_MS / 2);
    await this.#until(this.#trading.close(), "a settlement does not end");
    await this.#until(this.#untilQuiet(), "the exchange does not come to rest");

    checkFinalState(this.#journal);
    checkAnswers(this.#journal, this.#clients.invocations);
    checkSigned(this.#journal, this.#signed.requests);
    checkQuarantine(this.#store, this.#clients.invocations);
    await checkRecovery(this.#store, this.#journal, this.#actorOf, deployment);
  }

  /** Returns an actor whose decisions touch few orders, so that a short run has work that goes on in pieces. */
  #inPieces(actor: AnyActor, bounds: Bounds): AnyActor {
    return {
      ...actor,
      decide: (state, command, nowMs, format) => {
        const pieces = piecesOfPoison(command);
        if (pieces === 0 || (pieces !== undefined && format === OLDEST_FORMAT)) poison(state);
        if (pieces !== undefined) {
          this.#count("unfinished poison");
          const unfinished = [{ kind: "poison", pieces: pieces - 1 }];
          return { deltas: [], reply: { ok: true, kind: "done" }, unfinished };
        }
        const decision = actor.decide(
          state,
          command,
          nowMs,
          format,
          format === OLDEST_FORMAT ? undefined : bounds,
        );
        if ((decision.unfinished ?? []).length > 0)
          this.#count(`unfinished ${(command as { kind: string }).kind}`);
        return decision;
      },
    };
  }

  /** Picks the rate of each fault. Some runs have none of one kind. */
  #pickFaultRates(): Faults {
    const random = this.#random;
    const often = random.pick([0, 0.002, 0.01]);
    return {
      lostRequest: random.pick([0, often]),
      lostAnswer: random.pick([0, often]),
      repeated: random.pick([0, often, 0.05]),
      late: random.pick([0, often]),
      disconnected: random.pick([0, often / 2]),
      lostNotification: random.pick([0, often, 0.1]),
    };
  }

  async #injectFaults(endMs: number): Promise<void> {
    const random = this.#random;
    const powerFails = random.chance(0.5);
    while (this.#scheduler.nowMs < endMs) {
      await this.#clients.sleep(random.between(50, 900));
      if (powerFails && random.chance(0.25)) {
        this.#powerCut();
      } else this.#deployment.injectFault();
    }
  }

  #powerCut(): void {
    this.#deployment.powerCut();
    this.#journal.losePower();
    this.#beats.clear();
    for (const partition of this.#highestEpochs.keys()) {
      const epoch = Number(this.#store.get(KEYS.lease(partition), "epoch") ?? 0);
      this.#highestEpochs.set(partition, epoch);
      this.#epochs.set(partition, epoch);
    }
  }

  async #untilQuiet(): Promise<void> {
    while (!this.#deployment.isQuiet || this.#journal.messagesInFlight > 0) await this.#clients.sleep(20);
  }

  /** Advances the simulation until the promise resolves. Fails with `otherwise` after the time limit. */
  async #until(result: Promise<unknown>, otherwise: string): Promise<void> {
    let done = false;
    result.then(
      () => (done = true),
      (error: unknown) => this.#scheduler.fail(error),
    );
    const ended = await this.#scheduler.run(() => done, REST_MS);
    must(ended, ended ? "" : `${otherwise} (${this.#deployment.backlog})`);
  }

  #observer(): NetworkObserver {
    return {
      onArrival: (call) => this.#onArrival(call),
      onResult: (call, result, repeated) => this.#onResult(call, result, repeated),
      onFault: (kind) => this.#recordFault(kind),
    };
  }

  #onArrival(call: Call): void {
    const { caller, operation, commit } = call;
    this.#current = call;
    if (commit === undefined) return;
    if (commit.ownerships.some(({ partition, epoch }) => this.#epochs.get(partition) !== epoch))
      this.#count("late commit of a former owner");
    if (!caller.isAlive) this.#count(`${operation} of a dead process`);
  }

  #onResult({ caller, operation, partition = "", commit }: Call, result: unknown, repeated: boolean): void {
    this.#current = undefined;
    const kind = kindOf(result);
    this.#traceLine(`${caller.name} ${operation}${repeated ? " again" : ""} ${kind}`);
    this.#count(kind === "" ? operation : `${operation} ${kind}`);
    try {
      if (commit !== undefined && kind === "ok") this.#checkCommit(caller.name, commit);
      if (operation === "heartbeat") this.#checkLive(caller.name, result as readonly LiveWorker[]);
      if (operation === "leave") this.#beats.delete(caller.name);
      if (operation === "writeSnapshot") this.#deployment.snapshotWritten();
      if (operation === "take" && kind === "taken") this.#checkEpoch(partition, result as { epoch: number });
      this.#journal.readNewEntries();
    } catch (error) {
      this.#scheduler.fail(error);
    }
  }

  /** Checks that only the owner of a partition writes, and that each entry gets its expected seq. */
  #checkCommit(name: string, { ownerships, changes }: Commit): void {
    for (const { partition, epoch } of ownerships) {
      const current = this.#epochs.get(partition) ?? 0;
      must(
        epoch === current,
        `${name} wrote to ${partition} with epoch ${epoch}, but the current epoch is ${current}`,
      );
    }
    const lastSeqs = new Map<ActorId, number>();
    for (const { actor, expectedSeq, entry, resumed } of changes) {
      if (entry === undefined) continue;
      if (lastSeqs.has(actor)) this.#count("several entries in one commit");
      lastSeqs.set(actor, resumed?.seq ?? expectedSeq + 1);
      if (resumed !== undefined) this.#count("first entry of an incarnation");
      this.#hash.update(entry);
      this.#checkTimes(actor, { seq: lastSeqs.get(actor) ?? 0, body: entry });
    }
    if (ownerships.length > 1 && lastSeqs.size > 1) this.#count("commit of several partitions");
    for (const [actor, expected] of lastSeqs) {
      const { last } = this.#store.stream(KEYS.deltas(partitionOf(actor), actor));
      must(last === expected, `${actor}: entry ${expected} was written as ${last}`);
    }
  }

  /** Checks that no actor has been given a time far from the time that really passed, whatever the clocks say. */
  #checkTimes(actor: ActorId, entry: StoredEntry): void {
    for (const { ts } of parseEntry(actor, entry).batches) {
      const offMs = ts - this.#scheduler.nowMs;
      must(Math.abs(offMs) < MAX_OFF_MS, `${actor}: entry ${entry.seq} has a time that is ${offMs} ms off`);
    }
  }

  /** Checks that no worker counts as dead that has beaten of late. */
  #checkLive(name: string, live: readonly LiveWorker[]): void {
    const { stalledMs, stalls } = this.#network;
    const nowMs = this.#scheduler.nowMs - stalledMs + stalls * STALL_MS;
    this.#beats.set(name, nowMs);
    for (const [other, beatMs] of this.#beats) {
      if (nowMs - beatMs > SURELY_LIVE_MS) continue;
      must(
        live.some((worker) => worker.name.endsWith(other)),
        `${other} counts as dead ${nowMs - beatMs} ms after its heartbeat`,
      );
    }
  }

  /** Checks that a new ownership has a higher epoch than all before. */
  #checkEpoch(partition: string, { epoch }: { readonly epoch: number }): void {
    const highest = this.#highestEpochs.get(partition) ?? 0;
    must(epoch > highest, `${partition} is taken with epoch ${epoch} after ${highest}`);
    if (highest > 0) this.#count("takeover");
    this.#highestEpochs.set(partition, epoch);
    this.#epochs.set(partition, epoch);
  }

  #recordFault(kind: string): void {
    this.#traceLine(kind);
    this.#count(kind);
  }

  #traceLine(text: string): void {
    const line = `${this.#scheduler.nowMs - START_MS} ${text}`;
    this.#hash.update(line);
    this.#onTrace(line);
  }

  #count(name: string): void {
    this.#reached.set(name, (this.#reached.get(name) ?? 0) + 1);
  }

  #countDelta(delta: MarketDelta | LedgerDelta): void {
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

/** Returns the number of pieces that a poisoned command has before the one that fails; `undefined` for another command. */
function piecesOfPoison(command: unknown): number | undefined {
  const { kind, pieces } = command as { readonly kind: string; readonly pieces?: number };
  return kind === "poison" ? (pieces ?? 0) : undefined;
}

/** Changes the state of an actor, and fails. The change must not survive. */
function poison(state: unknown): never {
  if ("lifecycleSeq" in (state as object)) (state as MarketState).lifecycleSeq += 1_000;
  else (state as LedgerState).entries += 1_000;
  throw new Error("poisoned");
}

function kindOf(result: unknown): string {
  if (result === false) return "refused";
  if (typeof result !== "object" || result === null || !("kind" in result)) return "";
  return String(result.kind);
}

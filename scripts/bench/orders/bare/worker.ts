/**
 * Worker of the bare loop: the hops of an order, one fenced commit for a step, and nothing else of the exchange. Its
 * figures are the limit of this design on this machine.
 */

import { Redis } from "ioredis";
import { loadConfig } from "../../../config.js";
import { BareLedger, BareMarket, type Outbox, type Resting } from "./book.js";
import { BARE_EPOCH, type BareRequest, COMMANDS, COMMIT, deltasOf, headOf, LEASE, mailboxOf } from "./log.js";

/** Most requests in a step. */
const MAX_REQUESTS = 512;

/** An actor of the loop with what it has decided in the step. */
class Actor<State> {
  readonly name: string;
  readonly state: State;
  seq = 0;
  cursor = "0-0";
  deltas: unknown[] = [];

  constructor(name: string, state: State) {
    this.name = name;
    this.state = state;
  }
}

type AnyActor = Actor<BareLedger> | Actor<BareMarket>;

class Loop {
  readonly #ledgers = new Map<number, Actor<BareLedger>>();
  readonly #markets = new Map<number, Actor<BareMarket>>();
  readonly #changed = new Set<AnyActor>();

  ledger(index: number): Actor<BareLedger> {
    const known = this.#ledgers.get(index);
    const actor = known ?? new Actor(`ledger:${index}`, new BareLedger(index));
    if (known === undefined) this.#ledgers.set(index, actor);
    this.#changed.add(actor);
    return actor;
  }

  #market(index: number): Actor<BareMarket> {
    const known = this.#markets.get(index);
    const actor = known ?? new Actor(`market:${index}`, new BareMarket());
    if (known === undefined) this.#markets.set(index, actor);
    this.#changed.add(actor);
    return actor;
  }

  /** Decides requests and everything that follows from them, and returns the actors that have changed. */
  decide(requests: readonly (readonly [cursor: string, request: BareRequest])[]): readonly AnyActor[] {
    this.#changed.clear();
    const toMarkets: (readonly [market: number, work: Resting | string])[] = [];
    const toLedgers: (readonly [ledger: number, ...Parameters<BareLedger["apply"]>])[] = [];
    const outbox: Outbox = {
      enter: (market, order) => void toMarkets.push([market, order]),
      cancel: (market, orderId) => void toMarkets.push([market, orderId]),
      effect: (ledger, effect) => void toLedgers.push([ledger, effect]),
    };
    for (const [cursor, { ledger, wallet, operations }] of requests) {
      const actor = this.ledger(ledger);
      actor.cursor = cursor;
      actor.deltas.push([wallet, operations]);
      for (const operation of operations) {
        if (typeof operation === "string") actor.state.cancel(operation, outbox);
        else actor.state.place(wallet, operation, outbox);
      }
    }
    for (const [market, work] of toMarkets) {
      const actor = this.#market(market);
      if (typeof work === "string") actor.state.cancel(work, outbox);
      else actor.deltas.push({ ...work, trades: actor.state.enter(work, outbox) });
    }
    for (const [ledger, effect] of toLedgers) {
      const actor = this.ledger(ledger);
      actor.state.apply(effect);
      actor.deltas.push(effect);
    }
    return [...this.#changed];
  }
}

const { redisUrl = "" } = loadConfig();
const redis = new Redis(redisUrl);
const listener = new Redis(redisUrl);
redis.defineCommand("bareCommit", { lua: COMMIT });
const commit = Reflect.get(redis, "bareCommit") as (...args: (string | number)[]) => Promise<unknown>;
const loop = new Loop();
const waiting: (readonly [cursor: string, request: BareRequest])[] = [];
let isRunning = false;

async function run(): Promise<void> {
  isRunning = true;
  while (waiting.length > 0) {
    const requests = waiting.splice(0, MAX_REQUESTS);
    const changed = loop.decide(requests);
    const keys = changed.flatMap(({ name }) => [headOf(name), deltasOf(name), mailboxOf(name)]);
    const entries = changed.flatMap(({ seq, cursor, deltas }) => [seq, cursor, JSON.stringify(deltas)]);
    const replies = requests.map(([, { id }]) => id).join();
    await Reflect.apply(commit, redis, [keys.length + 1, LEASE, ...keys, BARE_EPOCH, replies, ...entries]);
    for (const actor of changed) {
      actor.seq += 1;
      actor.deltas = [];
    }
  }
  isRunning = false;
}

listener.on("message", (_channel: string, message: string) => {
  const end = message.indexOf(" ");
  waiting.push([message.slice(0, end), JSON.parse(message.slice(end + 1)) as BareRequest]);
  if (!isRunning) void run();
});
await redis.hset(LEASE, "epoch", BARE_EPOCH);
await listener.subscribe(COMMANDS);
process.send?.("ready");

/** Market that trades by itself, with the log interface that the bridge follows. */

import { type Batch, marketActor, restoreParts } from "../../../actors/actor.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import { market } from "../../../actors/market/market.js";
import type { Entry, Tail } from "../../../stream/log/ports.js";
import type { LoadMarket } from "../../../stream/ws/market/replica.js";
import { commandOf, MARKET_ID, openMarket } from "../core/actor.js";
import { flow, type Operation } from "../core/flow.js";

const RESTING = 500;
const OPERATIONS = 500_000;
const ACTOR = marketActor(MARKET_ID);

type Follower = (entries: readonly Entry<MarketDelta>[]) => void;

export class TradingMarket {
  readonly #state = openMarket();
  readonly #waiting: string[];
  #operations: Operation[] = [];
  readonly #followers = new Set<Follower>();
  #seq = 1;
  readonly tail: Tail;

  constructor() {
    const { warm, batches } = flow(OPERATIONS, RESTING);
    for (const add of warm) market.decide(this.#state, commandOf(add), 0);
    this.#waiting = [...batches].reverse();
    this.tail = {
      follow: (_actor, _afterSeq, onEntries) => {
        const follower = onEntries as Follower;
        this.#followers.add(follower);
        return () => this.#followers.delete(follower);
      },
      read: () => Promise.resolve(undefined),
      head: () => Promise.resolve(this.#seq),
    };
  }

  readonly load: LoadMarket = () =>
    Promise.resolve({ seq: this.#seq, state: restoreParts(market, ACTOR, market.save(this.#state)) });

  /** Executes `count` commands and emits them in one entry, as a commit of a busy market does. `ts` is in ms. */
  trade(count: number, ts: number): void {
    const batches: Batch<MarketDelta>[] = [];
    while (batches.length < count) {
      const { deltas } = market.decide(this.#state, commandOf(this.#next()), ts);
      if (deltas.some(({ type }) => type === "book")) batches.push({ ts, deltas });
    }
    this.#seq += 1;
    const entry = { actor: ACTOR, seq: this.#seq, batches, cursor: "0-0", sources: {}, answers: [] };
    for (const follower of this.#followers) follower([entry]);
  }

  #next(): Operation {
    if (this.#operations.length === 0) {
      this.#operations = (JSON.parse(this.#waiting.pop() ?? "[]") as Operation[]).reverse();
    }
    const operation = this.#operations.pop();
    if (operation === undefined) throw new Error("the bench has no operation left; raise OPERATIONS");
    return operation;
  }
}

/** The hostile traders as their process sees them: their keys, and the requests that they have sent. */

import type { SigningKey } from "../../../http/client/client.js";
import { type Caller, Callers, SignedRequests, type Sent } from "./caller.js";

/** Keys of a hostile trader. */
export interface HostileKeys {
  readonly trading: SigningKey;
  /** Read keys of the subaccount, each with buckets of its own. */
  readonly readers: readonly SigningKey[];
}

/** Facts about the exchange and the hostile traders, which their process receives as JSON. */
export interface Facts {
  readonly url: string;
  readonly brand: string;
  readonly marketId: string;
  /** Both outcomes of the market of everybody; the first has the dust. */
  readonly outcomes: readonly [string, string];
  /** Trader with the dust in the book. */
  readonly hostile: HostileKeys;
  /** Second trader, who meets the dust of the first. */
  readonly accomplice: HostileKeys;
}

/** Numbers of requests of a behavior. */
export interface Tally {
  /** Requests that were due at the rate of the behavior; 0 for one without a rate. */
  readonly aimed: number;
  readonly sent: number;
  readonly answered: number;
  /** Answers that refuse their request. */
  readonly refused: number;
}

interface HostileTrader {
  readonly trading: SignedRequests;
  readonly readers: readonly SignedRequests[];
  /** Id of the subaccount. */
  readonly keyId: string;
}

/** Addresses of the hostile traders begin with this. */
const NETWORK = "203.0";

export class Attackers {
  readonly facts: Facts;
  readonly hostile: HostileTrader;
  readonly accomplice: HostileTrader;
  readonly #callers: Callers;
  #noteFirst: () => void = () => undefined;
  #aimed = 0;
  #sent = 0;
  #answered = 0;
  #refused = 0;

  constructor(facts: Facts) {
    this.facts = facts;
    this.#callers = new Callers(facts.url, NETWORK);
    const traderOf = ({ trading, readers }: HostileKeys): HostileTrader => ({
      trading: new SignedRequests(trading, facts.brand),
      readers: readers.map((key) => new SignedRequests(key, facts.brand)),
      keyId: trading.keyId,
    });
    this.hostile = traderOf(facts.hostile);
    this.accomplice = traderOf(facts.accomplice);
  }

  /** Returns a caller with an address of its own. */
  caller(connections: number): Caller {
    return this.#callers.open(connections);
  }

  /** Resolves at the next request that is sent. */
  firstSent(): Promise<void> {
    return new Promise((resolve) => {
      this.#noteFirst = resolve;
    });
  }

  /** Sends a request and counts its answer; a lost answer is no failure of the bench. */
  async send(caller: Caller, request: Sent | Promise<Sent>): Promise<void> {
    const signed = await request;
    this.sent();
    const answer = await caller.send(signed).catch(() => undefined);
    if (answer !== undefined) this.count(answer.status < 400);
  }

  /** Counts requests that were due, sent or not. */
  aim(requests: number): void {
    this.#aimed += requests;
  }

  /** Counts a request. */
  sent(): void {
    this.#sent += 1;
    this.#noteFirst();
  }

  /** Counts an answer. */
  count(isGood: boolean): void {
    this.#answered += 1;
    if (!isGood) this.#refused += 1;
  }

  /** Returns the numbers since the last call. */
  takeTally(): Tally {
    const tally = {
      aimed: this.#aimed,
      sent: this.#sent,
      answered: this.#answered,
      refused: this.#refused,
    };
    this.#aimed = 0;
    this.#sent = 0;
    this.#answered = 0;
    this.#refused = 0;
    return tally;
  }
}

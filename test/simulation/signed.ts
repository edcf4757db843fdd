/**
 * Signed placements of a simulation, through the code of the gateways. A client sends the same bytes again and again, to
 * several gateways at once, until it has an answer, and sometimes after it. Each gateway refuses at random: before the
 * route, as a throttle does, or some of the orders, as a gateway does whose market is paused.
 */

import { ledgerActor, ledgerShardOf } from "../../actors/actor.js";
import type { OwnAnswers } from "../../actors/ledger/commands.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import { Idempotency } from "../../http/auth/idempotency.js";
import { Seal } from "../../http/auth/seal.js";
import type { KeyCaller } from "../../http/request/callers.js";
import { Refused } from "../../http/request/errors.js";
import type { PlaceOrder } from "../../http/surface-a/schemas/orders.js";
import { sendWithIds } from "../../http/trading/ledger-client.js";
import { type Placed, placedInTables } from "../../http/trading/placement-answer.js";
import {
  type PlacedOnce,
  type Prepared,
  REMEMBERED_IN_LEDGER,
  SignedPlacements,
  type SignedRequest,
} from "../../http/trading/signed-placements.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { TestWallet } from "../actors/differential/world.js";
import { must } from "./checks.js";
import type { Clients } from "./clients.js";
import type { Gateway } from "./deployment.js";
import type { Random } from "./machine/random.js";
import type { Tables } from "./tables.js";

/** Time after which a client gives an answer up, in ms. */
const CLIENT_TIMEOUT_MS = 7_000;
/** Time within which a gateway sends a command once, in ms. */
const ONE_SEND_MS = 90;
/** Time for which a client repeats a request, in ms; a ledger remembers its answer for longer. */
const REPEATED_FOR_MS = 20_000;
const PAUSED: OwnAnswers[number][1] = { code: "MARKET_PAUSED" };

/** A request, with the first answer that a client got. */
export interface Signed {
  readonly request: SignedRequest;
  readonly orders: readonly OrderRequest[];
  /** Number of runs that have begun. */
  runs: number;
  answer: string | undefined;
  /** Ids of the orders that the answer accepts. */
  accepted: readonly string[];
}

export interface SignedPorts {
  readonly clients: Clients;
  readonly tables: Tables;
  readonly gateways: () => readonly Gateway[];
  readonly random: Random;
  readonly count: (name: string) => void;
  readonly fail: (error: unknown) => void;
  readonly isHealing: () => boolean;
}

interface GatewayParts {
  readonly placements: SignedPlacements;
  readonly idempotency: Idempotency;
}

function remembersInLedger({ formats }: Gateway): boolean {
  return formats.active() >= REMEMBERED_IN_LEDGER;
}

export class SignedClients {
  readonly requests: Signed[] = [];
  readonly #ports: SignedPorts;
  readonly #gateways = new WeakMap<Gateway, GatewayParts>();

  constructor(ports: SignedPorts) {
    this.#ports = ports;
  }

  /** Places orders by a signed request, and returns the ids of those that were accepted. */
  async place(
    wallet: TestWallet,
    orders: readonly OrderRequest[],
    atomic: boolean,
  ): Promise<readonly string[]> {
    const { random, clients } = this.#ports;
    const request: SignedRequest = {
      trader: { traderId: wallet.trader, wallet: wallet.wallet },
      // The gateway under test reads no more of an order than its place.
      orders: orders.map(({ orderId }) => ({ outcomeId: orderId }) as PlaceOrder),
      atomic,
      commandId: random.uuid(),
      ts: clients.nowMs,
      resumed: false,
    };
    const signed: Signed = { request, orders, runs: 0, answer: undefined, accepted: [] };
    this.requests.push(signed);
    await this.#send(signed, random.between(1, 4));
    return signed.accepted;
  }

  async #send(signed: Signed, rounds: number): Promise<void> {
    const { random, clients } = this.#ports;
    for (let round = 0; round < rounds; round += 1) {
      const runs = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => this.#run(signed));
      await Promise.all(runs);
      if (signed.answer !== undefined && random.chance(0.6)) return;
      await clients.sleep(random.between(0, 300));
    }
  }

  /** Repeats the requests without an answer until they have one, as far as the time of their bytes allows. */
  async resolveUnknown(): Promise<void> {
    const { clients } = this.#ports;
    const untilMs = clients.nowMs + REPEATED_FOR_MS;
    for (const signed of this.requests) {
      while (signed.answer === undefined && clients.nowMs < untilMs) {
        await this.#run(signed);
        await clients.sleep(50);
      }
    }
  }

  /** Sends the bytes once, to a random gateway. */
  async #run(signed: Signed): Promise<void> {
    const { random, gateways, clients, count, fail } = this.#ports;
    const able = gateways().filter(remembersInLedger);
    if (able.length === 0) return;
    const gateway = random.pick(able);
    const beganMs = clients.nowMs;
    const known = signed.answer;
    signed.runs += 1;
    const result = await Promise.race([
      this.#serve(this.#partsOf(gateway), signed.request),
      clients.sleep(CLIENT_TIMEOUT_MS).then(() => "unknown" as const),
    ]);
    // An older build has joined meanwhile, beside which the gateways keep the answers.
    if (!remembersInLedger(gateway)) return;
    try {
      if (typeof result !== "string") this.#check(signed, result, known, clients.nowMs - beganMs);
      else {
        count(`signed request ${result}`);
        must(
          result !== "refused" || known === undefined,
          `the signed request ${signed.request.commandId} was refused after its answer ${known ?? ""}`,
        );
      }
    } catch (error) {
      fail(error);
    }
  }

  #check(signed: Signed, { placed, repeated }: PlacedOnce, known: string | undefined, tookMs: number): void {
    const { commandId } = signed.request;
    const answer = JSON.stringify(placed);
    signed.answer ??= answer;
    this.#ports.count(`signed request ${repeated ? "repeated" : "answered"}`);
    must(answer === signed.answer, `${commandId} was answered ${signed.answer}, then ${answer}`);
    if (placed.kind !== "none") signed.accepted = placed.accepted.map(({ orderId }) => orderId);
    must(signed.runs > 1 || !repeated, `the first run of ${commandId} counts as a repeat`);
    must(
      repeated || known === undefined || tookMs > ONE_SEND_MS,
      `a run of ${commandId} after its answer does not count as a repeat`,
    );
  }

  /** Runs a request as `http/request/serve.ts` does. */
  async #serve(
    { placements, idempotency }: GatewayParts,
    request: SignedRequest,
  ): Promise<PlacedOnce | "busy" | "refused" | "unknown"> {
    const { random, clients, isHealing } = this.#ports;
    try {
      const attempt = await idempotency.beginRemembered({
        key: { keyId: "" },
        commandId: request.commandId,
      } as KeyCaller);
      if (attempt.kind === "repeat") throw new Error("no claim keeps an answer here");
      try {
        await clients.sleep(random.between(0, 20));
        const isRefused = !isHealing() && random.chance(0.25);
        return isRefused
          ? ((await placements.recall(request)) ?? "refused")
          : await placements.place(request);
      } finally {
        await attempt.first.abandon();
      }
    } catch (error) {
      if (error instanceof Refused && error.code === "REQUEST_IN_PROGRESS") return "busy";
      if (error instanceof Unavailable) return "unknown";
      this.#ports.fail(error);
      return "unknown";
    }
  }

  #partsOf(gateway: Gateway): GatewayParts {
    const found = this.#gateways.get(gateway);
    if (found !== undefined) return found;
    const { exchange, formats } = gateway;
    const freshness = { hasReached: () => Promise.resolve(true) };
    const parts: GatewayParts = {
      placements: new SignedPlacements({
        exchange,
        formats,
        prepare: (request) => this.#prepare(request),
        send: ({ trader: { traderId, wallet }, atomic, commandId }, { passed, own }, remembers) => {
          const answers = remembers && own.length > 0 ? own : undefined;
          const command = {
            kind: "place",
            wallet,
            trader: traderId,
            orders: passed,
            atomic,
            own: answers,
          } as const;
          const lookedUp = (): never => {
            throw new Error(`ledger ${ledgerShardOf(traderId)} is uncertain about an order without an id`);
          };
          return sendWithIds({ exchange, freshness }, traderId, { command, lookedUp }, "placed", commandId);
        },
        placedBefore: (request) => this.#placedBefore(request),
      }),
      idempotency: new Idempotency({
        answers: { claim: () => Promise.reject(new Error("nothing is claimed")) },
        seal: new Seal("secret", "simulation"),
        routesRemember: () => true,
        onError: (error) => this.#ports.fail(error),
      }),
    };
    this.#gateways.set(gateway, parts);
    return parts;
  }

  /** Answers from the tables when an older build was at work in the first run, whose answer the ledger knows in part. */
  async #placedBefore({
    trader: { traderId, wallet },
    orders,
    commandId,
  }: SignedRequest): Promise<Placed | undefined> {
    const { tables, clients, count } = this.#ports;
    const ledger = ledgerActor(ledgerShardOf(traderId));
    if (!(await tables.reach(ledger, (ms) => clients.sleep(ms))))
      throw new Unavailable("the tables are behind");
    count("signed request answered from the tables");
    const requested = this.#ordersOf(commandId);
    return placedInTables(orders, (index) => {
      const { orderId = "" } = requested[index] ?? {};
      return tables.hasOrder(ledger, wallet, orderId) ? orderId : undefined;
    });
  }

  #ordersOf(commandId: string): readonly OrderRequest[] {
    return this.requests.find(({ request }) => request.commandId === commandId)?.orders ?? [];
  }

  /** Refuses some of the orders, as a gateway whose view of the markets is its own. */
  async #prepare({ commandId, atomic }: SignedRequest): Promise<Prepared> {
    const { random, clients } = this.#ports;
    const orders = this.#ordersOf(commandId);
    await clients.sleep(random.between(0, 20));
    const refused = random.pick([0, 0, 0.4, 1]);
    const own = orders.flatMap((_, index): OwnAnswers => (random.chance(refused) ? [[index, PAUSED]] : []));
    const mayPlace = !(atomic && own.length > 0);
    const isPassed = (index: number): boolean => mayPlace && !own.some(([other]) => other === index);
    return { own, passed: orders.filter((_, index) => isPassed(index)) };
  }
}

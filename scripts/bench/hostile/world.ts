/** The exchange of the bench: traders whose times are measured, and the hostile trader with thousands of dust orders. */

import { Redis } from "ioredis";
import { z } from "zod";
import { type Account, openAccount } from "../../../http/client/node/accounts.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import type { Credentials } from "../../../http/client/rest/session.js";
import { OperatorClient } from "../../../http/client/rest/operator.js";
import { Connection, generateKey, Signer, type SigningKey } from "../../../http/client/client.js";
import type { Facts, HostileKeys } from "./attackers.js";
import { type Caller, Callers, SignedRequests } from "./caller.js";

/** Exchange to attack. Its gateway trusts one proxy. */
export interface Target {
  readonly url: string;
  readonly operator: Credentials;
  readonly brand: string;
  readonly redisUrl: string;
  sizes(): Promise<Sizes>;
}

/** Processes and memory of the exchange at one moment. */
export interface Sizes {
  /** Ids of the processes, by name. */
  readonly processes: Readonly<Record<string, string>>;
  readonly rssBytes: Readonly<Record<string, number>>;
  readonly redisBytes: number;
}

/** A measured trader. Its connections stay open between its requests, as those of any program do. */
export interface Victim {
  readonly requests: SignedRequests;
  readonly caller: Caller;
}

export interface World {
  /** Facts for the process of the hostile traders. */
  readonly facts: Facts;
  readonly victims: readonly Victim[];
  /** Cancels all orders of the hostile traders, and places the dust. */
  restoreDust(): Promise<void>;
  close(): void;
}

export interface WorldSize {
  readonly victims: number;
  readonly dust: number;
  readonly readers: number;
}

const BATCH = 256;
/** Connections of a measured trader, which has an address of its own. */
const CONNECTIONS = 4;
/** Dust orders of a market; a wallet may have 1,000 orders in one. */
const DUST_OF_MARKET = 900;
const MONEY = "200000";
const Canceled = z.object({ canceled: z.number() });
/** Longest wait for the end of cancels. Books that a behavior has flooded work through that first. */
const MAX_CANCEL_MS = 30_000;
/** Pause before the next try, in ms. */
const RETRY_MS = 100;
/** Addresses of the measured traders, and of the set-up, begin with this. */
const NETWORK = "198.51";
/** Prices of the dust in thousandths: bids that nobody meets by chance. */
const DUST_TICKS = 40;

/** Removes the token buckets, so that the set-up does not wait for them. */
async function refill(redis: Redis): Promise<void> {
  const buckets = await redis.keys("*throttle:payer:*");
  if (buckets.length > 0) await redis.del(buckets);
}

export async function openWorld(target: Target, size: WorldSize): Promise<World> {
  const connection = new Connection(target.url);
  const operator = new OperatorClient(connection, target.operator);
  const redis = new Redis(target.redisUrl);
  const callers = new Callers(target.url, NETWORK);
  const account = (label: string): Promise<Account> =>
    openAccount(
      connection,
      operator,
      {
        email: `${label}@hostile.example`,
        password: "a long password",
        label,
        amount: MONEY,
        region: "US-NY",
      },
      target.brand,
    );
  const hostile = async (label: string): Promise<HostileKeys> => {
    const { tradingKey, managementKey } = await account(label);
    const manager = new RestClient(connection, new Signer(managementKey, target.brand));
    const readers: SigningKey[] = [];
    for (let i = 0; i < size.readers; i += 1) {
      const { publicKey, privateKey } = await generateKey("Ed25519");
      const key = { name: `reader ${i}`, publicKey, algorithm: "Ed25519", scope: "trading::read" } as const;
      const { keyId } = await manager.issueKey(tradingKey.keyId, key);
      readers.push({ keyId, algorithm: "Ed25519", privateKey });
      await refill(redis);
    }
    return { trading: tradingKey, readers };
  };

  const { eventId } = await operator.createEvent({
    sport: "FOOTBALL",
    league: "NFL",
    type: "Game",
    description: "Ants at Bees",
    startsTs: Date.now() + 86_400_000,
  });
  const newMarket = (): ReturnType<OperatorClient["createMarket"]> =>
    operator.createMarket({
      eventId,
      marketType: "MONEY",
      description: "Who wins",
      voids: "PUSH",
      outcomes: [{ name: "Ants" }, { name: "Bees" }],
    });
  const { marketId, outcomes } = await newMarket();
  const [first, second] = outcomes.map(({ outcomeId }) => outcomeId);
  if (first === undefined || second === undefined) throw new Error("the new market has no two outcomes");
  const victims: Victim[] = [];
  for (let i = 0; i < size.victims; i += 1) {
    const { tradingKey } = await account(`victim${i}`);
    const requests = new SignedRequests(tradingKey, target.brand);
    victims.push({ requests, caller: callers.open(CONNECTIONS) });
  }
  const facts: Facts = {
    url: target.url,
    brand: target.brand,
    marketId,
    outcomes: [first, second],
    hostile: await hostile("mallory"),
    accomplice: await hostile("trudy"),
  };
  const dusty = [first];
  while (dusty.length * DUST_OF_MARKET < size.dust)
    dusty.push((await newMarket()).outcomes[0]?.outcomeId ?? first);
  const sender = callers.open(1);
  const requestsOf = ({ trading }: HostileKeys): SignedRequests => new SignedRequests(trading, target.brand);
  const [hostileRequests, accompliceRequests] = [requestsOf(facts.hostile), requestsOf(facts.accomplice)];
  const restoreDust = async (): Promise<void> => {
    for (const requests of [hostileRequests, accompliceRequests])
      await cancelAll({ redis, sender, requests });
    await placeDust({ redis, sender, requests: hostileRequests }, size.dust, dusty);
  };
  await restoreDust();
  return {
    facts,
    victims,
    restoreDust,
    close() {
      callers.close();
      redis.disconnect();
      connection.close();
    },
  };
}

interface HostileTrader {
  readonly redis: Redis;
  readonly sender: Caller;
  readonly requests: SignedRequests;
}

/** Cancels all orders of a trader, and waits until none is open: the answer counts cancels that are queued. */
async function cancelAll({ redis, sender, requests }: HostileTrader): Promise<void> {
  const deadline = performance.now() + MAX_CANCEL_MS;
  for (;;) {
    await refill(redis);
    const answer = await sender.send(await requests.of("DELETE", "/v3/orders"));
    if (answer.status !== 200 && performance.now() < deadline) {
      // The exchange may still be busy with the behavior before.
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      continue;
    }
    const body = expectStatus("the orders were not canceled", 200, answer);
    const { canceled } = Canceled.parse(JSON.parse(body.toString("utf8")));
    if (canceled === 0) return;
    if (performance.now() > deadline) throw new Error(`${canceled} orders of a hostile trader stay open`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * Places dust orders of the hostile trader on the outcomes, one market after the other and each order of one contract, as
 * many as its throttle would grant in time.
 */
async function placeDust(
  { redis, sender, requests }: HostileTrader,
  dust: number,
  outcomes: readonly string[],
): Promise<void> {
  for (let placed = 0; placed < dust; placed += BATCH) {
    await refill(redis);
    const orders = Array.from({ length: Math.min(BATCH, dust - placed) }, (_, index) => ({
      outcomeId: outcomes[Math.floor((placed + index) / DUST_OF_MARKET)],
      price: (((placed + index) % DUST_TICKS) / 1_000 + 0.001).toFixed(3),
      qty: 1,
      tif: "GTC",
    }));
    const answer = await sender.send(await requests.of("POST", "/v3/orders/batch", { orders }));
    expectStatus("the dust was not placed", 201, answer);
  }
}

function expectStatus(
  failure: string,
  expected: number,
  { status, body }: Awaited<ReturnType<Caller["send"]>>,
): Buffer {
  if (status !== expected) throw new Error(`${failure}: ${status} ${body.toString("utf8", 0, 300)}`);
  return body;
}

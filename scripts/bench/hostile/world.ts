/** The exchange of the bench: traders whose times are measured, and the hostile trader with thousands of dust orders. */

import { Redis } from "ioredis";
import { z } from "zod";
import { type Account, openAccount } from "../../../http/client/node/accounts.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import type { Credentials } from "../../../http/client/rest/session.js";
import { OperatorClient } from "../../../http/client/rest/operator.js";
import { Connection, generateKey, Signer, type SigningKey } from "../../../http/client/client.js";
import { Caller, SignedRequests } from "./caller.js";

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

export interface World {
  readonly url: string;
  readonly brand: string;
  readonly redis: Redis;
  readonly marketId: string;
  /** Both outcomes of the market of everybody; the first has the dust. */
  readonly outcomes: readonly [string, string];
  readonly victims: readonly SignedRequests[];
  /** The hostile trader, with dust in the book. */
  readonly hostile: Hostile;
  /** A second hostile trader, who meets the dust of the first. */
  readonly accomplice: Hostile;
  /** Returns a caller with an address of its own. */
  caller(connections: number): Caller;
  close(): void;
}

interface Hostile {
  readonly trading: SignedRequests;
  readonly management: SignedRequests;
  /** Read keys of the subaccount, each with buckets of its own. */
  readonly readers: readonly SignedRequests[];
  readonly tradingKey: SigningKey;
  readonly keyId: string;
}

export interface WorldSize {
  readonly victims: number;
  readonly dust: number;
  readonly readers: number;
}

const BATCH = 256;
/** Dust orders of a market; a wallet may have 1,000 orders in one. */
const DUST_OF_MARKET = 900;
const MONEY = "200000";
/** Prices of the dust in thousandths: bids that nobody meets by chance. */
const DUST_TICKS = 40;

const Placed = z.object({ accepted: z.array(z.object({ orderId: z.string() })) });

/** Removes the token buckets, so that the set-up does not wait for them. */
async function refill(redis: Redis): Promise<void> {
  const buckets = await redis.keys("*throttle:payer:*");
  if (buckets.length > 0) await redis.del(buckets);
}

export async function openWorld(target: Target, size: WorldSize): Promise<World> {
  const connection = new Connection(target.url);
  const operator = new OperatorClient(connection, target.operator);
  const redis = new Redis(target.redisUrl);
  const callers: Caller[] = [];
  let address = 0;
  const caller = (connections: number): Caller => {
    address += 1;
    const opened = new Caller(target.url, `198.51.${address >> 8}.${address & 255}`, connections);
    callers.push(opened);
    return opened;
  };
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
  const hostile = async (label: string): Promise<Hostile> => {
    const { tradingKey, managementKey } = await account(label);
    const manager = new RestClient(connection, new Signer(managementKey, target.brand));
    const readers: SignedRequests[] = [];
    for (let i = 0; i < size.readers; i += 1) {
      const { publicKey, privateKey } = await generateKey("Ed25519");
      const key = { name: `reader ${i}`, publicKey, algorithm: "Ed25519", scope: "trading::read" } as const;
      const { keyId } = await manager.issueKey(tradingKey.keyId, key);
      readers.push(new SignedRequests({ keyId, algorithm: "Ed25519", privateKey }, target.brand));
      await refill(redis);
    }
    return {
      trading: new SignedRequests(tradingKey, target.brand),
      management: new SignedRequests(managementKey, target.brand),
      readers,
      tradingKey,
      keyId: tradingKey.keyId,
    };
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
  const victims: SignedRequests[] = [];
  for (let i = 0; i < size.victims; i += 1)
    victims.push(new SignedRequests((await account(`victim${i}`)).tradingKey, target.brand));
  const world: World = {
    url: target.url,
    brand: target.brand,
    redis,
    marketId,
    outcomes: [first, second],
    victims,
    hostile: await hostile("mallory"),
    accomplice: await hostile("trudy"),
    caller,
    close() {
      for (const opened of callers) opened.close();
      redis.disconnect();
      connection.close();
    },
  };
  const dusty = [first];
  while (dusty.length * DUST_OF_MARKET < size.dust)
    dusty.push((await newMarket()).outcomes[0]?.outcomeId ?? first);
  await placeDust(world, size.dust, dusty);
  return world;
}

/**
 * Places dust orders of the hostile trader on the outcomes, one market after the other and each order of one contract, as
 * many as its throttle would grant in time.
 */
async function placeDust(world: World, dust: number, outcomes: readonly string[]): Promise<void> {
  const { hostile, redis } = world;
  const sender = world.caller(1);
  for (let placed = 0; placed < dust; placed += BATCH) {
    await refill(redis);
    const orders = Array.from({ length: Math.min(BATCH, dust - placed) }, (_, index) => ({
      outcomeId: outcomes[Math.floor((placed + index) / DUST_OF_MARKET)],
      price: (((placed + index) % DUST_TICKS) / 1_000 + 0.001).toFixed(3),
      qty: 1,
      tif: "GTC",
    }));
    const { status, text } = await sender.send(
      await hostile.trading.of("POST", "/v3/orders/batch", { orders }),
    );
    if (status !== 201) throw new Error(`the dust was not placed: ${status} ${text.slice(0, 300)}`);
    Placed.parse(JSON.parse(text));
  }
}

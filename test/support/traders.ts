/** Creates traders and markets of the tests through the public routes. */

import { openAccount, type Account } from "../../http/client/node/accounts.js";
import type { NewEvent, NewMarket } from "../../http/client/wire/operator.js";
import type { SigningKey } from "../../http/client/client.js";
import { signatureHeaders } from "../http/keys.js";
import type { EventAnswer, MarketAnswer } from "../../http/client/wire/catalog.js";
import type { Stack } from "./stack.js";
import type { Voids } from "../../actors/market/types.js";

let created = 0;

/** Verified trader with a funded subaccount and both of its keys. */
export interface TestTrader {
  readonly account: Account;
  readonly management: TestKey;
  readonly trading: TestKey;
}

/** Key with the brand of its signatures. */
export interface TestKey {
  readonly key: SigningKey;
  readonly brand: string;
}

const lastUpgrades = new WeakMap<SigningKey, number>();

/**
 * Returns the headers that sign the upgrade to a websocket. No two calls sign the same text, because a signature opens one
 * socket.
 */
export function upgradeHeaders({ key, brand }: TestKey): Record<string, string> {
  const atMs = Math.max(Date.now(), (lastUpgrades.get(key) ?? 0) + 1);
  lastUpgrades.set(key, atMs);
  return signatureHeaders(key, brand, { method: "GET", target: "/v3/ws" }, atMs);
}

export async function newTrader(
  stack: Pick<Stack, "connect" | "operator" | "brand">,
  amount = "100",
): Promise<TestTrader> {
  created += 1;
  const account = await openAccount(
    stack.connect(),
    stack.operator,
    { email: `t${created}@example.com`, password: "a long password", label: "main", amount, region: "US-NY" },
    stack.brand,
  );
  const held = (key: SigningKey): TestKey => ({ key, brand: stack.brand });
  return { account, management: held(account.managementKey), trading: held(account.tradingKey) };
}

/** Creates a game that begins in an hour. */
export function newEvent(
  stack: Pick<Stack, "operator">,
  changes: Partial<NewEvent> = {},
): Promise<EventAnswer> {
  return stack.operator.createEvent({
    sport: "FOOTBALL",
    league: "NFL",
    type: "Game",
    description: "Ants at Bees",
    startsTs: Date.now() + 3_600_000,
    ...changes,
  });
}

/** Creates an open market of two outcomes in an event. */
export function addMarket(
  stack: Pick<Stack, "operator">,
  eventId: string,
  changes: Partial<NewMarket> = {},
): Promise<MarketAnswer> {
  return stack.operator.createMarket({
    eventId,
    marketType: "MONEY",
    description: "Who wins",
    voids: "PUSH",
    outcomes: [{ name: "Ants" }, { name: "Bees" }],
    ...changes,
  });
}

/** Creates an open market in an event of its own, and returns the ids of its two outcomes in order. */
export async function newMarket(
  stack: Pick<Stack, "operator">,
  voids: Voids = "PUSH",
  visible = true,
): Promise<{
  readonly eventId: string;
  readonly marketId: string;
  readonly outcomes: readonly [string, string];
}> {
  const { eventId } = await newEvent(stack, { visible });
  const { marketId, outcomes } = await addMarket(stack, eventId, { voids });
  const [first, second] = outcomes;
  if (first === undefined || second === undefined) throw new Error("the market does not have two outcomes");
  return { eventId, marketId, outcomes: [first.outcomeId, second.outcomeId] };
}

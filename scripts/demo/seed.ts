/** Fills an empty exchange with events, markets, a visitor with money, and the traders of the bots. */

import { randomBytes, randomUUID } from "node:crypto";
import { openAccount, type Account } from "../../http/client/node/accounts.js";
import type { Connection } from "../../http/client/connection.js";
import { Session } from "../../http/client/rest/session.js";
import type { OperatorClient } from "../../http/client/rest/operator.js";
import type { DemoDraft, DemoFile } from "./credentials.js";
import { EVENTS, type EventFixture } from "./fixtures.js";

/** Region from which the devices of the demo's traders check in. */
export const REGION = "US-NY";
const HOUR_MS = 3_600_000;
const VISITOR_MONEY = "10000";
const TRADER_MONEY = "250000";

/** The creation of a demo: how far an earlier start has come, and what records each step. */
export interface Creation {
  readonly begun?: DemoDraft | undefined;
  readonly record: (draft: DemoDraft) => void;
}

/** Creates traders, events and markets through the public routes, except those that an earlier start has created. */
export async function seed(
  connection: Connection,
  operator: OperatorClient,
  brand: string,
  { begun, record }: Creation = { record: () => undefined },
): Promise<DemoFile> {
  const draft = begun ?? { ...(await openTraders(connection, operator, brand)), events: {} };
  record(draft);
  const fair: Record<string, number> = {};
  for (const fixture of EVENTS)
    Object.assign(fair, await seedEvent(operator, fixture, draft.events, () => record(draft)));
  const { login, quoters, taker } = draft;
  return { login, quoters, taker, fair };
}

async function openTraders(
  connection: Connection,
  operator: OperatorClient,
  brand: string,
): Promise<Omit<DemoDraft, "events">> {
  // The addresses must differ from those of an earlier demo on the same database whose file is missing.
  const tag = randomUUID().slice(0, 8);
  const trader = (label: string): Promise<Account> =>
    openAccount(
      connection,
      operator,
      {
        email: `${label}.${tag}@demo.example`,
        password: secret(),
        label,
        amount: TRADER_MONEY,
        region: REGION,
      },
      brand,
    );
  return {
    login: await openVisitor(connection, operator, `visitor.${tag}@demo.example`),
    quoters: [await trader("quoter-1"), await trader("quoter-2")],
    taker: await trader("taker"),
  };
}

function secret(): string {
  return randomBytes(12).toString("base64url");
}

/** Creates the visitor, who has no keys: to create one is the first step of a visit. */
async function openVisitor(
  connection: Connection,
  operator: OperatorClient,
  email: string,
): Promise<DemoFile["login"]> {
  const login = { email, password: secret() };
  const session = new Session(connection, login);
  const { traderId } = await session.register();
  await operator.verifyTrader(traderId);
  await session.checkIn(REGION);
  await operator.deposit(traderId, VISITOR_MONEY, "play money for a visitor", `demo ${traderId}`);
  return login;
}

/** Creates an event and its markets, except those in `created`. Returns the probabilities by market id. */
async function seedEvent(
  operator: OperatorClient,
  fixture: EventFixture,
  created: DemoDraft["events"],
  record: () => void,
): Promise<Record<string, number>> {
  const { startsInHours, live, markets, ...event } = fixture;
  const startsTs = Date.now() + Math.round(startsInHours * HOUR_MS);
  const { eventId, markets: ids } = (created[fixture.description] ??= {
    eventId: (await operator.createEvent({ ...event, startsTs })).eventId,
    markets: {},
  });
  record();
  const fair: Record<string, number> = {};
  for (const { fair: probability, ...market } of markets) {
    const marketId = (ids[market.description] ??= (
      await operator.createMarket({ ...market, eventId })
    ).marketId);
    record();
    fair[marketId] = probability;
  }
  if (live) await operator.setEventStatus(eventId, "golive");
  return fair;
}

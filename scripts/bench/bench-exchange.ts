/** A whole exchange for a bench, in processes of its own, and what a bench puts into it. */

import { type Account, openAccount } from "../../http/client/accounts.js";
import { Connection } from "../../http/client/connection.js";
import { OperatorClient, Session } from "../../http/client/session.js";
import { loadConfig } from "../config.js";
import { type Exchange, startExchange } from "../replay/exchange.js";

const OPERATOR = { email: "operator@example.com", password: "operator password" };

/** Starts an exchange, with further environment variables where given; whoever asks for it stops it. */
export function startBenchExchange(environment: Readonly<Record<string, string>> = {}): Promise<Exchange> {
  return startExchange({ ...loadConfig(), operator: OPERATOR }, console.log, {
    // In `dev` every answer is held against its schema, which is not what is measured.
    EXCHANGE_ENV: "qa",
    LOG_LEVEL: "warn",
    OPERATOR_EMAIL: OPERATOR.email,
    OPERATOR_PASSWORD: OPERATOR.password,
    ...environment,
  });
}

/** What the operator of a bench makes. Close it when everything is there. */
export class BenchExchange {
  readonly #connection: Connection;
  readonly #operator: OperatorClient;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    this.#connection = new Connection(exchange.url);
    this.#operator = new OperatorClient(this.#connection, exchange.operator);
  }

  /** A verified trader with so many dollars in a subaccount. */
  account(label: string, amount: string): Promise<Account> {
    const trader = {
      email: `${label}@example.com`,
      password: "a long password",
      label,
      amount,
      region: "US-NY",
    };
    return openAccount(this.#connection, this.#operator, trader, this.#exchange.brand);
  }

  /** The operator's session, for routes that are asked once. */
  async session(): Promise<Session> {
    const session = new Session(this.#connection, this.#exchange.operator);
    await session.login();
    return session;
  }

  /** A game that begins tomorrow; its id. */
  async event(): Promise<string> {
    const { eventId } = await this.#operator.createEvent({
      sport: "FOOTBALL",
      league: "NFL",
      type: "Game",
      description: "Ants at Bees",
      startsTs: Date.now() + 86_400_000,
      game: { homeTeam: { name: "Bees" }, awayTeam: { name: "Ants" } },
    });
    return eventId;
  }

  /** An open market of two outcomes, whose ids come in order. */
  async market(eventId: string): Promise<readonly [string, string]> {
    const { outcomes } = await this.#operator.createMarket({
      eventId,
      marketType: "MONEY",
      description: "Who wins",
      voids: "PUSH",
      outcomes: [{ name: "Ants" }, { name: "Bees" }],
    });
    const [first, second] = outcomes;
    if (first === undefined || second === undefined) throw new Error("a market has no two outcomes");
    return [first.outcomeId, second.outcomeId];
  }

  close(): void {
    this.#connection.close();
  }
}

/** Starts a whole exchange for a bench, in processes of its own, and creates its markets and accounts. */

import { once } from "node:events";
import { WebSocket } from "ws";
import { type Account, openAccount } from "../../http/client/node/accounts.js";
import { OperatorClient } from "../../http/client/rest/operator.js";
import { Session } from "../../http/client/rest/session.js";
import { Connection, Signer, type SigningKey } from "../../http/client/client.js";
import { loadConfig } from "../config.js";
import { type Exchange, startExchange } from "../replay/exchange.js";

const OPERATOR = { email: "operator@example.com", password: "operator password" };

/** Starts an exchange with the given environment variables; the caller stops it. */
export function startBenchExchange(environment: Readonly<Record<string, string>> = {}): Promise<Exchange> {
  return startExchange({ ...loadConfig(), operator: OPERATOR }, console.log, {
    // In `dev` the gateway checks every answer against its schema, which no bench measures.
    EXCHANGE_ENV: "qa",
    LOG_LEVEL: "warn",
    OPERATOR_EMAIL: OPERATOR.email,
    OPERATOR_PASSWORD: OPERATOR.password,
    ...environment,
  });
}

/** Opens a plain socket with a key, without a client library between the clock and the wire. */
export async function openSocket(url: string, key: SigningKey): Promise<WebSocket> {
  const headers = await new Signer(key).headers("GET", "/v3/ws", "", new Uint8Array(0));
  const socket = new WebSocket(`${url.replace("http", "ws")}/v3/ws`, { headers, perMessageDeflate: false });
  await once(socket, "open");
  return socket;
}

/** Operator of a bench exchange. Close it after the set-up. */
export class BenchExchange {
  readonly #connection: Connection;
  readonly #operator: OperatorClient;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    this.#connection = new Connection(exchange.url);
    this.#operator = new OperatorClient(this.#connection, exchange.operator);
  }

  /** Creates a verified trader with the amount in dollars in a subaccount. */
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

  /** Opens a session of the operator, for routes without a method here. */
  async session(): Promise<Session> {
    const session = new Session(this.#connection, this.#exchange.operator);
    await session.login();
    return session;
  }

  /** Creates a game that begins tomorrow and returns its id. */
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

  /** Creates an open market of two outcomes and returns their ids in order. */
  async market(eventId: string): Promise<readonly [string, string]> {
    const { outcomes } = await this.#operator.createMarket({
      eventId,
      marketType: "MONEY",
      description: "Who wins",
      voids: "PUSH",
      outcomes: [{ name: "Ants" }, { name: "Bees" }],
    });
    const [first, second] = outcomes;
    if (first === undefined || second === undefined)
      throw new Error("the new market does not have two outcomes");
    return [first.outcomeId, second.outcomeId];
  }

  close(): void {
    this.#connection.close();
  }
}

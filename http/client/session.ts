/** Web sessions of traders and of the operator (contract section 8). */

import { z } from "zod";
import { ApiError, type Connection, readAnswer, type Prepare, type Repeat } from "./connection.js";
import { encodeQuery, PATIENCE_MS, type Query } from "./rest.js";
import {
  EventAnswer,
  LoginAnswer,
  MarketAnswer,
  MoneyReport,
  NewKey,
  OperatorTransaction,
  pageOf,
  RegisterAnswer,
  SessionAnswer,
  SettlementAnswer,
  TicksAnswer,
} from "./wire.js";
import type { Voids } from "../../actors/market/types.js";
import type { OperatorAction } from "../../actors/market/commands.js";
import type { EventAction } from "../../stream/jobs/event-actions.js";

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** What a request carries besides its path. Without `repeat` it is one that changes nothing when it is repeated. */
export interface SessionRequest {
  readonly query?: Query;
  readonly body?: unknown;
  readonly repeat?: Repeat;
}

/** A logged-in session that logs in again by itself when its token has run out. */
export class Session {
  readonly #connection: Connection;
  readonly #credentials: Credentials;
  #token: string | undefined;

  constructor(connection: Connection, credentials: Credentials) {
    this.#connection = connection;
    this.#credentials = credentials;
  }

  /** Makes the account. Throws `ApiError` `EMAIL_TAKEN` when there is one. */
  async register(): Promise<{ readonly traderId: string }> {
    return this.#call("POST", "/v3/session/register", RegisterAnswer, {
      body: this.#credentials,
      token: "",
    });
  }

  async login(): Promise<void> {
    const body = this.#credentials;
    this.#token = (await this.#call("POST", "/v3/session", LoginAnswer, { body, token: "" })).token;
  }

  me(): Promise<z.infer<typeof SessionAnswer>> {
    return this.request("GET", "/v3/session", SessionAnswer);
  }

  /** Tells where the device is, an ISO 3166-2 region such as `US-NY`; placements ask for a fresh one. */
  async checkIn(region: string): Promise<void> {
    await this.request("POST", "/v3/session/location", z.unknown(), { body: { region } });
  }

  /** Registers the trader's management key. */
  createManagementKey(name: string, publicKey: string, algorithm: string): Promise<z.infer<typeof NewKey>> {
    return this.request("POST", "/v3/keys", NewKey, {
      body: { name, publicKey, algorithm },
      repeat: "never",
    });
  }

  /** A request under the session's token; an expired token is renewed once. */
  async request<T>(
    method: string,
    path: string,
    shape: z.core.$ZodType<T>,
    options: SessionRequest = {},
  ): Promise<T> {
    if (this.#token === undefined) await this.login();
    try {
      return await this.#call(method, path, shape, { ...options, token: this.#token ?? "" });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      await this.login();
      return this.#call(method, path, shape, { ...options, token: this.#token ?? "" });
    }
  }

  async #call<T>(
    method: string,
    path: string,
    shape: z.core.$ZodType<T>,
    options: SessionRequest & { readonly token: string },
  ): Promise<T> {
    const raw = encodeQuery(options.query ?? {});
    const bytes = options.body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(options.body));
    const headers: Record<string, string> = {};
    if (options.token !== "") headers["Authorization"] = `Bearer ${options.token}`;
    const prepare: Prepare = () => ({
      method,
      target: raw === "" ? path : `${path}?${raw}`,
      headers,
      body: bytes,
    });
    const answer = await this.#connection.send(prepare, {
      repeat: options.repeat ?? "anew",
      patienceMs: PATIENCE_MS,
    });
    return readAnswer(answer, shape);
  }
}

/** What an event is made of. */
export interface NewEvent {
  readonly sport: string;
  readonly league: string;
  readonly type: "Game" | "Future";
  readonly description: string;
  readonly startsTs: number;
  readonly visible?: boolean;
  readonly game?: { readonly homeTeam: Team; readonly awayTeam: Team };
}

export interface Team {
  readonly name: string;
  readonly shortName?: string;
  readonly symbol?: string;
}

/** What a market is made of; its outcomes come back with their ids in the same order. */
export interface NewMarket {
  readonly eventId: string;
  readonly marketType: string;
  readonly description: string;
  readonly strike?: string;
  readonly voids: Voids;
  readonly liveDelayMs?: number;
  readonly outcomes: readonly { readonly name: string }[];
}

export type GradeRequest = { readonly winner: string } | { readonly push: true };

/** Where an event stands once an action is through; a final one goes on by itself. */
const EVENT_AFTER: Readonly<Record<EventAction, readonly string[]>> = {
  open: ["OPEN_PREGAME"],
  close: ["CLOSED_PREGAME"],
  golive: ["OPEN_INGAME"],
  unlive: ["DELAYED"],
  delay: ["DELAYED"],
  finalise: ["FINAL", "SETTLED"],
  cancel: ["CANCELED"],
};

const MARKET_AFTER: Readonly<Record<OperatorAction, (market: MarketAnswer) => boolean>> = {
  open: ({ status }) => status === "OPEN",
  close: ({ status }) => status === "CLOSED",
  pause: ({ paused }) => paused === true,
  resume: ({ paused }) => paused === false,
};

/**
 * The operator's routes. What a repeat could double (a new event, a new market) is never repeated; a step whose
 * answer was lost is asked for again, and finding it taken is its success.
 */
export class OperatorClient {
  readonly #session: Session;

  constructor(connection: Connection, credentials: Credentials) {
    this.#session = new Session(connection, credentials);
  }

  login(): Promise<void> {
    return this.#session.login();
  }

  createEvent(event: NewEvent): Promise<EventAnswer> {
    return this.#session.request("POST", "/admin/v1/events", EventAnswer, { body: event, repeat: "never" });
  }

  event(eventId: string): Promise<EventAnswer> {
    return this.#session.request("GET", `/admin/v1/events/${eventId}`, EventAnswer);
  }

  createMarket(market: NewMarket): Promise<MarketAnswer> {
    return this.#session.request("POST", "/admin/v1/markets", MarketAnswer, {
      body: market,
      repeat: "never",
    });
  }

  market(marketId: string): Promise<MarketAnswer> {
    return this.#session.request("GET", `/admin/v1/markets/${marketId}`, MarketAnswer);
  }

  /**
   * Moves an event along; an event that stands there already is left alone. Throws `ApiError` `INVALID_TRANSITION`
   * when its status does not allow the action.
   */
  async setEventStatus(eventId: string, action: EventAction): Promise<EventAnswer> {
    const path = `/admin/v1/events/${eventId}/status`;
    try {
      return await this.#session.request("POST", path, EventAnswer, { body: { action } });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "INVALID_TRANSITION") throw error;
      const event = await this.event(eventId);
      if (!EVENT_AFTER[action].includes(event.status)) throw error;
      return event;
    }
  }

  /** Opens, closes, pauses or resumes a market; one that stands there already is left alone. */
  async setMarketStatus(marketId: string, action: OperatorAction): Promise<MarketAnswer> {
    const path = `/admin/v1/markets/${marketId}/status`;
    try {
      return await this.#session.request("POST", path, MarketAnswer, { body: { action } });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "INVALID_TRANSITION") throw error;
      const market = await this.market(marketId);
      if (!MARKET_AFTER[action](market)) throw error;
      return market;
    }
  }

  /** Grades a market; the same grade again answers the same settlement. */
  async grade(marketId: string, grade: GradeRequest): Promise<string> {
    const path = `/admin/v1/markets/${marketId}/grade`;
    return (await this.#session.request("POST", path, SettlementAnswer, { body: grade })).status;
  }

  async settlementStatus(marketId: string): Promise<string> {
    return (await this.#session.request("GET", `/admin/v1/markets/${marketId}/settlement`, SettlementAnswer))
      .status;
  }

  async verifyTrader(traderId: string): Promise<void> {
    await this.#session.request("POST", `/admin/v1/traders/${traderId}/kyc`, z.unknown(), {
      body: { status: "VERIFIED" },
    });
  }

  /** Puts money into a trader's own wallet; `clientRef` makes a repeat safe. */
  async deposit(traderId: string, amount: string, reason: string, clientRef: string): Promise<void> {
    await this.#session.request("POST", `/admin/v1/traders/${traderId}/transactions`, OperatorTransaction, {
      body: { kind: "DEPOSIT", amount, currency: "CASH", reason, clientRef },
    });
  }

  money(): Promise<MoneyReport> {
    return this.#session.request("GET", "/admin/v1/money", MoneyReport);
  }

  /** All events, or those of a comma list of statuses. */
  async events(status?: string): Promise<EventAnswer[]> {
    const events: EventAnswer[] = [];
    let after: string | undefined;
    do {
      const query: Query = { status, after };
      const page = await this.#session.request("GET", "/admin/v1/events", pageOf(EventAnswer), { query });
      events.push(...page.items);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return events;
  }

  /** The submittable prices, rising. */
  async ticks(): Promise<readonly string[]> {
    return (await this.#session.request("GET", "/admin/v1/ticks", TicksAnswer)).prices;
  }
}

/** Typed clients of web sessions and of the operator routes (contract section 8). */

import { z } from "zod/mini";
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
  TicketAnswer,
  TicksAnswer,
} from "./wire.js";
import type { Voids } from "../../actors/market/types.js";
import type { OperatorAction } from "../../actors/market/commands.js";
import type { EventAction } from "../../stream/jobs/event-actions.js";

/** Login of a trader or an operator. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
  /** Returns the present one-time password, for an account that has a second factor. */
  readonly code?: () => string;
}

/** Options of a request. `repeat` defaults to `anew`, so a request that must not be repeated must set it. */
export interface SessionRequest {
  readonly query?: Query;
  readonly body?: unknown;
  readonly repeat?: Repeat;
}

/** A web session. It logs in at the first request, and again when its token has expired. */
export class Session {
  readonly #connection: Connection;
  readonly #credentials: Credentials;
  #token: string | undefined;

  constructor(connection: Connection, credentials: Credentials) {
    this.#connection = connection;
    this.#credentials = credentials;
  }

  /** Registers the account. Throws `ApiError` `EMAIL_TAKEN` when the address is registered already. */
  async register(): Promise<{ readonly traderId: string }> {
    const { email, password } = this.#credentials;
    const body = { email, password };
    return this.#call("POST", "/v3/session/register", RegisterAnswer, { body, token: "" });
  }

  /** Logs in. Throws `ApiError` for wrong credentials. */
  async login(): Promise<void> {
    const { email, password, code } = this.#credentials;
    const body = { email, password, code: code?.() };
    this.#token = (await this.#call("POST", "/v3/session", LoginAnswer, { body, token: "" })).token;
  }

  /** Returns the trader of the session. */
  me(): Promise<z.infer<typeof SessionAnswer>> {
    return this.request("GET", "/v3/session", SessionAnswer);
  }

  /** Checks the device in at a region in ISO 3166-2, such as `US-NY`. Placements require a check-in of the last 3 days. */
  async checkIn(region: string): Promise<void> {
    await this.request("POST", "/v3/session/location", z.unknown(), { body: { region } });
  }

  /** Creates the management key of the trader; `publicKey` is SPKI PEM. */
  createManagementKey(name: string, publicKey: string, algorithm: string): Promise<z.infer<typeof NewKey>> {
    return this.request("POST", "/v3/keys", NewKey, {
      body: { name, publicKey, algorithm },
      repeat: "never",
    });
  }

  /** Returns a one-use ticket that follows the stream with a key, by default the trader's only trading key. */
  async ticket(keyId?: string): Promise<string> {
    const body = { keyId };
    return (await this.request("POST", "/v3/ws/tickets", TicketAnswer, { body })).ticket;
  }

  /** Sends a request with the token of the session. Logs in again once when the token has expired. */
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
    const { body } = options;
    const bytes = body === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body));
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

/** An event to create (contract section 8.7). `startsTs` is Unix ms. */
export interface NewEvent {
  readonly sport: string;
  readonly league: string;
  readonly type: "REGULAR_SEASON" | "Game" | "Future";
  readonly description: string;
  readonly startsTs: number;
  readonly visible?: boolean;
  readonly game?: { readonly homeTeam: Team; readonly awayTeam: Team };
}

/** A team of a game. */
export interface Team {
  readonly name: string;
  readonly shortName?: string;
  readonly symbol?: string;
}

/** A market to create (contract section 8.8). The answer lists the outcomes with their ids in the same order. */
export interface NewMarket {
  readonly eventId: string;
  readonly marketType: string;
  readonly description: string;
  readonly strike?: string;
  readonly voids: Voids;
  readonly liveDelayMs?: number;
  readonly outcomes: readonly { readonly name: string }[];
}

/** A grade: the winning outcome, or a push. */
export type GradeRequest = { readonly winner: string } | { readonly push: true };

/** Statuses of an event after each action. A final event becomes settled by itself. */
const EVENT_AFTER: Readonly<Record<EventAction, readonly string[]>> = {
  open: ["OPEN_PREGAME"],
  close: ["CLOSED_PREGAME"],
  golive: ["OPEN_INGAME"],
  unlive: ["DELAYED"],
  delay: ["DELAYED"],
  finalise: ["FINAL", "SETTLED"],
  cancel: ["CANCELED"],
};

/** State of a market after each action. */
const MARKET_AFTER: Readonly<Record<OperatorAction, (market: MarketAnswer) => boolean>> = {
  open: ({ status }) => status === "OPEN",
  close: ({ status }) => status === "CLOSED",
  pause: ({ paused }) => paused === true,
  resume: ({ paused }) => paused === false,
};

/**
 * Operator routes. Requests that a repeat would double, such as a new event or market, are never repeated. An action
 * whose answer was lost is sent again, and succeeds when it has taken effect already. Each call throws `ApiError` for a
 * refusal and `UnknownOutcome` when the exchange stayed out of reach.
 */
export class OperatorClient {
  readonly #session: Session;

  constructor(connection: Connection, credentials: Credentials) {
    this.#session = new Session(connection, credentials);
  }

  /** Logs in. */
  login(): Promise<void> {
    return this.#session.login();
  }

  /** Creates an event. */
  createEvent(event: NewEvent): Promise<EventAnswer> {
    return this.#session.request("POST", "/admin/v1/events", EventAnswer, { body: event, repeat: "never" });
  }

  /** Returns one event. */
  event(eventId: string): Promise<EventAnswer> {
    return this.#session.request("GET", `/admin/v1/events/${eventId}`, EventAnswer);
  }

  /** Creates a market. */
  createMarket(market: NewMarket): Promise<MarketAnswer> {
    return this.#session.request("POST", "/admin/v1/markets", MarketAnswer, {
      body: market,
      repeat: "never",
    });
  }

  /** Returns one market. */
  market(marketId: string): Promise<MarketAnswer> {
    return this.#session.request("GET", `/admin/v1/markets/${marketId}`, MarketAnswer);
  }

  /**
   * Applies an action to an event; does nothing when the event has the status already. Throws `ApiError`
   * `INVALID_TRANSITION` when its status does not allow the action.
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

  /** Opens, closes, pauses or resumes a market; does nothing when the market is in that state already. */
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

  /** Grades a market and returns the status of its settlement. The same grade again returns the same settlement. */
  async grade(marketId: string, grade: GradeRequest): Promise<string> {
    const path = `/admin/v1/markets/${marketId}/grade`;
    return (await this.#session.request("POST", path, SettlementAnswer, { body: grade })).status;
  }

  /** Returns the status of the settlement of a market. */
  async settlementStatus(marketId: string): Promise<string> {
    return (await this.#session.request("GET", `/admin/v1/markets/${marketId}/settlement`, SettlementAnswer))
      .status;
  }

  /** Marks the identity of a trader as verified. */
  async verifyTrader(traderId: string): Promise<void> {
    await this.#session.request("POST", `/admin/v1/traders/${traderId}/kyc`, z.unknown(), {
      body: { status: "VERIFIED" },
    });
  }

  /** Deposits dollars into a trader's own wallet. A repeat with the same `clientRef` takes effect once. */
  async deposit(traderId: string, amount: string, reason: string, clientRef: string): Promise<void> {
    await this.#session.request("POST", `/admin/v1/traders/${traderId}/transactions`, OperatorTransaction, {
      body: { kind: "DEPOSIT", amount, currency: "CASH", reason, clientRef },
    });
  }

  /** Returns the money report. */
  money(): Promise<MoneyReport> {
    return this.#session.request("GET", "/admin/v1/money", MoneyReport);
  }

  /** Returns all events, or those with a status of the comma-separated list. */
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

  /** Returns the submittable prices, rising. */
  async ticks(): Promise<readonly string[]> {
    return (await this.#session.request("GET", "/admin/v1/ticks", TicksAnswer)).prices;
  }
}

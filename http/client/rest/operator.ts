/** Typed client of the operator routes (contract section 8). */

import { z } from "zod/mini";
import { ApiError, type Connection } from "../connection.js";
import { PostedTransaction } from "../wire/account.js";
import { TicksAnswer } from "../wire/catalog.js";
import {
  AdminEvent,
  AdminMarket,
  MoneyReport,
  SettlementAnswer,
  type EventAction,
  type GradeRequest,
  type MarketAction,
  type NewEvent,
  type NewMarket,
} from "../wire/operator.js";
import { pageOf } from "../wire/values.js";
import { Session, type Credentials } from "./session.js";

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
const MARKET_AFTER: Readonly<Record<MarketAction, (market: AdminMarket) => boolean>> = {
  open: ({ status }) => status === "OPEN",
  close: ({ status }) => status === "CLOSED",
  pause: ({ paused }) => paused,
  resume: ({ paused }) => !paused,
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
  createEvent(event: NewEvent): Promise<AdminEvent> {
    return this.#session.request("POST", "/admin/v1/events", AdminEvent, { body: event });
  }

  /** Returns one event. */
  event(eventId: string): Promise<AdminEvent> {
    return this.#session.request("GET", `/admin/v1/events/${eventId}`, AdminEvent);
  }

  /** Creates a market. */
  createMarket(market: NewMarket): Promise<AdminMarket> {
    return this.#session.request("POST", "/admin/v1/markets", AdminMarket, {
      body: market,
    });
  }

  /** Returns one market. */
  market(marketId: string): Promise<AdminMarket> {
    return this.#session.request("GET", `/admin/v1/markets/${marketId}`, AdminMarket);
  }

  /**
   * Applies an action to an event; does nothing when the event has the status already. Throws `ApiError`
   * `INVALID_TRANSITION` when its status does not allow the action.
   */
  async setEventStatus(eventId: string, action: EventAction): Promise<AdminEvent> {
    const path = `/admin/v1/events/${eventId}/status`;
    try {
      return await this.#session.request("POST", path, AdminEvent, { body: { action }, repeat: "anew" });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "INVALID_TRANSITION") throw error;
      const event = await this.event(eventId);
      if (!EVENT_AFTER[action].includes(event.status)) throw error;
      return event;
    }
  }

  /** Opens, closes, pauses or resumes a market; does nothing when the market is in that state already. */
  async setMarketStatus(marketId: string, action: MarketAction): Promise<AdminMarket> {
    const path = `/admin/v1/markets/${marketId}/status`;
    try {
      return await this.#session.request("POST", path, AdminMarket, { body: { action }, repeat: "anew" });
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
    return (await this.#session.request("POST", path, SettlementAnswer, { body: grade, repeat: "anew" }))
      .status;
  }

  /** Returns the status of the settlement of a market. */
  async settlementStatus(marketId: string): Promise<string> {
    return (await this.#session.request("GET", `/admin/v1/markets/${marketId}/settlement`, SettlementAnswer))
      .status;
  }

  /** Marks the identity of a trader as verified; does nothing when it is so already. */
  async verifyTrader(traderId: string): Promise<void> {
    try {
      await this.#session.request("POST", `/admin/v1/traders/${traderId}/kyc`, z.unknown(), {
        body: { status: "VERIFIED" },
        repeat: "anew",
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "NO_CHANGE") throw error;
    }
  }

  /** Deposits dollars into a trader's own wallet. A repeat with the same `clientRef` takes effect once. */
  async deposit(traderId: string, amount: string, reason: string, clientRef: string): Promise<void> {
    await this.#session.request("POST", `/admin/v1/traders/${traderId}/transactions`, PostedTransaction, {
      body: { kind: "DEPOSIT", amount, currency: "CASH", reason, clientRef },
      repeat: "anew",
    });
  }

  /** Returns the money report. */
  money(): Promise<MoneyReport> {
    return this.#session.request("GET", "/admin/v1/money", MoneyReport);
  }

  /** Returns all events, or those with a status of the comma-separated list. */
  async events(status?: string): Promise<AdminEvent[]> {
    const events: AdminEvent[] = [];
    let after: string | undefined;
    do {
      const query = { status, after };
      const page = await this.#session.request("GET", "/admin/v1/events", pageOf(AdminEvent), { query });
      events.push(...page.items);
      after = page.next;
    } while (after !== undefined);
    return events;
  }

  /** Returns the submittable prices, rising. */
  async ticks(): Promise<readonly string[]> {
    return (await this.#session.request("GET", "/admin/v1/ticks", TicksAnswer)).prices;
  }
}

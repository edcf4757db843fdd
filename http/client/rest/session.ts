/** Typed client of a web session (contract section 8.1). */

import type { z } from "zod/mini";
import { PATIENCE_MS, type Call } from "../calls.js";
import { ApiError, UnknownOutcome, type Connection, type RawAnswer, type Repeat } from "../connection.js";
import {
  LocationAnswer,
  LoginAnswer,
  PostedTransaction,
  RegisterAnswer,
  SelfExclusion,
  SessionAnswer,
  TotpEnrolled,
  TotpOffer,
  type DevicePlace,
  type NewKey,
} from "../wire/account.js";
import type { KeyAlgorithm } from "../keys.js";
import { AccountCalls } from "./account.js";

/** Login of a trader or an operator. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
  /** Returns the present one-time password, for an account that has a second factor. */
  readonly code?: () => string;
}

/** Options of a request. `repeat` defaults to `anew` for GET and DELETE, and to `never` for all others. */
export interface SessionRequest {
  readonly query?: Call["query"];
  readonly body?: unknown;
  readonly repeat?: Repeat;
}

/**
 * A web session. It logs in at the first request, and again when its token has expired. It reads the account of its trader
 * and manages keys; orders and transfers need a signing key.
 */
export class Session extends AccountCalls {
  protected override readonly repeat = "never";
  #credentials: Credentials;
  #token: string | undefined;

  constructor(connection: Connection, credentials: Credentials) {
    super(connection, "/v3", PATIENCE_MS);
    this.#credentials = credentials;
  }

  /**
   * Registers the account. Throws `ApiError` `EMAIL_TAKEN` when the address is registered already. After a lost answer it
   * logs in, and registers once more only when that is refused.
   */
  async register(): Promise<RegisterAnswer> {
    try {
      return await this.#registerOnce();
    } catch (error) {
      if (!(error instanceof UnknownOutcome)) throw error;
    }
    try {
      const { traderId, email } = await this.me();
      return { traderId, email };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return this.#registerOnce();
    }
  }

  #registerOnce(): Promise<RegisterAnswer> {
    const { email, password } = this.#credentials;
    const call = { method: "POST", path: REGISTER, body: { email, password }, repeat: "never" } as const;
    return this.call(RegisterAnswer, call);
  }

  /**
   * Logs in. Throws `ApiError` for wrong credentials, and `UnknownOutcome` when the answer to a one-time password is lost,
   * because the password is good for one login only.
   */
  async login(): Promise<void> {
    const { email, password, code } = this.#credentials;
    const body = { email, password, code: code?.() };
    const repeat = code === undefined ? "anew" : "never";
    this.#token = undefined;
    this.#token = (await this.call(LoginAnswer, { method: "POST", path: LOGIN, body, repeat })).token;
  }

  /** Logs out. The next request logs in again. */
  async logout(): Promise<void> {
    await this.run({ method: "DELETE", path: LOGIN });
    this.#token = undefined;
  }

  /** Ends all web sessions of the account. The next request logs in again. */
  async logoutEverywhere(): Promise<void> {
    await this.run({ method: "DELETE", path: "/v3/sessions" });
    this.#token = undefined;
  }

  /** Returns the trader or operator of the session. */
  me(): Promise<SessionAnswer> {
    return this.read(LOGIN, SessionAnswer);
  }

  /** Changes the password. All other sessions end. */
  async changePassword(newPassword: string): Promise<void> {
    const { password, code } = this.#credentials;
    const body = { password, newPassword, code: code?.() };
    const call = { method: "POST", path: "/v3/session/password", body, repeat: "never" } as const;
    this.#token = (await this.call(LoginAnswer, call)).token;
    this.#credentials = { ...this.#credentials, password: newPassword };
  }

  /** Asks for a second factor. `confirmSecondFactor` turns it on. */
  offerSecondFactor(): Promise<TotpOffer> {
    const { password, code } = this.#credentials;
    return this.call(TotpOffer, { method: "POST", path: TOTP, body: { password, code: code?.() } });
  }

  /** Turns the offered second factor on, with a one-time password of it. Returns the recovery codes. */
  async confirmSecondFactor(code: string): Promise<readonly string[]> {
    const call = { method: "POST", path: TOTP, body: { code }, repeat: "never" } as const;
    const { token, recoveryCodes } = await this.call(TotpEnrolled, call);
    this.#token = token;
    return recoveryCodes;
  }

  /**
   * Checks the device in, at a region in ISO 3166-2, such as `US-NY`, or at a place. Placements require a check-in of the
   * last 3 days.
   */
  checkIn(place: string | DevicePlace): Promise<LocationAnswer> {
    const body = typeof place === "string" ? { region: place } : place;
    return this.call(LocationAnswer, { method: "POST", path: LOCATION, body });
  }

  /** Returns the last check-in; null when there was none. */
  location(): Promise<LocationAnswer> {
    return this.read(LOCATION, LocationAnswer);
  }

  /** Excludes the trader from trading until a time, Unix ms. It cannot be taken back. */
  excludeSelf(until: number): Promise<SelfExclusion> {
    return this.call(SelfExclusion, { method: "POST", path: "/v3/session/self-exclusion", body: { until } });
  }

  /** Adds play money, in development with the demo only. */
  faucet(to: Readonly<{ subaccountKeyId?: string; clientRef?: string }> = {}): Promise<PostedTransaction> {
    const repeat = to.clientRef === undefined ? "never" : "anew";
    return this.call(PostedTransaction, { method: "POST", path: "/v3/session/faucet", body: to, repeat });
  }

  /** Creates the management key of the trader; `publicKey` is SPKI PEM. */
  createManagementKey(name: string, publicKey: string, algorithm: KeyAlgorithm): Promise<NewKey> {
    return this.createKey({ name, publicKey, algorithm });
  }

  /** Sends a request with the token of the session, for routes without a method here. */
  request<T>(
    method: string,
    path: string,
    shape: z.core.$ZodType<T>,
    options: SessionRequest = {},
  ): Promise<T> {
    const repeat = method === "GET" || method === "DELETE" ? "anew" : "never";
    return this.call(shape, { method, path, repeat, ...options });
  }

  /** Sends a request. Logs in first, and once more when the token has expired. */
  protected override async send(call: Call): Promise<RawAnswer> {
    if (call.path === REGISTER || (call.path === LOGIN && call.method === "POST")) return super.send(call);
    if (this.#token === undefined) await this.login();
    const answer = await super.send(call);
    if (answer.status !== 401) return answer;
    await this.login();
    return super.send(call);
  }

  protected override authorize(): Promise<Readonly<Record<string, string>>> {
    const token = this.#token;
    return Promise.resolve(token === undefined ? {} : { Authorization: `Bearer ${token}` });
  }
}

const REGISTER = "/v3/session/register";
const LOGIN = "/v3/session";
const TOTP = "/v3/session/totp";
const LOCATION = "/v3/session/location";

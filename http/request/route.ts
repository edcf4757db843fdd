/**
 * What a route is: a line of the table in `app.ts` says how it is reached and what it costs, an endpoint says what it
 * reads and answers. Everything the two have in common happens here, once.
 */

import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { LOWER_UUID } from "../../actors/uuid.js";
import type { Role, Scope } from "../../db/schema/accounts.js";
import type { TokenBucket } from "../../stream/services/token-buckets.js";
import type { ClientCaller, KeyCaller, SessionCaller } from "./callers.js";
import { Refused } from "./errors.js";
import { incomingOf, notesOf, type Incoming } from "../edge/incoming.js";
import type { Metering } from "./metering.js";
import {
  REPLAYED_HEADER,
  replay,
  type Attempt,
  type FirstRun,
  type KeptAnswer,
} from "../auth/idempotency.js";
import { readBody, readParameters } from "./validation.js";

/** How a route is reached. `placing` is what makes the location check stricter; `exempt` routes skip it. */
export type Access =
  | { readonly kind: "public" }
  | ({ readonly kind: "key" } & KeyRules)
  | { readonly kind: "session"; readonly role: Role | undefined }
  | ({ readonly kind: "keyOrSession" } & KeyRules)
  | ({ readonly kind: "client" } & ClientRules);

interface KeyRules {
  readonly scopes: readonly Scope[];
  readonly location: "read" | "placing" | "exempt";
  readonly kyc: boolean;
  /** A cancel works while the account holder has excluded themself. */
  readonly cancel: boolean;
}

/** How a route of surface B is reached: a token from each of its rates, and `kyc` and `cancel` as on surface A. */
export interface ClientRules {
  readonly rates: readonly TokenBucket[];
  readonly kyc: boolean;
  readonly cancel: boolean;
}

export type CallerOf<A extends Access> = A extends { kind: "public" }
  ? undefined
  : A extends { kind: "key" }
    ? KeyCaller
    : A extends { kind: "session" }
      ? SessionCaller
      : A extends { kind: "client" }
        ? ClientCaller
        : KeyCaller | SessionCaller;

/** A request that passed every check in front of its endpoint. */
export interface Call<Caller, Query, Body> {
  readonly caller: Caller;
  readonly query: Query;
  readonly body: Body;
  readonly incoming: Incoming;
  /** A uuid of the path. Refuses anything else: 404 for another letter case, 400 for another shape. */
  readonly id: (name: string) => string;
}

/** An answer that is JSON already, because the same bytes serve many requests. */
export class Serialized<Answer> {
  /** `sent` is what goes out, in the content encoding that the reply's headers tell. */
  constructor(
    private readonly json: () => Buffer,
    readonly sent: Buffer,
  ) {}

  /** What the bytes say; only checks of answers ask for it. */
  parse(): Answer {
    return JSON.parse(this.json().toString("utf8")) as Answer;
  }
}

/** What an endpoint answers. `rows` is what a list came to, which decides what it cost. */
export interface Reply<Answer> {
  readonly body: Answer | Serialized<Answer>;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly rows?: number;
}

/** What a route reads and answers; `status` is that of success. */
export interface Endpoint<Caller, Query, Body, Answer> {
  readonly status: number;
  readonly query: z.core.$ZodType<Query> | undefined;
  readonly body: z.core.$ZodType<Body> | undefined;
  readonly answer: z.core.$ZodType<Answer> | undefined;
  /** Any bytes are a body: the endpoint reads `incoming.body` itself. */
  readonly anyBody: boolean;
  /** The answer follows from the request alone, so a repeat is answered anew instead of from what was kept. */
  readonly pure: boolean;
  /** Headers of the answer, also when a check refuses the request. */
  readonly headers: ((incoming: Incoming) => Readonly<Record<string, string>>) | undefined;
  run(call: Call<Caller, Query, Body>): Promise<Reply<Answer>> | Reply<Answer>;
}

/** What an endpoint is declared with; absent parts are an empty query, no body, an unchecked answer, and 200. */
interface Declaration<Caller, Query, Body, Answer> {
  readonly status?: number;
  readonly query?: z.core.$ZodType<Query>;
  readonly body?: z.core.$ZodType<Body>;
  readonly answer?: z.core.$ZodType<Answer>;
  readonly anyBody?: boolean;
  readonly pure?: boolean;
  readonly headers?: (incoming: Incoming) => Readonly<Record<string, string>>;
  run(call: Call<Caller, Query, Body>): Promise<Reply<Answer>> | Reply<Answer>;
}

function endpointFor<Caller>() {
  return <Query, Body, Answer>(
    declaration: Declaration<Caller, Query, Body, Answer>,
  ): Endpoint<Caller, Query, Body, Answer> => ({
    status: declaration.status ?? 200,
    query: declaration.query,
    body: declaration.body,
    answer: declaration.answer,
    anyBody: declaration.anyBody ?? false,
    pure: declaration.pure ?? false,
    headers: declaration.headers,
    run: (call) => declaration.run(call),
  });
}

/** Declares an endpoint that does not look at who calls. */
export const openEndpoint = endpointFor<unknown>();
/** Declares an endpoint for those who sign. */
export const keyEndpoint = endpointFor<KeyCaller>();
/** Declares an endpoint for web sessions. */
export const sessionEndpoint = endpointFor<SessionCaller>();
/** Declares an endpoint of surface B. */
export const clientEndpoint = endpointFor<ClientCaller>();
/** Declares an endpoint for either. */
export const eitherEndpoint = endpointFor<KeyCaller | SessionCaller>();

/** One line of the route table. */
export interface Route {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly path: string;
  readonly access: Access;
  readonly metering: Metering;
  readonly endpoint: Endpoint<never, never, never, unknown>;
}

const LINE = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/;

/** A line of the table: `at("GET /v3/limits", anyKey, free, limits.show)`. */
export function at<A extends Access, Query, Body, Answer>(
  line: string,
  access: A,
  metering: Metering,
  served: Endpoint<CallerOf<A>, Query, Body, Answer>,
): Route {
  const [, method = "", path = ""] = LINE.exec(line) ?? [];
  if (path === "") throw new Error(`"${line}" is not a method and a path`);
  return {
    method: method.toLowerCase() as Route["method"],
    path,
    access,
    metering,
    endpoint: served as Endpoint<never, never, never, unknown>,
  };
}

/** Who was let in. */
export interface Admitted {
  readonly caller: KeyCaller | SessionCaller | ClientCaller | undefined;
  /** Is told the rows of the answer, where those decide the price. */
  readonly chargeRows: (rows: number) => Promise<void>;
  /** How a request began that has to take effect once. */
  readonly attempt: Attempt | undefined;
}

/** What lets a request in, or refuses it: the checks of a route's access and its meter. */
export interface Admission {
  admit(route: Route, request: Incoming, res: Response): Promise<Admitted>;
}

function pathId(req: Request, name: string): string {
  const value = req.params[name];
  if (typeof value !== "string") throw new Error(`the route has no parameter ${name}`);
  if (LOWER_UUID.test(value)) return value;
  if (LOWER_UUID.test(value.toLowerCase())) throw new Refused("ROUTE_NOT_FOUND");
  throw new Refused("INVALID_REQUEST", `${name} in the path must be a uuid`);
}

/** Serves one route: admission, shape, endpoint, answer, in this order. */
export function serve(route: Route, admission: Admission, checkAnswers: boolean): RequestHandler {
  const { endpoint: served } = route;

  const run = async (
    req: Request,
    incoming: Incoming,
    { caller, chargeRows }: Admitted,
  ): Promise<Reply<unknown>> => {
    const query = readParameters(served.query, incoming.target.query);
    const body = served.anyBody ? undefined : readBody<unknown>(served.body, incoming);
    const call = { caller, query, body, incoming, id: (name: string) => pathId(req, name) };
    const answer = await served.run(call as Call<never, never, never>);
    await chargeRows(answer.rows ?? 0);
    if (checkAnswers && served.answer !== undefined) {
      z.parse(served.answer, answer.body instanceof Serialized ? answer.body.parse() : answer.body);
    }
    return answer;
  };

  /** The request's only run. Its answer is kept before it is sent, so who has it can rely on getting it again. */
  const runFirst = async (first: FirstRun, work: () => Promise<Reply<unknown>>): Promise<Reply<unknown>> => {
    let answer: Reply<unknown>;
    try {
      answer = await work();
    } catch (error) {
      await first.fail(error);
      throw error;
    }
    await first.keep(served.pure ? undefined : keptOf(answer, served.status));
    return answer;
  };

  return async (req, res) => {
    notesOf(res).route = `${route.method.toUpperCase()} ${route.path}`;
    const incoming = incomingOf(req, res);
    res.set(served.headers?.(incoming) ?? {});
    const admitted = await admission.admit(route, incoming, res);
    const { attempt } = admitted;
    if (attempt?.kind === "repeat") {
      res.set(REPLAYED_HEADER);
      if (attempt.answer !== undefined) {
        replay(res, attempt.answer);
        return;
      }
    }
    const work = (): Promise<Reply<unknown>> => run(req, incoming, admitted);
    send(res, await (attempt?.kind === "first" ? runFirst(attempt.first, work) : work()), served.status);
  };
}

function keptOf({ status, headers = {}, body }: Reply<unknown>, success: number): KeptAnswer {
  return { status: status ?? success, headers, body: body === undefined ? "" : JSON.stringify(body) };
}

function send(res: Response, answer: Reply<unknown>, success: number): void {
  res.status(answer.status ?? success).set(answer.headers ?? {});
  if (answer.body === undefined) res.end();
  else if (Buffer.isBuffer(answer.body)) res.end(answer.body);
  else if (answer.body instanceof Serialized) {
    res.set("Content-Type", "application/json; charset=utf-8").end(answer.body.sent);
  } else res.json(answer.body);
}

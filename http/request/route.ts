/**
 * Routes: each is declared by one entry, which says who may call it, what it costs, what it reads and answers, and how
 * the OpenAPI document describes it. `serve.ts` runs the part that all routes have in common.
 */

import type { z } from "zod";
import type { Documentation } from "../docs/documentation.js";
import type { Incoming } from "../edge/incoming.js";
import type { Access, CallerOf } from "./access.js";
import { free, type Metering } from "./metering.js";

/** Request that passed every check in front of its endpoint. */
export interface Call<Caller, Query, Body> {
  readonly caller: Caller;
  readonly query: Query;
  readonly body: Body;
  readonly incoming: Incoming;
  /** Returns a UUID of the path. Refuses upper case with 404, and anything else with 400. */
  readonly id: (name: string) => string;
  /** Returns a segment of the path that is no UUID, as it was sent. */
  readonly segment: (name: string) => string;
}

/** Answer in JSON that is serialized already, because the same bytes serve many requests. */
export class Serialized<Answer> {
  /** `sent` holds the bytes of the answer, in the content encoding that the reply's headers name. */
  constructor(
    private readonly json: () => Buffer,
    readonly sent: Buffer,
  ) {}

  /** Parses the bytes; only the check of answers against their schema needs the value. */
  parse(): Answer {
    return JSON.parse(this.json().toString("utf8")) as Answer;
  }
}

/** Answer of an endpoint. */
export interface Reply<Answer> {
  readonly body: Answer | Serialized<Answer>;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Rows of a list, which decide its cost. */
  readonly rows?: number;
  /** True for the answer of an earlier run of the same request, which this run has only repeated. */
  readonly repeated?: boolean;
}

/** Declaration of a route. Absent parts mean: free, status 200, an empty query, no body and an unchecked answer. */
interface Entry<A extends Access, Query, Body, Answer> {
  readonly access: A;
  readonly metering?: Metering;
  /** Status of success. */
  readonly status?: number;
  readonly query?: z.core.$ZodType<Query>;
  readonly body?: z.core.$ZodType<Body>;
  readonly answer?: z.core.$ZodType<Answer>;
  /** Admits a request without a body, which reads as `{}`. */
  readonly optionalBody?: boolean;
  /** Accepts any bytes as the body; the endpoint reads `incoming.body` itself. */
  readonly anyBody?: boolean;
  /** States that the answer follows from the request alone: a repeat runs again, and no answer is stored. */
  readonly pure?: boolean;
  /** Returns headers of the answer, also of one that a check refuses. */
  readonly headers?: (incoming: Incoming) => Readonly<Record<string, string>>;
  readonly docs: Documentation;
  /**
   * Returns the answer of an earlier run, or throws it as a `FirstRefusal`; returns `undefined` when there was no run. A
   * route with this method remembers its own answers: `run` marks a repeated one.
   */
  recall?(call: Call<CallerOf<A>, Query, Body>): Promise<Reply<Answer> | undefined>;
  run(call: Call<CallerOf<A>, Query, Body>): Promise<Reply<Answer>> | Reply<Answer>;
}

/** A route as the app serves it and the OpenAPI document describes it. */
export interface Route {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** Path in the notation of Express, such as `/v3/keys/:keyId`. */
  readonly path: string;
  readonly access: Access;
  readonly metering: Metering;
  readonly status: number;
  readonly query: z.core.$ZodType | undefined;
  readonly body: z.core.$ZodType | undefined;
  readonly answer: z.core.$ZodType | undefined;
  readonly optionalBody: boolean;
  readonly anyBody: boolean;
  readonly pure: boolean;
  readonly headers: ((incoming: Incoming) => Readonly<Record<string, string>>) | undefined;
  readonly docs: Documentation;
  readonly recall: ((call: Call<never, never, never>) => Promise<Reply<unknown> | undefined>) | undefined;
  run(call: Call<never, never, never>): Promise<Reply<unknown>> | Reply<unknown>;
}

const LINE = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/;

/** Declares a route: `route("GET /v3/limits", { access, metering, answer, docs, run })`. */
export function route<A extends Access, Query, Body, Answer>(
  line: string,
  entry: Entry<A, Query, Body, Answer>,
): Route {
  const [, method = "", path = ""] = LINE.exec(line) ?? [];
  if (path === "") throw new Error(`the line "${line}" of a route is not a method and a path`);
  return {
    method: method.toLowerCase() as Route["method"],
    path,
    access: entry.access,
    metering: entry.metering ?? free,
    status: entry.status ?? 200,
    query: entry.query,
    body: entry.body,
    answer: entry.answer,
    optionalBody: entry.optionalBody ?? false,
    anyBody: entry.anyBody ?? false,
    pure: entry.pure ?? false,
    headers: entry.headers,
    docs: entry.docs,
    // The type of the call is erased here: `serve` builds each call from the same access, query and body.
    recall: entry.recall && ((call) => entry.recall?.(call) ?? Promise.resolve(undefined)),
    run: (call) => entry.run(call),
  };
}

/**
 * Serves routes: admits the request, reads its query and body, runs the route and sends the answer, in this order and
 * within the time that an answer may take.
 */

import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { LOWER_UUID } from "../../actors/uuid.js";
import { NotSent } from "../../stream/log/ports.js";
import {
  REPLAYED_HEADER,
  replay,
  type Attempt,
  type FirstRun,
  type KeptAnswer,
} from "../auth/idempotency.js";
import { compressed, LEAST_COMPRESSED_BYTES, takesGzip } from "../edge/compression.js";
import { hasPaid, RATE_LIMIT } from "../edge/headers.js";
import { incomingOf, localsOf, notesOf, type Incoming } from "../edge/incoming.js";
import type { Access } from "./access.js";
import type { ClientCaller, KeyCaller, SessionCaller } from "./callers.js";
import { FirstRefusal, NotStarted, Refused } from "./errors.js";
import { inTime } from "./in-time.js";
import { Serialized, type Call, type Reply, type Route } from "./route.js";
import { readBody, readParameters, refusalOfBodyHeaders } from "./validation.js";

/** Caller of an admitted request, and the steps that remain once its answer is known. */
export interface Admitted {
  readonly caller: KeyCaller | SessionCaller | ClientCaller | undefined;
  /** Charges the rows of the answer, on routes whose cost depends on rows; called once, with 0 after a failure. */
  readonly chargeRows: (rows: number) => Promise<void>;
  /** Gives back the whole charge of a repeat. */
  readonly giveBack: () => Promise<void>;
  /** Start of a request that takes effect once; `undefined` for every other request. */
  readonly attempt: Attempt | undefined;
  /** Refusal of a request whose route remembers its own answers: it is thrown unless the request is a repeat. */
  readonly refusal: Refused | undefined;
  /** Takes the right to ask for the answer of an earlier run; false when the payer has asked too often. */
  readonly mayRecall: () => boolean;
}

/** Admits a request or refuses it: checks the access of the route and charges its cost. */
export interface Admission {
  admit(route: Route, request: Incoming, res: Response): Promise<Admitted>;
}

/** Returns true for a refusal in whose place an earlier run of the request may have been answered. */
function isInPlaceOfAnswer(error: unknown): boolean {
  return (error instanceof Refused && !(error instanceof FirstRefusal)) || error instanceof NotSent;
}

/** Gives back the whole charge of a request. */
async function giveBackCharge(res: Response, { giveBack }: Admitted): Promise<void> {
  await giveBack();
  if (res.headersSent) return;
  for (const name of Object.values(RATE_LIMIT)) res.removeHeader(name);
}

/** Marks the answer to a repeat, which costs nothing. */
async function markRepeated(res: Response, admitted: Admitted): Promise<void> {
  await giveBackCharge(res, admitted);
  if (!res.headersSent) res.set(REPLAYED_HEADER);
}

function pathSegment(req: Request, name: string): string {
  const value = req.params[name];
  if (typeof value !== "string") throw new Error(`the route has no parameter ${name}`);
  return value;
}

function pathId(req: Request, name: string): string {
  const value = pathSegment(req, name);
  if (LOWER_UUID.test(value)) return value;
  if (LOWER_UUID.test(value.toLowerCase())) throw new Refused("ROUTE_NOT_FOUND");
  throw new Refused("INVALID_REQUEST", `${name} in the path is not a uuid; send the id as it was answered`);
}

/** Call of a route, and the refusal of the request by an earlier check or by its headers. */
interface Received {
  readonly call: Call<never, never, never>;
  readonly refusal: Refused | undefined;
  readonly mayRecall: () => boolean;
}

/** Returns the handler of a route. `checkAnswers` checks every answer against its schema. */
export function serve(route: Route, admission: Admission, checkAnswers: boolean): RequestHandler {
  /** Reads the query and the body of a request. Refuses a malformed request. */
  const read = (
    req: Request,
    incoming: Incoming,
    { caller, refusal: earlier, mayRecall }: Admitted,
  ): Received => {
    const refusal = earlier ?? refusalOfBodyHeaders(route, incoming);
    try {
      const query = readParameters(route.query, incoming.target.query, route.access.kind === "client");
      const body = readBody(route, incoming);
      const id = (name: string): string => pathId(req, name);
      const segment = (name: string): string => pathSegment(req, name);
      const call = { caller, query, body, incoming, id, segment };
      return { call: call as Call<never, never, never>, refusal, mayRecall };
    } catch (error) {
      throw refusal ?? error;
    }
  };

  /** Runs the route. A route that remembers its own answers is asked for an earlier one before a refusal. */
  const runOrRecall = async ({ call, refusal, mayRecall }: Received): Promise<Reply<unknown>> => {
    try {
      if (refusal !== undefined) throw refusal;
      return await route.run(call);
    } catch (error) {
      // A refusal costs no tokens, and the question reaches a worker.
      const { recall } = route;
      const asks = recall !== undefined && isInPlaceOfAnswer(error) && mayRecall();
      const recalled = asks ? await recall(call) : undefined;
      if (recalled === undefined) throw error;
      return recalled;
    }
  };

  const run = async (received: Received): Promise<Reply<unknown>> => {
    const answer = await runOrRecall(received);
    if (checkAnswers && route.answer !== undefined) {
      z.parse(route.answer, answer.body instanceof Serialized ? answer.body.parse() : answer.body);
    }
    return answer;
  };

  /** Runs a request for the first time. The answer is stored before it is sent, so a client can always get it again. */
  const runFirst = async (first: FirstRun, readCall: () => Received): Promise<Reply<unknown>> => {
    let received: Received;
    try {
      received = readCall();
    } catch (error) {
      await first.abandon();
      throw error;
    }
    let answer: Reply<unknown>;
    try {
      answer = await run(received);
    } catch (error) {
      // The headers of the body are not signed: the same signed bytes may come again with the right ones.
      await (error === received.refusal ? first.abandon() : first.fail(error));
      throw error;
    }
    await first.keep(route.pure ? undefined : keptOf(answer, route.status));
    return answer;
  };

  const answer = async (req: Request, res: Response): Promise<void> => {
    const incoming = incomingOf(req, res);
    res.set(route.headers?.(incoming) ?? {});
    const admitted = await admission.admit(route, incoming, res);
    if (hasPaid(res)) localsOf(res).turn?.admitted();
    const { attempt } = admitted;
    if (attempt?.kind === "repeat") {
      res.set(REPLAYED_HEADER);
      if (attempt.answer !== undefined) {
        replay(res, attempt.answer);
        return;
      }
    }
    const readCall = (): Received => read(req, incoming, admitted);
    let rows = 0;
    let isFree = false;
    let reply: Reply<unknown>;
    try {
      reply = attempt?.kind === "first" ? await runFirst(attempt.first, readCall) : await run(readCall());
      rows = reply.rows ?? 0;
    } catch (error) {
      if (error instanceof FirstRefusal && error.repeated) await markRepeated(res, admitted);
      isFree = error instanceof NotStarted;
      throw error;
    } finally {
      await admitted.chargeRows(rows);
      if (isFree) await giveBackCharge(res, admitted);
    }
    if (reply.repeated === true) await markRepeated(res, admitted);
    const isForPages = READ_BY_PAGES.has(route.access.kind);
    if (isForPages) res.vary("Accept-Encoding");
    send(res, isForPages ? await packed(reply, incoming) : reply, route.status);
  };

  return async (req, res) => {
    notesOf(res).route = `${route.method.toUpperCase()} ${route.path}`;
    await inTime(answer(req, res), localsOf(res).dueMs);
  };
}

function keptOf({ status, headers = {}, body }: Reply<unknown>, success: number): KeptAnswer {
  return { status: status ?? success, headers, body: body === undefined ? "" : JSON.stringify(body) };
}

/** Callers that are web pages. Programs sign their requests, and lose more time by decompression than the network saves. */
const READ_BY_PAGES: ReadonlySet<Access["kind"]> = new Set(["public", "session", "operator"]);

/** Returns the answer as gzip where it is large and the client accepts gzip. */
async function packed(reply: Reply<unknown>, incoming: Incoming): Promise<Reply<unknown>> {
  const { body, headers } = reply;
  if (body === undefined || Buffer.isBuffer(body)) return reply;
  const json = body instanceof Serialized ? body.sent : Buffer.from(JSON.stringify(body));
  const isPacked = json.length >= LEAST_COMPRESSED_BYTES && takesGzip(incoming.header("accept-encoding"));
  if (!isPacked) return { ...reply, body: new Serialized(() => json, json) };
  const etag = headers?.["ETag"];
  return {
    ...reply,
    // The tag of the bytes without compression names other bytes, so here it is a weak one.
    headers: { ...headers, ...(etag === undefined ? {} : { ETag: `W/${etag}` }), "Content-Encoding": "gzip" },
    body: new Serialized(() => json, await compressed(json)),
  };
}

/** Sends an answer, unless the client has received a refusal because the answer was late. */
function send(res: Response, answer: Reply<unknown>, success: number): void {
  if (res.headersSent) return;
  res.status(answer.status ?? success).set(answer.headers ?? {});
  if (answer.body === undefined) res.end();
  else if (Buffer.isBuffer(answer.body)) res.end(answer.body);
  else if (answer.body instanceof Serialized) {
    res.set("Content-Type", "application/json; charset=utf-8").end(answer.body.sent);
  } else res.json(answer.body);
}

/** Bodies and queries against their schemas, with refusals that name the field and the remedy. */

import { z } from "zod";
import { Refused, type Code } from "./errors.js";
import { REPEATED, type Incoming } from "../edge/incoming.js";
import { JsonError, readJson } from "../edge/json.js";
import { readQuery } from "../edge/query.js";

type Issue = z.core.$ZodIssue;

function place(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
}

/** The first thing wrong, in one sentence. */
function describe(issue: Issue, noun: string): string {
  const where = place(issue.path);
  if (issue.code === "unrecognized_keys") {
    const name = [where, issue.keys[0] ?? ""].filter((part) => part !== "").join(".");
    return `${name} is not a ${noun} of this route; leave it out`;
  }
  if (issue.code === "invalid_type" && issue.input === undefined && where !== "")
    return `${where} is missing`;
  return where === "" ? issue.message : `${where}: ${issue.message}`;
}

function refusal(issues: readonly Issue[], noun: string, otherwise: Code): Refused {
  const [issue] = issues;
  if (issue === undefined) return new Refused(otherwise);
  const named = issue.code === "unrecognized_keys" ? issue.keys[0] : issue.path[0];
  const general = named === "limit" || (named === "scope" && issue.code === "unrecognized_keys");
  return new Refused(general ? "INVALID_REQUEST" : otherwise, describe(issue, noun));
}

/** Reads a value by a schema, or refuses it with the code. */
export function readAs<Value>(
  schema: z.core.$ZodType<Value>,
  value: unknown,
  noun: string,
  otherwise: Code,
): Value {
  const parsed = z.safeParse(schema, value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw refusal(parsed.error.issues, noun, otherwise);
}

/** The query of a route; without a schema it must be empty. */
export function readParameters(schema: z.core.$ZodType | undefined, raw: string): unknown {
  const values = readQuery(raw);
  if (schema !== undefined) return readAs(schema, values, "query parameter", "INVALID_QUERY");
  const [name] = Object.keys(values);
  if (name === undefined) return {};
  throw new Refused("INVALID_QUERY", `${name} is not a query parameter of this route; leave it out`);
}

/** The body of a route; without a schema there must be none. */
export function readBody<Body>(
  schema: z.core.$ZodType<Body> | undefined,
  request: Incoming,
): Body | undefined {
  if (schema === undefined) {
    if (request.body.length === 0) return undefined;
    throw new Refused("INVALID_BODY", "this route takes no body; send none");
  }
  const type = request.header("content-type");
  if (
    type === undefined ||
    type === REPEATED ||
    !/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(type)
  ) {
    throw new Refused("INVALID_REQUEST", "the body needs the header Content-Type: application/json");
  }
  if (request.header("content-encoding") !== undefined) {
    throw new Refused("INVALID_REQUEST", "the body must be sent plain, without Content-Encoding");
  }
  try {
    return readAs(schema, readJson(request.body), "field", "INVALID_BODY");
  } catch (error) {
    if (error instanceof JsonError)
      throw new Refused("INVALID_BODY", `the body is not acceptable JSON: ${error.message}`);
    throw error;
  }
}

/** Reads bodies and queries by their schemas, with refusals that name the field and the remedy. */

import { z } from "zod";
import { Refused, type Code } from "./errors.js";
import { REPEATED, type Incoming } from "../edge/incoming.js";
import { JsonError, readJson } from "../edge/json.js";
import { readQuery } from "../edge/query.js";
import type { Route } from "./route.js";

type Issue = z.core.$ZodIssue;

/** Words for what a schema reads, by the words for its parts; filters are those of a query on the stream. */
const WHOLE = { field: "body", "query parameter": "query", filter: "query" } as const;
type Noun = keyof typeof WHOLE;

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
}

/** Returns the predicate of the message for an issue. The texts of zod, which open with a capital, are replaced. */
function problemOf(issue: Issue): string {
  if (!/^[A-Z]/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return `must be of type ${issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.map(String).join(" or ")}`;
    case "too_small":
      return `must ${amountOf(issue.origin, "at least", issue.minimum)}`;
    case "too_big":
      return `must ${amountOf(issue.origin, "at most", issue.maximum)}`;
    default:
      return "is malformed";
  }
}

function amountOf(origin: string, bound: string, amount: number | bigint): string {
  const plural = Number(amount) === 1 ? "" : "s";
  if (origin === "array") return `have ${bound} ${amount} item${plural}`;
  return origin === "string" ? `have ${bound} ${amount} character${plural}` : `be ${bound} ${amount}`;
}

/** Returns the message for an issue: the name of the field or parameter, and the remedy. */
function describe(issue: Issue, noun: Noun): string {
  const where = pathText(issue.path);
  if (issue.code === "unrecognized_keys") {
    const name = [where, issue.keys[0] ?? ""].filter((part) => part !== "").join(".");
    return `${name} is not a ${noun} of this route; leave it out`;
  }
  if (where === "") return `the ${WHOLE[noun]} ${problemOf(issue)}`;
  if (issue.code === "invalid_type" && issue.input === undefined) return `${where} is missing; add it`;
  return `${where} ${problemOf(issue)}`;
}

/** Returns the issue of the form that a value of several forms was meant to have: the one that is about a part of it. */
function ofUnion(issue: Issue): Issue {
  if (issue.code !== "invalid_union" || !/^[A-Z]/.test(issue.message)) return issue;
  const all = issue.errors.flat();
  const inside = all.find(({ path, code }) => path.length > 0 || code === "unrecognized_keys");
  return inside ?? all[0] ?? issue;
}

function refusal(issues: readonly Issue[], noun: Noun, otherwise: Code): Refused {
  const [first] = issues;
  if (first === undefined) return new Refused(otherwise);
  const issue = ofUnion(first);
  const named = issue.code === "unrecognized_keys" ? issue.keys[0] : issue.path[0];
  const general = named === "limit" || (named === "scope" && issue.code === "unrecognized_keys");
  return new Refused(general ? "INVALID_REQUEST" : otherwise, describe(issue, noun));
}

/** Returns true for a JSON value that is null or has a null in it. */
function hasNull(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === null;
  const fields: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return fields.some(hasNull);
}

/** Returns a value without the fields that are null where the schema lets the field be absent. */
function withoutNulls(schema: z.core.$ZodType, value: unknown): unknown {
  if (schema instanceof z.core.$ZodOptional || schema instanceof z.core.$ZodDefault)
    return withoutNulls(schema._zod.def.innerType, value);
  if (schema instanceof z.core.$ZodUnion) {
    const form = schema._zod.def.options.find(
      (option) => option instanceof z.core.$ZodArray === Array.isArray(value),
    );
    return form === undefined ? value : withoutNulls(form, value);
  }
  if (Array.isArray(value)) {
    if (!(schema instanceof z.core.$ZodArray)) return value;
    const { element } = schema._zod.def;
    return value.map((item) => withoutNulls(element, item));
  }
  if (value === null || typeof value !== "object" || !(schema instanceof z.core.$ZodObject)) return value;
  const { shape } = schema._zod.def;
  const fields = Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === undefined) return [[name, field]];
    return field === null && known._zod.optin !== undefined ? [] : [[name, withoutNulls(known, field)]];
  });
  return Object.fromEntries(fields);
}

/** Reads a JSON value by a schema, with `null` for absent fields (contract section 5.4). Refuses as `readAs` does. */
export function readFields<Value>(schema: z.core.$ZodType<Value>, value: unknown): Value {
  // A copy takes longer than all checks of the schema, and few bodies have a null.
  const given = hasNull(value) ? withoutNulls(schema, value) : value;
  return readAs(schema, given, "field", "INVALID_BODY");
}

/** Reads a value by a schema. Refuses the code `otherwise`, or `INVALID_REQUEST` for a bad `limit` and an unknown `scope`. */
export function readAs<Value>(
  schema: z.core.$ZodType<Value>,
  value: unknown,
  noun: Noun,
  otherwise: Code,
): Value {
  const parsed = z.safeParse(schema, value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw refusal(parsed.error.issues, noun, otherwise);
}

/** Reads the query of a route, which must be empty when there is no schema; `lists` as in `readQuery`. Refuses `INVALID_QUERY` and `INVALID_REQUEST`. */
export function readParameters(schema: z.core.$ZodType | undefined, raw: string, lists = false): unknown {
  const values = readQuery(raw, lists);
  if (schema !== undefined) return readAs(schema, values, "query parameter", "INVALID_QUERY");
  const [name] = Object.keys(values);
  if (name === undefined) return {};
  throw new Refused("INVALID_QUERY", `${name} is not a query parameter of this route; leave it out`);
}

/** Parts of a route that say which body it takes. */
type BodyRules = Pick<Route, "body" | "anyBody" | "optionalBody">;

/** Returns the refusal of the headers of a body, which are not signed. */
export function refusalOfBodyHeaders(
  { body, anyBody, optionalBody }: BodyRules,
  request: Incoming,
): Refused | undefined {
  if (body === undefined || anyBody || (optionalBody && request.body.length === 0)) return undefined;
  const type = request.header("content-type");
  if (
    type === undefined ||
    type === REPEATED ||
    !/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(type)
  ) {
    return new Refused(
      "INVALID_REQUEST",
      "the body needs the header Content-Type: application/json; add it once",
    );
  }
  if (request.header("content-encoding") !== undefined) {
    return new Refused(
      "INVALID_REQUEST",
      "the header Content-Encoding is not supported; send the body without encoding",
    );
  }
  return undefined;
}

/**
 * Reads the body of a route, whatever its headers; it must be empty when the route takes none. Refuses `INVALID_BODY` and
 * `INVALID_REQUEST`.
 */
export function readBody({ body: schema, anyBody, optionalBody }: BodyRules, request: Incoming): unknown {
  if (anyBody) return undefined;
  const isEmpty = request.body.length === 0;
  if (schema === undefined) {
    if (isEmpty) return undefined;
    throw new Refused("INVALID_BODY", "this route takes no body; leave the body out");
  }
  if (isEmpty && optionalBody) return readFields(schema, {});
  try {
    return readFields(schema, readJson(request.body));
  } catch (error) {
    if (error instanceof JsonError)
      throw new Refused("INVALID_BODY", `the body is not acceptable JSON: ${error.message}`);
    throw error;
  }
}

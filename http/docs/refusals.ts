/** Error answers of a route: the codes that follow from its access and cost, and the codes of its own. */

import { STATUS_CODES } from "node:http";
import { unreachable } from "../../actors/unreachable.js";
import type { Access, ClientRules } from "../request/access.js";
import { ERRORS, statusOf, statusOnB, wireCode, type Code, type ErrorLine } from "../request/errors.js";
import type { Route } from "../request/route.js";
import { ref, type Json } from "./json.js";

const ALWAYS: readonly Code[] = [
  "INVALID_REQUEST",
  "INVALID_QUERY",
  "INVALID_BODY",
  "PAYLOAD_TOO_LARGE",
  "INTERNAL",
  "UNAVAILABLE",
];
/** Codes of the location check. */
const LOCATION: readonly Code[] = [
  "ANONYMIZED_NETWORK",
  "RESTRICTED_NETWORK_REGION",
  "GEOLOCATION_FAILED",
  "INVALID_GEOLOCATION_REGION",
  "RESTRICTED_GEOLOCATION_REGION",
  "GEOLOCATION_EXPIRED",
];

/** Codes with which the rules of trading refuse an order, on either surface. */
export const ORDER_REFUSALS: readonly Code[] = [
  "ACCOUNT_LOCKED",
  "SELF_EXCLUDED",
  "SUBACCOUNT_NOT_FOUND",
  "INVALID_PRICE",
  "QTY_OUT_OF_RANGE",
  "TTL_NOT_ALLOWED",
  "TTL_REQUIRED",
  "TTL_OUT_OF_RANGE",
  "EVENT_NOT_TRADABLE",
  "OUTCOME_NOT_FOUND",
  "MARKET_CLOSED",
  "MARKET_PAUSED",
  "CLIENT_ID_REUSED",
  "GROUP_NOT_FOUND",
  "GROUP_LIMIT",
  "INSUFFICIENT_BALANCE",
  "OPEN_ORDER_LIMIT_EXCEEDED",
  "POSITION_LIMIT_EXCEEDED",
];
export const BATCH_REFUSALS: readonly Code[] = [...ORDER_REFUSALS, "EMPTY_BATCH", "BATCH_TOO_LARGE"];

function ofAccess(access: Access, method: Route["method"]): readonly Code[] {
  switch (access.kind) {
    case "public":
      return [];
    case "session":
      return [
        "UNAUTHENTICATED",
        ...(access.role === undefined ? [] : ["FORBIDDEN" as const]),
        ...(access.enrolling === true ? [] : ["TOTP_NOT_ENROLLED" as const]),
      ];
    case "operator":
      return ["UNAUTHENTICATED", "FORBIDDEN", "TOTP_NOT_ENROLLED"];
    case "key":
    case "keyOrSession":
      return [
        ...(access.kind === "key" ? [] : (["UNAUTHENTICATED", "FORBIDDEN"] as const)),
        "SIGNATURE_REJECTED",
        "SCOPE_REJECTED",
        ...(method === "post" || method === "patch" ? (["REQUEST_IN_PROGRESS"] as const) : []),
        ...ofTrading({ ...access, whileExcluded: access.whileExcluded || method === "get" }),
        ...(access.location === "exempt" ? [] : LOCATION),
        ...(access.location === "placing" ? (["SYSTEM_LOCKED"] as const) : []),
      ];
    case "client":
      return ["UNAUTHENTICATED", "RATE_LIMIT_EXCEEDED", ...ofTrading(access)];
    default:
      return unreachable(access);
  }
}

function ofTrading({ kyc, whileExcluded }: Pick<ClientRules, "kyc" | "whileExcluded">): readonly Code[] {
  return [
    "ACCOUNT_LOCKED",
    ...(whileExcluded ? [] : (["SELF_EXCLUDED"] as const)),
    ...(kyc ? (["KYC_REQUIRED"] as const) : []),
  ];
}

/** Returns every code that a route can refuse with; `more` holds the codes of its own. */
export function codesOf({ access, method, path, metering }: Route, more: readonly Code[]): ReadonlySet<Code> {
  return new Set<Code>([
    ...ALWAYS,
    ...ofAccess(access, method),
    // With `ADMIN_PORT`, another port serves the operators' routes.
    ...(path.includes(":") || path.startsWith("/admin/") ? (["ROUTE_NOT_FOUND"] as const) : []),
    ...(metering.words === "free" ? [] : (["RATE_LIMIT_EXCEEDED"] as const)),
    ...more,
  ]);
}

const EDGE = {
  description:
    "The edge refuses the request: the address sends too many requests, or the body is too large. The answer has no code and no message.",
  schema: { type: "string" },
} as const;

/** Error answer of an operation, and the name of the component that holds it. */
export interface Refusal {
  readonly name: string;
  readonly response: Json;
}

/** Returns the error answers of an operation by status. `rejected` adds the orders of a refused batch. */
export function refusalsOf(
  codes: ReadonlySet<Code>,
  surface: "A" | "B",
  headers: Json,
  rejected: boolean,
): Readonly<Record<string, Refusal>> {
  const statusFor = surface === "A" ? statusOf : statusOnB;
  // The edge can answer 403 before every route.
  const byStatus = new Map<number, ErrorLine[]>([[403, []]]);
  for (const line of ERRORS) {
    const status = statusFor(line.code);
    if (codes.has(line.code)) byStatus.set(status, [...(byStatus.get(status) ?? []), line]);
  }
  const prefix = prefixOf(surface, headers, rejected);
  return Object.fromEntries(
    [...byStatus].map(([status, lines]) => {
      const response = refusalOf(
        status,
        lines,
        surface,
        { ...headers, ...headersOf(status, lines) },
        rejected,
      );
      return [String(status), { name: nameOf(status, lines, prefix), response }];
    }),
  );
}

/** Codes that most operations have. They are left out of the names of answers. */
const COMMON: ReadonlySet<Code> = new Set([...ALWAYS, "ROUTE_NOT_FOUND", "RATE_LIMIT_EXCEEDED"]);
const MAX_NAMED = 2;
/** Words for codes that say the same as their status. */
const WORDS: Readonly<Partial<Record<Code, string>>> = {
  UNAUTHENTICATED: "Token",
  SIGNATURE_REJECTED: "Signature",
  SCOPE_REJECTED: "Scope",
  FORBIDDEN: "Role",
};

/** Returns `OrderNotFound` for `ORDER_NOT_FOUND`. */
function pascal(words: string): string {
  return words.replaceAll(/[^A-Za-z]*([A-Za-z])([A-Za-z]*)/g, (_, first: string, rest: string) => {
    return first.toUpperCase() + rest.toLowerCase();
  });
}

/** Returns the words in front of the names of all error answers that have the same headers and fields. */
function prefixOf(surface: "A" | "B", headers: Json, rejected: boolean): string {
  const batch = rejected ? "Batch" : "";
  if (surface === "B") return `Emm${batch}`;
  const repeatable = "X-Replayed" in headers ? "Repeatable" : "";
  return `${repeatable}${"X-RateLimit-Cost" in headers ? "Metered" : ""}${batch}`;
}

/** Returns a name that has the status of an answer, and its codes unless they are many. */
function nameOf(status: number, lines: readonly ErrorLine[], prefix: string): string {
  const named = lines.flatMap(({ code }) => (COMMON.has(code) ? [] : [WORDS[code] ?? pascal(code)]));
  const codes = named.length > MAX_NAMED ? [] : named;
  const word = pascal(STATUS_CODES[status] ?? "");
  if (status === 404) return `${prefix}${codes.map((code) => code.replace(word, "")).join("Or")}${word}`;
  return `${prefix}${word}${codes.join("Or")}`;
}

function headersOf(status: number, lines: readonly ErrorLine[]): Json {
  const bearer = lines.some(({ code }) => code === "UNAUTHENTICATED");
  return {
    ...(status === 429 || status === 503 ? { "Retry-After": ref("headers", "Retry-After") } : {}),
    ...(bearer ? { "WWW-Authenticate": ref("headers", "WWW-Authenticate") } : {}),
  };
}

function refusalOf(
  status: number,
  lines: readonly ErrorLine[],
  surface: "A" | "B",
  headers: Json,
  rejected: boolean,
): Json {
  const codes = [...new Set(lines.map(({ code }) => wireCode(code)))];
  const about = lines.map(({ code, meaning, remedy }) => `- \`${wireCode(code)}\`: ${meaning}; ${remedy}`);
  const text = status === 403 ? [...about, `- HTML: ${EDGE.description}`] : about;
  const properties = {
    ...(surface === "A"
      ? {}
      : { statusCode: { const: status }, error: { const: STATUS_CODES[status] ?? "" } }),
    code: { type: "string", enum: codes },
    message: { type: "string" },
  };
  const required = Object.keys(properties);
  const list = { type: "array", items: ref("schemas", "BatchOrderError") };
  const json = {
    schema: {
      type: "object",
      properties: rejected && status < 500 ? { ...properties, rejected: list } : properties,
      required,
      additionalProperties: false,
    },
    examples: Object.fromEntries(
      lines.map(({ code, meaning, remedy }) => [
        code,
        {
          value: {
            ...(surface === "A" ? {} : { statusCode: status, error: STATUS_CODES[status] ?? "" }),
            code: wireCode(code),
            message: `${meaning}; ${remedy}`,
          },
        },
      ]),
    ),
  };
  return {
    description: [STATUS_CODES[status] ?? "", "", ...text].join("\n"),
    headers,
    content: {
      ...(lines.length === 0 ? {} : { "application/json": json }),
      ...(status === 403 ? { "text/html": { schema: EDGE.schema } } : {}),
    },
  };
}

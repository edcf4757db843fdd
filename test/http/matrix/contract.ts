/**
 * Authorization of every route, read from the tables of the contract and not from the code: who may call it, what it
 * costs and what it answers. A row of a table under `Route` is enough for the matrix to test a new route.
 */

import { documentsOf, repositoryFiles, tablesOf } from "../../house/documents.js";

/** Every kind of credential: the good ones by the name of their caller, then the bad ones. */
export const CREDENTIALS = [
  "management",
  "management::read",
  "trading",
  "trading::read",
  "session",
  "operator",
  "client",
  "none",
  "revoked key",
  "expired key",
  "key of another environment",
  "key of another brand",
  "signature by another's key",
  "ended session",
  "session of another environment",
  "deleted client",
  "client token of another environment",
  "operator token of another environment",
] as const;
export type Credential = (typeof CREDENTIALS)[number];

const KEYS: readonly Credential[] = ["management", "management::read", "trading", "trading::read"];
const BAD_KEYS: readonly Credential[] = [
  "revoked key",
  "expired key",
  "key of another environment",
  "key of another brand",
  "signature by another's key",
];

/** Owner of the resource that a request names. `sibling`: another subaccount of the same trader. */
export type Whose = "own" | "sibling" | "foreign" | "missing";

export interface Rule {
  /** Method and path in the notation of Express, such as `GET /v3/keys/:keyId`. */
  readonly line: string;
  /** Credentials that the route admits; every credential, and none, on a public route. */
  readonly callers: readonly Credential[];
  /** Permission that an operator needs; absent on routes that are not for operators. */
  readonly permission?: string | undefined;
  /** Cost in the words of the contract, such as `read 1`, or `free`. */
  readonly cost: string;
  /** Answer to a good request, such as `201`. */
  readonly own: string;
  /** Answer to a good request for a resource that is missing or another's; `undefined` when the route names none. */
  readonly elsewhere: string | undefined;
}

type Row = ReadonlyMap<string, string>;

function cellOf(row: Row, ...columns: readonly string[]): string | undefined {
  return columns.map((column) => row.get(column)).find((cell) => cell !== undefined);
}

/** Routes of an operator and of surface B admit one kind of caller each, so their tables have no column for it. */
function callersOf(path: string, row: Row): readonly Credential[] {
  if (path.startsWith("/admin/")) return ["operator"];
  if (path.startsWith("/svc/")) return ["client"];
  const cell = cellOf(row, "Callers", "Keys")?.replaceAll("`", "") ?? "";
  if (cell === "anybody") return CREDENTIALS;
  if (cell === "session") return ["session", "operator"];
  return cell.split(", ").flatMap((name) => {
    if (name === "any" || name === "all four") return KEYS;
    const credential = CREDENTIALS.find(
      (one) => one === name || (one === "session" && name === "web session"),
    );
    if (credential === undefined) throw new Error(`${path}: the contract names an unknown caller, "${name}"`);
    return credential;
  });
}

/** Answers to a missing resource that the name of the last parameter does not give. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "DELETE /v3/orders/batch": "404",
  "POST /svc/v2/emm/events/getMarketsByEvents": "404 EVENT_NOT_FOUND",
  "POST /svc/v2/emm/orders/cancel": "207",
  "DELETE /svc/v2/emm/orders/batch": "207",
  "POST /admin/v1/strike-requests/:requestId": "404 STRIKE_REQUEST_NOT_FOUND",
  "DELETE /admin/v1/quarantine/:messageId": "404 MESSAGE_NOT_FOUND",
};

/** Returns `404 ORDER_NOT_FOUND` for a path that ends in `:orderId`, and so on. */
function elsewhereOf(line: string): string | undefined {
  const parameter = [...line.matchAll(/:(\w+)Id\b/g)].at(-1)?.[1];
  if (ELSEWHERE[line] !== undefined || parameter === undefined) return ELSEWHERE[line];
  const noun = parameter === "key" && line.includes("/subaccounts/") ? "subaccount" : parameter;
  return `404 ${noun.toUpperCase()}_NOT_FOUND`;
}

function ruleOf(row: Row): Rule | undefined {
  const route = /^`([A-Z]+ \/[^`?]+)`$/.exec(row.get("Route") ?? "")?.[1];
  if (route === undefined) return undefined;
  const line = route.replaceAll(/\{(\w+)\}/g, ":$1");
  const [, path = ""] = line.split(" ");
  return {
    line,
    callers: callersOf(path, row),
    permission: cellOf(row, "Permission")?.replaceAll("`", ""),
    cost: cellOf(row, "Cost")?.replaceAll("`", "") ?? "free",
    own: /^\d{3}/.exec(cellOf(row, "Answer", "Success") ?? "")?.[0] ?? "200",
    elsewhere: elsewhereOf(line),
  };
}

/** Routes of the catalog are served without a signature too (contract section 5.14). */
function publicTwinOf(rule: Rule): Rule | undefined {
  if (!/^GET \/v3\/(?:catalog\/|types\/|ticks$)/.test(rule.line)) return undefined;
  return { ...rule, line: rule.line.replace("/v3/", "/v3/public/"), callers: CREDENTIALS, cost: "free" };
}

const CONTRACT = documentsOf(
  repositoryFiles().filter((file) => file.endsWith("CONTRACT.md")),
  [".md"],
);

const ROWS: readonly Row[] = CONTRACT.flatMap(({ text }) => tablesOf(text).flat());

/** Roles of operators by permission (contract section 8.5). */
export const ROLES_BY_PERMISSION: ReadonlyMap<string, readonly string[]> = new Map(
  ROWS.flatMap((row) => {
    const [permission = "", roles] = ["Permission", "Roles"].map((name) =>
      row.get(name)?.replaceAll("`", ""),
    );
    return roles === undefined ? [] : [[permission, roles.split(", ")]];
  }),
);

const EVERY_RULE: readonly Rule[] = ROWS.flatMap((row) => ruleOf(row) ?? []).flatMap((rule) =>
  [rule, publicTwinOf(rule) ?? []].flat(),
);

const UPGRADE_LINE = "GET /v3/ws";

/** Rules by route; the upgrade to a websocket is no route. */
export const RULES: ReadonlyMap<string, Rule> = new Map(
  EVERY_RULE.filter(({ line }) => line !== UPGRADE_LINE).map((rule) => [rule.line, rule]),
);

/** Returns the rule of a route. Throws when the contract has no row for it. */
export function ruleFor(line: string): Rule {
  const rule = EVERY_RULE.find((one) => one.line === line);
  if (rule === undefined) throw new Error(`no table of the contract (CONTRACT.md) has a row for ${line}`);
  return rule;
}

/** Rule of the upgrade to a websocket (contract section 6.1). */
export const UPGRADE = ruleFor(UPGRADE_LINE);

export function isPublic({ callers }: Rule): boolean {
  return callers === CREDENTIALS;
}

/** Returns the refusal of a credential that the route does not admit, and `undefined` for one that it admits. */
export function refusalOf({ callers }: Rule, credential: Credential): string | undefined {
  if (callers.includes(credential)) return undefined;
  const takesKeys = KEYS.some((scope) => callers.includes(scope));
  if (takesKeys) {
    if (KEYS.includes(credential)) return "403 SIGNATURE_REJECTED";
    if (credential === "none" || BAD_KEYS.includes(credential)) return "401 SIGNATURE_REJECTED";
    if (!callers.includes("session")) return "401 SIGNATURE_REJECTED";
    return credential === "operator" ? "403 FORBIDDEN" : "401 UNAUTHENTICATED";
  }
  const isOther = callers.includes("operator") ? credential === "session" : credential === "operator";
  return isOther && callers.some((caller) => caller === "operator" || caller === "session")
    ? "403 FORBIDDEN"
    : "401 UNAUTHENTICATED";
}

/** Answers to the samples that are good requests and yet refused, by the state of the world of the matrix. */
const OWN: Readonly<Record<string, string>> = {
  "POST /v3/keys by session": "409 MANAGEMENT_KEY_EXISTS",
  // The sample names the trading key, and a key gets tickets for itself only.
  "POST /v3/ws/tickets by trading::read": "400 INVALID_BODY",
  // The samples name the password of the trader, and that of the operator.
  "POST /v3/session/password by operator": "401 INVALID_CREDENTIALS",
  "POST /admin/v1/markets/:marketId/settlement/approve by operator": "409 NOT_GRADED",
  "DELETE /admin/v1/markets/:marketId/settlement by operator": "409 NOT_GRADED",
  "POST /admin/v1/maintenance by operator": "409 INVALID_TRANSITION",
};

const SIBLING: Readonly<Record<string, string>> = {
  // The other subaccount of the world has money.
  "DELETE /v3/account/subaccounts/:keyId": "409 SUBACCOUNT_NOT_EMPTY",
};

/** Returns the answer to a credential that the route admits. */
export function answerOf({ line, own, elsewhere }: Rule, credential: Credential, whose: Whose): string {
  if (whose === "own") return OWN[`${line} by ${credential}`] ?? own;
  // A trading key reaches its own subaccount only, a management key every subaccount of its trader.
  if (whose === "sibling" && elsewhere === "404 SUBACCOUNT_NOT_FOUND") {
    return credential.startsWith("trading") ? "403 SIGNATURE_REJECTED" : (SIBLING[line] ?? own);
  }
  return elsewhere ?? own;
}

/** Returns the charge of a request, such as `history 7`, or `-`: `items` of its body, `rows` of its answer. */
export function chargeOf({ cost }: Rule, items: number, rows: number): string {
  const [, bucket, base = "0", perRows, perItem] =
    /^(\w+) (\d+)(?: \+ 1 per (\d+) rows| (per (?:order|id)))?/.exec(cost) ?? [];
  if (bucket === undefined) return "-";
  const more = perRows === undefined ? 0 : Math.ceil(rows / Number(perRows));
  return `${bucket} ${perItem === undefined ? Number(base) + more : Number(base) * items}`;
}

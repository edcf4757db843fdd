/** What a client may say (contract section 6), and how a refusal is worded. Shapes only; meaning is the session's. */

import { z } from "zod";
import { CURRENCIES } from "../../../actors/market/types.js";
import { UUID, UUID_PATTERN } from "../../../actors/uuid.js";
import { CHANNELS } from "./channels.js";

/** Sockets are closed with 1009 over this size of a message, in bytes. */
export const MAX_REQUEST_BYTES = 65_536;
/** Maximum number of markets that one connection watches at once (specification, Limits). */
export const MAX_WATCHED_MARKETS = 2_048;
/** What one subscribe is charged at most. */
export const MAX_CHARGE = 512;
/** Orders or order ids in one request. */
export const MAX_BATCH = 256;

const uuid = z
  .string()
  .regex(UUID, "not a uuid")
  .transform((id) => id.toLowerCase());

const channel = z.enum(["lifecycle", "trades", "bbo", "book"] satisfies typeof CHANNELS);
const channels = z.union([channel.transform((one) => [one]), z.array(channel).min(1).max(CHANNELS.length)]);
const currency = z.enum(CURRENCIES);
const watched = z.record(uuid, channels);
const seq = z.int().min(0);
const sinceMarket = z.strictObject({
  lifecycle: seq.optional(),
  trades: seq.optional(),
  bbo: seq.optional(),
  book: seq.optional(),
});

/** Where a client left off: `{ "market:<id>": { channel: seq }, orders: seq, positions: seq }`. */
const since = z
  .object({ orders: seq.optional(), positions: seq.optional() })
  .catchall(sinceMarket)
  .transform(({ orders, positions, ...markets }, context) => {
    const byMarket = new Map<string, z.infer<typeof sinceMarket>>();
    for (const [subject, seqs] of Object.entries(markets)) {
      const [kind, id] = subject.split(":");
      const parsed = uuid.safeParse(id);
      if (kind === "market" && parsed.success) byMarket.set(parsed.data, seqs);
      else
        context.addIssue({
          code: "custom",
          message: "not orders, positions or market:<id>",
          path: [subject],
        });
    }
    return { orders, positions, markets: byMarket };
  });

const selection = z.strictObject({
  markets: watched.default({}),
  events: watched.default({}),
  private: z
    .array(z.enum(["orders", "positions"]))
    .max(2)
    .default([]),
  currency: currency.default("CASH"),
});
/** What to watch: markets and events by channels, the caller's own orders and positions. */
export type Selection = z.infer<typeof selection>;
export type Since = z.infer<typeof since>;

const subject = z
  .string()
  .regex(
    new RegExp(`^(?:(?:market|event):${UUID_PATTERN}|PRIVATE)$`),
    "not market:<id>, event:<id> or PRIVATE",
  )
  .transform((text) => (text === "PRIVATE" ? text : text.toLowerCase()));

/** Sandbox faults: a share of frames, rounds, ms. */
const fault = z.union(
  [
    z.strictObject({ dropFrames: z.number().min(0).max(1) }),
    z.strictObject({ goLiveStorm: z.int().min(1).max(20) }),
    z.strictObject({ stall: z.int().min(0).max(60_000) }),
  ],
  "one of { dropFrames: 0..1 }, { goLiveStorm: 1..20 } and { stall: 0..60000 }",
);
export type Fault = z.infer<typeof fault>;

const filters = z.record(z.string(), z.unknown());

/** What each verb takes. */
export const VERBS = {
  subscribe: selection.extend({ since: since.optional() }),
  unsubscribe: z
    .array(subject)
    .min(1)
    .max(MAX_WATCHED_MARKETS + 1),
  snapshot: selection,
  status: z.strictObject({}),
  query_markets: filters,
  query_events: filters,
  place: z.strictObject({ orders: z.array(z.unknown()), atomic: z.boolean().default(false) }),
  cancel: z.strictObject({ orderIds: z.array(uuid) }),
  cancel_all: z.strictObject({ event: uuid.optional(), market: uuid.optional(), outcome: uuid.optional() }),
  safety: z.strictObject({ cancelOnDisconnect: z.boolean() }),
  fault,
};

type Verbs = typeof VERBS;
export type Verb = keyof Verbs;

/** A well-formed request; `verb` says what `payload` is. */
export type Request = {
  [V in Verb]: { readonly nonce: number; readonly verb: V; readonly payload: z.infer<Verbs[V]> };
}[Verb];

export type ErrorCode =
  | "INVALID_REQUEST"
  | "STALE_NONCE"
  | "EMPTY_SELECTION"
  | "SUBSCRIPTION_LIMIT_EXCEEDED"
  | "RATE_LIMIT_EXCEEDED"
  | "MARKET_NOT_FOUND"
  | "EVENT_NOT_FOUND"
  | "SIGNATURE_REJECTED"
  | "EMPTY_BATCH"
  | "BATCH_TOO_LARGE"
  | "UNAVAILABLE";

/** A refusal of the bridge itself, thrown to whoever answers the request. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** A message that is no request. `nonce` is there when it could be read. */
export interface Malformed {
  readonly nonce: number | undefined;
  readonly message: string;
}

/** Reads the nonce and the one verb of a decoded message. Only a `sandbox` knows the verb `fault`. */
export function parseRequest(
  message: unknown,
  sandbox = false,
): { ok: true; request: Request } | ({ ok: false } & Malformed) {
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    return { ok: false, nonce: undefined, message: "a request is an object with a nonce and one verb" };
  }
  const { nonce, ...rest } = message as Record<string, unknown>;
  if (!Number.isSafeInteger(nonce) || (nonce as number) < 1) {
    return { ok: false, nonce: undefined, message: "nonce is not an integer of at least 1" };
  }
  const parsed = parseVerb(nonce as number, rest, sandbox);
  return typeof parsed === "string"
    ? { ok: false, nonce: nonce as number, message: parsed }
    : { ok: true, request: parsed };
}

function parseVerb(nonce: number, rest: Record<string, unknown>, sandbox: boolean): Request | string {
  const names = Object.keys(rest);
  const [verb] = names;
  if (verb === undefined || names.length > 1) return "a request has exactly one verb";
  if (!Object.hasOwn(VERBS, verb) || (verb === "fault" && !sandbox)) return "unknown verb";
  const payload = VERBS[verb as Verb].safeParse(rest[verb]);
  if (payload.success) return { nonce, verb, payload: payload.data } as Request;
  const [issue] = payload.error.issues;
  return [
    [verb, ...(issue?.path ?? [])].map(String).join(".").slice(0, 120),
    issue?.message ?? "malformed",
  ].join(": ");
}

/** Shapes of the requests that a client may send, and the refusals of the bridge (contract sections 6.2 to 6.4). */

import { z } from "zod";
import { CURRENCIES } from "../../../actors/market/types.js";
import { UUID, UUID_PATTERN } from "../../../actors/uuid.js";
import { CHANNELS, PRIVATE_CHANNELS } from "../channels.js";

/** Maximum size of an inbound message, in bytes. A larger one closes the socket with 1009. */
export const MAX_REQUEST_BYTES = 65_536;
/** Maximum number of markets that one connection watches at once (specification, Limits). */
export const MAX_WATCHED_MARKETS = 2_048;
/** Maximum charge of one request, in tokens of the `stream` bucket. */
export const MAX_CHARGE = 512;

const uuid = z
  .string()
  .regex(UUID, "must be a uuid")
  .transform((id) => id.toLowerCase());

const channel = z.enum(CHANNELS);
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

/** Last seqs that a client has: `{ "market:<id>": { channel: seq }, orders: seq, positions: seq }`. */
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
          message: "must be orders, positions or market:<uuid>",
          path: [subject],
        });
    }
    return { orders, positions, markets: byMarket };
  });

const selection = z.strictObject({
  markets: watched.default({}),
  events: watched.default({}),
  private: z.array(z.enum(PRIVATE_CHANNELS)).max(PRIVATE_CHANNELS.length).default([]),
  currency: currency.default("CASH"),
});
/** Markets and events by channels, and private channels. The defaults are filled in. */
export type Selection = z.infer<typeof selection>;
/** Last seqs that a client has, by channel. */
export type Since = z.infer<typeof since>;

const subject = z
  .string()
  .regex(
    new RegExp(`^(?:(?:market|event):${UUID_PATTERN}|PRIVATE)$`),
    "must be market:<uuid>, event:<uuid> or PRIVATE",
  )
  .transform((text) => (text === "PRIVATE" ? text : text.toLowerCase()));

/** Faults of the sandbox: a share of frames, a number of rounds, or a duration in ms. */
const fault = z.union(
  [
    z.strictObject({ dropFrames: z.number().min(0).max(1) }),
    z.strictObject({ goLiveStorm: z.int().min(1).max(20) }),
    z.strictObject({ stall: z.int().min(0).max(60_000) }),
  ],
  "must be one of { dropFrames: 0..1 }, { goLiveStorm: 1..20 } and { stall: 0..60000 }",
);
/** A fault that a client injects into its own socket. */
export type Fault = z.infer<typeof fault>;

const filters = z.record(z.string(), z.unknown());

/** Payload of each verb. */
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
/** Name of a request. */
export type Verb = keyof Verbs;

/** A well-formed request; `verb` determines the type of `payload`. */
export type Request = {
  [V in Verb]: { readonly nonce: number; readonly verb: V; readonly payload: z.infer<Verbs[V]> };
}[Verb];

/** Codes of the refusals that the bridge itself makes; the ports add those of REST. */
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

/** Thrown when the bridge itself refuses a request. The session answers with the code and the message. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** A message that is not a request. `nonce` is set when the message has a valid one. */
export interface Malformed {
  readonly nonce: number | undefined;
  readonly message: string;
}

/** Reads the nonce and the verb of a parsed message. The verb `fault` exists only in a `sandbox`. */
export function parseRequest(
  message: unknown,
  sandbox = false,
): { ok: true; request: Request } | ({ ok: false } & Malformed) {
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    return {
      ok: false,
      nonce: undefined,
      message: "a request must be a JSON object with a nonce and one verb",
    };
  }
  const { nonce, ...rest } = message as Record<string, unknown>;
  if (!Number.isSafeInteger(nonce) || (nonce as number) < 1) {
    return { ok: false, nonce: undefined, message: "nonce must be an integer of at least 1" };
  }
  const parsed = parseVerb(nonce as number, rest, sandbox);
  return typeof parsed === "string"
    ? { ok: false, nonce: nonce as number, message: parsed }
    : { ok: true, request: parsed };
}

function parseVerb(nonce: number, rest: Record<string, unknown>, sandbox: boolean): Request | string {
  const names = Object.keys(rest);
  const [verb] = names;
  if (verb === undefined || names.length > 1) return "a request must have exactly one verb beside its nonce";
  if (!Object.hasOwn(VERBS, verb) || (verb === "fault" && !sandbox))
    return "unknown verb; /asyncapi.json lists the verbs";
  const payload = VERBS[verb as Verb].safeParse(rest[verb]);
  if (payload.success) return { nonce, verb, payload: payload.data } as Request;
  const [issue] = payload.error.issues;
  return [
    [verb, ...(issue?.path ?? [])].map(String).join(".").slice(0, 120),
    issue?.message ?? "has the wrong shape",
  ].join(": ");
}

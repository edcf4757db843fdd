/** Routes about the service itself: the echo, the limits and the public status (contract section 5.11). */

import { MAX_WATCHED_MARKETS } from "../../stream/ws/socket/protocol.js";
import { changeOnWire } from "./changelog.js";
import type { Signatures } from "../auth/signatures.js";
import type { ServiceStatus } from "../ops/status.js";
import { ANY_SCOPE, ANYBODY, signedBy, signedOrSession } from "../request/access.js";
import { payerOf } from "../request/callers.js";
import { RATED_FREE } from "../request/metering.js";
import { route } from "../request/route.js";
import { KEY_BUCKETS, type Bucket, type Throttle } from "../request/throttle.js";
import { Limits } from "./schemas/account.js";
import { Status } from "./schemas/status.js";

interface ServiceParts {
  readonly throttle: Throttle;
  readonly signatures: Signatures;
  readonly debug: boolean;
  readonly status: () => Promise<ServiceStatus>;
}

export function serviceRoutes({ throttle, signatures, debug, status }: ServiceParts) {
  const echo = route("POST /v3/echo", {
    access: { ...signedBy(ANY_SCOPE), whileExcluded: true },
    metering: RATED_FREE,
    anyBody: true,
    pure: true,
    headers: (incoming) => canonicalHeader(signatures, incoming, debug),
    docs: {
      summary: "Echo a request",
      description:
        "Returns the body byte for byte, so that a signer can be tested. Outside production, a request with the header `{brand}-Debug: canonical` is answered with the header `{brand}-Canonical`, on success and on 401: the canonical text that the service built, in base64. Compare it with the text that was signed.",
      headers: ["Canonical"],
      exampleBody: { hello: "world" },
    },
    run: ({ incoming }) => {
      const type = incoming.header("content-type");
      return {
        body: incoming.body,
        headers: {
          "Content-Type": typeof type === "string" ? type : "application/octet-stream",
          "X-Content-Type-Options": "nosniff",
          "Content-Disposition": "attachment",
        },
      };
    },
  });

  const limits = route("GET /v3/limits", {
    access: signedOrSession(ANY_SCOPE),
    metering: RATED_FREE,
    answer: Limits,
    docs: {
      summary: "Retrieve the limits",
      description:
        "Returns the capacity, refill rate and level of each bucket of the caller, and the number of markets that one connection may watch.",
    },
    run: async ({ caller }) => {
      const state = async (bucket: Bucket) => ({
        ...KEY_BUCKETS[bucket],
        remaining: (await throttle.charge(payerOf(caller), bucket, 0)).remaining,
      });
      return {
        body: {
          read: await state("read"),
          account: await state("account"),
          place: await state("place"),
          cancel: await state("cancel"),
          stream: await state("stream"),
          history: await state("history"),
          maxWatchedMarkets: MAX_WATCHED_MARKETS,
        },
      };
    },
  });

  const health = route("GET /v3/public/status", {
    access: ANYBODY,
    answer: Status,
    docs: {
      summary: "Retrieve the status of the service",
      description:
        "Returns what works now, how far the lists are behind, the current maintenance, and the last announcements. It answers 200 while parts of the service are down; the announcements are then those that were read before. The state is determined once a second at most.",
    },
    run: async () => {
      const { announcements, ...rest } = await status();
      return { body: { ...rest, announcements: announcements.map(changeOnWire) } };
    },
  });

  return [echo, limits, health];
}

/** Returns the header with the canonical text that the server built, for `Svc-Debug: canonical` outside production. */
function canonicalHeader(
  signatures: Signatures,
  incoming: Parameters<Signatures["canonicalTextOf"]>[0],
  debug: boolean,
): Record<string, string> {
  if (!debug || incoming.header(signatures.debugName) !== "canonical") return {};
  return { [signatures.canonicalName]: Buffer.from(signatures.canonicalTextOf(incoming)).toString("base64") };
}

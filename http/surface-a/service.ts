/** The two routes that are about the service itself: echo and limits (contract section 5). */

import { MAX_WATCHED_MARKETS } from "../../stream/ws/socket/protocol.js";
import { keyEndpoint } from "../request/route.js";
import { Limits } from "./schemas/account.js";
import type { Signatures } from "../auth/signatures.js";
import { KEY_BUCKETS, type Bucket, type Throttle } from "../request/throttle.js";

export function serviceEndpoints(parts: { throttle: Throttle; signatures: Signatures; debug: boolean }) {
  const { throttle, signatures, debug } = parts;

  const echo = keyEndpoint({
    anyBody: true,
    pure: true,
    headers: (incoming) => canonicalHeader(signatures, incoming, debug),
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

  const limits = keyEndpoint({
    answer: Limits,
    run: async ({ caller }) => {
      const state = async (bucket: Bucket) => ({
        ...KEY_BUCKETS[bucket],
        remaining: (await throttle.charge(caller.key.keyId, bucket, 0)).remaining,
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

  return { echo, limits };
}

/** The canonical text that the server built, for whoever asks with `Svc-Debug: canonical` outside production. */
function canonicalHeader(
  signatures: Signatures,
  incoming: Parameters<Signatures["canonicalTextOf"]>[0],
  debug: boolean,
): Record<string, string> {
  if (!debug || incoming.header(signatures.debugName) !== "canonical") return {};
  return { [signatures.canonicalName]: Buffer.from(signatures.canonicalTextOf(incoming)).toString("base64") };
}

/** Requests that a key of this browser signs (contract section 5.3). */

import type { Signer } from "../../client/signer.js";
import { readJson, send, targetOf, type Method, type Request } from "../data/api.js";
import { serviceNow } from "../data/clock.js";
import { asRefusal, Refusal, refusalOf, UNREACHABLE } from "../data/refusal.js";

/** Pauses in ms before a request without an answer is sent again. */
const PAUSES_MS = [300, 900, 2_700];

/**
 * Sends a request with its signature. A request that got no answer is sent again with the same bytes, which take effect
 * once (contract section 5.6). Throws `Refusal`.
 */
export async function callSigned<T>(
  signer: Signer,
  method: Method,
  path: string,
  request: Request = {},
): Promise<T> {
  const target = targetOf(path, request.query);
  const [, query = ""] = target.split("?", 2);
  const body = request.body === undefined ? "" : JSON.stringify(request.body);
  const signed = await signer.headers(method, path, query, new TextEncoder().encode(body), serviceNow());
  const init = {
    headers: { ...signed, ...(body === "" ? {} : { "Content-Type": "application/json" }) },
    ...(body === "" ? {} : { body }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  };
  const { response, isRepeat } = await sendUntilAnswered(method, target, init);
  if (isRepeat && !response.ok && method !== "GET") throw await unansweredBefore(response);
  return readJson<T>(response);
}

/** Returns the end of a request whose repeat was refused: the first one, whose answer is missing, may have taken effect. */
async function unansweredBefore(response: Response): Promise<Refusal> {
  const { code, requestId } = await refusalOf(response);
  const message = `The service gave no answer at first, and refused the repeat (${code}). The request may have taken effect.`;
  return new Refusal(0, UNREACHABLE, message, requestId);
}

/** Returns the first answer. `isRepeat` is true when an earlier attempt got none. */
async function sendUntilAnswered(
  method: Method,
  target: string,
  init: RequestInit,
): Promise<{ readonly response: Response; readonly isRepeat: boolean }> {
  let isRepeat = false;
  for (const pauseMs of PAUSES_MS) {
    try {
      const response = await send(method, target, init);
      if (response.status !== 409) return { response, isRepeat };
      const { code } = await refusalOf(response.clone());
      if (code !== "REQUEST_IN_PROGRESS") return { response, isRepeat };
    } catch (error) {
      if (asRefusal(error).code !== UNREACHABLE) throw error;
      isRepeat = true;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return { response: await send(method, target, init), isRepeat };
}

/**
 * The key with which this page trades: that of the subaccount called Web, held by this browser. The private half is not
 * extractable. One browser holds the key at a time; another one replaces it.
 */

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { z } from "zod";
import { BrowserSigner } from "../../client/browser/signer.js";
import { generateHiddenKey } from "../../client/keys.js";
import type { Key, Subaccount } from "../../surface-a/schemas/account.js";
import { call, type Method, type Request } from "../data/api.js";
import { asRefusal, isUnknown, Refusal } from "../data/refusal.js";
import { session } from "../data/session.js";
import { settings } from "../data/settings.js";
import { storedKey, storeKey, type StoredKey } from "./key-store.js";
import { callSigned } from "./signed.js";
import { fingerprintOfPem, withBestAlgorithm, withoutWebCrypto } from "./web-crypto.js";

type Keys = readonly z.infer<typeof Key>[];
type Subaccounts = readonly z.infer<typeof Subaccount>[];

/** Label of the subaccount in which the page trades. */
export const WEB = "Web";

/** Place of the key, as far as this browser knows. */
type WebKeyState =
  | { readonly kind: "signedOut" | "checking" }
  /** The trader has no subaccount called Web yet. */
  | { readonly kind: "absent" }
  /** This page has no WebCrypto; `reason` says why and what to do. */
  | { readonly kind: "impossible"; readonly reason: string }
  /** The subaccount exists, and this browser does not hold its key; `liveKeyId` is the key that trades in it now. */
  | { readonly kind: "elsewhere"; readonly subaccount: string; readonly liveKeyId: string | undefined }
  | { readonly kind: "here"; readonly keyId: string; readonly signer: BrowserSigner }
  | { readonly kind: "failed"; readonly refusal: Refusal };

const state = signal<WebKeyState>({ kind: "signedOut" });

export const webKeyState: ReadonlySignal<WebKeyState> = state;

/** Key of the subaccount Web in this browser. `subaccount` names the subaccount in paths and in the query of reads. */
export const webKey = computed(() => {
  const { value } = state;
  return value.kind === "here" ? { keyId: value.keyId, subaccount: value.keyId } : undefined;
});

const trader = computed(() => (session.value?.role === "trader" ? session.value.accountId : undefined));

/** Reads where the key of an account is. Throws `Refusal`. */
async function find(accountId: string): Promise<WebKeyState> {
  const reason = withoutWebCrypto();
  if (reason !== undefined) return { kind: "impossible", reason };
  const [subaccounts, keys, held] = await Promise.all([
    call<Subaccounts>("GET", "/v3/account/subaccounts"),
    call<Keys>("GET", "/v3/keys"),
    storedKey(accountId),
  ]);
  const [web, ...others] = subaccounts.filter(({ label }) => label === WEB);
  if (web === undefined) return { kind: "absent" };
  if (others.length > 0) throw twoOfThem();
  const live = keys.find(({ restriction, scope }) => restriction === WEB && scope === "trading");
  if (live === undefined || held?.fingerprint !== live.fingerprint)
    return { kind: "elsewhere", subaccount: web.keyId, liveKeyId: live?.keyId };
  return here(live.keyId, held);
}

function here(keyId: string, { algorithm, privateKey }: StoredKey): WebKeyState {
  return { kind: "here", keyId, signer: new BrowserSigner({ keyId, algorithm, privateKey }, settings.brand) };
}

function twoOfThem(): Refusal {
  const message = `Two subaccounts are called ${WEB}, so the page cannot know which one to trade in. Rename one of them under Keys.`;
  return new Refusal(0, "TWO_SUBACCOUNTS", message);
}

/** Time in ms after which a failed read is repeated. */
const RETRY_MS = 3_000;
/** Number of the last read: the answer of an older one may come later, and is not shown. */
let reads = 0;

/**
 * Reads where the key is, and shows it, unless somebody else has signed in meanwhile. A service that is away says nothing
 * about the key: one that is here stays, and the page asks again.
 */
async function follow(accountId: string): Promise<WebKeyState> {
  const read = ++reads;
  const isCurrent = (): boolean => read === reads && trader.peek() === accountId;
  const found = await find(accountId).catch((error: unknown): WebKeyState => ({
    kind: "failed",
    refusal: asRefusal(error),
  }));
  if (!isCurrent()) return found;
  const isAway = found.kind === "failed" && (isUnknown(found.refusal) || found.refusal.status === 429);
  if (isAway) setTimeout(() => isCurrent() && void follow(accountId), found.refusal.retryAfterMs ?? RETRY_MS);
  if (!isAway || state.peek().kind !== "here") state.value = found;
  return found;
}

/** Reads anew where the key is. */
export async function checkWebKey(): Promise<void> {
  const accountId = trader.peek();
  if (accountId !== undefined) await follow(accountId);
}

effect(() => {
  const accountId = trader.value;
  state.value = { kind: accountId === undefined ? "signedOut" : "checking" };
  if (accountId !== undefined) void follow(accountId);
});

/**
 * Opens the subaccount Web, or moves its key to this browser: the key of the other browser is revoked first. Does nothing
 * when the key is here. `WebKeyPanel` says what is about to happen before it calls this. Throws `Refusal`.
 */
export async function ensureWebKey(): Promise<void> {
  const accountId = trader.peek();
  if (accountId === undefined)
    throw new Refusal(0, "NOT_SIGNED_IN", "Log in as a trader to trade from this page.");
  const reason = withoutWebCrypto();
  if (reason !== undefined) throw new Refusal(0, "NO_WEBCRYPTO", reason);
  // Two tabs, or two clicks, open one subaccount.
  await navigator.locks.request("overround-web-key", async () => {
    const found = await find(accountId);
    if (found.kind === "absent") await openWeb(accountId);
    if (found.kind === "elsewhere") await moveHere(accountId, found);
  });
  const found = await follow(accountId);
  if (found.kind === "failed") throw found.refusal;
}

/** Makes a key. This browser stores the key before the service knows it, so that no lost answer loses the only key. */
function makeKey(accountId: string) {
  return withBestAlgorithm(async (best) => {
    const { publicKey, privateKey, algorithm } = await generateHiddenKey(best);
    await storeKey(accountId, { algorithm, privateKey, fingerprint: await fingerprintOfPem(publicKey) });
    return { publicKey, algorithm };
  });
}

async function openWeb(accountId: string): Promise<void> {
  const body = { label: WEB, ...(await makeKey(accountId)) };
  await call("POST", "/v3/account/subaccounts", { body });
}

async function moveHere(
  accountId: string,
  { subaccount, liveKeyId }: { readonly subaccount: string; readonly liveKeyId: string | undefined },
): Promise<void> {
  const body = { name: WEB, scope: "trading", ...(await makeKey(accountId)) };
  if (liveKeyId !== undefined) await call("DELETE", `/v3/keys/${liveKeyId}`);
  await call("POST", `/v3/account/subaccounts/${subaccount}/keys`, { body });
}

/** Calls a route signed with the key of the subaccount Web. Throws `Refusal`. */
export async function signedCall<T>(method: Method, path: string, request: Request = {}): Promise<T> {
  const { value } = state;
  if (value.kind !== "here")
    throw new Refusal(
      0,
      "NO_WEB_KEY",
      `This browser does not hold the key of the subaccount ${WEB}. Bring the key here, and try again.`,
    );
  try {
    return await callSigned<T>(value.signer, method, path, request);
  } catch (error) {
    // Another browser may have replaced the key, or the clock of this device has gone back under the signer.
    if (asRefusal(error).status === 401) void checkWebKey();
    throw error;
  }
}

/**
 * The file of the management key, which the visitor chooses for one action. The key stays in memory for that action only.
 */

import type { z } from "zod";
import { BrowserSigner } from "../../client/browser/signer.js";
import type { Key } from "../../surface-a/schemas/account.js";
import { call, type Method, type Request } from "../data/api.js";
import { Refusal } from "../data/refusal.js";
import { settings } from "../data/settings.js";
import { callSigned } from "./signed.js";
import { fromPem, importPrivate, withoutWebCrypto } from "./web-crypto.js";

/** Largest file that can be a key, in bytes. */
const MAX_BYTES = 10_000;

/** Returns the signer of the management key in a file. Throws `Refusal` when the file holds another key, or none. */
async function signerOf(file: File): Promise<BrowserSigner> {
  const reason = withoutWebCrypto();
  if (reason !== undefined) throw new Refusal(0, "NO_WEBCRYPTO", reason);
  const pkcs8 = file.size > MAX_BYTES ? undefined : fromPem("PRIVATE KEY", await file.text());
  if (pkcs8 === undefined)
    throw wrongFile(
      `${file.name} is not a private key as PKCS#8 PEM. Choose the file of the management key.`,
    );
  const held = await importPrivate(pkcs8);
  if (held === undefined)
    throw wrongFile(
      `${file.name} holds neither an Ed25519 nor a P-256 key that this browser can use. Choose the file of the management key.`,
    );
  const keys = await call<readonly z.infer<typeof Key>[]>("GET", "/v3/keys");
  const management = keys.find(({ scope }) => scope === "management");
  if (management === undefined)
    throw wrongFile("You have no management key. Make one under Keys, and keep its file.");
  if (management.fingerprint !== held.fingerprint) {
    const other = keys.find(({ fingerprint }) => fingerprint === held.fingerprint);
    const found = other === undefined ? "a key that is not live" : `the ${other.scope} key "${other.name}"`;
    throw wrongFile(
      `${file.name} holds ${found}. Choose the file of the management key "${management.name}".`,
    );
  }
  const { keyId } = management;
  return new BrowserSigner({ keyId, algorithm: held.algorithm, privateKey: held.key }, settings.brand);
}

function wrongFile(message: string): Refusal {
  return new Refusal(0, "WRONG_KEY_FILE", message);
}

/** Calls a route signed with the management key of a file. Throws `Refusal`. */
export async function callWithKeyFile<T>(
  file: File,
  method: Method,
  path: string,
  request: Request = {},
): Promise<T> {
  return callSigned<T>(await signerOf(file), method, path, request);
}

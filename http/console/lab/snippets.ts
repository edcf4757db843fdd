/** Programs that send a signed request, in three languages (contract section 5.3). */

import type { KeyAlgorithm } from "../../auth/canonical.js";

/** Request that a program sends. */
export interface LabRequest {
  readonly origin: string;
  readonly brand: string;
  readonly algorithm: KeyAlgorithm;
  readonly keyId: string;
  readonly method: string;
  readonly path: string;
  /** Query in its canonical form, in which the programs also send it. */
  readonly query: string;
  readonly body: string;
}

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a shell script of curl and openssl. */
export function curl(request: LabRequest): string {
  const { origin, brand, algorithm, keyId, method, path, query, body } = request;
  const sign =
    algorithm === "Ed25519"
      ? `signature=$(openssl pkeyutl -sign -rawin -inkey key.pem -in text.txt | openssl base64 -A)`
      : `signature=$(openssl dgst -sha256 -sign key.pem text.txt | openssl base64 -A)`;
  const data = body === "" ? [] : [`  -H 'Content-Type: application/json' --data-binary "$body" \\`];
  return `# Needs curl and openssl 3, and the private key in key.pem.
body=${quoted(body)}
timestamp=$(date +%s)000
digest=$(printf '%s' "$body" | openssl dgst -sha256 -r | cut -d ' ' -f 1)
printf '%s\\n' ${quoted(`${brand.toUpperCase()}-V3`)} "$timestamp" ${quoted(method)} ${quoted(path)} ${quoted(query)} > text.txt
printf '%s' "$digest" >> text.txt
${sign}
${[
  `curl -sS -X ${method} \\`,
  `  -H '${brand}-Key-Id: ${keyId}' \\`,
  `  -H "${brand}-Timestamp: $timestamp" \\`,
  `  -H "${brand}-Signature: $signature" \\`,
  ...data,
  `  ${quoted(target(request, origin))}`,
].join("\n")}
`;
}

/** Returns a program for Node without packages. */
export function typeScript(request: LabRequest): string {
  const { origin, brand, keyId, method, path, query, body } = request;
  return `// Needs Node 20 or newer, and the private key in key.pem.
import { createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";

const privateKey = createPrivateKey(readFileSync("key.pem", "utf8"));
const method = ${JSON.stringify(method)};
const path = ${JSON.stringify(path)};
const query = ${JSON.stringify(query)};
const body = ${JSON.stringify(body)};

const timestamp = String(Date.now());
const digest = createHash("sha256").update(body).digest("hex");
const text = [${JSON.stringify(`${brand.toUpperCase()}-V3`)}, timestamp, method, path, query, digest].join("\\n");
// Ed25519 signs the text itself. P-256 signs its SHA-256, and Node encodes the signature in DER.
const hash = privateKey.asymmetricKeyType === "ed25519" ? null : "sha256";
const signature = sign(hash, Buffer.from(text), privateKey).toString("base64");

const answer = await fetch(${JSON.stringify(origin)} + path + (query === "" ? "" : "?" + query), {
  method,
  headers: {
    "${brand}-Key-Id": ${JSON.stringify(keyId)},
    "${brand}-Timestamp": timestamp,
    "${brand}-Signature": signature,
    ...(body === "" ? {} : { "Content-Type": "application/json" }),
  },
  ...(body === "" ? {} : { body }),
});
console.log(answer.status, await answer.text());
`;
}

/** Returns a program for Python. */
export function python(request: LabRequest): string {
  const { origin, brand, keyId, method, path, query, body } = request;
  return `# Needs: pip install cryptography requests, and the private key in key.pem.
import base64, hashlib, time
import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

with open("key.pem", "rb") as file:
    private_key = serialization.load_pem_private_key(file.read(), None)
method = ${JSON.stringify(method)}
path = ${JSON.stringify(path)}
query = ${JSON.stringify(query)}
body = ${JSON.stringify(body)}.encode()

timestamp = str(time.time_ns() // 1_000_000)
digest = hashlib.sha256(body).hexdigest()
text = "\\n".join([${JSON.stringify(`${brand.toUpperCase()}-V3`)}, timestamp, method, path, query, digest]).encode()
# Ed25519 signs the text itself. P-256 signs its SHA-256, in DER.
if isinstance(private_key, ed25519.Ed25519PrivateKey):
    signature = private_key.sign(text)
else:
    signature = private_key.sign(text, ec.ECDSA(hashes.SHA256()))

headers = {
    "${brand}-Key-Id": ${JSON.stringify(keyId)},
    "${brand}-Timestamp": timestamp,
    "${brand}-Signature": base64.b64encode(signature).decode(),
}
if body:
    headers["Content-Type"] = "application/json"
url = ${JSON.stringify(origin)} + path + ("?" + query if query else "")
answer = requests.request(method, url, headers=headers, data=body or None)
print(answer.status_code, answer.text)
`;
}

function target({ path, query }: LabRequest, origin: string): string {
  return `${origin}${path}${query === "" ? "" : `?${query}`}`;
}

/**
 * Bearer tokens of surface B (contract section 7.2): a JWT with `aud: emm`, valid for 30 minutes, signed with HS256 or
 * EdDSA by the configured key. Each token names its key, so keys can be changed while older tokens are in use.
 */

import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  randomUUID,
  sign,
  timingSafeEqual,
  verify,
  type KeyObject,
} from "node:crypto";
import { z } from "zod";

/** Configured keys: a text of at least 32 characters for HS256, or an Ed25519 key in PEM for EdDSA. */
export interface ServiceKeys {
  /** Key that signs new tokens; for EdDSA a private key in PKCS#8. */
  readonly signing: string;
  /** Further keys whose tokens are accepted, such as the previous and the next key. Public keys are enough. */
  readonly accepted: readonly string[];
}

/** Client of a token. The token is valid only while the version of the secret is current. */
interface ServiceToken {
  readonly clientId: string;
  readonly secretVersion: number;
}

export const TOKEN_SECONDS = 30 * 60;
const ISSUER = "overround";
const AUDIENCE = "emm";
const TYPE = "emm+jwt";
const MIN_SECRET = 32;

interface ServiceKey {
  readonly kid: string;
  readonly alg: "HS256" | "EdDSA";
  /** Signs a text; absent for a public key. */
  readonly sign: ((text: string) => Buffer) | undefined;
  readonly verify: (text: string, signature: Buffer) => boolean;
}

const Header = z.strictObject({ alg: z.enum(["HS256", "EdDSA"]), typ: z.literal(TYPE), kid: z.string() });
const Claims = z.strictObject({
  iss: z.literal(ISSUER),
  aud: z.literal(AUDIENCE),
  sub: z.uuid(),
  jti: z.uuid(),
  ver: z.int(),
  iat: z.int(),
  exp: z.int(),
});

/** Reports a key that cannot be used. The message does not contain the key. */
export class UnusableServiceKey extends Error {
  override readonly name = "UnusableServiceKey";
}

function keyOf(text: string): ServiceKey {
  if (text.includes("-----BEGIN")) return ed25519Key(text.replaceAll("\\n", "\n"));
  if (text.length < MIN_SECRET) {
    throw new UnusableServiceKey(
      "is neither a text of at least 32 characters nor an Ed25519 key in PEM (private: PKCS#8, public: SPKI)",
    );
  }
  const secret = createSecretKey(text, "utf8");
  const mac = (message: string): Buffer => createHmac("sha256", secret).update(message).digest();
  return {
    kid: mac("kid").toString("base64url").slice(0, 16),
    alg: "HS256",
    sign: mac,
    verify: (message, signature) => {
      const expected = mac(message);
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    },
  };
}

function ed25519Key(pem: string): ServiceKey {
  let privateKey: KeyObject | undefined;
  let publicKey: KeyObject;
  try {
    privateKey = pem.includes("PRIVATE KEY") ? createPrivateKey(pem) : undefined;
    publicKey = createPublicKey(privateKey ?? pem);
  } catch {
    throw new UnusableServiceKey("cannot be read as a key in PEM");
  }
  if (publicKey.asymmetricKeyType !== "ed25519")
    throw new UnusableServiceKey("is a key in PEM, but not an Ed25519 key");
  const der = publicKey.export({ format: "der", type: "spki" });
  return {
    kid: createHash("sha256").update(der).digest("base64url").slice(0, 16),
    alg: "EdDSA",
    sign: privateKey && ((message) => sign(null, Buffer.from(message), privateKey)),
    verify: (message, signature) => verify(null, Buffer.from(message), publicKey, signature),
  };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Decodes a part of a token. Returns `undefined` for characters that are not the canonical encoding. */
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : undefined;
}

function parse<T>(schema: z.core.$ZodType<T>, part: string): T | undefined {
  const bytes = decode(part);
  if (bytes === undefined) return undefined;
  try {
    return z.safeParse(schema, JSON.parse(bytes.toString("utf8"))).data;
  } catch {
    // The part is not JSON, so this service did not create the token.
    return undefined;
  }
}

/** Creates and reads tokens. `nowMs` returns engine time (Unix ms). The constructor throws `UnusableServiceKey` for a key that cannot be used. */
export class ServiceTokens {
  readonly #signing: ServiceKey;
  readonly #sign: (text: string) => Buffer;
  readonly #keys: ReadonlyMap<string, ServiceKey>;
  readonly #nowMs: () => number;

  constructor(keys: ServiceKeys, nowMs: () => number) {
    this.#signing = keyOf(keys.signing);
    if (this.#signing.sign === undefined)
      throw new UnusableServiceKey("is a public key, which cannot sign tokens");
    this.#sign = this.#signing.sign;
    this.#keys = new Map([this.#signing, ...keys.accepted.map(keyOf)].map((key) => [key.kid, key]));
    this.#nowMs = nowMs;
  }

  /** Algorithm of new tokens. */
  get algorithm(): "HS256" | "EdDSA" {
    return this.#signing.alg;
  }

  /** Creates a token that is valid for `TOKEN_SECONDS`. */
  mint({ clientId, secretVersion }: ServiceToken): string {
    const { alg, kid } = this.#signing;
    const iat = Math.floor(this.#nowMs() / 1_000);
    const claims = {
      iss: ISSUER,
      aud: AUDIENCE,
      sub: clientId,
      jti: randomUUID(),
      ver: secretVersion,
      iat,
      exp: iat + TOKEN_SECONDS,
    };
    const text = `${encode({ alg, typ: TYPE, kid })}.${encode(claims)}`;
    return `${text}.${this.#sign(text).toString("base64url")}`;
  }

  /**
   * Reads a token. Returns `undefined` for a token of another service or audience and for an expired one. The key
   * decides the algorithm: a header with another algorithm, or with further fields, is refused.
   */
  read(token: string): ServiceToken | undefined {
    const [header = "", payload = "", signature = "", ...more] = token.split(".");
    if (more.length > 0) return undefined;
    const named = parse(Header, header);
    const key = named === undefined ? undefined : this.#keys.get(named.kid);
    const bytes = decode(signature);
    if (key === undefined || named?.alg !== key.alg || bytes === undefined) return undefined;
    if (!key.verify(`${header}.${payload}`, bytes)) return undefined;
    const claims = parse(Claims, payload);
    if (claims === undefined || this.#nowMs() >= claims.exp * 1_000) return undefined;
    return { clientId: claims.sub, secretVersion: claims.ver };
  }
}

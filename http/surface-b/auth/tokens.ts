/**
 * The bearer tokens of surface B (contract section 7): JWT, `aud: emm`, thirty minutes, signed with HS256 or EdDSA by
 * the kind of key that is configured. Every token names its key, so keys can be changed while tokens are about.
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

/** Keys as they are configured: text of at least 32 characters for HS256, an Ed25519 key in PEM for EdDSA. */
export interface ServiceKeys {
  /** Signs new tokens; for EdDSA the private key in PKCS#8. */
  readonly signing: string;
  /** Further keys whose tokens are good: the last one and the next one, while keys change. Public keys will do. */
  readonly accepted: readonly string[];
}

/** Whom a token speaks for. A token ends with the secret that it was got with. */
export interface ServiceToken {
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
  /** Absent for a public key. */
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

/** A key that cannot be used; the message does not show it. */
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
  let own: KeyObject | undefined;
  let open: KeyObject;
  try {
    own = pem.includes("PRIVATE KEY") ? createPrivateKey(pem) : undefined;
    open = createPublicKey(own ?? pem);
  } catch {
    throw new UnusableServiceKey("is no key in PEM that can be read");
  }
  if (open.asymmetricKeyType !== "ed25519") throw new UnusableServiceKey("is a key in PEM, but not Ed25519");
  const der = open.export({ format: "der", type: "spki" });
  return {
    kid: createHash("sha256").update(der).digest("base64url").slice(0, 16),
    alg: "EdDSA",
    sign: own && ((message) => sign(null, Buffer.from(message), own)),
    verify: (message, signature) => verify(null, Buffer.from(message), open, signature),
  };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** The bytes of a part, or `undefined` when these characters are not how the bytes are written. */
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
    // Not JSON, and so no token of ours.
    return undefined;
  }
}

/** Mints and reads tokens. Throws `UnusableServiceKey` when made with a key that is none. */
export class ServiceTokens {
  readonly #signing: ServiceKey;
  readonly #sign: (text: string) => Buffer;
  readonly #keys: ReadonlyMap<string, ServiceKey>;
  readonly #nowMs: () => number;

  constructor(keys: ServiceKeys, nowMs: () => number = Date.now) {
    this.#signing = keyOf(keys.signing);
    if (this.#signing.sign === undefined)
      throw new UnusableServiceKey("is a public key, which cannot sign tokens");
    this.#sign = this.#signing.sign;
    this.#keys = new Map([this.#signing, ...keys.accepted.map(keyOf)].map((key) => [key.kid, key]));
    this.#nowMs = nowMs;
  }

  /** The algorithm of new tokens. */
  get algorithm(): "HS256" | "EdDSA" {
    return this.#signing.alg;
  }

  /** A new token, good for `TOKEN_SECONDS`. */
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
   * Reads a token, or gives `undefined` for one that is not ours, not for surface B or no longer good. The key decides
   * the algorithm: a header that names another is refused, and so is one with more in it than we write.
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

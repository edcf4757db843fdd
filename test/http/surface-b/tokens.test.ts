import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import { ServiceTokens, TOKEN_SECONDS, UnusableServiceKey } from "../../../http/surface-b/auth/tokens.js";

const SECRET = "a service secret that is long enough";
const WHO = { clientId: "6f9619ff-8b86-4011-b42d-00c04fc964ff", secretVersion: 3 };

function ed25519(): { own: string; open: string; key: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    key: privateKey,
    own: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    open: publicKey.export({ format: "pem", type: "spki" }).toString(),
  };
}

type Parts = Record<string, unknown>;
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const read = (token: string, index: 0 | 1): Parts =>
  JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString()) as Parts;

describe("the tokens of surface B", () => {
  const pair = ed25519();
  const kinds = {
    HS256: {
      signing: SECRET,
      sign: (text: string) => createHmac("sha256", SECRET).update(text).digest(),
    },
    EdDSA: { signing: pair.own, sign: (text: string) => sign(null, Buffer.from(text), pair.key) },
  };

  for (const [alg, kind] of Object.entries(kinds)) {
    describe(alg, () => {
      let nowMs = 1_700_000_000_000;
      const tokens = new ServiceTokens({ signing: kind.signing, accepted: [] }, () => nowMs);
      /** Creates a token with changed header fields or claims and a valid signature. */
      const forged = (header: Parts, claims: Parts): string => {
        const good = tokens.mint(WHO);
        const text = `${part({ ...read(good, 0), ...header })}.${part({ ...read(good, 1), ...claims })}`;
        return `${text}.${kind.sign(text).toString("base64url")}`;
      };

      it("are valid for their client for half an hour", () => {
        const token = tokens.mint(WHO);
        expect(read(token, 0)).to.include({ alg, typ: "emm+jwt" });
        expect(read(token, 1)).to.include({ iss: "overround", aud: "emm", sub: WHO.clientId, ver: 3 });
        expect(tokens.read(token)).to.deep.equal(WHO);
        const before = nowMs;
        nowMs = before + TOKEN_SECONDS * 1_000 - 1;
        expect(tokens.read(token)).to.deep.equal(WHO);
        nowMs = before + TOKEN_SECONDS * 1_000;
        expect(tokens.read(token)).to.equal(undefined);
        nowMs = before;
      });

      it("are accepted when forged without a change, so that the cases below fail for their own reason", () => {
        expect(tokens.read(forged({}, {}))).to.deep.equal(WHO);
      });

      const headers: Record<string, Parts> = {
        "no algorithm": { alg: "none" },
        "the other algorithm": { alg: alg === "HS256" ? "EdDSA" : "HS256" },
        "another type": { typ: "JWT" },
        "another key": { kid: "AAAAAAAAAAAAAAAA" },
        "a key of its own": { jwk: { kty: "oct", k: "AA" } },
        "a key elsewhere": { jku: "https://example.com/keys" },
        "a critical extension": { crit: ["b64"], b64: false },
      };
      for (const [what, header] of Object.entries(headers)) {
        it(`with ${what} in the header are refused`, () => {
          expect(tokens.read(forged(header, {}))).to.equal(undefined);
        });
      }

      const claims: Record<string, Parts> = {
        "another issuer": { iss: "somebody" },
        "another audience": { aud: "web" },
        "several audiences": { aud: ["emm"] },
        "no end": { exp: undefined },
        "an end that is text": { exp: "9999999999" },
        "a client that is no uuid": { sub: "admin" },
        "more claims": { role: "operator" },
      };
      for (const [what, claim] of Object.entries(claims)) {
        it(`with ${what} are refused`, () => {
          expect(tokens.read(forged({}, claim))).to.equal(undefined);
        });
      }

      it("with any changed character are refused, and so are other encodings of the same bytes", () => {
        const token = tokens.mint(WHO);
        fc.assert(
          fc.property(
            fc.nat(token.length - 1),
            fc.constantFrom("A", "b", "Z", "0", "9", "-", "_", ".", "=", "+", "/", " "),
            (at, character) => {
              const changed = token.slice(0, at) + character + token.slice(at + 1);
              expect(tokens.read(changed)).to.deep.equal(changed === token ? WHO : undefined);
            },
          ),
          { numRuns: 500 },
        );
        for (const other of [`${token}=`, `${token}.`, ` ${token}`, `${token}\n`, "", "..", "a.b.c"]) {
          expect(tokens.read(other), other).to.equal(undefined);
        }
      });

      it("of arbitrary text are refused without an error", () => {
        fc.assert(
          fc.property(fc.string({ unit: "binary" }), (text) => {
            expect(tokens.read(text)).to.equal(undefined);
          }),
        );
      });
    });
  }

  it("survive a change of keys when each gateway accepts the key of the other", () => {
    const next = ed25519();
    const old = new ServiceTokens({ signing: SECRET, accepted: [next.open] }, Date.now);
    const changed = new ServiceTokens({ signing: next.own, accepted: [SECRET] }, Date.now);
    const over = new ServiceTokens({ signing: next.own, accepted: [] }, Date.now);
    const [first, second] = [old.mint(WHO), changed.mint(WHO)];
    for (const tokens of [old, changed]) {
      expect(tokens.read(first)).to.deep.equal(WHO);
      expect(tokens.read(second)).to.deep.equal(WHO);
    }
    expect(over.read(first)).to.equal(undefined);
    expect(over.read(second)).to.deep.equal(WHO);
  });

  it("are refused when a public key was used as the secret", () => {
    const tokens = new ServiceTokens({ signing: pair.own, accepted: [] }, Date.now);
    const good = tokens.mint(WHO);
    const text = `${part({ ...read(good, 0), alg: "HS256" })}.${good.split(".")[1] ?? ""}`;
    const mac = createHmac("sha256", pair.open).update(text).digest("base64url");
    expect(tokens.read(`${text}.${mac}`)).to.equal(undefined);
  });

  it("need a key that can sign", () => {
    const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const unusable = [
      "short",
      pair.open,
      p256.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
    ];
    for (const signing of unusable) {
      expect(() => new ServiceTokens({ signing, accepted: [] }, Date.now)).to.throw(UnusableServiceKey);
    }
    const oneLine = new ServiceTokens({ signing: pair.own.replaceAll("\n", "\\n"), accepted: [] }, Date.now);
    expect(oneLine.algorithm).to.equal("EdDSA");
  });
});

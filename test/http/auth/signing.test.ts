import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import fc from "fast-check";
import { acceptKey } from "../../../http/auth/keys.js";
import { canonicalQuery, canonicalText, type KeyAlgorithm } from "../../../http/auth/canonical.js";
import { bodyDigest, decodeBase64, verifyText } from "../../../http/auth/signing.js";
import { BrowserSigner } from "../../../http/client/browser/signer.js";
import { NodeSigner } from "../../../http/client/node/signer.js";

interface Vector {
  readonly name: string;
  readonly timestamp: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly bodyBase64: string;
  readonly canonicalQuery: string;
  readonly canonicalText: string;
  readonly ed25519: string;
  readonly p256: string;
}

interface TestKey {
  readonly privateKey: string;
  readonly publicKey: string;
  readonly fingerprint: string;
}

const file = JSON.parse(readFileSync(new URL("./vectors/signing.json", import.meta.url), "utf8")) as {
  readonly keys: Readonly<Record<KeyAlgorithm, TestKey>>;
  readonly vectors: readonly Vector[];
};

function textOf(vector: Vector, brand = "Svc"): string {
  const { timestamp, method, path, query } = vector;
  return canonicalText({
    brand,
    timestamp,
    method,
    path,
    query,
    bodyDigest: bodyDigest(Buffer.from(vector.bodyBase64, "base64")),
  });
}

describe("signing: the 26 vectors", () => {
  it("are complete", () => expect(file.vectors).to.have.length(26));

  for (const vector of file.vectors) {
    it(vector.name, async () => {
      expect(canonicalQuery(vector.query)).to.equal(vector.canonicalQuery);
      const text = textOf(vector);
      expect(text).to.equal(vector.canonicalText);

      for (const algorithm of ["Ed25519", "P-256"] as const) {
        const theirs = algorithm === "Ed25519" ? vector.ed25519 : vector.p256;
        const publicKey = createPublicKey(file.keys[algorithm].publicKey);
        const { privateKey } = file.keys[algorithm];
        const decoded = decodeBase64(theirs) ?? Buffer.alloc(0);
        expect(await verifyText(text, decoded, publicKey, algorithm), `${algorithm} verifies`).to.equal(true);
        expect(await verifyText(`${text}\n`, decoded, publicKey, algorithm), "a trailing LF").to.equal(false);
        for (const Signer of [NodeSigner, BrowserSigner]) {
          const ours = await new Signer({ keyId: "key", algorithm, privateKey }).sign(text);
          if (algorithm === "Ed25519") expect(ours).to.equal(theirs);
          const decoded = decodeBase64(ours) ?? Buffer.alloc(0);
          expect(
            await verifyText(text, decoded, publicKey, algorithm),
            `${Signer.name} ${algorithm}`,
          ).to.equal(true);
        }
      }
    });
  }

  it("open with the configured brand in the scheme line", () => {
    const [vector] = file.vectors;
    if (vector === undefined) throw new Error("the file has no vectors");
    expect(textOf(vector, "Acme").split("\n")[0]).to.equal("ACME-V3");
  });

  it("have the fingerprints of their keys", () => {
    for (const algorithm of ["Ed25519", "P-256"] as const) {
      const accepted = acceptKey(file.keys[algorithm].publicKey, algorithm);
      expect(accepted).to.include({ ok: true, fingerprint: file.keys[algorithm].fingerprint });
    }
  });
});

describe("signing: properties", () => {
  const rawQuery = fc.string({
    unit: fc.constantFrom(..."abZ019-._~%=&+,/ü\x7f".split(""), "%41", "%c3", "%zz", "%%"),
    maxLength: 40,
  });

  it("a canonical query is its own canonical form, except for the order of names with an equals sign", () => {
    fc.assert(
      fc.property(rawQuery, (query) => {
        const once = canonicalQuery(query);
        expect(canonicalQuery(once)).to.equal(once);
      }),
    );
  });

  it("the order of the pairs does not matter", () => {
    fc.assert(
      fc.property(fc.array(rawQuery, { maxLength: 6 }), (parts) => {
        const reversed = [...parts].reverse();
        expect(canonicalQuery(parts.join("&"))).to.equal(
          canonicalQuery(reversed.map((part) => part.split("&").reverse().join("&")).join("&")),
        );
      }),
    );
  });

  it("a malformed signature does not verify, and throws nothing", async () => {
    const p256 = createPublicKey(file.keys["P-256"].publicKey);
    const ed25519 = createPublicKey(file.keys.Ed25519.publicKey);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (bytes) => {
        expect(await verifyText("text", bytes, p256, "P-256")).to.equal(false);
        expect(await verifyText("text", bytes, ed25519, "Ed25519")).to.equal(false);
      }),
    );
  });
});

describe("signing: base64", () => {
  const refused = {
    unpadded: "QQ",
    "url alphabet": "-_8=",
    "white space": "QUE= ",
    "line break": "QU\nE=",
    "bits after the end": "QR==",
    "padding in the middle": "QQ==QQ==",
    empty: "",
  };
  for (const [name, text] of Object.entries(refused)) {
    it(`refuses ${name}`, () => expect(decodeBase64(text)).to.equal(undefined));
  }
  it("reads the standard form", () => expect(decodeBase64("QUE=")?.toString()).to.equal("AA"));
});

import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from "node:crypto";
import { expect } from "chai";
import { acceptKey } from "../../../http/auth/keys.js";
import type { KeyAlgorithm } from "../../../http/auth/canonical.js";

const ed25519 = generateKeyPairSync("ed25519");
const p256 = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

function pemOf(key: KeyObject): string {
  return key.export({ type: "spki", format: "pem" }).toString();
}

function pemOfDer(der: Buffer): string {
  return `-----BEGIN PUBLIC KEY-----\n${der.toString("base64")}\n-----END PUBLIC KEY-----\n`;
}

/** Returns the PEM of an Ed25519 key of 32 chosen bytes. */
function pemOfPoint(hex: string): string {
  return pemOfDer(Buffer.from(`302a300506032b6570032100${hex}`, "hex"));
}

function refusal(pem: string, algorithm: KeyAlgorithm): string {
  const result = acceptKey(pem, algorithm);
  return result.ok ? "accepted" : result.message;
}

describe("acceptable keys", () => {
  it("are of Ed25519 and P-256, with LF or CRLF", () => {
    expect(acceptKey(pemOf(ed25519.publicKey), "Ed25519").ok).to.equal(true);
    expect(acceptKey(pemOf(p256.publicKey), "P-256").ok).to.equal(true);
    expect(acceptKey(pemOf(p256.publicKey).replaceAll("\n", "\r\n"), "P-256").ok).to.equal(true);
  });

  it("have one fingerprint in all their spellings", () => {
    const plain = acceptKey(pemOf(ed25519.publicKey), "Ed25519");
    const spelled = acceptKey(`  ${pemOf(ed25519.publicKey).replaceAll("\n", "\r\n")}\n\n`, "Ed25519");
    expect(plain).to.deep.equal(spelled);
  });
});

describe("refused keys, with the reason", () => {
  const cases: readonly (readonly [string, string, KeyAlgorithm, RegExp])[] = [
    [
      "a private key",
      ed25519.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      "Ed25519",
      /private key/,
    ],
    ["a key of another algorithm than the request names", pemOf(p256.publicKey), "Ed25519", /P-256.*Ed25519/],
    ["P-384", pemOf(generateKeyPairSync("ec", { namedCurve: "secp384r1" }).publicKey), "P-256", /secp384r1/],
    [
      "secp256k1",
      pemOf(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey),
      "P-256",
      /secp256k1/,
    ],
    ["RSA", pemOf(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey), "P-256", /rsa/],
    ["X25519", pemOf(generateKeyPairSync("x25519").publicKey), "Ed25519", /x25519/],
    ["Ed448", pemOf(generateKeyPairSync("ed448").publicKey), "Ed25519", /ed448/],
    [
      "trailing bytes",
      pemOfDer(Buffer.concat([ed25519.publicKey.export({ type: "spki", format: "der" }), Buffer.from([0])])),
      "Ed25519",
      /trailing bytes/,
    ],
    ["text before the block", `key:\n${pemOf(ed25519.publicKey)}`, "Ed25519", /one PEM block/],
    ["two blocks", pemOf(ed25519.publicKey).repeat(2), "Ed25519", /one PEM block/],
    ["no newlines", pemOf(ed25519.publicKey).replaceAll("\n", ""), "Ed25519", /newlines included/],
    ["a DER that is not a key", pemOfDer(Buffer.from("00112233", "hex")), "Ed25519", /SPKI/],
    [
      "an off-curve P-256 point",
      pemOfDer(
        Buffer.from(`3059301306072a8648ce3d020106082a8648ce3d03010703420004${"11".repeat(64)}`, "hex"),
      ),
      "P-256",
      /not a point/,
    ],
    ["the identity", pemOfPoint(`01${"00".repeat(31)}`), "Ed25519", /small order/],
    ["the identity with a sign bit", pemOfPoint(`01${"00".repeat(30)}80`), "Ed25519", /small order/],
    ["order 2", pemOfPoint(`ec${"ff".repeat(30)}7f`), "Ed25519", /small order/],
    ["order 4", pemOfPoint("00".repeat(32)), "Ed25519", /small order/],
    [
      "order 8",
      pemOfPoint("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
      "Ed25519",
      /small order/,
    ],
    [
      "order 8, its negative",
      pemOfPoint("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
      "Ed25519",
      /small order/,
    ],
    [
      "the other order 8",
      pemOfPoint("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
      "Ed25519",
      /small order/,
    ],
    ["minus one with a sign bit", pemOfPoint(`ec${"ff".repeat(31)}`), "Ed25519", /small order/],
    ["y = p", pemOfPoint(`ed${"ff".repeat(30)}7f`), "Ed25519", /non-canonical/],
    ["y = p + 1", pemOfPoint(`ee${"ff".repeat(30)}7f`), "Ed25519", /non-canonical/],
    ["y = p with a sign bit", pemOfPoint(`ed${"ff".repeat(31)}`), "Ed25519", /non-canonical/],
    [
      "y = 2^255 - 1, which is not on the curve either",
      pemOfPoint(`${"ff".repeat(31)}7f`),
      "Ed25519",
      /non-canonical/,
    ],
    ["a y that is not on the curve", pemOfPoint(`02${"00".repeat(31)}`), "Ed25519", /not a point/],
  ];
  for (const [name, pem, algorithm, message] of cases) {
    it(name, () => expect(refusal(pem, algorithm)).to.match(message));
  }

  it("the identity would verify a forged signature", () => {
    const identity = createPublicKey(pemOfPoint(`01${"00".repeat(31)}`));
    const forged = Buffer.from(`01${"00".repeat(63)}`, "hex");
    expect(verify(null, Buffer.from("anything"), identity, forged)).to.equal(true);
  });

  it("a compressed P-256 point, which would give the key a second fingerprint", () => {
    const point = p256.publicKey.export({ type: "spki", format: "der" }).subarray(-64);
    const compressed = Buffer.concat([
      Buffer.from("3039301306072a8648ce3d020106082a8648ce3d030107032200", "hex"),
      Buffer.from([(point.at(-1) ?? 0) % 2 === 0 ? 2 : 3]),
      point.subarray(0, 32),
    ]);
    expect(refusal(pemOfDer(compressed), "P-256")).to.match(/uncompressed/);
  });
});

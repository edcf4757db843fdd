import { expect } from "chai";
import { codeAt, digestOf, newRecoveryCodes, newSecret, stepOf, uriOf } from "../../../http/auth/totp.js";

/** Secret of the test vectors of RFC 6238, "12345678901234567890" in base32. */
const SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

describe("one-time passwords", () => {
  it("are those of RFC 6238", () => {
    const vectors: readonly (readonly [number, string])[] = [
      [59, "287082"],
      [1_111_111_109, "081804"],
      [1_111_111_111, "050471"],
      [1_234_567_890, "005924"],
      [2_000_000_000, "279037"],
      [20_000_000_000, "353130"],
    ];
    for (const [seconds, code] of vectors) expect(codeAt(SECRET, seconds * 1_000), code).to.equal(code);
  });

  it("are accepted for a time step before and after their own", () => {
    const now = 1_790_000_000_000;
    const at = { receivedMs: now, heldMs: 0 };
    const step = Math.floor(now / 30_000);
    const steps = [-2, -1, 0, 1, 2].map((off) => stepOf(SECRET, codeAt(SECRET, now + off * 30_000), at));
    expect(steps).to.deep.equal([undefined, step - 1, step, step + 1, undefined]);
    for (const wrong of ["", "12345", "1234567", "１２３４５６", "abcdef"])
      expect(stepOf(SECRET, wrong, at), wrong).to.equal(undefined);
  });

  it("are accepted at both times while a jump of the clock of Redis is held", () => {
    const now = 1_790_000_000_000;
    for (const heldMs of [3_600_000, -3_600_000]) {
      const steps = [0, heldMs, -heldMs].map((off) =>
        stepOf(SECRET, codeAt(SECRET, now + off), { receivedMs: now, heldMs }),
      );
      expect(steps).to.deep.equal([Math.floor(now / 30_000), undefined, Math.floor((now - heldMs) / 30_000)]);
    }
  });

  it("have secrets of 160 random bits, which apps read from a URI", () => {
    expect(newSecret()).to.match(/^[A-Z2-7]{32}$/);
    expect(newSecret()).to.not.equal(newSecret());
    const uri = new URL(uriOf(SECRET, "Svc", "op+1@example.com"));
    expect(`${uri.protocol}${uri.pathname}`).to.match(/^otpauth:.*\/Svc:op%2B1%40example\.com$/);
    expect(Object.fromEntries(uri.searchParams)).to.deep.equal({ secret: SECRET, issuer: "Svc" });
  });

  it("have recovery codes that differ, and that may be typed in any form", () => {
    const codes = newRecoveryCodes();
    expect(new Set(codes).size).to.equal(10);
    const [code = ""] = codes;
    expect(code).to.match(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
    expect(digestOf(code.toLowerCase().replaceAll("-", " "))).to.equal(digestOf(code));
    expect(digestOf(codes[1] ?? "")).to.not.equal(digestOf(code));
  });
});

import { expect } from "chai";
import { Seal } from "../../../http/auth/seal.js";

const SECRET = "a secret of thirty-two characters or more";

describe("a seal", () => {
  const seal = new Seal(SECRET, "tests");

  it("opens for the same name and secret, and hides its text", () => {
    const text = 'héllo {"ticket":"abc"} 😀';
    const sealed = seal.close(text, "one");
    expect(new Seal(SECRET, "tests").open(sealed, "one")).to.equal(text);
    expect(Buffer.from(sealed, "base64").toString("latin1")).to.not.include("ticket");
    expect(seal.close(text, "one")).to.not.equal(sealed);
    expect(seal.open(seal.close("", "one"), "one")).to.equal("");
  });

  it("opens for no other name, purpose or secret, and not after a change of one bit", () => {
    const sealed = seal.close("text", "one");
    expect(seal.open(sealed, "two")).to.equal(undefined);
    expect(new Seal(SECRET, "others").open(sealed, "one")).to.equal(undefined);
    expect(new Seal(`${SECRET}!`, "tests").open(sealed, "one")).to.equal(undefined);
    const bytes = Buffer.from(sealed, "base64");
    for (let i = 0; i < bytes.length; i += 1) {
      const changed = Buffer.from(bytes);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(seal.open(changed.toString("base64"), "one"), `byte ${i}`).to.equal(undefined);
    }
    for (const nothing of ["", "x", "AAAA", "A".repeat(37)])
      expect(seal.open(nothing, "one")).to.equal(undefined);
  });
});

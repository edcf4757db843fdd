import { isIP } from "node:net";
import { expect } from "chai";
import fc from "fast-check";
import { addressValue, plainAddress, rangeOf, subscriberOf } from "../../../http/geo/addresses.js";

const HIGHEST = 2n ** 128n - 1n;

describe("addresses", () => {
  const same: [string, string][] = [
    ["192.0.2.1", "::ffff:192.0.2.1"],
    ["192.0.2.1", "::ffff:c000:201"],
    ["192.0.2.1", "::FFFF:192.0.2.1%eth0"],
    ["2001:db8::1", "2001:0DB8:0:0:0:0:0:1"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["::192.0.2.33", "::c000:221"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["fe80::1", "fe80::1%eth0"],
    ["fe80::1", "fe80::1%en-0.1"],
    ["::", "0:0:0:0:0:0:0:0"],
  ];
  for (const [one, other] of same) {
    it(`${one} equals ${other}`, () => {
      expect(addressValue(one)).to.be.a("bigint").and.to.equal(addressValue(other));
      expect(plainAddress(one)).to.equal(plainAddress(other));
      expect(subscriberOf(one)).to.equal(subscriberOf(other));
    });
  }

  const garbage = [
    "",
    " ",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "010.0.0.1",
    "0x7f.0.0.1",
    "2130706433",
    "127.1",
  ];
  const worse = [
    "::1::",
    ":::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "::g",
    "garbage",
    "1.2.3.4/8",
    "[::1]",
    "%",
  ];
  for (const text of [...garbage, ...worse]) {
    it(`${JSON.stringify(text)} is not an address`, () => {
      expect(addressValue(text)).to.equal(undefined);
      expect(plainAddress(text)).to.equal(undefined);
      expect(subscriberOf(text)).to.equal(text);
    });
  }

  it("are read exactly when Node reads them, in each of their spellings", () => {
    const group = fc.constantFrom("0", "1", "ffff", "00a", "ABCD", "1.2.3.4");
    const near = fc
      .array(fc.tuple(group, fc.constantFrom(":", "::", "")), { maxLength: 9 })
      .map((parts) => parts.flat().join(""));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), near), (text) => {
        fc.pre(!text.includes("%"));
        expect(addressValue(text) !== undefined).to.equal(isIP(text) !== 0);
        const plain = plainAddress(text);
        if (plain !== undefined) expect(addressValue(plain)).to.equal(addressValue(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it("of one IPv6 /64 network count together, those of IPv4 by themselves", () => {
    expect(subscriberOf("2001:db8:0:1::1")).to.equal(subscriberOf("2001:db8:0:1:ffff::"));
    expect(subscriberOf("2001:db8:0:1::1")).not.to.equal(subscriberOf("2001:db8:0:2::1"));
    expect(subscriberOf("192.0.2.1")).not.to.equal(subscriberOf("192.0.2.2"));
    expect(subscriberOf("::ffff:192.0.2.1")).to.equal("192.0.2.1");
  });
});

describe("networks", () => {
  const sized: [string, string | undefined, bigint][] = [
    ["192.0.2.0/24", "192.0.2.0", 256n],
    ["192.0.2.1/32", "192.0.2.1", 1n],
    ["0.0.0.0/0", "0.0.0.0", 2n ** 32n],
    ["::ffff:192.0.2.0/120", "192.0.2.0", 256n],
    ["::ffff:0:0/96", "0.0.0.0", 2n ** 32n],
    ["::/0", "::", 2n ** 128n],
    ["64:ff9b::0.0.0.0/96", "64:ff9b::", 2n ** 32n],
    ["2001:db8::/32", "2001:db8::", 2n ** 96n],
    ["2001:db8::1/128", "2001:db8::1", 1n],
  ];
  for (const [cidr, first = "", size] of sized) {
    it(`${cidr} has ${size} addresses from ${first}`, () => {
      const start = addressValue(first) ?? -1n;
      expect(rangeOf(cidr)).to.deep.equal({ start, end: start + size - 1n });
    });
  }

  it("/0 of IPv6 holds every address, /0 of IPv4 only those of IPv4", () => {
    expect(rangeOf("::/0")).to.deep.equal({ start: 0n, end: HIGHEST });
    const all = rangeOf("0.0.0.0/0");
    const holds = (text: string): boolean => {
      const value = addressValue(text) ?? -1n;
      return all !== undefined && all.start <= value && value <= all.end;
    };
    for (const inside of ["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"]) {
      expect(holds(inside), inside).to.equal(true);
    }
    for (const outside of ["::", "::1.2.3.4", "2001:db8::1"]) expect(holds(outside), outside).to.equal(false);
  });

  const beyond = ["192.0.2.1/24", "2001:db8::1/64", "0.0.0.1/0", "::1/0"];
  const wrong = [
    "192.0.2.0/33",
    "2001:db8::/129",
    "192.0.2.0",
    "x/8",
    "::/",
    "/8",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
  ];
  const odd = ["10.0.0.0/255.0.0.0", "10.0.0.0/ 8", "10.0.0.0/1e1", "10/8", "fe80::%eth0/64", ""];
  for (const cidr of [...beyond, ...wrong, ...odd]) {
    it(`${JSON.stringify(cidr)} is not a network`, () => expect(rangeOf(cidr)).to.equal(undefined));
  }
});

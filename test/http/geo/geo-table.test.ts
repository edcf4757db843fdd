import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isIPv4 } from "node:net";
import { expect } from "chai";
import fc from "fast-check";
import { addressValue, rangeOf } from "../../../http/geo/addresses.js";
import { geoTable } from "../../../http/geo/geo-table.js";
import { GeoIpFiles } from "../../../http/geo/geoip.js";
import { mmdb } from "../../support/mmdb.js";

const region = (cidr: string, name: string) => ({ cidr, kind: "REGION" as const, region: name });
const hidden = (cidr: string) => ({ cidr, kind: "VPN" as const, region: null });
const table = (networks: Parameters<typeof geoTable>[0]["networks"], restrictedRegions: string[] = []) =>
  geoTable({ version: 1, networks, restrictedRegions });

describe("the geo table", () => {
  it("takes the region of the smallest network, and anonymity of any network", () => {
    const rules = table([
      region("10.0.0.0/8", "US-NY"),
      region("10.1.0.0/16", "US-WA"),
      region("10.1.2.0/24", "CA-ON"),
      hidden("10.1.0.0/17"),
      region("2001:db8::/32", "US-NJ"),
      hidden("2001:db8:1::/48"),
    ]);
    expect(rules.find("10.0.0.1")).to.deep.equal({ anonymous: false, region: "US-NY" });
    expect(rules.find("10.1.255.255")).to.deep.equal({ anonymous: false, region: "US-WA" });
    expect(rules.find("10.1.2.255")).to.deep.equal({ anonymous: true, region: "CA-ON" });
    expect(rules.find("10.1.3.0")).to.deep.equal({ anonymous: true, region: "US-WA" });
    expect(rules.find("10.255.255.255")).to.deep.equal({ anonymous: false, region: "US-NY" });
    expect(rules.find("11.0.0.0")).to.deep.equal({ anonymous: false, region: undefined });
    expect(rules.find("9.255.255.255")).to.deep.equal({ anonymous: false, region: undefined });
    expect(rules.find("::ffff:10.1.2.3")).to.deep.equal({ anonymous: true, region: "CA-ON" });
    expect(rules.find("2001:db8:1::")).to.deep.equal({ anonymous: true, region: "US-NJ" });
    expect(rules.find("2001:db9::")).to.deep.equal({ anonymous: false, region: undefined });
    expect(rules.find("no address")).to.deep.equal({ anonymous: false, region: undefined });
  });

  it("agrees with a search through every network", () => {
    const cidr = fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 24, max: 32 }))
      .map(([byte, prefix]) => {
        const size = 2 ** (32 - prefix);
        return `10.0.0.${byte - (byte % size)}/${prefix}`;
      });
    fc.assert(
      fc.property(fc.array(fc.tuple(cidr, fc.nat(5)), { maxLength: 20 }), (networks) => {
        const distinct = [...new Map(networks)];
        const rules = table(distinct.map(([network, name]) => region(network, `R-${name}`)));
        for (let byte = 0; byte < 256; byte += 1) {
          const value = addressValue(`10.0.0.${byte}`) ?? 0n;
          const around = distinct.filter(([network]) => {
            const range = rangeOf(network);
            return range !== undefined && range.start <= value && value <= range.end;
          });
          const [smallest] = around.toSorted(([a], [b]) => Number(b.split("/")[1]) - Number(a.split("/")[1]));
          const expected = smallest === undefined ? undefined : `R-${smallest[1]}`;
          expect(rules.find(`10.0.0.${byte}`).region).to.equal(expected);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("restricts all parts of a restricted country, and of a restricted part only itself", () => {
    const rules = table([], ["US-WA", "KP"]);
    for (const name of ["US-WA", "KP", "KP-01"]) expect(rules.isRestricted(name), name).to.equal(true);
    for (const name of ["US", "US-NY", "K", ""]) expect(rules.isRestricted(name), name).to.equal(false);
  });

  it("searches a hundred thousand networks in microseconds", () => {
    const networks = Array.from({ length: 100_000 }, (_, i) =>
      hidden(`${1 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/25`),
    );
    const rules = table(networks);
    const began = process.hrtime.bigint();
    let found = 0;
    for (let i = 0; i < 100_000; i += 1) {
      if (rules.find(`1.${(i >> 8) & 255}.${i & 255}.${i % 256}`).anonymous) found += 1;
    }
    const microseconds = Number(process.hrtime.bigint() - began) / 1e3 / 100_000;
    expect(found).to.be.within(40_000, 60_000);
    expect(microseconds).to.be.below(50);
  });
});

describe("files in MaxMind's format", () => {
  const city = mmdb({
    "203.0.113.0/24": { country: { iso_code: "US" }, subdivisions: [{ iso_code: "WA" }] },
    "2001:db8::/32": { country: { iso_code: "DE" } },
    "198.51.100.0/24": { country: { iso_code: "US" }, traits: { is_anonymous_vpn: true } },
  });
  const anonymity = mmdb({
    "203.0.113.7/32": { is_anonymous: true, is_tor_exit_node: true },
    "203.0.113.8/32": { is_anonymous: true, is_hosting_provider: true },
    "192.0.2.0/24": { is_anonymous: true, is_residential_proxy: true },
  });
  let directory: string;
  let files: string[];
  before(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
    files = [city, anonymity].map((content, index) => {
      const file = path.join(directory, `${index}.mmdb`);
      fs.writeFileSync(file, content);
      return file;
    });
  });
  after(() => fs.rmSync(directory, { recursive: true }));

  it("give the region of an address, and what hides its users; a data center does not", async () => {
    const geoIp = await GeoIpFiles.open(files, () => undefined);
    expect(geoIp.find("203.0.113.1")).to.deep.equal({ anonymous: false, region: "US-WA" });
    expect(geoIp.find("::ffff:203.0.113.1")).to.deep.equal({ anonymous: false, region: "US-WA" });
    expect(geoIp.find("203.0.113.7")).to.deep.equal({ anonymous: true, region: "US-WA" });
    expect(geoIp.find("203.0.113.8")).to.deep.equal({ anonymous: false, region: "US-WA" });
    expect(geoIp.find("2001:db8::1")).to.deep.equal({ anonymous: false, region: "DE" });
    expect(geoIp.find("198.51.100.1")).to.deep.equal({ anonymous: true, region: "US" });
    expect(geoIp.find("192.0.2.1")).to.deep.equal({ anonymous: true, region: undefined });
    for (const unknown of ["127.0.0.1", "::1", "10.1.1.1", "8.8.8.8", "", "no address"]) {
      expect(geoIp.find(unknown)).to.deep.equal({ anonymous: false, region: undefined });
    }
    geoIp.close();
  });

  it("stop the start when they cannot be read", async () => {
    const broken = path.join(directory, "broken.mmdb");
    fs.writeFileSync(broken, "no such thing");
    for (const file of [broken, path.join(directory, "missing.mmdb")]) {
      const refused = await GeoIpFiles.open([file], () => undefined).then(
        () => "opened",
        () => "refused",
      );
      expect(refused).to.equal("refused");
    }
  });

  it("can be searched for any text", async () => {
    const geoIp = await GeoIpFiles.open(files, () => undefined);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (text) => {
        const { region: known } = geoIp.find(text);
        if (!isIPv4(text) && !text.includes(":")) expect(known).to.equal(undefined);
      }),
    );
    geoIp.close();
  });
});

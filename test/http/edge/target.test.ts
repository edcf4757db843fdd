import { expect } from "chai";
import { Refused } from "../../../http/request/errors.js";
import { readQuery } from "../../../http/edge/query.js";
import { readTarget } from "../../../http/edge/target.js";

describe("raw targets", () => {
  for (const target of [
    "/",
    "/v3/limits",
    "/v3/keys/6f9619ff-8b86-4011-b42d-00c04fc964ff",
    "/v3/orders?market=1",
  ]) {
    it(`routes ${target}`, () => expect(readTarget(target)).to.not.equal(undefined));
  }
  const refused = [
    "/v3/limits/",
    "/v3//limits",
    "//v3/limits",
    "/v3/./limits",
    "/v3/../v3/limits",
    "/v3/limits%2F",
    "/v3%2Flimits",
    "/v3/%6cimits",
    "/v3/%2e%2e/limits",
    "/v3/limits;a=b",
    "/v3/limits%00",
    "/v3\\limits",
    "/v3/limits#x",
    "/v3/limits?a#x",
    "http://localhost/v3/limits",
    "*",
    "",
    "v3/limits",
    "/v3/lim its",
    "/v3/\u00fc",
  ];
  for (const target of refused) {
    it(`refuses ${JSON.stringify(target)}`, () => expect(readTarget(target)).to.equal(undefined));
  }
});

describe("queries", () => {
  it("decodes escapes only, and keeps a plus", () => {
    expect({ ...readQuery("league=Serie%20A,NFL&x=a+b&flag&&=v") }).to.deep.equal({
      league: "Serie A,NFL",
      x: "a+b",
      flag: "",
      "": "v",
    });
  });
  for (const query of ["a=1&a=2", "a=1&%61=2", "a=%ff", "a=100%", "a=%zz", "a=%00", "a=\u00fc"]) {
    it(`refuses ${JSON.stringify(query)}`, () => expect(() => readQuery(query)).to.throw(Refused));
  }
  it("treats __proto__ as a name like any other", () => {
    expect(Object.keys(readQuery("__proto__=1"))).to.deep.equal(["__proto__"]);
  });
});

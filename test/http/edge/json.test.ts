import { expect } from "chai";
import fc from "fast-check";
import { z } from "zod";
import { JsonError, readJson } from "../../../http/edge/json.js";
import { Text } from "../../../http/request/fields.js";

const read = (text: string) => readJson(Buffer.from(text));

describe("the reader of JSON", () => {
  const refused: Readonly<Record<string, string>> = {
    nothing: "",
    "duplicate keys": '{"qty":1,"qty":2}',
    "duplicate keys, one escaped": '{"qty":1,"q\\u0074y":2}',
    __proto__: '{"__proto__":{"admin":true}}',
    "__proto__, escaped": '{"__pr\\u006fto__":1}',
    "an exponent": '{"qty":1e3}',
    "negative zero": '{"qty":-0}',
    "negative zero with decimals": '{"qty":-0.0}',
    NaN: '{"qty":NaN}',
    Infinity: '{"qty":Infinity}',
    "2^53": '{"qty":9007199254740992}',
    "2^53 + 1": '{"qty":9007199254740993}',
    "400 digits": `{"qty":${"9".repeat(400)}}`,
    "400 decimals": `{"qty":0.${"9".repeat(400)}}`,
    "Unicode digits": '{"qty":\u0661}',
    "a leading zero": '{"qty":01}',
    "a plus sign": '{"qty":+1}',
    "a trailing comma": '{"qty":1,}',
    "a comment": '{"qty":1}//',
    "single quotes": "{'qty':1}",
    "two documents": "{}{}",
    "a byte order mark": "\ufeff{}",
    "a raw control character in a string": '{"a":"\u0001"}',
    "an escaped NUL": '{"a":"\\u0000"}',
    "half a surrogate pair": '{"a":"\\ud800"}',
    "deep nesting": "[".repeat(100_000),
    "an open string": '{"a":"',
    "no colon": '{"a" 1}',
  };
  for (const [name, text] of Object.entries(refused)) {
    it(`refuses ${name}`, () => expect(() => read(text)).to.throw(JsonError));
  }

  it("refuses bytes that are not UTF-8", () => {
    expect(() => readJson(Buffer.from([0x22, 0xff, 0x22]))).to.throw(JsonError);
  });

  it("reads the largest safe integer", () => {
    expect(read("9007199254740991")).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it("returns objects that inherit no named property", () => {
    const value = read('{"constructor":1,"toString":2}') as object;
    expect(Object.keys(value)).to.deep.equal(["constructor", "toString"]);
    for (const name of ["valueOf", "hasOwnProperty", "__proto__"])
      expect(name in value, name).to.equal(false);
  });

  it("returns objects that a schema refuses with any value of their field length", () => {
    const shape = z.strictObject({ name: Text(64), list: z.array(z.string(), "must be a list").max(3) });
    for (const length of ["{}", "[]", "null", '{"length":{}}', "1"]) {
      const value = read(`{"name":{"length":${length}},"list":{"length":${length}}}`);
      const { error } = shape.safeParse(value);
      expect(error?.issues[0]?.message).to.equal("must be a string");
    }
  });

  it("reads every plain value that JSON.stringify writes", () => {
    const plain = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, true, false),
        fc.integer(),
        fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(
          fc.string({ maxLength: 5 }).filter((name) => name !== "__proto__" && !name.includes("\0")),
          tie("value"),
          { maxKeys: 4 },
        ),
      ),
    })).value;
    fc.assert(
      fc.property(plain, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.stringify(read(text))).to.equal(JSON.stringify(value));
      }),
    );
  });

  it("accepts no text that JSON.parse refuses, and throws no error but JsonError", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(...'{}[]",:\\u0123456789eE+-. truefalsn'.split("")),
          maxLength: 30,
        }),
        (text) => {
          try {
            read(text);
          } catch (error) {
            expect(error).to.be.instanceOf(JsonError);
            return;
          }
          JSON.parse(text);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

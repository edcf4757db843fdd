import { crc32, gunzipSync } from "node:zlib";
import { expect } from "chai";
import fc from "fast-check";
import { Answer, Piece } from "../../../http/surface-b/markets/answer.js";
import { joinCrc } from "../../../http/surface-b/markets/crc.js";

describe("answers assembled from pieces", () => {
  const values = fc.array(fc.jsonValue(), { maxLength: 6 });

  it("are a JSON array of the pieces, also after compression", () => {
    fc.assert(
      fc.property(values, (items) => {
        const answer = new Answer(items.map((item) => new Piece(item)));
        expect(answer.json.toString()).to.equal(JSON.stringify(items));
        expect(gunzipSync(answer.gzip).equals(answer.json)).to.equal(true);
      }),
    );
  });

  it("of large and repetitive pieces decompress as one stream", () => {
    const items = Array.from({ length: 20 }, (_, i) => ({
      i,
      text: "the same again and again ".repeat(5_000),
    }));
    const answer = new Answer(items.map((item) => new Piece(item)));
    expect(answer.json.length).to.be.greaterThan(2_000_000);
    expect(answer.gzip.length).to.be.lessThan(answer.json.length / 50);
    expect(JSON.parse(gunzipSync(answer.gzip).toString())).to.deep.equal(items);
  });

  it("have an entity tag each, and compare by their pieces", () => {
    const [one, two] = [new Piece(1), new Piece(2)];
    const answer = new Answer([one, two]);
    expect(answer.consistsOf([one, two])).to.equal(true);
    expect(answer.consistsOf([two, one])).to.equal(false);
    expect(answer.consistsOf([one])).to.equal(false);
    expect(answer.consistsOf([one, new Piece(2)])).to.equal(false);
    expect(new Answer([one, two]).etag).to.not.equal(answer.etag);
  });

  it("join the CRCs of parts into the CRC of the whole", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (first, second) => {
        const whole = crc32(Buffer.concat([first, second]));
        expect(joinCrc(crc32(Buffer.from(first)), crc32(Buffer.from(second)), second.length)).to.equal(whole);
      }),
    );
    const large = Buffer.alloc(3_000_001, "abc");
    expect(joinCrc(crc32(large), crc32(large), large.length)).to.equal(crc32(Buffer.concat([large, large])));
  });
});

import { expect } from "chai";
import {
  commonSeq,
  entriesAfter,
  incarnationOf,
  lineageAt,
  NOWHERE,
  type Position,
  withIncarnation,
} from "../../../stream/log/lineage.js";

const at = (seq: number, lineage = ""): Position => ({ seq, lineage });

describe("a lineage", () => {
  const cut = withIncarnation(at(80), "b", 9_081);
  const later = withIncarnation(at(9_120, cut), "c", 20_000);

  it("names the present incarnation", () => {
    expect([incarnationOf(""), incarnationOf(cut), incarnationOf(later)]).to.deep.equal(["", "b", "c"]);
  });

  it("gives the last entry that two histories have in common", () => {
    expect(commonSeq(at(100), at(70))).to.equal(70);
    expect(commonSeq(at(80), at(9_100, cut))).to.equal(80);
    expect(commonSeq(at(100), at(9_100, cut))).to.equal(80);
    expect(commonSeq(at(100), at(85, withIncarnation(at(80), "b", 81)))).to.equal(80);
    expect(commonSeq(at(9_100, cut), at(20_010, later))).to.equal(9_100);
    expect(commonSeq(at(9_200, cut), at(20_010, later))).to.equal(9_120);
    expect(commonSeq(at(9_200, cut), at(90))).to.equal(80);
    expect(commonSeq(at(9_200, cut), at(8_000, withIncarnation(at(60), "d", 7_000)))).to.equal(60);
  });

  it("counts the entries that a follower lacks, without the seqs that were left out", () => {
    expect(entriesAfter(NOWHERE, at(20_009, later))).to.equal(80 + 40 + 10);
    expect(entriesAfter(at(9_100, cut), at(20_009, later))).to.equal(20 + 10);
    expect(entriesAfter(at(100), at(9_090, cut))).to.equal(10);
    expect(entriesAfter(at(9_090, cut), at(9_090, cut))).to.equal(0);
  });

  it("has a beginning at every entry", () => {
    expect([80, 9_081, 20_000].map((seq) => lineageAt(at(20_009, later), seq))).to.deep.equal([
      "",
      cut,
      later,
    ]);
  });

  it("forgets its oldest incarnations, and still gives what it has in common with one that has not", () => {
    let position = at(10);
    const past: Position[] = [];
    for (let n = 1; n < 200; n += 1) {
      position = at(n * 1_000 + 10, withIncarnation(position, `n${n}`, n * 1_000));
      past.push(position);
    }
    expect(position.lineage.length).to.be.below(2_000);
    expect(commonSeq(past[180] ?? NOWHERE, position)).to.equal(past[180]?.seq);
    expect(commonSeq(past[20] ?? NOWHERE, position)).to.equal(undefined);
  });
});

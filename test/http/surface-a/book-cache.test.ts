import { expect } from "chai";
import { BookCache } from "../../../http/surface-a/market/book-cache.js";

describe("the cache of books", () => {
  /** Bytes that each book takes beside its JSON. */
  const ENTRY_BYTES = 500;
  const book = (seq: number, bytes: number) => ({ seq, json: Buffer.alloc(bytes * 1_000 - ENTRY_BYTES) });

  it("keeps the last book of a name", () => {
    const cache = new BookCache(100_000);
    cache.keep("a", book(1, 10));
    cache.keep("a", book(2, 20));
    expect(cache.get("a")?.seq).to.equal(2);
    expect(cache.get("b")).to.equal(undefined);
  });

  it("drops the books that were not used for longest while there are too many bytes", () => {
    const cache = new BookCache(100_000);
    for (const name of ["a", "b", "c"]) cache.keep(name, book(1, 30));
    cache.get("a");
    cache.keep("d", book(1, 40));
    expect(["a", "b", "c", "d"].map((name) => cache.get(name)?.seq)).to.deep.equal([1, undefined, 1, 1]);
    cache.keep("a", book(2, 10));
    cache.keep("e", book(1, 20));
    expect(["a", "c", "d", "e"].map((name) => cache.get(name)?.seq)).to.deep.equal([2, 1, 1, 1]);
    cache.keep("f", book(1, 1_000));
    expect(["a", "c", "d", "e", "f"].map((name) => cache.get(name))).to.deep.equal(
      Array.from({ length: 5 }, () => undefined),
    );
    cache.keep("a", book(3, 100));
    expect(cache.get("a")?.seq).to.equal(3);
  });
});

/**
 * A set of ids that answers "surely new" or "maybe known". It is a chain of blocked Bloom filters: each id sets some bits
 * of one block, and is maybe known when all of its bits are set. While the chain may grow, an id has at least 20 bits, and
 * each filter takes fewer than 1 in 1,000 new ids as maybe known. A chain at its limit takes further ids and gets less
 * selective.
 */

import { Buffer } from "node:buffer";
import type { IdKey } from "./digest.js";

const BITS_PER_ID = 20;
/** Bits that an id sets in its block. */
const BITS_SET = 8;
const BLOCK_WORDS = 16;
const BYTES_PER_WORD = 4;
/** Length of a page. In base64, with its place, it fills a block of 40 KiB of the allocator of Redis. */
const WORDS_PER_PAGE = 7_600;
/** Sizes of filters are multiples of this. */
const UNIT_BYTES = 16 * 1_024;
/** Ratio of the first filter of a chain to what is expected: traffic changes from hour to hour. */
const HEADROOM = 9 / 8;

/** A page of one filter of a chain: its place in the chain, its size, its number of ids, and some words in base64. */
export type FilterPage = readonly [index: number, bytes: number, ids: number, word: number, words: string];

class BlockedFilter {
  readonly words: Uint32Array;
  ids = 0;

  constructor(bytes: number) {
    this.words = new Uint32Array(bytes / BYTES_PER_WORD);
  }

  get bytes(): number {
    return this.words.length * BYTES_PER_WORD;
  }

  get isFull(): boolean {
    return this.ids >= capacityOf(this.bytes);
  }

  add(key: IdKey): void {
    const { words } = this;
    const block = this.#blockOf(key);
    for (let n = 0; n < BITS_SET; n += 1) {
      const bit = bitOf(key, n);
      const at = block + (bit >>> 5);
      words[at] = (words[at] ?? 0) | (1 << (bit & 31));
    }
    this.ids += 1;
  }

  has(key: IdKey): boolean {
    const { words } = this;
    const block = this.#blockOf(key);
    for (let n = 0; n < BITS_SET; n += 1) {
      const bit = bitOf(key, n);
      if (((words[block + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  #blockOf([first]: IdKey): number {
    return (first % (this.words.length / BLOCK_WORDS)) * BLOCK_WORDS;
  }
}

/** Returns the `n`th bit of an id in its block. Three bits come from each of the last three words of the key. */
function bitOf(key: IdKey, n: number): number {
  const word = key[n < 3 ? 1 : n < 6 ? 2 : 3];
  return (word >>> (9 * (n % 3))) & 511;
}

function capacityOf(bytes: number): number {
  return Math.floor((bytes * 8) / BITS_PER_ID);
}

/** Returns the size of a filter for a number of ids. */
function bytesFor(ids: number): number {
  return Math.max(1, Math.ceil((ids * BITS_PER_ID) / 8 / UNIT_BYTES)) * UNIT_BYTES;
}

export class IdFilter {
  readonly #maxBytes: number;
  readonly #chain: BlockedFilter[] = [];
  readonly #firstBytes: number;

  /** The chain expects `expected` ids, doubles in size when it has more, and grows to `maxBytes`, a multiple of 16 KiB. */
  constructor(maxBytes: number, expected = 0) {
    this.#maxBytes = maxBytes;
    this.#firstBytes = Math.min(maxBytes, bytesFor(expected * HEADROOM));
  }

  /** Number of ids that were added. */
  get ids(): number {
    return this.#chain.reduce((sum, { ids }) => sum + ids, 0);
  }

  get bytes(): number {
    return this.#chain.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes of the last filter of the chain, which is the only one that changes. */
  get changingBytes(): number {
    return this.#chain.at(-1)?.bytes ?? 0;
  }

  add(key: IdKey): void {
    let last = this.#chain.at(-1);
    if (last?.isFull !== false) {
      const { bytes } = this;
      const more = Math.min(bytes === 0 ? this.#firstBytes : bytes, this.#maxBytes - bytes);
      if (last === undefined || more > 0) {
        last = new BlockedFilter(more);
        this.#chain.push(last);
      }
    }
    last.add(key);
  }

  /** Returns false for an id that was surely never added. */
  mayHave(key: IdKey): boolean {
    return this.#chain.some((filter) => filter.has(key));
  }

  /** Yields the filters in pages. A filter that is not the last of its chain does not change. */
  *pages(): Generator<FilterPage> {
    for (const [index, { words, bytes, ids }] of this.#chain.entries()) {
      for (let word = 0; word < words.length; word += WORDS_PER_PAGE) {
        const page = words.subarray(word, word + WORDS_PER_PAGE);
        const text = Buffer.from(page.buffer, page.byteOffset, page.byteLength).toString("base64");
        yield [index, bytes, ids, word, text];
      }
    }
  }

  /** Restores a page, after the pages before it. */
  addPage([index, bytes, ids, word, words]: FilterPage): void {
    const filter = (this.#chain[index] ??= new BlockedFilter(bytes));
    filter.ids = ids;
    new Uint8Array(filter.words.buffer).set(Buffer.from(words, "base64"), word * BYTES_PER_WORD);
  }
}

/**
 * The client ids of the orders that a ledger accepted in the last minutes. They are in tables of typed arrays, one table
 * for each minute: an id takes some 100 bytes, costs the garbage collector nothing, and leaves with its whole minute.
 */

import { Buffer } from "node:buffer";
import { assert } from "../../units.js";
import { DIGEST_LENGTH, type IdKey } from "./digest.js";

export const MINUTE_MS = 60_000;

/** The order that was accepted under a client id, and the digest of its body. */
export interface FirstOrder {
  readonly orderId: string;
  readonly digest: string;
}

const KEY_BYTES = 16;
/** Maximum length of an order id, which is that of a uuid. */
const MAX_ORDER_ID = 36;
const DIGEST_AT = KEY_BYTES;
const ORDER_ID_AT = DIGEST_AT + DIGEST_LENGTH;
/** A record is a whole number of words: key, digest, order id padded with zeros. */
const RECORD_BYTES = Math.ceil((ORDER_ID_AT + MAX_ORDER_ID) / 4) * 4;
const RECORD_WORDS = RECORD_BYTES / 4;
/**
 * Records that a table has room for at first. Its memory is then more than 128 KiB, which the allocator takes from the
 * system and gives back as a whole: smaller blocks that live for minutes would lie among short-lived ones and keep what
 * is freed around them. Pages that nothing was written to take no memory.
 */
const FIRST_RECORDS = 2_048;
/** Slots of the index for each record that fits. */
const SLOTS_PER_RECORD = 2;
/** Number of records in a saved page. */
const PAGE_RECORDS = 512;

/** The memory of a table: its records as bytes and as words, and after them its index. */
class TableMemory {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly words: Uint32Array;
  /** The number of a record, counted from 1, or 0. */
  readonly index: Int32Array;

  constructor(readonly capacity: number) {
    const recordBytes = capacity * RECORD_BYTES;
    const slots = capacity * SLOTS_PER_RECORD;
    const buffer = new ArrayBuffer(recordBytes + slots * Int32Array.BYTES_PER_ELEMENT);
    this.bytes = new Uint8Array(buffer, 0, recordBytes);
    this.words = new Uint32Array(buffer, 0, capacity * RECORD_WORDS);
    this.index = new Int32Array(buffer, recordBytes, slots);
  }
}

/** The ids of one minute, in the order of their acceptance, with an index by key. */
class MinuteTable {
  #records = 0;
  #memory = new TableMemory(FIRST_RECORDS);

  get size(): number {
    return this.#records;
  }

  add(key: IdKey, { orderId, digest }: FirstOrder): void {
    assert(orderId.length <= MAX_ORDER_ID, "the id of an order is too long", orderId);
    this.#reserve(this.#records + 1);
    const record = this.#records;
    this.#memory.words.set(key, record * RECORD_WORDS);
    this.#writeText(record * RECORD_BYTES + DIGEST_AT, digest);
    this.#writeText(record * RECORD_BYTES + ORDER_ID_AT, orderId);
    this.#records += 1;
    this.#indexRecord(record);
  }

  find(key: IdKey): FirstOrder | undefined {
    const { index } = this.#memory;
    const mask = index.length - 1;
    for (let slot = key[0] & mask; ; slot = (slot + 1) & mask) {
      const record = (index[slot] ?? 0) - 1;
      if (record === -1) return undefined;
      if (this.#hasKey(record, key)) return this.#read(record);
    }
  }

  #hasKey(record: number, key: IdKey): boolean {
    const at = record * RECORD_WORDS;
    const { words } = this.#memory;
    return (
      words[at] === key[0] && words[at + 1] === key[1] && words[at + 2] === key[2] && words[at + 3] === key[3]
    );
  }

  #read(record: number): FirstOrder {
    const at = record * RECORD_BYTES;
    const text = (from: number, to: number): string =>
      Buffer.from(this.#memory.bytes.buffer, at + from, to - from).toString("latin1");
    return {
      digest: text(DIGEST_AT, ORDER_ID_AT),
      orderId: text(ORDER_ID_AT, ORDER_ID_AT + MAX_ORDER_ID).replace(/\0+$/, ""),
    };
  }

  #writeText(at: number, text: string): void {
    const { bytes } = this.#memory;
    for (let i = 0; i < text.length; i += 1) bytes[at + i] = text.charCodeAt(i);
  }

  #reserve(records: number): void {
    const { bytes } = this.#memory;
    let { capacity } = this.#memory;
    if (records <= capacity) return;
    while (capacity < records) capacity *= 2;
    this.#memory = new TableMemory(capacity);
    this.#memory.bytes.set(bytes);
    for (let record = 0; record < this.#records; record += 1) this.#indexRecord(record);
  }

  #indexRecord(record: number): void {
    const { words, index } = this.#memory;
    const mask = index.length - 1;
    let slot = (words[record * RECORD_WORDS] ?? 0) & mask;
    while (index[slot] !== 0) slot = (slot + 1) & mask;
    index[slot] = record + 1;
  }

  /** Yields the records in pages. A full page never changes. */
  *pages(): Generator<string> {
    for (let record = 0; record < this.#records; record += PAGE_RECORDS) {
      const records = Math.min(PAGE_RECORDS, this.#records - record);
      yield Buffer.from(this.#memory.bytes.buffer, record * RECORD_BYTES, records * RECORD_BYTES).toString(
        "base64",
      );
    }
  }

  addPage(page: string): void {
    const bytes = Buffer.from(page, "base64");
    const first = this.#records;
    this.#reserve(first + bytes.length / RECORD_BYTES);
    this.#memory.bytes.set(bytes, first * RECORD_BYTES);
    this.#records += bytes.length / RECORD_BYTES;
    for (let record = first; record < this.#records; record += 1) this.#indexRecord(record);
  }
}

export class RecentIds {
  /** Tables by minute since the epoch, oldest first. */
  readonly #minutes = new Map<number, MinuteTable>();

  get size(): number {
    return [...this.#minutes.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Returns the start of the oldest minute (Unix ms), if there is any. */
  get oldestMs(): number | undefined {
    const [minute] = this.#minutes.keys();
    return minute === undefined ? undefined : minute * MINUTE_MS;
  }

  add(key: IdKey, first: FirstOrder, acceptedTs: number): void {
    this.#tableOf(Math.floor(acceptedTs / MINUTE_MS)).add(key, first);
  }

  find(key: IdKey): FirstOrder | undefined {
    for (const table of this.#minutes.values()) {
      const found = table.find(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Forgets the minutes that end by `ts`. */
  forgetBefore(ts: number): void {
    for (const minute of this.#minutes.keys()) {
      if ((minute + 1) * MINUTE_MS > ts) return;
      this.#minutes.delete(minute);
    }
  }

  /** Yields the minutes in pages, oldest first. */
  *pages(): Generator<readonly [minute: number, page: string]> {
    for (const [minute, table] of this.#minutes) for (const page of table.pages()) yield [minute, page];
  }

  addPage(minute: number, page: string): void {
    this.#tableOf(minute).addPage(page);
  }

  #tableOf(minute: number): MinuteTable {
    const found = this.#minutes.get(minute);
    if (found !== undefined) return found;
    const table = new MinuteTable();
    this.#minutes.set(minute, table);
    return table;
  }
}

/** Finds how much of an append-only file of Redis consists of whole commands and whole transactions. */

/** Bytes of a file from an offset up to another one. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** First half of a transaction whose rest was cut. */
export interface TornHalf extends ByteRange {
  /** True when a later start has executed the half, so that what follows may depend on it. */
  readonly isExecuted: boolean;
}

/** Parts of an append-only file, as byte offsets from its start. */
export interface AofScan {
  /** Size of the file. */
  readonly size: number;
  /** Bytes to keep: everything after them is a torn command, or belongs to a transaction without its EXEC. */
  readonly keep: number;
  /**
   * True when the bytes after `keep` can be cut: they are the beginning of a command or of a transaction, or only the
   * zeros that a file system leaves in a block that it has not written. False when they are no append-only file, and
   * valid commands may follow them.
   */
  readonly torn: boolean;
  /**
   * First halves of transactions that another MULTI follows before their EXEC. An earlier load has cut a torn tail inside
   * such a transaction and has passed over its first half, which the next load executes together with the next transaction.
   */
  readonly nested: readonly TornHalf[];
}

const CR = 13;
const LF = 10;
const ZERO = 48;
/** Longest number in a header, in digits; Redis writes lengths up to 512 MB. */
const MAX_DIGITS = 12;
/** Longest command name that opens or ends a transaction, or selects a database. */
const MAX_NAME = "DISCARD".length;
/** Most words of such a command. */
const MAX_WORDS = 2;

type Expected = "command" | "digits" | "line-feed" | "argument" | "payload" | "comment" | "zeros" | "nothing";

/**
 * Scans the bytes of an append-only file in the order of the file. The scan holds no more than one command name, so a
 * file of any size can be streamed through it.
 */
export async function scanAof(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<AofScan> {
  const scanner = new AofScanner();
  for await (const chunk of chunks) scanner.push(chunk);
  return scanner.result();
}

class AofScanner {
  #size = 0;
  /** End of the last command outside of a transaction, or of the last transaction. */
  #keep = 0;
  #commandStart = 0;
  #transactionStart: number | undefined;
  /** Number of commands in the open transaction. */
  #inside = 0;
  /** Offset of the SELECT that is the first of these commands, if it is one. */
  #firstSelect: number | undefined;
  /** Offset of the first SELECT after the first of these commands, and the number of SELECTs from there. */
  #selectStart: number | undefined;
  #selects = 0;
  /** Torn halves, with the number of SELECTs after each. A server begins to write with one. */
  readonly #nested: (ByteRange & { to: number; selects: number })[] = [];
  /** Offset of the first command of the last half, if that is a SELECT of which the next command shows whose it is. */
  #doubtfulSelect: number | undefined;
  #expected: Expected = "command";
  /** Number being read, and its digits so far. */
  #number = 0;
  #digits = 0;
  #isArgument = false;
  #argumentsLeft = 0;
  /** Number of words of the command, and its first word if it has few. */
  #words = 0;
  #name = "";
  /** Bytes of the payload that are still to come, with its CR and LF. */
  #payloadLeft = 0;

  push(chunk: Uint8Array): void {
    for (let index = 0; index < chunk.length;) index += this.#take(chunk, index);
    this.#size += chunk.length;
  }

  result(): AofScan {
    return {
      size: this.#size,
      keep: this.#keep,
      torn: this.#expected !== "nothing",
      nested: this.#nested.map(({ from, to, selects }) => ({ from, to, isExecuted: selects > 1 })),
    };
  }

  /** Reads one byte, or more of a payload; returns how many bytes it has read. */
  #take(chunk: Uint8Array, index: number): number {
    const byte = chunk[index] ?? 0;
    switch (this.#expected) {
      case "command":
        this.#commandStart = this.#size + index;
        if (byte === 42 /* * */) this.#expectNumber(false);
        else if (byte === 35 /* # */) this.#expected = "comment";
        else this.#fault(byte);
        return 1;
      case "digits":
        if (byte === CR && this.#digits > 0) this.#expected = "line-feed";
        else if (byte >= ZERO && byte <= ZERO + 9 && this.#digits < MAX_DIGITS) {
          this.#number = this.#number * 10 + byte - ZERO;
          this.#digits += 1;
        } else this.#fault(byte);
        return 1;
      case "line-feed":
        if (byte === LF) this.#endNumber();
        else this.#fault(byte);
        return 1;
      case "argument":
        if (byte === 36 /* $ */) this.#expectNumber(true);
        else this.#fault(byte);
        return 1;
      case "payload":
        return this.#takePayload(chunk, index);
      case "comment":
        if (byte === LF) this.#endComment(this.#size + index + 1);
        else if (byte === 0) this.#fault(byte);
        return 1;
      case "zeros":
        if (byte !== 0) this.#expected = "nothing";
        return 1;
      case "nothing":
        return chunk.length - index;
    }
  }

  /** After a fault, only zeros up to the end of the file are a torn tail. */
  #fault(byte: number): void {
    this.#expected = byte === 0 ? "zeros" : "nothing";
  }

  #expectNumber(isArgument: boolean): void {
    this.#expected = "digits";
    this.#isArgument = isArgument;
    this.#number = 0;
    this.#digits = 0;
  }

  #endNumber(): void {
    if (this.#isArgument) {
      this.#payloadLeft = this.#number + 2;
      this.#expected = "payload";
    } else if (this.#number === 0) {
      this.#expected = "nothing";
    } else {
      this.#argumentsLeft = this.#number;
      this.#words = this.#number;
      this.#name = "";
      this.#expected = "argument";
    }
  }

  #takePayload(chunk: Uint8Array, index: number): number {
    if (this.#payloadLeft > 2) {
      const taken = Math.min(this.#payloadLeft - 2, chunk.length - index);
      const isFirst = this.#argumentsLeft === this.#words;
      if (isFirst && this.#words <= MAX_WORDS && this.#name.length <= MAX_NAME) {
        const read = chunk.subarray(index, index + Math.min(taken, MAX_NAME + 1));
        this.#name += String.fromCharCode(...read);
      }
      this.#payloadLeft -= taken;
      return taken;
    }
    const byte = chunk[index] ?? 0;
    if (byte !== (this.#payloadLeft === 2 ? CR : LF)) {
      this.#fault(byte);
      return 1;
    }
    this.#payloadLeft -= 1;
    if (this.#payloadLeft > 0) return 1;
    this.#argumentsLeft -= 1;
    if (this.#argumentsLeft > 0) this.#expected = "argument";
    else this.#endCommand(this.#size + index + 1);
    return 1;
  }

  #endCommand(end: number): void {
    const name = this.#name.toUpperCase();
    const isAlone = this.#words === 1;
    this.#expected = "command";
    if (isAlone && name === "MULTI") {
      const from = this.#transactionStart;
      // Single commands of the next server may stand between its SELECT and its first MULTI.
      if (from !== undefined)
        this.#nested.push({ from, to: this.#selectStart ?? this.#commandStart, selects: this.#selects });
      this.#doubtfulSelect = this.#selectStart === undefined ? this.#firstSelect : undefined;
      this.#transactionStart = this.#commandStart;
      this.#inside = 0;
      this.#firstSelect = undefined;
      this.#selectStart = undefined;
      this.#selects = 0;
    } else if (isAlone && (name === "EXEC" || name === "DISCARD")) {
      this.#transactionStart = undefined;
      this.#firstSelect = undefined;
    } else {
      this.#settleDoubt(name === "SELECT");
      if (name === "SELECT") this.#select();
      this.#inside += 1;
    }
    if (this.#transactionStart === undefined) this.#keep = end;
  }

  #endComment(end: number): void {
    this.#expected = "command";
    if (this.#transactionStart === undefined) this.#keep = end;
  }

  /**
   * Decides whose the SELECT right after the MULTI of the last half was. If the next transaction selects, it is the first
   * write of the next server, and the SELECT before was that of the half. If not, the next server had selected before: the
   * half is its MULTI alone, and the commands after it were executed and answered.
   */
  #settleDoubt(selects: boolean): void {
    const half = this.#nested.at(-1);
    if (half !== undefined && this.#doubtfulSelect !== undefined && !selects) {
      half.to = this.#doubtfulSelect;
      half.selects += 1;
    }
    this.#doubtfulSelect = undefined;
  }

  #select(): void {
    for (const half of this.#nested) half.selects += 1;
    if (this.#transactionStart === undefined) return;
    // A transaction itself may select its database in its first command.
    if (this.#inside === 0) {
      this.#firstSelect = this.#commandStart;
      return;
    }
    this.#selectStart ??= this.#commandStart;
    this.#selects += 1;
  }
}

/**
 * A large JSON answer that many requests get, put together of pieces that change one by one. It is compressed piece by
 * piece too: a change costs the compression of its own piece, and the result is one gzip stream of the whole.
 */

import { randomUUID } from "node:crypto";
import { constants, crc32, deflateRawSync } from "node:zlib";
import { joinCrc } from "./crc.js";

/** Bytes with what they come to in a gzip stream; both are made when they are first asked for. */
class Part {
  #packed: { readonly deflated: Buffer; readonly crc: number } | undefined;

  constructor(readonly plain: Buffer) {}

  get packed(): { readonly deflated: Buffer; readonly crc: number } {
    this.#packed ??= { deflated: deflate(this.plain), crc: crc32(this.plain) };
    return this.#packed;
  }

  /** What is kept in memory. */
  get bytes(): number {
    return this.plain.length + (this.#packed?.deflated.length ?? 0);
  }
}

/** One item of an answer. */
export class Piece extends Part {
  constructor(value: unknown) {
    super(Buffer.from(JSON.stringify(value)));
  }
}

/** Ends on a byte and leaves nothing behind that what follows could refer to, so such streams can be joined. */
function deflate(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: constants.Z_BEST_SPEED, finishFlush: constants.Z_FULL_FLUSH });
}

const OPEN = new Part(Buffer.from("["));
const COMMA = new Part(Buffer.from(","));
const CLOSE = new Part(Buffer.from("]"));
/** RFC 1952: deflate, no name, no time, no particular system. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty last block. */
const LAST_BLOCK = Buffer.from([3, 0]);

/** Tells the answers of this process from those of others. */
const ORIGIN = randomUUID().slice(0, 8);
let made = 0;

/** A JSON array of pieces. */
export class Answer {
  readonly etag: string;
  #json: Buffer | undefined;
  #gzip: Buffer | undefined;

  constructor(readonly pieces: readonly Piece[]) {
    made += 1;
    this.etag = `"${ORIGIN}-${made}"`;
  }

  /** Whether an answer of these very pieces would be this one. */
  consistsOf(pieces: readonly Piece[]): boolean {
    return (
      this.pieces.length === pieces.length && this.pieces.every((piece, index) => piece === pieces[index])
    );
  }

  get json(): Buffer {
    this.#json ??= Buffer.concat(this.#parts().map(({ plain }) => plain));
    return this.#json;
  }

  /** The same, compressed. */
  get gzip(): Buffer {
    this.#gzip ??= this.#compress();
    return this.#gzip;
  }

  /** What is kept in memory besides the pieces. */
  get bytes(): number {
    return (this.#json?.length ?? 0) + (this.#gzip?.length ?? 0);
  }

  #compress(): Buffer {
    const parts = this.#parts();
    const crc = parts.reduce((sum, { plain, packed }) => joinCrc(sum, packed.crc, plain.length), 0);
    const size = parts.reduce((sum, { plain }) => sum + plain.length, 0);
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc, 0);
    trailer.writeUInt32LE(size >>> 0, 4);
    return Buffer.concat([GZIP_HEADER, ...parts.map(({ packed }) => packed.deflated), LAST_BLOCK, trailer]);
  }

  #parts(): Part[] {
    const items = this.pieces.flatMap((piece, index): Part[] => (index === 0 ? [piece] : [COMMA, piece]));
    return [OPEN, ...items, CLOSE];
  }
}

/** Whether a client takes gzip, by its `Accept-Encoding`. */
export function takesGzip(accepted: unknown): boolean {
  if (typeof accepted !== "string") return false;
  return accepted.split(",").some((encoding) => {
    const [name = "", ...parameters] = encoding.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

/**
 * Large JSON answer that many requests share, assembled from pieces that change one by one. Each piece is compressed by
 * itself, so a change costs the compression of one piece; the answer is one gzip stream of all pieces.
 */

import { randomUUID } from "node:crypto";
import { constants, crc32, deflateRawSync } from "node:zlib";
import { joinCrc } from "./crc.js";

/** Bytes and their compressed form, which is built at its first use. */
class Part {
  #packed: { readonly deflated: Buffer; readonly crc: number } | undefined;

  constructor(readonly plain: Buffer) {}

  get packed(): { readonly deflated: Buffer; readonly crc: number } {
    this.#packed ??= { deflated: deflate(this.plain), crc: crc32(this.plain) };
    return this.#packed;
  }

  /** Size in memory, in bytes. */
  get bytes(): number {
    return this.plain.length + (this.#packed?.deflated.length ?? 0);
  }
}

/** Item of an answer. */
export class Piece extends Part {
  constructor(value: unknown) {
    super(Buffer.from(JSON.stringify(value)));
  }
}

/** Compresses bytes. The result ends on a byte boundary and holds no references, so that results can be joined. */
function deflate(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: constants.Z_BEST_SPEED, finishFlush: constants.Z_FULL_FLUSH });
}

const OPEN = new Part(Buffer.from("["));
const COMMA = new Part(Buffer.from(","));
const CLOSE = new Part(Buffer.from("]"));
/** Header of RFC 1952: deflate, without name, time and operating system. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** Empty last block. */
const LAST_BLOCK = Buffer.from([3, 0]);

/** Prefix of the entity tags of this process. */
const ORIGIN = randomUUID().slice(0, 8);
let made = 0;

/** JSON array of pieces, or one piece by itself. */
export class Answer {
  readonly etag: string;
  #json: Buffer | undefined;
  #gzip: Buffer | undefined;

  constructor(
    readonly pieces: readonly Piece[],
    private readonly isArray = true,
  ) {
    made += 1;
    this.etag = `"${ORIGIN}-${made}"`;
  }

  /** Returns whether the answer consists of exactly these pieces. */
  consistsOf(pieces: readonly Piece[]): boolean {
    return (
      this.pieces.length === pieces.length && this.pieces.every((piece, index) => piece === pieces[index])
    );
  }

  get json(): Buffer {
    this.#json ??= Buffer.concat(this.#parts().map(({ plain }) => plain));
    return this.#json;
  }

  /** Compressed JSON. */
  get gzip(): Buffer {
    this.#gzip ??= this.#compress();
    return this.#gzip;
  }

  /** Size in memory without the pieces, in bytes. */
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

  #parts(): readonly Part[] {
    if (!this.isArray) return this.pieces;
    const items = this.pieces.flatMap((piece, index): Part[] => (index === 0 ? [piece] : [COMMA, piece]));
    return [OPEN, ...items, CLOSE];
  }
}

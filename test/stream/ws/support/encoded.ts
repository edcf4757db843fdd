/** Frames as a gateway encodes them. */

/** Returns the contents of unmasked text frames that follow each other in buffers, from JSON. */
export function textsIn(buffers: readonly Buffer[]): unknown[] {
  return framesIn(buffers).map((text) => JSON.parse(text) as unknown);
}

/** Returns the texts of unmasked text frames that follow each other in buffers. */
export function framesIn(buffers: readonly Buffer[]): string[] {
  const texts: string[] = [];
  const all = Buffer.concat(buffers);
  for (let at = 0; at < all.length;) {
    const short = all.readUInt8(at + 1);
    const [head, length] =
      short < 126
        ? [2, short]
        : short === 126
          ? [4, all.readUInt16BE(at + 2)]
          : [10, Number(all.readBigUInt64BE(at + 2))];
    texts.push(all.toString("utf8", at + head, at + head + length));
    at += head + length;
  }
  return texts;
}

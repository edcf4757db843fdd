/** DER of ECDSA signatures: the exchange reads DER (contract section 5.3), and WebCrypto returns r and s side by side. */

const SEQUENCE = 0x30;
const INTEGER = 0x02;

/** Converts a P-256 signature of 64 bytes, r and then s, to DER. */
export function toDer(signature: Uint8Array): Uint8Array {
  const half = signature.length / 2;
  const content = [...integer(signature.subarray(0, half)), ...integer(signature.subarray(half))];
  return Uint8Array.of(SEQUENCE, content.length, ...content);
}

/** Encodes a number in as few bytes as possible; a leading zero keeps a high first bit from being a sign. */
function integer(bytes: Uint8Array): number[] {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? [0] : [...bytes.subarray(first)];
  if ((digits[0] ?? 0) >= 0x80) digits.unshift(0);
  return [INTEGER, digits.length, ...digits];
}

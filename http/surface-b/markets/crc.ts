/** The CRC-32 of bytes put together of parts, from the parts' own: polynomials over two elements, modulo that of the CRC. */

/** Coefficients in reflected order, as everywhere here: the highest bit is that of x^0. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
/** x^8, by which one more byte multiplies. */
const BYTE = 0x00800000;

function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** What a CRC is multiplied by when so many bytes follow. */
function shiftBy(bytes: number): number {
  let power = ONE;
  let square = BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

/** The CRC of two parts together. */
export function joinCrc(first: number, second: number, secondBytes: number): number {
  return (multiply(first, shiftBy(secondBytes)) ^ second) >>> 0;
}

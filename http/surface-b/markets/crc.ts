/** CRC-32 of joined parts, computed from the CRCs of the parts: arithmetic of polynomials over GF(2) modulo the CRC polynomial. */

/** Polynomial of the CRC with reflected coefficients, as all polynomials here: the highest bit belongs to x^0. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
/** Polynomial x^8: one more byte multiplies a CRC by it. */
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

/** Returns the factor of a CRC that is followed by a number of bytes. */
function shiftBy(bytes: number): number {
  let power = ONE;
  let square = BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

/** Returns the CRC of two parts joined. */
export function joinCrc(first: number, second: number, secondBytes: number): number {
  return (multiply(first, shiftBy(secondBytes)) ^ second) >>> 0;
}

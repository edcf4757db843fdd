/**
 * The integer units of the exchange and the only arithmetic on them (contract section 1). A contract pays 1 cent and a
 * price counts thousandths, so `price x qty` is a whole number of millicents ($0.00001). No value here is a float. A
 * result outside the safe integer range is a bug and throws.
 */

declare const unit: unique symbol;

/** An amount of money in $0.00001 (for COIN: the same fraction of a COIN). May be negative. */
export type Millicents = number & { readonly [unit]: "millicents" };
/** A price in thousandths of a contract's value, 1 to 999. */
export type Ticks = number & { readonly [unit]: "ticks" };
/** A number of contracts, at least 0. An order or a position holds at most int32; a price level may hold more. */
export type Contracts = number & { readonly [unit]: "contracts" };

/** Payout of one contract when its outcome wins. */
export const CONTRACT_TICKS = 1_000;
/** Maximum quantity of one order or position: int32. */
export const MAX_CONTRACTS = 2_147_483_647;

/**
 * Throws on a broken invariant, which is a bug: the runtime stops the actor and commits nothing. `about` is the value
 * that the message concerns; the two are joined only on failure, because joining them on every call is slow.
 */
export function assert(condition: boolean, message: string, about?: string | number): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}${about === undefined ? "" : ` (${about})`}`);
}

/** Maximum amount of money. */
export const MAX_MILLICENTS = Number.MAX_SAFE_INTEGER as Millicents;
/**
 * Maximum of the deposits, of the withdrawals and of the adjustments of one ledger shard, each summed up for ever. All
 * money of the exchange is a deposit or an adjustment in one of the 16 shards. So within this limit every balance, every
 * escrow and every sum over all shards is a safe integer.
 */
export const MAX_SHARD_MILLICENTS = Math.floor(MAX_MILLICENTS / 32) as Millicents;

/** Marks an integer as money. Throws when it is not a safe integer. */
export function millicents(value: number): Millicents {
  assert(Number.isSafeInteger(value), "the amount is not a whole number of millicents", value);
  return value as Millicents;
}

/** Marks an integer as a price. Throws outside 1 to 999. */
export function ticks(value: number): Ticks {
  assert(
    Number.isInteger(value) && value > 0 && value < CONTRACT_TICKS,
    "the price is not from 1 to 999 ticks",
    value,
  );
  return value as Ticks;
}

/** Marks an integer as a quantity. Throws below zero. */
export function contracts(value: number): Contracts {
  assert(
    Number.isSafeInteger(value) && value >= 0,
    "the quantity is not a whole number of at least 0",
    value,
  );
  return value as Contracts;
}

export const ZERO = 0 as Millicents;
export const NONE = 0 as Contracts;

export function add(a: Millicents, b: Millicents): Millicents {
  return millicents(a + b);
}

export function subtract(a: Millicents, b: Millicents): Millicents {
  return millicents(a - b);
}

export function negate(a: Millicents): Millicents {
  return subtract(ZERO, a);
}

/** Returns the cost of `qty` contracts at `price`. */
export function cost(price: Ticks, qty: Contracts): Millicents {
  return millicents(price * qty);
}

/** Returns the payout of `qty` contracts of the winning outcome, which is also the value of `qty` complete sets. */
export function fullValue(qty: Contracts): Millicents {
  return millicents(CONTRACT_TICKS * qty);
}

/** Returns `floor(amount x part / whole)` without loss of precision. The amount and the part are not negative. */
export function share(amount: Millicents, part: number, whole: number): Millicents {
  return floorOfProduct(amount, part, 0, whole);
}

/**
 * Returns `floor((a x b + c) / divisor)` exactly, for whole numbers that are not negative. The remainder of two safe
 * integers is exact, whereas their quotient is rounded to a float.
 */
export function floorOfProduct(a: number, b: number, c: number, divisor: number): Millicents {
  const dividend = a * b + c;
  if (Number.isSafeInteger(dividend)) return millicents((dividend - (dividend % divisor)) / divisor);
  return millicents(Number((BigInt(a) * BigInt(b) + BigInt(c)) / BigInt(divisor)));
}

const MONEY = /^(-?)(0|[1-9][0-9]{0,10})(?:\.([0-9]{1,5}))?$/;

/**
 * Parses a decimal string with at most five decimals, without rounding. Returns `undefined` for any other text, and for an
 * amount beyond the safe integer range.
 */
export function parseMoney(text: string): Millicents | undefined {
  const match = MONEY.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "0", fraction = ""] = match;
  const value = Number(whole) * 100_000 + Number(fraction.padEnd(5, "0"));
  if (!Number.isSafeInteger(value)) return undefined;
  return millicents(sign === "-" && value !== 0 ? -value : value);
}

/** Form of an amount as `formatMoney` writes it. */
export const MONEY_TEXT = /^-?\d+\.\d{5}$/;

/** Formats an amount with exactly five decimals. */
export function formatMoney(amount: Millicents): string {
  const magnitude = Math.abs(amount);
  const fraction = String(magnitude % 100_000).padStart(5, "0");
  return `${amount < 0 ? "-" : ""}${Math.floor(magnitude / 100_000)}.${fraction}`;
}

const PRICE = /^0\.([0-9]{1,3})0*$/;

/** Parses a price strictly between 0 and 1, such as `"0.665"` or `"0.6650"`. Returns `undefined` for any other text. */
export function parsePrice(text: string): Ticks | undefined {
  const match = PRICE.exec(text);
  if (match === null) return undefined;
  const value = Number((match[1] ?? "").padEnd(3, "0"));
  return value === 0 ? undefined : ticks(value);
}

/** Form of a price as `formatPrice` writes it. */
export const PRICE_TEXT = /^0\.\d{3}$/;

/** Formats a price with three decimals. */
export function formatPrice(price: Ticks): string {
  return `0.${String(price).padStart(3, "0")}`;
}

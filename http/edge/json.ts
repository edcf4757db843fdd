/**
 * Strict reader of JSON bodies. It refuses a body that two readers could understand differently (contract section 5.4):
 * `JSON.parse` keeps the last of two equal keys, turns `1e999` into Infinity and rounds large integers.
 */

/** JSON value; an object inherits no property that has a name. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Reports a text that is not acceptable JSON, with a message that names the place. */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

const MAX_DEPTH = 16;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/y;
/** Matches NUL and halves of surrogate pairs, which Postgres cannot store. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
const SPACE = /[ \t\n\r]*/y;
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

/**
 * Prototype of all objects: it has no named property, and makes an object NaN in a comparison. A schema compares any
 * `length` field with a number, and would throw for an object there that has no primitive value.
 */
const NAMELESS: object = Object.freeze(
  Object.create(null, { [Symbol.toPrimitive]: { value: () => Number.NaN } }) as object,
);

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): Json {
    const value = this.value(0);
    if (this.at < this.text.length) this.fail("unexpected text after the value");
    return value;
  }

  private fail(problem: string): never {
    throw new JsonError(`${problem} at character ${this.at}`);
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text)?.[0];
    if (match !== undefined) this.at += match.length;
    return match;
  }

  /** Takes a punctuation mark if it comes next. */
  private mark(char: string): boolean {
    if (this.text[this.at] !== char) return false;
    this.at += 1;
    this.take(SPACE);
    return true;
  }

  private value(depth: number): Json {
    if (depth > MAX_DEPTH) this.fail(`the body is nested deeper than ${MAX_DEPTH} levels`);
    this.take(SPACE);
    const value = this.bare(depth);
    this.take(SPACE);
    return value;
  }

  private bare(depth: number): Json {
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      default:
        return this.word();
    }
  }

  private word(): Json {
    for (const [word, value] of WORDS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    return this.number();
  }

  private number(): number {
    const start = this.at;
    const literal = this.take(NUMBER);
    if (literal === undefined) this.fail("a value is expected");
    const refuse = (problem: string): never => {
      this.at = start;
      return this.fail(problem);
    };
    if (/[eE]/.test(literal)) refuse("a number has an exponent");
    if (/^-0(?:\.0+)?$/.test(literal)) refuse("a number is negative zero");
    if (literal.replace(/[-.]/g, "").length > 17) refuse("a number has too many digits");
    const value = Number(literal);
    if (!literal.includes(".") && !Number.isSafeInteger(value)) refuse("a whole number is out of range");
    return value;
  }

  private string(): string {
    const start = this.at;
    const literal = this.take(STRING);
    if (literal === undefined) this.fail("a well-formed string is expected");
    const value = literal.includes("\\") ? (JSON.parse(literal) as string) : literal.slice(1, -1);
    if (UNSTORABLE.test(value)) {
      this.at = start;
      this.fail("a string has a NUL or half a surrogate pair");
    }
    return value;
  }

  private array(depth: number): Json[] {
    const items: Json[] = [];
    this.mark("[");
    if (this.mark("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.mark(","));
    if (!this.mark("]")) this.fail("a comma or ] is expected");
    return items;
  }

  private object(depth: number): Record<string, Json> {
    const fields = Object.create(NAMELESS) as Record<string, Json>;
    this.mark("{");
    if (this.mark("}")) return fields;
    do {
      const name = this.string();
      if (name === "__proto__") this.fail("the field __proto__ is not allowed");
      if (name in fields) this.fail(`the field ${JSON.stringify(name.slice(0, 64))} is given twice`);
      this.take(SPACE);
      if (!this.mark(":")) this.fail("a colon is expected");
      fields[name] = this.value(depth + 1);
    } while (this.mark(","));
    if (!this.mark("}")) this.fail("a comma or } is expected");
    return fields;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads one JSON document. Throws `JsonError` for bytes that are not UTF-8, duplicate or `__proto__` keys, exponents,
 * negative zero, whole numbers beyond 2^53 - 1, more than 17 digits, NUL, lone surrogates, and nesting over 16.
 */
export function readJson(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new JsonError("the body is not UTF-8");
  }
  return new Reader(text).document();
}

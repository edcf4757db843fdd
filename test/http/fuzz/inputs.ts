/** Inputs of attackers and of broken clients. */

import fc from "fast-check";
import { unreachable } from "../../../actors/unreachable.js";

const DIGITS = "9".repeat(400);
const ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

/** Texts that parsers often read wrongly. */
const AWKWARD = [
  "",
  "0",
  "-0",
  "-1",
  "1",
  "2147483648",
  "9007199254740991",
  "9007199254740993",
  "9223372036854775808",
  DIGITS,
  "1e3",
  "1e999",
  "0x10",
  "NaN",
  "Infinity",
  "٣",
  "１",
  "0.665",
  "0.6650001",
  "1,5",
  "null",
  "true",
  "[]",
  "{}",
  "__proto__",
  "constructor",
  "toString",
  "' OR 1=1 --",
  "\u0000",
  "a\u0000b",
  "\u202e",
  "😀",
  "../../etc/passwd",
  "%00",
  "%2e%2e",
  "${7*7}",
  "a".repeat(3_000),
  ID,
  ID.toUpperCase(),
  `${ID},${ID}`,
  "OPEN",
  "CASH",
  "GTC",
  "fund",
  "2026-01-01T00:00:00Z",
  "+275760-09-13T00:00:00.001Z",
];

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...AWKWARD) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
  },
);

/** Generator of JSON, and of texts that only resemble it. */
const jsonText: fc.Arbitrary<string> = fc.oneof(
  text.map((value) => JSON.stringify(value)),
  fc.constantFrom(
    ...[
      "null",
      "true",
      "-0",
      "0",
      "-1",
      "1.5",
      "1e3",
      "1E999",
      "NaN",
      "Infinity",
      "9007199254740993",
      DIGITS,
    ],
    ...[`0.${DIGITS}`, "01", '"\\ud800"', '"\\u0000"', '"\u0661"', '{"__proto__":{"a":1}}', '{"a":1,"a":2}'],
    ...[
      "[".repeat(50) + "]".repeat(50),
      "[".repeat(5_000),
      '{"a":'.repeat(20) + "1" + "}".repeat(20),
      "",
      ",",
      '"',
    ],
  ),
  fc.json({ maxDepth: 3 }),
);

/** Change of a good body. */
export const bodyChange = fc.record({
  how: fc.constantFrom("replace", "replace", "replace", "add", "repeat", "remove", "whole", "cut"),
  which: fc.nat(50),
  value: jsonText,
});
export type BodyChange = typeof bodyChange extends fc.Arbitrary<infer Change> ? Change : never;

const PLACE = /"@@(\d+)"/;

/** Returns a good body with one thing changed somewhere in it, or all of it. */
export function changed(body: unknown, { how, which, value }: BodyChange): string {
  const good = JSON.stringify(body);
  if (how === "whole") return value;
  if (how === "cut") return good.slice(0, which % good.length);
  const objects: Record<string, unknown>[] = [];
  const copy: unknown = JSON.parse(good, (_name, one: unknown) => {
    if (one !== null && typeof one === "object" && !Array.isArray(one))
      objects.push(one as Record<string, unknown>);
    return one;
  });
  const object = objects[which % Math.max(1, objects.length)];
  if (object === undefined) return value;
  const names = Object.keys(object);
  const name = names[which % Math.max(1, names.length)] ?? "x";
  if (how === "remove") Reflect.deleteProperty(object, name);
  else if (how === "repeat") {
    return JSON.stringify(copy).replace("{", `{${JSON.stringify(name)}:${value},`);
  } else object[how === "add" ? "unknown" : name] = "@@0";
  return JSON.stringify(copy).replace(PLACE, () => value);
}

/** Escapes every byte that has a meaning in a target, and keeps the others. */
function escaped(value: string): string {
  return [...Buffer.from(value)]
    .map((byte) =>
      /[\w.~-]/.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).padStart(2, "0")}`,
    )
    .join("");
}

/** Generator of one of these ASCII characters. */
const charactersOf = (characters: string): fc.Arbitrary<string> => fc.constantFrom(...characters.split(""));

const PARAMETERS = [
  ...[
    "limit",
    "after",
    "before",
    "offset",
    "startsAfter",
    "startsBefore",
    "league",
    "leagues",
    "status",
    "type",
  ],
  ...[
    "eventStatus",
    "marketType",
    "marketTypes",
    "event",
    "market",
    "outcome",
    "outcomeIds",
    "order",
    "currency",
  ],
  ...[
    "clientId",
    "kind",
    "interval",
    "from",
    "to",
    "subject",
    "operator",
    "action",
    "search",
    "email",
    "preview",
    "view",
    "x",
    "__proto__",
    "",
  ],
];
const parameter = fc
  .tuple(fc.constantFrom(...PARAMETERS), text)
  .map(([name, value]) => `${name}=${escaped(value)}`);
const rawPart = fc.string({
  unit: charactersOf('%&=+;#?/\\"<>[]{}|^`~!*()$,:@0123456789abcdefABCDEF'),
  maxLength: 30,
});

export const query = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(parameter, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("&")),
  },
  { weight: 1, arbitrary: rawPart },
);

/** Generator of a segment of a path, escaped or raw. */
export const segment = fc.oneof(
  text.map(escaped),
  rawPart,
  fc.constantFrom(
    ID,
    ID.toUpperCase(),
    `${ID}/`,
    `${ID}%2F`,
    `../${ID}`,
    `${ID};a=b`,
    `%${ID}`,
    ".",
    "..",
    "//",
    "*",
  ),
);

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const cursorOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Generator of cursors of other lists, forged cursors and other texts. */
export const cursor = fc.oneof(
  fc.string({ unit: charactersOf(BASE64URL), maxLength: 80 }),
  fc
    .array(
      fc.oneof(
        fc.integer(),
        fc.maxSafeInteger(),
        fc.constantFrom(
          ID,
          ID.toUpperCase(),
          2 ** 31,
          -(2 ** 31) - 1,
          0,
          -1,
          1e300,
          1.5,
          null,
          "x",
          "\u0000",
        ),
        fc.uuid(),
        fc.string(),
      ),
      { maxLength: 4 },
    )
    .map(cursorOf),
  fc.json().map((json) => Buffer.from(json).toString("base64url")),
  text.map(escaped),
);

/** Change of a good header; each differs from the good header in every letter case. */
export const headerChange = fc.record({
  name: fc.nat(2),
  how: fc.constantFrom("flip", "cut", "append", "other", "drop", "twice", "spaces"),
  at: fc.nat(200),
  other: fc.oneof(
    fc.string({ unit: charactersOf(`${BASE64URL}+/=.,:;"' `), maxLength: 100 }),
    fc.constantFrom(...AWKWARD.filter((value) => /^[\x20-\x7e]*$/.test(value))),
  ),
});
export type HeaderChange = typeof headerChange extends fc.Arbitrary<infer Change> ? Change : never;

/** Returns the values of a header after a change: none, one or two. */
export function spoilt(value: string, { how, at, other }: HeaderChange): readonly string[] {
  const place = at % value.length;
  switch (how) {
    case "flip": {
      const old = value[place] ?? "";
      return [value.slice(0, place) + (old.toUpperCase() === "A" ? "B" : "A") + value.slice(place + 1)];
    }
    case "cut":
      return [value.slice(0, place)];
    case "append":
      return [`${value}${other.trim() === "" ? "x" : other}`];
    case "other":
      return [other.trim() === value ? "" : other];
    case "drop":
      return [];
    case "twice":
      return [value, value];
    case "spaces":
      return [`${value.slice(0, place + 1)} ${value.slice(place + 1)}x`];
    default:
      return unreachable(how);
  }
}

/** Change of the bytes of a request. */
export const byteChange = fc.array(
  fc.record({
    how: fc.constantFrom("put", "cut", "insert", "repeat"),
    at: fc.nat(600),
    bytes: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom(
          ...[
            "\r\n",
            "\n",
            "\r",
            "\0",
            " ",
            "\t",
            ":",
            "HTTP/1.0",
            "HTTP/2.0",
            "\r\n\r\n",
            "0\r\n\r\n",
            "chunked",
          ],
          ...[
            "Transfer-Encoding: chunked\r\n",
            "Content-Length: 5\r\n",
            "Content-Length: -1\r\n",
            "Expect: 100-continue\r\n",
          ],
          ...[
            "Upgrade: websocket\r\nConnection: Upgrade\r\n",
            "GET / HTTP/1.1\r\n",
            "Host: a\r\n",
            "PRI * HTTP/2.0",
            "ffffffff\r\n",
          ],
        )
        .map((bytes) => Buffer.from(bytes, "latin1")),
    ),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Returns the bytes of a request after the changes. */
export function garbled(
  good: Buffer,
  changes: typeof byteChange extends fc.Arbitrary<infer C> ? C : never,
): Buffer {
  let bytes = good;
  for (const { how, at, bytes: put } of changes) {
    const place = at % (bytes.length + 1);
    const rest = how === "put" ? place + put.length : place;
    if (how === "cut") bytes = bytes.subarray(0, place);
    else if (how === "repeat") bytes = Buffer.concat([bytes.subarray(0, place), bytes]);
    else bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(Math.min(rest, bytes.length))]);
  }
  return bytes;
}

import { expect } from "chai";
import { z } from "zod";
import { Refused } from "../../../http/request/errors.js";
import { PageOnly } from "../../../http/request/fields.js";
import { readAs, readParameters } from "../../../http/request/validation.js";
import { BatchPlace, PlaceOrder } from "../../../http/surface-a/schemas/orders.js";

function refusalOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof Refused) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

describe("the refusal of a field", () => {
  const order = {
    outcomeId: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
    price: "0.500",
    qty: 1,
    tif: "GTC",
  };
  const named = z.strictObject({
    kind: z.enum(["a", "b"]).optional(),
    size: z.number().max(9).optional(),
    tags: z.array(z.string()).min(1).optional(),
    code: z.string().min(2).optional(),
    pattern: z.string().regex(/^x$/).optional(),
  });
  const cases: [string, z.core.$ZodType, unknown, string][] = [
    ["a missing one", PlaceOrder, { ...order, qty: undefined }, "qty is missing; add it"],
    ["an unknown one", PlaceOrder, { ...order, size: 1 }, "size is not a field of this route; leave it out"],
    [
      "one in a list",
      BatchPlace,
      { orders: [{ ...order, price: 1 }] },
      "orders[0].price must be a decimal string, such as 0.665",
    ],
    [
      "one in a list of unknown ones",
      BatchPlace,
      { orders: [{ ...order, size: 1 }] },
      "orders[0].size is not a field of this route; leave it out",
    ],
    ["the whole body", PlaceOrder, [], "the body must be of type object"],
    ["a value without a message of its own", named, { kind: "c" }, "kind must be a or b"],
    ["a number without a message of its own", named, { size: 10 }, "size must be at most 9"],
    ["a list without a message of its own", named, { tags: [] }, "tags must have at least 1 item"],
    ["a text without a message of its own", named, { code: "x" }, "code must have at least 2 characters"],
    ["a type without a message of its own", named, { size: "1" }, "size must be of type number"],
    ["a pattern without a message of its own", named, { pattern: "y" }, "pattern is malformed"],
  ];
  for (const [name, schema, value, message] of cases) {
    it(`names ${name} and the remedy`, () => {
      expect(refusalOf(() => readAs(schema, value, "field", "INVALID_BODY"))).to.equal(
        `INVALID_BODY: ${message}`,
      );
    });
  }
});

describe("the refusal of a query parameter", () => {
  const cases: [string, z.core.$ZodType | undefined, string, string][] = [
    ["a limit", PageOnly, "limit=0", "INVALID_REQUEST: limit must be from 1 to 5000"],
    ["a limit that is not a number", PageOnly, "limit=x", "INVALID_REQUEST: limit must be a whole number"],
    [
      "an empty cursor",
      PageOnly,
      "after=",
      "INVALID_QUERY: after must be a cursor: the 'next' of an earlier page of this list",
    ],
    [
      "an unknown one",
      PageOnly,
      "a=1",
      "INVALID_QUERY: a is not a query parameter of this route; leave it out",
    ],
    [
      "any where none is taken",
      undefined,
      "a=1",
      "INVALID_QUERY: a is not a query parameter of this route; leave it out",
    ],
  ];
  for (const [name, schema, query, message] of cases) {
    it(`names ${name} and the remedy`, () => {
      expect(refusalOf(() => readParameters(schema, query))).to.equal(message);
    });
  }
});

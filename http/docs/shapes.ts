/** JSON Schemas of the Zod schemas that requests and answers are validated with. */

import { z } from "zod";
import { UUID } from "../../actors/uuid.js";
import * as emm from "../surface-b/schemas.js";
import * as account from "../surface-a/schemas/account.js";
import * as catalog from "../surface-a/schemas/catalog.js";
import * as exchange from "../admin/schemas/exchange.js";
import * as audit from "../admin/schemas/audit.js";
import * as events from "../admin/schemas/events.js";
import * as makers from "../admin/schemas/makers.js";
import * as markets from "../admin/schemas/markets.js";
import * as money from "../admin/schemas/money.js";
import * as reference from "../admin/schemas/reference.js";
import * as settlement from "../admin/schemas/settlement.js";
import * as traders from "../admin/schemas/traders.js";
import * as wallets from "../admin/schemas/wallets.js";
import * as operators from "../admin/schemas/operators.js";
import * as orders from "../surface-a/schemas/orders.js";
import * as safety from "../surface-a/schemas/safety.js";
import { ref, type Json } from "./json.js";

type Shape = z.core.$ZodType;

/** Schemas that become named components; the prefix keeps equal names of two surfaces apart. */
const NAMED: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["", { ...account, ...catalog, ...orders, ...safety }],
  ["Emm", emm],
  [
    "Operator",
    {
      ...audit,
      ...events,
      ...exchange,
      ...makers,
      ...markets,
      ...money,
      ...operators,
      ...reference,
      ...settlement,
      ...traders,
      ...wallets,
    },
  ],
];

/** Collects the schemas that a document uses: named ones become components, the others stand where they are used. */
export class Shapes {
  readonly #registry = z.registry<{ id: string }>();
  readonly #names = new Map<Shape, string>();
  readonly #inlined = new Map<string, Shape>();

  constructor() {
    for (const [prefix, shapes] of NAMED) {
      for (const [name, shape] of Object.entries(shapes)) {
        const isObject = shape instanceof z.ZodObject && !name.endsWith("Query");
        // A surface may export a schema of another one, which then keeps its first name.
        if (isObject && !this.#names.has(shape)) this.#add(`${prefix}${name}`, shape);
      }
    }
  }

  #add(name: string, shape: Shape): void {
    this.#names.set(shape, name);
    this.#registry.add(shape, { id: name });
  }

  /** Returns a reference to a schema; `resolve` replaces it when the schema has no name. */
  of(shape: Shape): Json {
    const known = this.#names.get(shape);
    if (known !== undefined) return ref("schemas", known);
    const name = `inline-${this.#inlined.size}`;
    this.#inlined.set(name, shape);
    this.#add(name, shape);
    return ref("schemas", name);
  }

  /** Returns the parameters of a query. */
  parametersOf(query: Shape): readonly { readonly name: string; readonly shape: Shape }[] {
    if (!(query instanceof z.ZodObject)) throw new Error("the schema of a query must be an object");
    return Object.entries(query.shape).map(([name, shape]) => ({ name, shape: shape as Shape }));
  }

  /** Returns the named schemas, and a function that replaces references to the others by the schemas themselves. */
  resolve(): { readonly schemas: Json; readonly inline: (value: unknown) => unknown } {
    const { schemas } = z.toJSONSchema(this.#registry, {
      io: "input",
      uri: (id) => ref("schemas", id).$ref,
      override: ({ jsonSchema }) => simplify(jsonSchema),
    });
    const plain = new Map(
      Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
    );
    const inline = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(inline);
      if (value === null || typeof value !== "object") return value;
      const { $ref, ...more } = value as { $ref?: unknown };
      const name = typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
      if (name !== undefined && this.#inlined.has(name)) return inline({ ...plain.get(name), ...more });
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inline(part)]));
    };
    const named = [...plain].filter(([name]) => !this.#inlined.has(name));
    return {
      schemas: inline(Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))) as Json,
      inline,
    };
  }
}

/**
 * Replaces patterns by the formats that they spell out, and defaults by sentences, because generators of clients take a
 * field with a default for a required one. Removes the bounds of every safe integer.
 */
export function simplify(schema: z.core.JSONSchema.BaseSchema): void {
  const isUuid = schema.format === "uuid" || schema.pattern === UUID.source;
  if (isUuid) schema.format = "uuid";
  if (isUuid || schema.format?.startsWith("cidr") === true || schema.type === "integer")
    delete schema.pattern;
  if (schema.default !== undefined) {
    const sentence = `The default is ${JSON.stringify(schema.default).replaceAll('"', "`")}.`;
    schema.description = schema.description === undefined ? sentence : `${schema.description} ${sentence}`;
    delete schema.default;
  }
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

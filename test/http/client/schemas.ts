/** Samples and field names of JSON schemas. */

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
}

const ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

function optionsOf({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] {
  return anyOf ?? oneOf ?? [];
}

/** Returns a value of a schema: with all fields, or with the required ones alone. A union has its first member. */
export function sampleOf(schema: JsonSchema, full: boolean): unknown {
  const [option] = optionsOf(schema);
  if (option !== undefined) return sampleOf(option, full);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const type = typeof schema.type === "string" ? schema.type : schema.type?.find((one) => one !== "null");
  switch (type) {
    case "object": {
      const { properties = {}, required = [], additionalProperties: others } = schema;
      const names = Object.keys(properties).filter((name) => full || required.includes(name));
      const fields = names.map((name) => [name, sampleOf(properties[name] ?? {}, full)] as const);
      const more = full && typeof others === "object" ? [[ID, sampleOf(others, full)] as const] : [];
      return Object.fromEntries([...fields, ...more]);
    }
    case "array":
      return full && schema.items !== undefined ? [sampleOf(schema.items, full)] : [];
    case "string":
      return schema.format === "uuid" ? ID : "text";
    case "boolean":
      return true;
    case "integer":
    case "number":
      return 1;
    default:
      return null;
  }
}

/** Returns the paths of all fields of a schema, such as `items[].fee.charged`, of all members of a union. */
export function fieldsOf(schema: JsonSchema, at = ""): Set<string> {
  const { properties = {}, additionalProperties: others, items } = schema;
  const below = [
    ...optionsOf(schema).map((option) => fieldsOf(option, at)),
    ...Object.entries(properties).map(([name, field]) => fieldsOf(field, `${at}.${name}`)),
    ...(typeof others === "object" ? [fieldsOf(others, `${at}.*`)] : []),
    ...(items === undefined ? [] : [fieldsOf(items, `${at}[]`)]),
  ];
  const here = Object.keys(properties).map((name) => `${at}.${name}`);
  return new Set([...here, ...below.flatMap((fields) => [...fields])]);
}

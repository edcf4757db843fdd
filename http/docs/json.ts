/** Parts of an OpenAPI 3.1 document that the code reads after it has built them. */

export type Json = Readonly<Record<string, unknown>>;

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly tags: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Json;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Json[];
  readonly parameters: readonly Json[];
  readonly requestBody?: Json;
  /** Answers by status. */
  readonly responses: Readonly<Record<string, Json>>;
}

/** Returns a reference to a component. */
export function ref(kind: "schemas" | "headers" | "responses", name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

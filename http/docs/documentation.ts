/** Text of a route in the OpenAPI document, and the examples that it shows. */

import type { Code } from "../request/errors.js";

/** Facts about a route that its access, cost and shapes do not show. */
export interface Documentation {
  readonly summary: string;
  readonly description?: string;
  /** Codes of its own; the codes that follow from access, cost and shapes are added to the document. */
  readonly refuses?: readonly Code[];
  /** Further statuses of success and their conditions. A 304 has no body; the others have the body of the first. */
  readonly also?: Readonly<Partial<Record<200 | 202 | 207 | 304 | 404, string>>>;
  /** Adds `rejected`, the orders that failed, to every refusal of a batch. */
  readonly rejected?: boolean;
  /** Headers of a success besides the headers that every route has. */
  readonly headers?: readonly string[];
  /** Examples of the parameters of the path that are no UUIDs, by parameter. */
  readonly examplePath?: Readonly<Record<string, string>>;
  /** Example of the query, by parameter. */
  readonly exampleQuery?: Readonly<Record<string, string>>;
  /** Example of the body. */
  readonly exampleBody?: unknown;
}

/** Bodies and answers of the demo, in development only (contract section 8.21). */

import { z } from "zod";
import { Text, Uuid } from "../../request/fields.js";

/** Login of the demo's trader; null until the demo has opened its account. */
export const DemoAnswer = z.strictObject({
  login: z.strictObject({ email: z.string(), password: z.string() }).nullable(),
});

export const FaucetBody = z.strictObject({
  subaccountKeyId: Uuid.optional(),
  clientRef: Text(100).optional(),
});

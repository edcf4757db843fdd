/** The tick table, for signed requests and for the public (contract section 1.4). */

import { formatPrice } from "../../actors/units.js";
import type { Reference } from "../reference/reference.js";
import { ANY_SCOPE, ANYBODY, signedOrSession, type Access } from "../request/access.js";
import { free, READ, type Metering } from "../request/metering.js";
import { route, type Route } from "../request/route.js";
import { Ticks } from "./schemas/catalog.js";

interface TickParts {
  readonly reference: Pick<Reference, "ticks">;
}

export function tickRoutes({ reference }: TickParts): readonly Route[] {
  const below = (base: string, access: Access, metering: Metering): Route =>
    route(`GET ${base}/ticks`, {
      access,
      metering,
      answer: Ticks,
      docs: {
        summary: "Retrieve the tick table",
        description:
          "Returns every valid price in ascending order. The operator may publish another table, so read it again from time to time.",
      },
      run: async () => ({ body: { prices: (await reference.ticks()).prices.map(formatPrice) } }),
    });
  return [below("/v3", signedOrSession(ANY_SCOPE), READ), below("/v3/public", ANYBODY, free)];
}

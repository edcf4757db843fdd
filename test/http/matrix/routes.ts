/** Declarations of all routes, without a service behind them. */

import { createRoutes, type RouteParts } from "../../../http/routes.js";
import type { Route } from "../../../http/request/route.js";
import { emmRoutes } from "../../../http/surface-b/surface.js";

/** Stands for every part that the routes are created with: the declarations alone are read, and no route runs. */
const anything: object = new Proxy(() => anything, { get: () => anything });

/** Every route by its line, such as `GET /v3/keys/:keyId`, in the order of the OpenAPI document. */
export const ROUTES: ReadonlyMap<string, Route> = new Map(
  [
    ...createRoutes(anything as RouteParts),
    ...emmRoutes("svc", anything as Parameters<typeof emmRoutes>[1]),
  ].map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]),
);

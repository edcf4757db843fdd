/** HTTP app of a gateway: the middleware of every request, in order, and the routes of the tables. */

import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import helmet from "helmet";
import { asyncApi } from "./docs/asyncapi.js";
import { mountDocs } from "./docs/page.js";
import { refuse } from "./edge/refusals.js";
import { isWithin, OPERATIONS_PATHS, servedHere, type OtherPorts } from "./edge/doors.js";
import {
  paceOfFreeAnswers,
  edgeRate,
  exactBody,
  inTurn,
  rawTarget,
  requestId,
  type EdgeLimits,
} from "./edge/middleware.js";
import { type EngineTime, localsOf } from "./edge/incoming.js";
import { crossOrigin } from "./edge/origins.js";
import { publicUrlOf } from "./edge/public-url.js";
import { requestLog, type Logger } from "./edge/request-log.js";
import { Slowdown } from "./edge/senders/slowdown.js";
import { Turns } from "./edge/senders/turns.js";
import type { Readiness } from "./ops/health.js";
import type { Metrics } from "./ops/metrics.js";
import { createAdmission, type AdmissionParts } from "./request/admission.js";
import { Refused } from "./request/errors.js";
import { answerFailures, type Refuse } from "./request/failures.js";
import type { Route } from "./request/route.js";
import { serve } from "./request/serve.js";
import { mountPages } from "./pages.js";
import { mountTokenRoutes, refuseTokenRequest, tokenPathOf } from "./surface-b/auth/token-routes.js";
import { refuseOnB } from "./surface-b/refusals.js";

/** Parts and settings of the app. */
export interface AppParts extends AdmissionParts {
  /** Every route of both surfaces and of the operators. */
  readonly routes: readonly Route[];
  readonly log: Logger;
  readonly time: EngineTime;
  readonly metrics: Metrics;
  readonly readiness: () => Promise<Readiness>;
  readonly edge: EdgeLimits;
  /** Trusted proxies: their number, or their networks; `undefined`: no forwarding header is trusted. */
  readonly trustProxy: number | readonly string[] | undefined;
  readonly brand: string;
  /** Folder of the built console. */
  readonly consoleFolder: string;
  /** True where the routes of the demo exist. */
  readonly demo: boolean;
  readonly ports: OtherPorts;
  /** Origins whose pages may call the operators' routes. */
  readonly adminOrigins: readonly string[];
  /** Surface B: the first segment of its paths, and the URL by which clients reach this service. */
  readonly emm: {
    readonly prefix: string;
    readonly publicUrl: string | undefined;
  };
  /** Serves the upgrades to a websocket, and no other request. */
  readonly openStream: RequestHandler;
  /** True where stream clients may request faults for their sockets. */
  readonly sandbox: boolean;
  /** True where every answer is checked against its schema: in tests and development. */
  readonly checkAnswers: boolean;
}

/** Makes the app. */
export function createApp(parts: AppParts): Express {
  const { brand, clients, edge, emm, log, metrics, ports, routes } = parts;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.disable("query parser");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  if (parts.trustProxy !== undefined) app.set("trust proxy", parts.trustProxy);

  app.use(requestId(parts.time));
  app.use(requestLog(log, (route, status, ms) => metrics.observe(route, status, ms)));
  const slowdown = new Slowdown(paceOfFreeAnswers(edge));
  app.use(edgeRate(edge, slowdown));
  app.use(inTurn(new Turns(), slowdown));
  app.use(
    helmet({ contentSecurityPolicy: { directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } } }),
  );
  app.use(crossOrigin(brand, ports, parts.adminOrigins));
  app.use(rawTarget);
  app.use(servedHere(ports));
  app.use(exactBody(edge, slowdown));
  app.use(parts.openStream);

  app.get(OPERATIONS_PATHS.health, (_req, res) => void res.json({ ok: true }));
  app.get(OPERATIONS_PATHS.readiness, async (_req, res) => {
    const readiness = await parts.readiness();
    res.status(readiness.ready ? 200 : 503).json(readiness);
  });
  app.get(OPERATIONS_PATHS.metrics, async (_req, res) => {
    res.type(metrics.registry.contentType).end(await metrics.registry.metrics());
  });
  const streamDocument = asyncApi(parts);
  app.get("/asyncapi.json", (req, res) => {
    const { host, protocol } = new URL(publicUrlOf(req, emm.publicUrl));
    res.json(streamDocument({ host, secure: protocol === "https:" }));
  });
  const admission = createAdmission(parts, slowdown);
  mountTokenRoutes(app, { ...emm, clients });
  const showNoPage = mountPages(app, { folder: parts.consoleFolder, brand, demo: parts.demo, ports });
  mountDocs(app, { routes, brand, prefix: emm.prefix });
  const answerFailure = failuresOf(parts, slowdown);
  // Most requests have a path without parameters. A map finds its handler at once; Express would try all routes in turn,
  // and after a failure those that remain.
  const handlers = new Map<string, RequestHandler>();
  app.use(async (req, res, next) => {
    const handle = handlers.get(`${req.method} ${localsOf(res).target?.path ?? ""}`);
    if (handle === undefined) {
      next();
      return;
    }
    try {
      await handle(req, res, next);
    } catch (error) {
      answerFailure(error, req, res, next);
    }
  });
  for (const route of routes) {
    const handle = serve(route, admission, parts.checkAnswers);
    app[route.method](route.path, handle);
    if (!route.path.includes(":")) handlers.set(`${route.method.toUpperCase()} ${route.path}`, handle);
  }

  app.use(showNoPage, () => {
    throw new Refused("ROUTE_NOT_FOUND");
  });
  app.use(answerFailure);
  return app;
}

/** Returns the handler that answers failures in the shape of the surface of their path. */
function failuresOf({ emm, log }: AppParts, slowdown: Slowdown): ErrorRequestHandler {
  const inShape = (refuseRequest: Refuse): ErrorRequestHandler =>
    answerFailures(log, refuseRequest, slowdown);
  const [ofTokens, ofB, ofOthers] = [inShape(refuseTokenRequest), inShape(refuseOnB), inShape(refuse)];
  const tokenPath = tokenPathOf(emm.prefix);
  return (error, req, res, next) => {
    if (isWithin(tokenPath, req.path) && req.method === "POST") ofTokens(error, req, res, next);
    else if (isWithin(`/${emm.prefix}`, req.path)) ofB(error, req, res, next);
    else ofOthers(error, req, res, next);
  };
}

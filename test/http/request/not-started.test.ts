import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import express, { type ErrorRequestHandler } from "express";
import { RATE_LIMIT, rateLimit } from "../../../http/edge/headers.js";
import { requestId } from "../../../http/edge/middleware.js";
import { ANYBODY } from "../../../http/request/access.js";
import { NotStarted, Refused } from "../../../http/request/errors.js";
import { route } from "../../../http/request/route.js";
import { type Admission, serve } from "../../../http/request/serve.js";

/**
 * Serves a route that fails. Returns the number of charges given back, the rows that are charged, and the cost in the
 * headers of the answer.
 */
async function costOf(failure: Error): Promise<{ givenBack: number; rows: number[]; cost: string | null }> {
  let givenBack = 0;
  const rows: number[] = [];
  const admission: Admission = {
    admit: (_route, _request, res) => {
      res.set(rateLimit("history", 8, 100));
      return Promise.resolve({
        caller: undefined,
        chargeRows: (count) => Promise.resolve(void rows.push(count)),
        giveBack: () => Promise.resolve(void (givenBack += 1)),
        attempt: undefined,
        refusal: undefined,
        mayRecall: () => true,
      });
    },
  };
  const failing = route("GET /list", {
    access: ANYBODY,
    docs: { summary: "List", description: "Fails." },
    run: () => Promise.reject(failure),
  });
  const app = express();
  app.use(requestId({ now: Date.now, heldMs: 0, lastJump: undefined }));
  app.get("/list", serve(failing, admission, false));
  const answer: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(429).end();
  app.use(answer);
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { headers } = await fetch(`http://127.0.0.1:${port}/list`);
  server.close();
  return { givenBack, rows, cost: headers.get(RATE_LIMIT.cost) };
}

describe("a request that is refused", () => {
  it("before it begins costs nothing, and otherwise its base, also when the service is to blame", async () => {
    const free = { givenBack: 1, rows: [0], cost: null };
    expect(await costOf(new NotStarted("RATE_LIMIT_EXCEEDED"))).to.deep.equal(free);
    for (const failure of [new Refused("INVALID_QUERY"), new Refused("UNAVAILABLE"), new Error("a bug")])
      expect(await costOf(failure), failure.message).to.deep.equal({ givenBack: 0, rows: [0], cost: "8" });
  });
});

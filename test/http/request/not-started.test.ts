import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import express, { type ErrorRequestHandler } from "express";
import { RATE_LIMIT, rateLimit } from "../../../http/edge/headers.js";
import { ANYBODY } from "../../../http/request/access.js";
import { NotStarted, Refused } from "../../../http/request/errors.js";
import { route } from "../../../http/request/route.js";
import { type Admission, serve } from "../../../http/request/serve.js";

/** Serves a route that fails. Returns the number of charges given back, and the cost in the headers of the answer. */
async function costOf(failure: Refused): Promise<{ givenBack: number; cost: string | null }> {
  let givenBack = 0;
  const admission: Admission = {
    admit: (_route, _request, res) => {
      res.set(rateLimit("history", 8, 100));
      return Promise.resolve({
        caller: undefined,
        chargeRows: () => Promise.resolve(),
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
  app.get("/list", serve(failing, admission, false));
  const answer: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(429).end();
  app.use(answer);
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { headers } = await fetch(`http://127.0.0.1:${port}/list`);
  server.close();
  return { givenBack, cost: headers.get(RATE_LIMIT.cost) };
}

describe("a request that is refused", () => {
  it("before it begins costs nothing, and otherwise its base", async () => {
    expect(await costOf(new NotStarted("RATE_LIMIT_EXCEEDED"))).to.deep.equal({ givenBack: 1, cost: null });
    expect(await costOf(new Refused("INVALID_QUERY"))).to.deep.equal({ givenBack: 0, cost: "8" });
  });
});

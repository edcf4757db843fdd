import { expect } from "chai";
import { startStack, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { operatorCalls, resultOf, type Calls } from "../calls.js";
import { sentLast } from "../resources.js";
import { ruleFor } from "./contract.js";
import { ROUTES } from "./routes.js";
import { sampleOf } from "./samples.js";
import { makeWorld, type World } from "./world.js";

/** Routes whose requests have an effect each time: another secret. */
const ALWAYS = ["POST /admin/v1/emm-clients/:clientId/rotate"];
/** The sample of the other tests ends a maintenance, and here there is none. */
const BEGIN = ["POST /admin/v1/maintenance", { action: "begin" }] as const;

/**
 * Writes of operators that answer 200: those that change something, and do not create or remove it. A PUT states the whole
 * value, so it may be repeated.
 */
const LINES = [...ROUTES.keys()]
  .filter((line) => /^(POST|PATCH) \/admin\//.test(line) && ruleFor(line).own === "200")
  .filter((line) => !ALWAYS.includes(line))
  .toSorted((a, b) => sentLast(a) - sentLast(b));

describe("a write of an operator that would change nothing", function () {
  this.timeout(60_000);
  let stack: Stack;
  let world: World;
  let operator: Calls;

  before(async () => {
    stack = await startStack();
    world = await makeWorld(stack);
    operator = await operatorCalls(stack);
    // The type that the example of its promotion names.
    await operator("POST /admin/v1/market-types", { name: "WINGSPAN", qaOnly: true });
  });
  after(() => stack.stop());

  it("is possible on these routes", () => {
    expect(LINES).to.have.length.greaterThan(10);
  });

  for (const line of LINES) {
    it(`is refused: ${line}`, async () => {
      const raw = await sampleOf(ruleFor(line), world, "own", true);
      const body = line === BEGIN[0] ? BEGIN[1] : (JSON.parse(raw.body?.toString() ?? "null") as unknown);
      const send = () => operator(`${raw.method ?? ""} ${raw.target}`, body ?? undefined);
      const first = await send();
      expect(first.status, first.text).to.equal(200);
      // An actor may have to hear of the first one before it refuses the second.
      await until(send, (answer) => ["409 NO_CHANGE", "409 INVALID_TRANSITION"].includes(resultOf(answer)));
      const { json } = await operator("GET /admin/v1/audit-log?limit=1");
      const [last] = json["items"] as { ts: number }[];
      const again = await send();
      expect(again.status, again.text).to.equal(409);
      const after = (await operator("GET /admin/v1/audit-log?limit=1")).json["items"] as object[];
      // A refusal by an actor is recorded; a refusal of a value that is the present one changes nothing at all.
      if (resultOf(again) === "409 NO_CHANGE") expect(after[0]).to.deep.equal(last);
    });
  }
});

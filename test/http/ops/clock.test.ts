import { expect } from "chai";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { startStack, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { operatorCalls, resultOf, type Calls } from "../calls.js";

describe("a jump of the clock of Redis", function () {
  this.timeout(60_000);
  let stack: Stack;
  let log: RedisLog;
  let operator: Calls;

  before(async () => {
    // A worker would notice that the clock has not jumped, and end the hold.
    stack = await startStack({ actors: "elsewhere" });
    log = await RedisLog.open({ url: stack.redisUrl });
    operator = await operatorCalls(stack);
  });

  after(async () => {
    await log.close();
    await stack.stop();
  });

  it("is shown, and followed when an operator confirms it", async () => {
    expect((await operator("GET /admin/v1/clock")).json).to.deep.equal({ heldMs: 0, hosts: {} });
    const read = await log.time({ name: "test", confirmed: 0 });
    await log.holdTime(read, -3_600_000);
    expect((await operator("GET /admin/v1/clock")).json).to.deep.equal({ heldMs: -3_600_000, hosts: {} });
    await until(async () => {
      const { json } = await operator("GET /readyz");
      expect(json["clock"]).to.deep.equal({ heldMs: -3_600_000, hosts: {} });
    });
    const confirmed = await operator("POST /admin/v1/clock", { action: "confirm" });
    expect([confirmed.status, confirmed.json]).to.deep.equal([200, { heldMs: 0, hosts: {} }]);
    expect(await log.time({ name: "test", confirmed: 1 })).to.include({ heldMs: 0, confirmed: 1 });
    expect(resultOf(await operator("POST /admin/v1/clock", { action: "confirm" }))).to.equal("409 NO_CHANGE");
    expect((await log.time({ name: "test", confirmed: 1 })).confirmed).to.equal(1);
    const { json } = await operator("GET /admin/v1/audit-log?subject=clock");
    expect(json["items"]).to.have.length(1);
    expect((json["items"] as unknown[])[0]).to.deep.include({
      action: "clock.confirm",
      before: { heldMs: -3_600_000, hosts: {} },
      after: { heldMs: 0, hosts: {} },
    });
  });
});

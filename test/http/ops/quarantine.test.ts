import { expect } from "chai";
import { ledgerActor, partitionOf } from "../../../actors/actor.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { packEnvelope, parseEnvelope } from "../../../stream/log/packing.js";
import { startStack, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { operatorCalls, type Calls } from "../calls.js";

describe("a command on which an actor fails", function () {
  this.timeout(60_000);
  let stack: Stack;
  let log: RedisLog;
  let operator: Calls;

  before(async () => {
    stack = await startStack();
    log = await RedisLog.open({ url: stack.redisUrl });
    operator = await operatorCalls(stack);
  });

  after(async () => {
    await log.close();
    await stack.stop();
  });

  it("goes to the quarantine, which an operator can read, and the ledger goes on", async () => {
    expect((await operator("GET /admin/v1/quarantine")).json).to.deep.equal({ items: [] });
    const actor = ledgerActor(3);
    // A place without orders reaches the ledger only through a bug of a gateway.
    const commands = [{ kind: "place", wallet: "w", trader: "t", atomic: false }];
    await log.append(partitionOf(actor), [{ to: actor, body: packEnvelope({ id: "poison", commands }) }]);
    await until(async () => {
      const { json } = await operator("GET /readyz");
      expect(json).to.deep.include({ ready: true, quarantined: 1, halted: [] });
    });
    const { json } = await operator("GET /admin/v1/quarantine");
    const [item] = json["items"] as { actorId: string; reason: string; message: string }[];
    expect(item).to.deep.include({ actorId: "ledger:3" });
    expect(item?.reason).to.equal("command.orders is not iterable");
    expect(parseEnvelope(item?.message ?? "")).to.deep.include({ id: "poison", commands });
    await until(async () => {
      const metrics = await (await fetch(`${stack.url}/metrics`)).text();
      expect(metrics).to.match(/^overround_quarantined_messages 1$/m);
    });
  });
});

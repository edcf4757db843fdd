import { expect } from "chai";
import { ledgerActor, partitionOf } from "../../../actors/actor.js";
import { packEnvelope, parseEnvelope } from "../../../stream/log/packing.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { startStack, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { operatorCalls, resultOf, type Calls } from "../calls.js";
import { poison, POISON } from "../poison.js";

describe("a command on which an actor fails", function () {
  this.timeout(60_000);
  let stack: Stack;
  let operator: Calls;

  before(async () => {
    stack = await startStack();
    operator = await operatorCalls(stack);
  });

  after(() => stack.stop());

  it("goes to the quarantine, which an operator can read, and the ledger goes on", async () => {
    expect((await operator("GET /admin/v1/quarantine")).json).to.deep.equal({ items: [] });
    const messageId = await poison(stack, operator, "poison");
    await until(async () => {
      const { json } = await operator("GET /readyz");
      expect(json).to.deep.include({ ready: true, quarantined: 1, halted: [] });
    });
    const { json } = await operator("GET /admin/v1/quarantine");
    const [item] = json["items"] as { reason: string; message: string }[];
    expect(item).to.deep.include({ messageId, actorId: "ledger:3" });
    expect(item?.reason).to.equal("command.orders is not iterable");
    expect(parseEnvelope(item?.message ?? "")).to.deep.include({ id: "poison", commands: POISON });
    await until(async () => {
      const metrics = await (await fetch(`${stack.url}/metrics`)).text();
      expect(metrics).to.match(/^overround_quarantined_messages 1$/m);
    });
  });

  it("leaves the quarantine when an operator dismisses it, and stays in the audit log", async () => {
    const [kept, dismissed] = [await poison(stack, operator), await poison(stack, operator)];
    const ids = async (): Promise<readonly string[]> => {
      const { json } = await operator("GET /admin/v1/quarantine");
      return (json["items"] as { messageId: string }[]).map(({ messageId }) => messageId);
    };
    const before = await ids();
    expect(before).to.include.members([kept, dismissed]);
    expect((await operator(`DELETE /admin/v1/quarantine/${dismissed}`)).status).to.equal(204);
    expect(await ids()).to.have.members(before.filter((id) => id !== dismissed));
    expect(resultOf(await operator(`DELETE /admin/v1/quarantine/${dismissed}`))).to.equal(
      "404 MESSAGE_NOT_FOUND",
    );
    const { json } = await operator("GET /admin/v1/audit-log?subject=ledger:3");
    const [record] = json["items"] as { action: string; before: { messageId: string; message: string } }[];
    expect(record?.action).to.equal("quarantine.dismiss");
    expect(record?.before.messageId).to.equal(dismissed);
    expect(parseEnvelope(record?.before.message ?? "")).to.deep.include({ commands: POISON });
  });

  it("is one of at most 100 that are listed, the newest first", async () => {
    const log = await RedisLog.open({ url: stack.redisUrl });
    for (const actor of [ledgerActor(4), ledgerActor(5)]) {
      const poisoned = Array.from({ length: 60 }, (_, n) => packEnvelope({ id: `${n}`, commands: POISON }));
      await log.append(
        partitionOf(actor),
        poisoned.map((body) => ({ to: actor, body })),
      );
    }
    await until(async () => expect(await log.quarantineSize()).to.be.at.least(120));
    await log.close();
    const { json } = await operator("GET /admin/v1/quarantine");
    const times = (json["items"] as { ts: number }[]).map(({ ts }) => ts);
    expect(times).to.have.length(100);
    expect(times).to.deep.equal(times.toSorted((a, b) => b - a));
  });
});

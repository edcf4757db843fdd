import { expect } from "chai";
import { ledgerActor } from "../../../actors/actor.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { conformance } from "./conformance.js";
import { commitIn, takeFromAnyone } from "./support.js";

describe("the log in memory", () => {
  conformance(() => {
    const store = new MemoryStore();
    const logs: MemoryLog[] = [];
    return Promise.resolve({
      open: () => {
        const log = new MemoryLog(store);
        logs.push(log);
        return Promise.resolve(log);
      },
      cut: (log) => {
        logs.find((open) => open === log)?.disconnect();
        return Promise.resolve();
      },
      close: async () => {
        await Promise.all(logs.map((log) => log.close()));
      },
    });
  }, "one");

  describe("power cuts", () => {
    const actor = ledgerActor(0);

    it("undo the operations that are not on disk, one by one", async () => {
      const store = new MemoryStore();
      const log = new MemoryLog(store);
      const epoch = await takeFromAnyone(log, "l0", "w");
      await log.append("l0", [{ to: actor, body: "kept" }]);
      await commitIn(log, { partition: "l0", epoch }, [
        { actor, expectedSeq: 0, cursor: "0-1", entry: "one", deadlineMs: 5 },
      ]);
      const before = await log.scan("l0");
      store.sync();
      await log.append("l0", [{ to: actor, body: "lost" }]);
      const between = await log.scan("l0");
      await commitIn(log, { partition: "l0", epoch }, [
        { actor, expectedSeq: 1, cursor: "0-2", entry: "two", deadlineMs: null },
      ]);
      await log.writeSnapshot("l0", epoch, actor, { seq: 2, cursor: "0-2", hash: "h", body: "b" });
      expect(store.unsynced).to.equal(3);
      let lost = 0;
      log.onLost(() => (lost += 1));
      store.powerCut(1);
      expect(await log.scan("l0")).to.deep.equal(between);
      expect(await log.readSnapshot("l0", actor, "latest")).to.equal(undefined);
      expect(lost).to.equal(1);
      store.sync();
      await log.append("l0", [{ to: actor, body: "lost too" }]);
      store.powerCut();
      expect(await log.scan("l0")).to.deep.equal(between);
      expect(before).not.to.deep.equal(between);
      const mailboxes = await log.readMailboxes([{ partition: "l0", actor, after: "0-0" }], 9);
      expect(mailboxes.get(actor)).to.deep.equal([{ id: "0-2", body: "lost" }]);
    });
  });
});

import { expect } from "chai";
import { ledgerActor } from "../../../actors/actor.js";
import { MemoryLog } from "../../../stream/log/memory.js";
import { MemoryStore } from "../../../stream/log/memory-store.js";
import { conformance } from "./conformance.js";
import { eventually } from "./support.js";

describe("the log in memory", () => {
  conformance(() => {
    const store = new MemoryStore();
    const logs: MemoryLog[] = [];
    return Promise.resolve({
      open: () => {
        const log = new MemoryLog(store, { bellLength: 10, feedLength: 10 });
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
  });

  describe("falling behind and power cuts", () => {
    const actor = ledgerActor(0);

    it("says that all must be looked at when rings were trimmed unheard", async () => {
      const log = new MemoryLog(new MemoryStore(), { bellLength: 3 });
      const rings: boolean[] = [];
      log.listen("commands", ({ lookAtAll }) => rings.push(lookAtAll)).watch(["l0"]);
      await eventually(() => expect(rings).to.deep.equal([true]));
      const append = (): unknown => log.append("l0", [{ to: actor, body: "x" }]);
      for (let i = 0; i < 3; i += 1) append();
      await eventually(() => expect(rings).to.deep.equal([true, false]));
      for (let i = 0; i < 4; i += 1) append();
      await eventually(() => expect(rings).to.deep.equal([true, false, true]));
    });

    it("takes back what was not synced, operation by operation", async () => {
      const store = new MemoryStore();
      const log = new MemoryLog(store);
      const taken = await log.take("l0", "w", [], false);
      const epoch = taken.kind === "taken" ? taken.epoch : 0;
      await log.append("l0", [{ to: actor, body: "kept" }]);
      await log.commit("l0", epoch, [{ actor, expectedSeq: 0, cursor: "0-1", entry: "one", deadlineMs: 5 }]);
      const before = await log.look("l0");
      store.sync();
      await log.append("l0", [{ to: actor, body: "lost" }]);
      const between = await log.look("l0");
      await log.commit("l0", epoch, [
        { actor, expectedSeq: 1, cursor: "0-2", entry: "two", deadlineMs: null },
      ]);
      await log.writeSnapshot("l0", epoch, actor, { seq: 2, cursor: "0-2", hash: "h", body: "b" });
      expect(store.unsynced).to.equal(3);
      let lost = 0;
      log.onLost(() => (lost += 1));
      store.powerCut(1);
      expect(await log.look("l0")).to.deep.equal(between);
      expect(await log.readSnapshot("l0", actor, "latest")).to.equal(undefined);
      expect(lost).to.equal(1);
      store.sync();
      await log.append("l0", [{ to: actor, body: "lost too" }]);
      store.powerCut();
      expect(await log.look("l0")).to.deep.equal(between);
      expect(before).not.to.deep.equal(between);
      const mail = await log.readMailboxes("l0", [{ actor, after: "0-0" }], 9);
      expect(mail.get(actor)).to.deep.equal([{ id: "0-2", body: "lost" }]);
    });
  });
});

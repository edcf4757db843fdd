import { expect } from "chai";
import { ledgerActor } from "../../../actors/actor.js";
import { commitIn, takeFromAnyone } from "../../stream/log/support.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { Random } from "./random.js";
import { SnapshotDamage } from "./snapshot-damage.js";

const actor = ledgerActor(0);
const isSound = (body: string | undefined): boolean => body?.startsWith("sound") === true;

describe("the damage to a snapshot", () => {
  for (const [which, seq] of [
    ["the same snapshot, whose request comes twice,", 2],
    ["a later snapshot with the same part", 3],
  ] as const)
    it(`ends when ${which} is written, so that one snapshot is always sound`, async () => {
      for (let seed = 1; seed <= 20; seed += 1) {
        const store = new MemoryStore();
        const log = new MemoryLog(store);
        const damage = new SnapshotDamage(store, new Random(seed));
        const epoch = await takeFromAnyone(log, "l0", "w");
        for (const [n, cursor] of ["0-1", "0-2", "0-3"].entries())
          await commitIn(log, { partition: "l0", epoch }, [
            { actor, expectedSeq: n, cursor, entry: "an entry", deadlineMs: null },
          ]);
        const write = async (at: number, parts: readonly string[]): Promise<boolean> => {
          const snapshot = { seq: at, cursor: `0-${at}`, hash: "h", body: `sound ${at}` };
          const isWritten = await log.writeSnapshot("l0", epoch, actor, snapshot, parts);
          damage.snapshotWritten();
          return isWritten;
        };
        const isUsable = async (kept: "latest" | "previous", parts: readonly string[]): Promise<boolean> => {
          const body = (await log.readSnapshot("l0", actor, kept))?.body;
          return body?.endsWith(" ") === false && (await log.readParts("l0", actor, parts)).every(isSound);
        };
        const old = { hash: "old", body: "sound part" };
        await log.writeParts("l0", epoch, actor, [old, { hash: "new", body: "sound part" }]);
        await write(1, ["old"]);
        await write(2, ["new"]);
        expect(damage.damage(actor)).to.equal(true);
        expect(await isUsable("latest", ["new"]), "of the damaged snapshot").to.equal(false);
        expect(await isUsable("previous", ["old"]), "of the one before").to.equal(true);
        const isWritten = await write(seq, ["new"]);
        expect(await isUsable(isWritten ? "latest" : "previous", [isWritten ? "new" : "old"])).to.equal(true);
        await log.close();
      }
    });
});

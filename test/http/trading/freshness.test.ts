import { expect } from "chai";
import { marketActor, type ActorId } from "../../../actors/actor.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { ProjectionBatch } from "../../../db/projection/batch.js";
import { ProjectionSession } from "../../../db/projection/session.js";
import { projectorCursors } from "../../../db/schema/wallets.js";
import { Freshness } from "../../../http/trading/freshness.js";
import { NOWHERE, type Position } from "../../../stream/log/lineage.js";
import { entry } from "../../db/exchange.js";
import { startProxy } from "../../support/proxy.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { until } from "../../support/until.js";

describe("the waits for the tables", () => {
  let database: FreshDatabase;
  let db: Database;

  before(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });
  after(async () => {
    await disconnect(db);
    await database.drop();
  });

  const [a, b] = [marketActor("a"), marketActor("b")];
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("share one query of the log for an actor, and none that began before them", async () => {
    const asked: ActorId[] = [];
    const answers: ((head: Position) => void)[] = [];
    const freshness = new Freshness(db, {
      position: (actor) => {
        asked.push(actor);
        return new Promise((resolve) => answers.push(resolve));
      },
    });
    const first = freshness.hasReached(a);
    const later = Array.from({ length: 100 }, () => freshness.hasReached(a));
    const other = freshness.hasReached(b);
    await turn();
    expect(asked).to.deep.equal([a, b]);
    answers.shift()?.(NOWHERE);
    expect(await first).to.equal(true);
    await turn();
    expect(asked).to.deep.equal([a, b, a]);
    const latest = freshness.hasReached(a);
    for (const answer of answers.splice(0)) answer(NOWHERE);
    expect(await Promise.all([...later, other])).not.to.include(false);
    await turn();
    expect(asked).to.deep.equal([a, b, a, a]);
    for (const answer of answers.splice(0)) answer(NOWHERE);
    expect(await latest).to.equal(true);
  });

  it("ask again after a failure", async () => {
    let isDown = true;
    const freshness = new Freshness(db, {
      position: () => (isDown ? Promise.reject(new Error("down")) : Promise.resolve(NOWHERE)),
    });
    const failed = [freshness.hasReached(a), freshness.hasReached(a)];
    for (const result of await Promise.allSettled(failed)) expect(result.status).to.equal("rejected");
    isDown = false;
    expect(await freshness.hasReached(a)).to.equal(true);
  });

  it("end after a second when the database has gone silent", async () => {
    const proxy = await startProxy(database.url);
    const silent = connect(proxy.url);
    try {
      const freshness = new Freshness(silent, { position: () => Promise.resolve({ seq: 1, lineage: "" }) });
      await silent.$client.query("select 1");
      proxy.silence();
      const beganMs = performance.now();
      const waits = [freshness.hasReached(a), freshness.hasReached(b)];
      expect(await Promise.all(waits)).to.deep.equal([false, false]);
      expect(performance.now() - beganMs).to.be.within(900, 2_500);
    } finally {
      await disconnect(silent);
      await proxy.close();
    }
  });

  describe("that have entries beyond the head of the log", () => {
    const actor = "ledger:0";
    const [old, cut] = [
      { seq: 8, lineage: "" },
      { seq: 6, lineage: "" },
    ];
    const goneOn = { seq: 21, lineage: "other@6@20" };
    let asked: number;

    beforeEach(async () => {
      asked = 0;
      await setTables(old);
    });

    async function setTables({ seq, lineage }: Position): Promise<void> {
      const row = { actor, seq, lineage, entryTs: 1_000 };
      await db
        .insert(projectorCursors)
        .values(row)
        .onConflictDoUpdate({ target: projectorCursors.actor, set: row });
    }

    /** Waits on a log that has one head after the other, the last one from then on. */
    function reach(heads: readonly Position[], beforeMs?: number): Promise<boolean> {
      const left = [...heads];
      const position = (): Promise<Position> => {
        asked += 1;
        return Promise.resolve((left.length > 1 ? left.shift() : left[0]) ?? NOWHERE);
      };
      return new Freshness(db, { position }).hasReached(actor, beforeMs);
    }

    it("end at once when the log has gone on", async () => {
      expect(await reach([{ seq: 7, lineage: "" }, old])).to.equal(true);
      expect(
        await reach([
          { seq: 7, lineage: "" },
          { seq: 30, lineage: "other@8@20" },
        ]),
      ).to.equal(true);
    });

    it("fail while the rows of entries that the log has lost are there", async () => {
      const waits = [
        reach([cut]),
        reach([cut, goneOn]),
        reach([goneOn]),
        reach([goneOn], 900),
        reach([NOWHERE]),
      ];
      expect(await Promise.all(waits)).to.deep.equal(waits.map(() => false));
    });

    it("end when the rows of lost entries are removed", async () => {
      const waits = [reach([cut, goneOn]), reach([goneOn]), reach([goneOn], 900)];
      await until(() => asked > 6);
      await setTables(goneOn);
      expect(await Promise.all(waits)).to.deep.equal([true, true, true]);
    });
  });
});

describe("the waits for tables that are behind", () => {
  it("share one query of Postgres at a time, whichever actors they wait for", async () => {
    const database = await freshDatabase(migrate);
    const db = connect(database.url);
    const projector = await ProjectionSession.open(database.url);
    try {
      await projector.deal();
      const batch = new ProjectionBatch(new Map());
      for (const actor of ["ledger:0", "ledger:1"] as const) batch.take(entry(actor, 1, []));
      let [queries, running, most] = [0, 0, 0];
      db.$client.on("acquire", () => {
        queries += 1;
        running += 1;
        most = Math.max(most, running);
      });
      db.$client.on("release", () => (running -= 1));
      const freshness = new Freshness(db, { position: () => Promise.resolve({ seq: 1, lineage: "" }) });
      const beganMs = performance.now();
      const waits = Array.from({ length: 100 }, (_, index) => freshness.hasReached(`ledger:${index % 2}`));
      await until(() => queries >= 3);
      await projector.write(batch);
      expect(await Promise.all(waits)).to.not.include(false);
      expect(most, "queries at the same time").to.equal(1);
      // Each query but the first comes 5 ms after another one; a timer may be a millisecond early.
      expect(queries).to.be.at.most(1 + (performance.now() - beganMs) / 4);
    } finally {
      await projector.close();
      await disconnect(db);
      await database.drop();
    }
  });
});

import { expect } from "chai";
import { marketActor, type ActorId } from "../../../actors/actor.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { ProjectionBatch } from "../../../db/projection/batch.js";
import { ProjectionSession } from "../../../db/projection/session.js";
import { Freshness } from "../../../http/trading/freshness.js";
import { entry } from "../../db/exchange.js";
import { freshDatabase } from "../../support/servers.js";
import { until } from "../../support/until.js";

describe("the waits for the tables", () => {
  let db: Database;
  let asked: ActorId[];
  let answers: ((seq: number) => void)[];
  let freshness: Freshness;

  beforeEach(() => {
    // Nothing answers there: an actor without commits needs no table.
    db = connect("postgres://nobody@127.0.0.1:1/nothing");
    asked = [];
    answers = [];
    freshness = new Freshness(db, {
      head: (actor) => {
        asked.push(actor);
        return new Promise((resolve) => answers.push(resolve));
      },
    });
  });
  afterEach(() => disconnect(db));

  const [a, b] = [marketActor("a"), marketActor("b")];
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("share one query of the log for an actor, and none that began before them", async () => {
    const first = freshness.hasReached(a);
    const later = Array.from({ length: 100 }, () => freshness.hasReached(a));
    const other = freshness.hasReached(b);
    await turn();
    expect(asked).to.deep.equal([a, b]);
    answers.shift()?.(0);
    expect(await first).to.equal(true);
    await turn();
    expect(asked).to.deep.equal([a, b, a]);
    const latest = freshness.hasReached(a);
    for (const answer of answers.splice(0)) answer(0);
    expect(await Promise.all([...later, other])).not.to.include(false);
    await turn();
    expect(asked).to.deep.equal([a, b, a, a]);
    for (const answer of answers.splice(0)) answer(0);
    expect(await latest).to.equal(true);
  });

  it("ask again after a failure", async () => {
    let isDown = true;
    freshness = new Freshness(db, {
      head: () => (isDown ? Promise.reject(new Error("down")) : Promise.resolve(0)),
    });
    const failed = [freshness.hasReached(a), freshness.hasReached(a)];
    for (const result of await Promise.allSettled(failed)) expect(result.status).to.equal("rejected");
    isDown = false;
    expect(await freshness.hasReached(a)).to.equal(true);
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
      const freshness = new Freshness(db, { head: () => Promise.resolve(1) });
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

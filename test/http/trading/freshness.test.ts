import { expect } from "chai";
import { marketActor, type ActorId } from "../../../actors/actor.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { Freshness } from "../../../http/trading/freshness.js";

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

import { expect } from "chai";
import { ledger } from "../../../actors/ledger/ledger.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { ProjectionBatch } from "../../../db/projection/batch.js";
import { ProjectionSession } from "../../../db/projection/session.js";
import { oncePerSecond, readiness, type HealthParts } from "../../../http/ops/health.js";
import { entry } from "../../db/exchange.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { until } from "../../support/until.js";

const HEAD = 3;
const SHARDS = 16;

describe("a check for many callers", () => {
  it("runs at most once a second, and again after a failure, which its callers get", async () => {
    let runs = 0;
    const check = oncePerSecond(() => {
      runs += 1;
      return runs === 1 ? Promise.reject(new Error("no answer")) : Promise.resolve(runs);
    });
    const first = await Promise.allSettled([check(), check()]);
    expect(first.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect(runs).to.equal(1);
    await until(
      () => check().catch(() => 0),
      (answer) => answer === 2,
    );
    await Promise.all(Array.from({ length: 100 }, check));
    expect(runs).to.equal(2);
  });
});

describe("readiness", () => {
  let database: FreshDatabase;
  let db: Database;
  let parts: HealthParts;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    const unused = (): never => {
      throw new Error("readiness sends no command to a market");
    };
    parts = {
      db,
      exchange: {
        market: unused,
        ledger: (shard, command) => {
          const { reply } = ledger.decide(ledger.create(`ledger:${shard}`), command, 0);
          if (reply === undefined) throw new Error("a ledger gave no answer");
          return Promise.resolve(reply);
        },
      },
      tail: { position: () => Promise.resolve({ seq: HEAD, lineage: "" }), unreadable: new Map() },
      formats: { report: () => ({ active: 1, announced: { 1: 1, 2: 3 } }) },
      clocks: { clockReport: () => Promise.resolve({ heldMs: 0, hosts: {} }) },
      log: { quarantineSize: () => Promise.resolve(2) },
      guard: { room: { accepts: "cancels", reason: "the log uses 71 % of its memory", memoryPercent: 0 } },
      diskRoom: () => 0.1234,
      halted: () => Promise.resolve(new Map()),
      processes: () => ({ worker: ["worker-1", "worker-2"] }),
    };
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("shows a projector that works, and its lag", async () => {
    const session = await ProjectionSession.open(database.url);
    await session.deal();
    const batch = new ProjectionBatch(new Map());
    batch.take(entry("ledger:0", 1, []));
    await session.write(batch);
    expect(await readiness(parts)).to.deep.equal({
      ready: true,
      redis: true,
      postgres: true,
      replica: null,
      ledgers: SHARDS,
      projectorLag: SHARDS * HEAD - 1,
      projecting: true,
      reconciled: 0,
      strayRows: 0,
      halted: [],
      quarantined: 2,
      stopping: false,
      unreadable: [],
      room: {
        accepts: "cancels",
        reason: "the log uses 71 % of its memory",
        memoryPercent: 0,
        diskPercent: 12.3,
      },
      clock: { heldMs: 0, hosts: {} },
      processes: { worker: ["worker-1", "worker-2"] },
      format: { active: 1, announced: { 1: 1, 2: 3 } },
    });
    await session.close();
  });

  it("counts the entries that the log has lost and the tables still have", async () => {
    const session = await ProjectionSession.open(database.url);
    await session.deal();
    const batch = new ProjectionBatch(new Map());
    for (let seq = 1; seq <= HEAD + 2; seq += 1) batch.take(entry("ledger:0", seq, []));
    await session.write(batch);
    await session.close();
    expect(await readiness(parts)).to.include({ projectorLag: (SHARDS - 1) * HEAD + 2 });
  });

  it("names halted actors and stays ready, because all others go on", async () => {
    const { exchange } = parts;
    const asked: number[] = [];
    const report = await readiness({
      ...parts,
      exchange: {
        ...exchange,
        ledger: (shard, command, options) => {
          asked.push(shard);
          return exchange.ledger(shard, command, options);
        },
      },
      halted: () =>
        Promise.resolve(
          new Map([
            ["ledger:3", "a broken invariant"],
            ["market:m", "a broken invariant"],
          ]),
        ),
    });
    expect(report).to.include({ ready: true, ledgers: SHARDS - 1 });
    expect(report.halted).to.deep.equal(["ledger:3", "market:m"]);
    expect(asked).not.to.include(3);
  });

  it("is not ready while a ledger that is not halted does not answer", async () => {
    const { exchange } = parts;
    const report = await readiness({
      ...parts,
      exchange: {
        ...exchange,
        ledger: (shard, command, options) =>
          shard === 5 ? Promise.reject(new Error("no answer")) : exchange.ledger(shard, command, options),
      },
      halted: () => Promise.resolve(new Map([["ledger:3", "a broken invariant"]])),
    });
    expect(report).to.include({ ready: false, ledgers: SHARDS - 2 });
  });

  it("shows a projector that has stopped, and stays ready until the lag is large", async () => {
    expect(await readiness(parts)).to.include({
      ready: true,
      projecting: false,
      projectorLag: SHARDS * HEAD,
    });
    const position = () => Promise.resolve({ seq: 10_000, lineage: "" });
    const behind = { ...parts, tail: { ...parts.tail, position } };
    expect(await readiness(behind)).to.include({ ready: false, projecting: false });
  });
});

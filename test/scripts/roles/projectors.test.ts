import { expect } from "chai";
import { sql } from "drizzle-orm";
import { type ActorId, LEDGER_SHARDS, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { connect, type Database, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { projectedPositions } from "../../../db/queries/projected.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { RoleProcess } from "../../support/role-process.js";
import { type FreshDatabase, freshDatabase, freshRedis, type FreshRedis } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";
import { WorkerProcess } from "../../support/worker-process.js";
import { Load } from "./load.js";

/** Longest time in ms until the rows of a killed projector's actors go on. */
const TAKEN_OVER_MS = 2_000;
const KILLS = 4;
const LEDGERS = Array.from({ length: LEDGER_SHARDS }, (_, shard) => ledgerActor(shard));

describe("projectors that share the actors", function () {
  this.timeout(120_000);
  let redis: FreshRedis;
  let database: FreshDatabase;
  let db: Database;
  let log: RedisLog;
  let load: Load;
  let worker: WorkerProcess;
  let projectors: RoleProcess[] = [];

  before(async () => {
    redis = await freshRedis();
    database = await freshDatabase(migrate);
    db = connect(database.url);
    log = await RedisLog.open({ url: redis.url });
    worker = new WorkerProcess(redis.url);
    await worker.ready;
    await Promise.all([start(), start()]);
    load = await Load.open({ redisUrl: redis.url, markets: 16, callers: 1, batch: 1 });
    load.start();
  });

  after(async () => {
    await load.close();
    const processes = [worker, ...projectors];
    for (const { child } of processes) child.kill("SIGKILL");
    await Promise.all(processes.map(({ exited }) => exited));
    await log.close();
    await disconnect(db);
    await database.drop();
    await redis.drop();
  });

  async function start(): Promise<void> {
    const projector = new RoleProcess("projector", { REDIS_URL: redis.url, DATABASE_URL: database.url });
    projectors.push(projector);
    await projector.ready;
  }

  /** Resolves when each of two projectors owns half of the groups of actors. */
  async function shared(): Promise<void> {
    await untilWithin(20_000, async () => {
      const { rows } = await db.execute<{ count: number }>(sql`
        select count(*)::integer as count from pg_locks join pg_database on pg_database.oid = database
        where datname = current_database() and locktype = 'advisory' and objsubid = 2 group by pid`);
      expect(rows.map(({ count }) => count)).to.deep.equal([8, 8]);
    });
  }

  /** Resolves when the tables have the entries that the ledgers have now. */
  async function projected(withinMs: number): Promise<void> {
    const heads = new Map<ActorId, number>();
    for (const actor of LEDGERS) {
      const [head] = await log.heads(partitionOf(actor), [actor]);
      heads.set(actor, head?.seq ?? 0);
    }
    await untilWithin(withinMs, async () => {
      const positions = await projectedPositions(db, LEDGERS);
      for (const [actor, seq] of heads) expect(positions.get(actor)?.seq ?? 0, actor).to.be.at.least(seq);
    });
  }

  it("take over from one that is killed within two seconds, while orders come in", async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await shared();
      await projected(20_000);
      const [killed, ...others] = projectors;
      projectors = others;
      killed?.child.kill("SIGKILL");
      await killed?.exited;
      await projected(TAKEN_OVER_MS);
      await start();
    }
  });
});

import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { type Database, connect, disconnect } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { enrollTotp, offerTotp } from "../../db/queries/accounts/sign-ins.js";
import { findTraderByEmail, createTrader } from "../../db/queries/accounts/traders.js";
import { listAudit } from "../../db/queries/operator/audit.js";
import { Passwords } from "../../http/auth/passwords/passwords.js";
import { ensureOperator } from "../../scripts/roles/first-operator.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { programOf } from "../support/run/program.js";
import { type FreshDatabase, freshDatabase, freshRedis } from "../support/servers.js";

const LOGIN = { email: "boss@example.com", password: "a configured password" };

describe("operators of the owner of the machine", function () {
  this.timeout(60_000);
  const passwords = new Passwords({ log2N: 10, p: 1 });
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });
  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  describe("by npm run operator", () => {
    let redisUrl: string | undefined;
    beforeEach(() => (redisUrl = undefined));
    const run = (...args: readonly string[]) => {
      const env = { ...process.env, DATABASE_URL: database.url, REDIS_URL: redisUrl };
      const { entry, execArgv } = programOf("scripts/operators/operator.ts");
      const { status, stdout, stderr } = spawnSync(process.execPath, [...execArgv, entry, ...args], {
        env,
        encoding: "utf8",
      });
      return {
        status,
        said: `${stdout}${stderr}`.trim(),
        password: /password: (\S+)/.exec(stdout)?.[1] ?? "",
      };
    };
    const signsIn = async (password: string): Promise<boolean> =>
      passwords.matches(password, (await findTraderByEmail(db, LOGIN.email))?.passwordHash);

    it("end their sessions by engine time, and by the time of the machine while Redis is away", async () => {
      expect(run("create", LOGIN.email).status).to.equal(0);
      const endedTs = async () => (await findTraderByEmail(db, LOGIN.email))?.sessionsEndedTs ?? 0;
      const redis = await freshRedis();
      try {
        const log = await RedisLog.open({ url: redis.url });
        await log.holdTime(await log.time({ name: "test", confirmed: 0 }), 3_600_000);
        await log.close();
        redisUrl = "redis://127.0.0.1:1";
        const { status, said } = run("disable", LOGIN.email);
        expect(status, said).to.equal(0);
        expect(said).to.match(/Redis at .* cannot be used: .*; sessions end by the clock of this machine/);
        expect(await endedTs()).to.be.within(Date.now() - 60_000, Date.now() + 60_000);
        redisUrl = redis.url;
        expect(run("reset", LOGIN.email).status).to.equal(0);
        expect(await endedTs()).to.be.within(Date.now() + 3_500_000, Date.now() + 3_700_000);
      } finally {
        await redis.drop();
      }
    });

    it("are created without an author, disabled and reset", async () => {
      const created = run("create", LOGIN.email, "--role", "finance");
      expect(created.status, created.said).to.equal(0);
      expect(await signsIn(created.password)).to.equal(true);
      const account = await findTraderByEmail(db, LOGIN.email);
      expect(account).to.include({ role: "operator", operatorRole: "finance", createdBy: null });
      expect(run("create", LOGIN.email)).to.include({
        status: 1,
        said: "operator: boss@example.com is an operator already; reset gives the operator a new password",
      });

      expect(run("disable", LOGIN.email)).to.include({ status: 0 });
      const locked = await findTraderByEmail(db, LOGIN.email);
      expect(locked).to.include({ state: "LOCKED", operatorRole: "finance" });
      expect(locked?.sessionsEndedTs).to.be.above(Date.now() - 60_000);

      const traderId = String(locked?.traderId);
      await offerTotp(db, { traderId, sealed: "s" });
      const enrollment = { traderId, sealed: "s", step: 1, recoveryDigests: ["d"], endedTs: 0 };
      expect(await enrollTotp(db, enrollment)).to.equal((locked?.sessionsEndedTs ?? 0) + 1_000);
      const reset = run("reset", LOGIN.email, "--role", "owner");
      expect(reset.status, reset.said).to.equal(0);
      expect(await signsIn(reset.password)).to.equal(true);
      expect(await signsIn(created.password)).to.equal(false);
      expect(await findTraderByEmail(db, LOGIN.email)).to.deep.include({
        state: "ACTIVE",
        operatorRole: "owner",
        totpSecret: null,
        recoveryDigests: [],
      });

      const { items } = await listAudit(db, { subject: account?.traderId }, { limit: 9 });
      expect(items.map(({ action }) => action)).to.deep.equal([
        "operator.reset",
        "operator.state",
        "operator.create",
      ]);
      expect(JSON.stringify(items)).to.not.include("scrypt");
    });

    it("are refused with the remedy", async () => {
      expect(run("reset", LOGIN.email)).to.include({
        status: 1,
        said: "operator: no operator has the address boss@example.com",
      });
      expect(run("create", "boss").status).to.equal(2);
      expect(run("remove", LOGIN.email).status).to.equal(2);
      expect(run("create", LOGIN.email, "--role", "root").status).to.equal(2);
      const trader = { traderId: "6f9619ff-8b86-4011-b42d-00c04fc964ff", role: "trader", nowTs: 1 } as const;
      await createTrader(db, { ...trader, email: LOGIN.email, passwordHash: "hash" });
      expect(run("create", LOGIN.email).said).to.include("belongs to a trader");
      expect(run("disable", LOGIN.email).said).to.include("no operator has the address");
    });
  });

  describe("by OPERATOR_EMAIL and OPERATOR_PASSWORD", () => {
    const ensure = async (
      operator: typeof LOGIN | undefined,
      hasher = passwords,
    ): Promise<readonly string[]> => {
      const warnings: string[] = [];
      const config = { operator, exchangeEnv: "dev", dataDir: "" } as const;
      await ensureOperator(db, hasher, config, (line) => warnings.push(line));
      return warnings;
    };
    const roleOf = async (email: string) => (await findTraderByEmail(db, email))?.operatorRole;

    it("are created as owner of an empty database, and a later start says nothing", async () => {
      expect(await ensure(LOGIN)).to.deep.equal([]);
      expect(await roleOf(LOGIN.email)).to.equal("owner");
      expect(await ensure(LOGIN)).to.deep.equal([]);
      expect(await ensure(undefined)).to.deep.equal([]);
    });

    it("keep the stored password, and the start says why another one has no effect", async () => {
      await ensure(LOGIN);
      expect((await ensure({ ...LOGIN, password: "another password" })).join()).to.match(
        /^OPERATOR_PASSWORD: .* has another password, which stays; npm run operator -- reset/,
      );
      expect((await ensure({ ...LOGIN, email: "next@example.com" })).join()).to.match(
        /^OPERATOR_EMAIL: next@example.com is not created, because the exchange has an owner/,
      );
      expect(await findTraderByEmail(db, "next@example.com")).to.equal(undefined);
      await db.$client.query("update traders set state = 'LOCKED'");
      expect((await ensure(LOGIN)).join()).to.match(/is LOCKED and cannot sign in/);
    });

    it("are not compared on cores too busy for a hash, and the start goes on", async () => {
      class Busy extends Passwords {
        override matches(): Promise<boolean> {
          return Promise.reject(new Error("a hash took longer than 10000 ms"));
        }
      }
      await ensure(LOGIN);
      expect(await ensure(LOGIN, new Busy())).to.deep.equal([
        "OPERATOR_PASSWORD: not compared with the stored one of boss@example.com: a hash took longer than 10000 ms",
      ]);
    });

    it("become owner when a build without roles has created them", async () => {
      await ensure(LOGIN);
      await db.$client.query("update traders set operator_role = null");
      expect(await ensure(LOGIN)).to.deep.equal([]);
      expect(await roleOf(LOGIN.email)).to.equal("owner");
    });

    it("do not take over the account of a trader", async () => {
      const trader = { traderId: "6f9619ff-8b86-4011-b42d-00c04fc964ff", role: "trader", nowTs: 1 } as const;
      await createTrader(db, { ...trader, email: LOGIN.email, passwordHash: "hash" });
      expect((await ensure(LOGIN)).join()).to.match(/is a trader and does not become an operator/);
      expect((await findTraderByEmail(db, LOGIN.email))?.role).to.equal("trader");
    });
  });
});

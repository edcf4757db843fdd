import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Database, connect, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import type { Currency } from "../../../actors/market/types.js";
import { millicents } from "../../../actors/units.js";
import { createTrader } from "../../../db/queries/accounts/traders.js";
import { listWallets, type WalletFilter } from "../../../db/queries/operator/wallets.js";
import { subaccounts } from "../../../db/schema/accounts.js";
import { balances, traderRestrictions, wallets } from "../../../db/schema/wallets.js";
import { listAudit, recordAudit } from "../../../db/queries/operator/audit.js";
import {
  decideApproval,
  endApproval,
  findApproval,
  requestApproval,
} from "../../../db/queries/operator/approvals.js";
import {
  approveSettlement,
  findSettlement,
  requestSettlement,
} from "../../../db/queries/operator/settlements.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";
import { readAll } from "../read-all.js";

const NOW = 1_700_000_000_000;

describe("queries of operators", () => {
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

  it("lets only a second operator approve a settlement", async () => {
    const [settlementId, marketId] = [randomUUID(), randomUUID()];
    const [first, second] = [randomUUID(), randomUUID()];
    const grade = { kind: "WINNER", outcome: 1 } as const;
    const request = {
      settlementId,
      marketId,
      grade,
      operatorId: first,
      approved: false,
      nowTs: NOW,
    };
    expect(await requestSettlement(db, request)).to.include({ status: "PENDING_APPROVAL" });
    expect(await requestSettlement(db, { ...request, settlementId: randomUUID() })).to.equal(undefined);
    expect(await approveSettlement(db, { settlementId, operatorId: first, nowTs: NOW })).to.equal(undefined);
    expect(await approveSettlement(db, { settlementId, operatorId: second, nowTs: NOW + 1 })).to.deep.include(
      {
        status: "APPROVED",
        approvedBy: second,
        grade,
      },
    );
    expect(await approveSettlement(db, { settlementId, operatorId: second, nowTs: NOW })).to.equal(undefined);
    expect((await findSettlement(db, marketId))?.settlementId).to.equal(request.settlementId);
  });

  it("withdraws no approval that runs, and lets only the latest one wait again", async () => {
    const [approvalId, decidedBy] = [randomUUID(), randomUUID()];
    const action = { action: "event.cancel" } as const;
    const request = {
      approvalId,
      subject: randomUUID(),
      action,
      requestedBy: randomUUID(),
      requestedTs: NOW,
    };
    await requestApproval(db, request);
    const running = { status: "RUNNING", decidedBy, decidedTs: NOW } as const;
    expect(await decideApproval(db, approvalId, running)).to.include(running);
    expect(await decideApproval(db, approvalId, { ...running, status: "WITHDRAWN" })).to.equal(undefined);
    await endApproval(db, approvalId, { decidedBy, decidedTs: NOW - 1 });
    expect(await findApproval(db, approvalId)).to.include({ status: "RUNNING" });
    await endApproval(db, approvalId, running);
    expect(await findApproval(db, approvalId)).to.include({ status: "PENDING_APPROVAL", decidedBy: null });
    const withdrawn = { ...running, status: "WITHDRAWN" } as const;
    expect(await decideApproval(db, approvalId, withdrawn)).to.include(withdrawn);
    expect(await decideApproval(db, approvalId, running)).to.equal(undefined);
  });

  it("records audits, and lists them newest first", async () => {
    const operatorId = randomUUID();
    for (const subject of ["a", "b", "a"]) {
      await recordAudit(db, {
        ts: NOW,
        operatorId,
        action: "change",
        subject,
        before: { x: 1 },
        after: { x: 2 },
      });
    }
    const audits = await readAll((after) => listAudit(db, {}, { limit: 1, after }));
    expect(audits.map(({ subject }) => subject)).to.deep.equal(["a", "b", "a"]);
    expect((await listAudit(db, { subject: "a" }, { limit: 9 })).items).to.have.length(2);
  });

  it("lists audits by operator, action and time", async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const record = async (ts: number, operatorId: string, action: string): Promise<void> =>
      recordAudit(db, { ts, operatorId, action, subject: "s" });
    await record(NOW, first, "open");
    await record(NOW + 2, second, "close");
    await record(NOW + 1, first, "close");
    const listed = async (filter: Parameters<typeof listAudit>[1]): Promise<number[]> =>
      (await readAll((after) => listAudit(db, filter, { limit: 1, after }))).map(({ ts }) => ts - NOW);
    expect(await listed({})).to.deep.equal([2, 1, 0]);
    expect(await listed({ operatorId: first })).to.deep.equal([1, 0]);
    expect(await listed({ action: "close" })).to.deep.equal([2, 1]);
    expect(await listed({ action: "close", operatorId: first })).to.deep.equal([1]);
    expect(await listed({ startsAfter: NOW, startsBefore: NOW + 2 })).to.deep.equal([1]);
  });

  it("lists wallets by balance, with the negative ones and those of restricted traders", async () => {
    const [owner, other] = [randomUUID(), randomUUID()];
    const subaccount = randomUUID();
    for (const traderId of [owner, other]) {
      await createTrader(db, {
        traderId,
        email: `${traderId}@example.com`,
        passwordHash: "x",
        role: "trader",
        nowTs: NOW,
      });
    }
    await db
      .insert(subaccounts)
      .values({ subaccountId: subaccount, traderId: owner, label: "main", createdTs: NOW });
    await db.insert(traderRestrictions).values([
      { traderId: owner, shard: 0, restriction: "SELF_EXCLUDED" },
      { traderId: other, shard: 0, restriction: null },
    ]);
    const balance = async (wallet: string, traderId: string, total: number, currency: Currency = "CASH") => {
      await db.insert(wallets).values({ wallet, traderId, shard: 0 }).onConflictDoNothing();
      const money = { total: millicents(total), reserved: millicents(0) };
      await db.insert(balances).values({ wallet, currency, ...money, updatedTs: NOW });
    };
    await balance(owner, owner, 0);
    await balance(owner, owner, 9, "COIN");
    await balance(subaccount, owner, -5);
    await balance(other, other, 700);
    const listed = async (filter: Partial<WalletFilter>): Promise<readonly string[]> => {
      const whole = { currency: "CASH", order: "largest", ...filter } as const;
      const rows = await readAll((after) => listWallets(db, whole, { limit: 1, after }, NOW));
      return rows.map(({ walletId }) => walletId);
    };
    expect(await listed({})).to.deep.equal([other, owner, subaccount]);
    expect(await listed({ order: "smallest" })).to.deep.equal([subaccount, owner, other]);
    expect(await listed({ below: millicents(0) })).to.deep.equal([subaccount]);
    expect(await listed({ atLeast: millicents(0) })).to.deep.equal([other, owner]);
    expect(await listed({ currency: "COIN" })).to.deep.equal([owner]);
    expect(await listed({ traderId: owner })).to.deep.equal([owner, subaccount]);
    expect(await listed({ restricted: true })).to.deep.equal([owner, subaccount]);
  });
});

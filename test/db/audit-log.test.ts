import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { type Database, connect, disconnect } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { listAudit, mayChangeAudit, recordAudit } from "../../db/queries/operator/audit.js";
import { documentsOf } from "../house/documents.js";
import { type FreshDatabase, freshDatabase } from "../support/servers.js";

const CHANGES = [
  "update audit_log set action = 'nothing'",
  "delete from audit_log",
  "truncate audit_log",
] as const;

describe("the audit log", () => {
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    await recordAudit(db, RECORD);
  });
  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  const RECORD = { ts: 1, operatorId: randomUUID(), action: "change", subject: "a" };
  const failure = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
      return "done";
    } catch (error) {
      return error instanceof pg.DatabaseError ? `${error.code ?? ""} ${error.message}` : String(error);
    }
  };

  it("takes new records and refuses every change, also of the owner of the table", async () => {
    for (const change of CHANGES) {
      expect(await failure(db.$client.query(change)), change).to.equal(
        "42501 the audit log only takes new records",
      );
    }
    expect((await listAudit(db, {}, { limit: 9 })).items).to.have.length(1);
    expect(await mayChangeAudit(db)).to.equal(true);
  });

  it("leaves the login of the exchange nothing else after the statements of scripts/README.md", async () => {
    const [{ text } = { text: "" }] = documentsOf(["scripts/README.md"], [".md"]);
    const statements = /```sql\n([^`]+)```/.exec(text)?.[1] ?? "";
    const names = { overround_audit: `audit_${randomUUID()}`, exchange: `exchange_${randomUUID()}` };
    const quoted = Object.entries(names).reduce(
      (whole, [name, real]) => whole.replaceAll(new RegExp(`\\b${name}\\b`, "g"), `"${real}"`),
      statements,
    );
    expect(statements).to.not.equal(quoted);
    await db.$client.query(`create role "${names.exchange}" login password 'secret'`);
    const url = new URL(database.url);
    url.username = names.exchange;
    url.password = "secret";
    const login = connect(url.href);
    try {
      await db.$client.query(quoted);
      await recordAudit(login, { ...RECORD, subject: "b" });
      expect((await listAudit(login, {}, { limit: 9 })).items.map(({ subject }) => subject)).to.deep.equal([
        "b",
        "a",
      ]);
      for (const change of [...CHANGES, "drop trigger audit_log_append_only on audit_log"]) {
        expect(await failure(login.$client.query(change)), change).to.match(
          /^42501 (permission denied|must be owner)/,
        );
      }
      expect(await mayChangeAudit(login)).to.equal(false);
    } finally {
      await disconnect(login);
      for (const role of Object.values(names))
        await db.$client.query(`drop owned by "${role}" cascade; drop role "${role}"`);
    }
  });
});

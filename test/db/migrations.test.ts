import fs from "node:fs";
import path from "node:path";
import { expect } from "chai";

const FOLDER = path.resolve(import.meta.dirname, "..", "..", "db", "migrations");
/** Last migration of the build in `test/builds/`, which must still run on the schema of this one. */
const LAST_OF_OLD_BUILD = "0004_list_indexes.sql";
/** Statements after which the build before fails: it still uses the old names, and leaves new columns out. */
const REFUSED: readonly RegExp[] = [
  /\bdrop\s+(table|column|type|schema|view)\b/i,
  /\brename\b/i,
  /\bset\s+not\s+null\b/i,
  /\bset\s+data\s+type\b/i,
  /\badd\s+column\s+(?![^;]*\bdefault\b)[^;]*\bnot\s+null\b/i,
];

describe("the migrations after those of the old build", () => {
  const files = fs.readdirSync(FOLDER).filter((file) => file.endsWith(".sql") && file > LAST_OF_OLD_BUILD);

  /** Returns the statements after which the build before fails. A renamed table may get a successor of the same name. */
  function refusedIn(sql: string): string[] {
    return sql.split(/;|--> statement-breakpoint/).filter((statement) => {
      const renamed = /\balter\s+(table|index)\s+("\w+")\s+rename\s+to\b/i.exec(statement);
      if (renamed?.[1]?.toLowerCase() === "index") return false;
      if (renamed !== null && new RegExp(`create\\s+table\\s+${renamed[2] ?? ""}`, "i").test(sql))
        return false;
      return REFUSED.some((pattern) => pattern.test(statement));
    });
  }

  for (const file of files) {
    it(`only add, so that the old build runs beside the new one: ${file}`, () => {
      expect(refusedIn(fs.readFileSync(path.join(FOLDER, file), "utf8"))).to.deep.equal([]);
    });
  }

  it("would be refused for a column that is dropped, renamed or required", () => {
    for (const statement of [
      'ALTER TABLE "orders" DROP COLUMN "qty"',
      'ALTER TABLE "orders" RENAME COLUMN "qty" TO "quantity"',
      'ALTER TABLE "orders" ADD COLUMN "kind" text NOT NULL',
    ])
      expect(refusedIn(statement), statement).to.deep.equal([statement]);
    for (const allowed of [
      'ALTER TABLE "orders" ADD COLUMN "kind" text DEFAULT \'\' NOT NULL',
      'ALTER INDEX "orders_wallet" RENAME TO "orders_by_wallet"',
      'ALTER TABLE "orders" RENAME TO "orders_first"; CREATE TABLE "orders" (LIKE "orders_first")',
    ])
      expect(refusedIn(allowed), allowed).to.deep.equal([]);
  });
});

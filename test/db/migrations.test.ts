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

  for (const file of files) {
    it(`only add, so that the old build runs beside the new one: ${file}`, () => {
      const statements = fs.readFileSync(path.join(FOLDER, file), "utf8").split(/;|--> statement-breakpoint/);
      const refused = statements.filter((statement) => REFUSED.some((pattern) => pattern.test(statement)));
      expect(refused).to.deep.equal([]);
    });
  }

  it("would be refused for a column that is dropped, renamed or required", () => {
    for (const statement of [
      'ALTER TABLE "orders" DROP COLUMN "qty"',
      'ALTER TABLE "orders" RENAME COLUMN "qty" TO "quantity"',
      'ALTER TABLE "orders" ADD COLUMN "kind" text NOT NULL',
    ])
      expect(
        REFUSED.some((pattern) => pattern.test(statement)),
        statement,
      ).to.equal(true);
    const allowed = 'ALTER TABLE "orders" ADD COLUMN "kind" text DEFAULT \'\' NOT NULL';
    expect(REFUSED.some((pattern) => pattern.test(allowed))).to.equal(false);
  });
});

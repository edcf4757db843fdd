import fs from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { is, sql } from "drizzle-orm";
import { CasingCache } from "drizzle-orm/casing";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { CASING, connect, disconnect, type Database } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { freshDatabase, type FreshDatabase } from "../support/servers.js";

const FOLDER = path.resolve(import.meta.dirname, "..", "..", "db", "schema");
const TYPES: Readonly<Record<string, string>> = {
  serial: "integer",
  bigserial: "bigint",
};
const casing = new CasingCache(CASING);

/** A table as lines of text: its columns, its primary key, and the names of its indexes. */
type Described = Readonly<Record<string, readonly string[]>>;

async function schemaOfCode(): Promise<Described> {
  const described: Record<string, readonly string[]> = {};
  for (const file of fs.readdirSync(FOLDER)) {
    const module = (await import(path.join(FOLDER, file))) as Record<string, unknown>;
    for (const table of Object.values(module)) {
      if (!is(table, PgTable)) continue;
      const { name, columns, primaryKeys, indexes } = getTableConfig(table);
      const key =
        primaryKeys[0]?.columns.map((column) => casing.getColumnCasing(column)) ??
        columns.filter(({ primary }) => primary).map((column) => casing.getColumnCasing(column));
      described[name] = [
        ...columns.map((column) => {
          const type = column.getSQLType();
          return `column ${casing.getColumnCasing(column)} ${TYPES[type] ?? type}${column.notNull ? " not null" : ""}`;
        }),
        ...(key.length === 0 ? [] : [`primary key ${key.join(", ")}`]),
        ...indexes.map(({ config }) => `index ${config.name}`),
      ].toSorted();
    }
  }
  return described;
}

async function schemaOfDatabase(db: Database): Promise<Described> {
  const { rows } = await db.execute<{ name: string; line: string }>(sql`
    with tables as (
      select oid, relname from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition)
    select relname as name, 'column ' || attname || ' ' || format_type(atttypid, atttypmod)
      || case when attnotnull then ' not null' else '' end as line
      from tables join pg_attribute on attrelid = oid where attnum > 0 and not attisdropped
    union all
    select relname, 'primary key ' || substring(pg_get_constraintdef(pg_constraint.oid) from '\\((.*)\\)')
      from tables join pg_constraint on conrelid = tables.oid where contype = 'p'
    union all
    select relname, 'index ' || indexrelid::regclass from tables join pg_index on indrelid = oid
      where not indisprimary and indexrelid::regclass::text <> 'traders_email_parts' and not exists (select from pg_constraint where conindid = indexrelid)`);
  const described: Record<string, string[]> = {};
  for (const { name, line } of rows) (described[name] ??= []).push(line);
  return Object.fromEntries(Object.entries(described).map(([name, lines]) => [name, lines.toSorted()]));
}

describe("the schema of the code", () => {
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

  it("is the one that the migrations make, also of the tables by month, whose migration is written by hand", async () => {
    expect(await schemaOfDatabase(db)).to.deep.equal(await schemaOfCode());
  });

  it("is the same in every partition of a table", async () => {
    const { rows } = await db.execute(sql`
      select inhrelid::regclass::text as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where relkind = 'r' and (select array_agg(attname || ' ' || atttypid || attnotnull order by attname)
          from pg_attribute where attrelid = inhrelid and attnum > 0 and not attisdropped)
        is distinct from (select array_agg(attname || ' ' || atttypid || attnotnull order by attname)
          from pg_attribute where attrelid = inhparent and attnum > 0 and not attisdropped)`);
    expect(rows).to.deep.equal([]);
    const { rows: bare } = await db.execute(sql`
      select inhrelid::regclass::text as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where relkind = 'r' and not exists (select from pg_constraint where conrelid = inhrelid and contype = 'p')`);
    expect(bare, "without a primary key").to.deep.equal([]);
  });
});

/** For `drizzle-kit generate --config db/drizzle.config.ts`, which writes the next migration from the schema. */
export default {
  dialect: "postgresql",
  casing: "snake_case",
  schema: "./db/schema/*.ts",
  out: "./db/migrations",
};

/** Configuration of `drizzle-kit generate`, which writes the next migration from the schema (README.md). */
export default {
  dialect: "postgresql",
  casing: "snake_case",
  schema: "./db/schema/*.ts",
  out: "./db/migrations",
};

import path from "node:path";
import { expect } from "chai";
import { repositoryFiles } from "./documents.js";

const MAX_FILES = 15;
const SOURCES = new Set([".ts", ".tsx", ".mjs", ".js", ".lua", ".sql", ".sh"]);
/** Folders of files that a tool writes and nobody may move: a migration is for ever. */
const GROWING = new Set(["db/migrations"]);

describe("the folders", () => {
  it(`have at most ${MAX_FILES} source files beside their sub-folders`, () => {
    const counts = new Map<string, number>();
    for (const file of repositoryFiles()) {
      if (!SOURCES.has(path.extname(file))) continue;
      const folder = path.posix.dirname(file);
      if (GROWING.has(folder)) continue;
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > MAX_FILES)).to.deep.equal([]);
  });
});

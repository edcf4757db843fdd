import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";

const ROOT = path.join(import.meta.dirname, "..", "..");
const FOLDERS = ["actors", "stream", "db", "http", "scripts"];
const IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*"(\.{1,2}\/[^"]+)"/g;

/** Import graph: each file, as a path from the root, with the files that it imports, for values or for types. */
type Graph = ReadonlyMap<string, readonly string[]>;

function graphOf(sources: ReadonlyMap<string, string>): Graph {
  return new Map(
    [...sources].map(([file, source]) => {
      const imported = [...source.matchAll(IMPORT)].map(([, specifier = ""]) =>
        path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, ".ts"),
      );
      return [file, imported.filter((other) => sources.has(other))];
    }),
  );
}

/** Returns one circle of imports, its first file repeated at its end, or `undefined` when there is none. */
function findCircle(graph: Graph): readonly string[] | undefined {
  const finished = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): readonly string[] | undefined => {
    if (finished.has(file)) return undefined;
    const start = trail.indexOf(file);
    if (start !== -1) return [...trail.slice(start), file];
    trail.push(file);
    for (const imported of graph.get(file) ?? []) {
      const circle = visit(imported);
      if (circle !== undefined) return circle;
    }
    trail.pop();
    finished.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

function readSources(): ReadonlyMap<string, string> {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => path.posix.join(folder, ...name.split(path.sep))),
  );
  return new Map(files.map((file) => [file, readFileSync(path.join(ROOT, file), "utf8")]));
}

describe("imports", () => {
  it("form no circle, neither of values nor of types", () => {
    const graph = graphOf(readSources());
    expect([...graph.values()].flat(), "imports that were found").to.have.length.above(500);
    const circle = findCircle(graph)?.join(" -> ");
    expect(circle, circle).to.equal(undefined);
  });

  it("that form a circle are named in its order", () => {
    const sources = new Map([
      ["http/a.ts", 'import { b } from "./sub/b.js";'],
      ["http/sub/b.ts", 'import type { C } from "../c.js";\nimport fs from "node:fs";'],
      ["http/c.ts", 'export { b } from "./sub/b.js";\nconst late = await import("./d.js");'],
      ["http/d.ts", ""],
    ]);
    expect(findCircle(graphOf(sources))).to.deep.equal(["http/sub/b.ts", "http/c.ts", "http/sub/b.ts"]);
    expect(graphOf(sources).get("http/c.ts")).to.include("http/d.ts");
  });
});

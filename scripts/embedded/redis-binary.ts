import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { StartError } from "../supervisor/start-error.js";
import { isRoot } from "./reach.js";
import type { LineLog } from "./server.js";

/** Redis server program that runs on this machine, with its environment. */
export interface RedisBinary {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly version: string;
}

/** Places in which a Redis server program may be. */
export interface RedisSearch {
  /** `REDIS_SERVER_BIN`, the only candidate when it is set. */
  readonly serverBin: string | undefined;
  /** Directories of PATH. */
  readonly programPath: readonly string[];
  /** Directory of a downloaded server. */
  readonly cacheDir: string;
  readonly log: LineLog;
}

const OLDEST_MAJOR = 7;
const PROGRAMS = ["redis-server", "valkey-server"];
const HOMEBREW_BIN = ["/opt/homebrew/bin", "/usr/local/bin"];
const BASE_PACKAGES = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];

const INSTALL_HINT =
  `install Redis ${OLDEST_MAJOR} or Valkey so that redis-server or valkey-server is on PATH, ` +
  "or set REDIS_SERVER_BIN to the program, or REDIS_URL to a running server";

/**
 * Finds a Redis server program: the configured one, one on PATH, the one downloaded earlier, else the
 * distribution's package, unpacked into the cache. On Linux nothing is installed into the system, because that
 * could start a service on the usual port.
 * @throws StartError with the program to install.
 */
export function findRedis(search: RedisSearch): RedisBinary {
  if (search.serverBin !== undefined) {
    const chosen = tryProgram(search.serverBin);
    if (chosen !== undefined) return chosen;
    throw new StartError(
      `redis: REDIS_SERVER_BIN ${search.serverBin} is not a Redis server of version ${OLDEST_MAJOR} or newer that runs on this machine; correct the path, or unset it`,
    );
  }
  const directories =
    process.platform === "darwin" ? [...search.programPath, ...HOMEBREW_BIN] : search.programPath;
  for (const program of PROGRAMS) {
    for (const directory of directories) {
      const found = tryProgram(path.join(directory, program));
      if (found !== undefined) return found;
    }
  }
  const unpacked = path.resolve(search.cacheDir, `redis-${process.platform}-${process.arch}`);
  const cached = tryUnpacked(unpacked);
  if (cached !== undefined) return cached;
  const fetched =
    process.platform === "darwin" ? installWithHomebrew(search.log) : fetchWithApt(unpacked, search);
  if (fetched !== undefined) return fetched;
  throw new StartError(`redis: no server found: ${INSTALL_HINT}`);
}

function tryProgram(command: string, env: Readonly<Record<string, string>> = {}): RedisBinary | undefined {
  if (!fs.existsSync(command)) return undefined;
  const { status, stdout } = spawnSync(command, ["--version"], { encoding: "utf8", env });
  const version = /v=(\d+)\.(\d+)\.(\d+)/.exec(stdout);
  if (status !== 0 || version === null || Number(version[1]) < OLDEST_MAJOR) return undefined;
  return { command, env, version: version[0].slice(2) };
}

/** Returns the server of an unpacked Debian package, with the libraries beside it on the loader's path. */
function tryUnpacked(root: string): RedisBinary | undefined {
  const libraries = [path.join(root, "usr", "lib"), path.join(root, "lib")]
    .filter((directory) => fs.existsSync(directory))
    .flatMap((directory) => [
      directory,
      ...fs
        .readdirSync(directory, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && entry.name.includes("-linux-"))
        .map((entry) => path.join(directory, entry.name)),
    ]);
  return tryProgram(path.join(root, "usr", "bin", "redis-server"), { LD_LIBRARY_PATH: libraries.join(":") });
}

function installWithHomebrew(log: LineLog): RedisBinary | undefined {
  const brew = HOMEBREW_BIN.map((directory) => path.join(directory, "brew")).find((file) =>
    fs.existsSync(file),
  );
  if (brew === undefined) return undefined;
  log("redis: installing it with Homebrew (brew install redis); no service is started");
  if (spawnSync(brew, ["install", "redis"], { stdio: "ignore" }).status !== 0) return undefined;
  return HOMEBREW_BIN.map((directory) => tryProgram(path.join(directory, "redis-server"))).find(
    (found) => found !== undefined,
  );
}

function fetchWithApt(unpacked: string, { log }: RedisSearch): RedisBinary | undefined {
  const apt = (args: readonly string[], cwd?: string) =>
    // As root, apt downloads as another user by default, who cannot write below a private home.
    spawnSync("apt-get", ["-q", "-o", "APT::Sandbox::User=root", ...args], { encoding: "utf8", cwd });
  if (apt(["--version"]).status !== 0) return undefined;
  const simulate = () => apt(["install", "-s", "--no-install-recommends", "redis-server"]);
  let plan = simulate();
  if (plan.status !== 0 && isRoot()) {
    log("redis: reading the distribution's package lists (apt-get update)");
    apt(["update"]);
    plan = simulate();
  }
  if (plan.status !== 0) {
    throw new StartError(
      `redis: the distribution's package lists are missing: run apt-get update as root, or ${INSTALL_HINT}`,
    );
  }
  log(`redis: fetching the distribution's redis-server into ${unpacked} (nothing is installed)`);
  const missing = [...plan.stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? "");
  return unpackPackages([...new Set([...BASE_PACKAGES, ...missing])], unpacked, apt);
}

function unpackPackages(
  packages: readonly string[],
  unpacked: string,
  apt: (args: readonly string[], cwd: string) => { status: number | null },
): RedisBinary | undefined {
  fs.mkdirSync(path.dirname(unpacked), { recursive: true });
  const draft = fs.mkdtempSync(`${unpacked}.`);
  try {
    // One call per package, because a name that this release lacks must not prevent the other downloads.
    for (const name of packages) apt(["download", name], draft);
    for (const file of fs.readdirSync(draft).filter((entry) => entry.endsWith(".deb"))) {
      spawnSync("dpkg", ["-x", file, "."], { cwd: draft });
      fs.rmSync(path.join(draft, file));
    }
    if (tryUnpacked(draft) === undefined) return undefined;
    fs.rmSync(unpacked, { recursive: true, force: true });
    fs.renameSync(draft, unpacked);
    return tryUnpacked(unpacked);
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
}

/** The Lua scripts of `commands/`. Each file begins with its KEYS, its ARGV and its reply. */

import { readFileSync } from "node:fs";
import type { Connection } from "./connection.js";

/** Scripts of the log. */
const LOG_SCRIPTS = [
  "announce",
  "append",
  "commit",
  "heartbeat",
  "mark",
  "record-format",
  "release",
  "remove-actor",
  "remove-parts",
  "restore-actor",
  "snapshot",
  "take",
  "write-parts",
] as const;

/** Scripts of engine time, in a folder of their own. */
const CLOCK_SCRIPTS = ["confirm-time", "hold-time", "time"] as const;

/** Scripts of `stream/services/`, in a folder of their own. */
const SERVICE_SCRIPTS = [
  "claim",
  "expired-gateways",
  "gateway",
  "resolve",
  "throttle",
  "unprojected",
] as const;

const FILES: ReadonlyMap<ScriptName, string> = new Map<ScriptName, string>([
  ...LOG_SCRIPTS.map((name) => [name, `commands/${name}.lua`] as const),
  ["relay", "commands/append.lua"],
  ...CLOCK_SCRIPTS.map((name) => [name, `commands/clock/${name}.lua`] as const),
  ...SERVICE_SCRIPTS.map((name) => [name, `commands/services/${name}.lua`] as const),
]);

export type ScriptName =
  (typeof LOG_SCRIPTS | typeof CLOCK_SCRIPTS | typeof SERVICE_SCRIPTS)[number] | "relay";

/**
 * Scripts that begin new work, which Redis refuses while its memory is full. All others run even then: they finish work
 * that has begun, keep leases alive, or free memory. `relay` appends like `append`, but messages of other actors.
 */
const REFUSED_WHEN_FULL: ReadonlySet<ScriptName> = new Set<ScriptName>(["append", "claim", "throttle"]);
const NOTIFICATIONS = "commands/shared/notifications.lua";
const MAILBOXES = "commands/shared/mailboxes.lua";
/** The files with shared functions with which a script begins. */
const SHARED: ReadonlyMap<ScriptName, readonly string[]> = new Map<ScriptName, readonly string[]>([
  ["append", [NOTIFICATIONS, MAILBOXES]],
  ["commit", [NOTIFICATIONS, MAILBOXES]],
  ["relay", [NOTIFICATIONS, MAILBOXES]],
  ["restore-actor", [NOTIFICATIONS]],
]);
const ALLOW_WHEN_FULL = "#!lua flags=allow-oom\n";

type Run = (keyCount: number, ...keysAndArguments: (string | number)[][]) => Promise<unknown>;

/** Runs a script by name, and resolves with the reply that its Lua file describes. */
export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** Returns the source of a script as it is sent to Redis. */
export function sourceOf(name: ScriptName): string {
  const files = [...(SHARED.get(name) ?? []), FILES.get(name) ?? name];
  const source = files.map((part) => readFileSync(new URL(part, import.meta.url), "utf8")).join("");
  return REFUSED_WHEN_FULL.has(name) ? source : ALLOW_WHEN_FULL + source;
}

/**
 * Defines the scripts on a connection. A script is sent by its hash, and in full when the server does not know the
 * hash.
 */
export function loadScripts(connection: Connection): RunScript {
  const commands = new Map<ScriptName, Run>();
  for (const name of FILES.keys()) {
    const command = `overround_${name}`;
    connection.defineCommand(command, { lua: sourceOf(name) });
    const run: unknown = Reflect.get(connection, command);
    if (typeof run !== "function") throw new Error(`the script ${name} was not defined`);
    commands.set(
      name,
      (keyCount, ...rest) => Reflect.apply(run, connection, [keyCount, ...rest]) as Promise<unknown>,
    );
  }
  return (name, keys, args) => {
    const run = commands.get(name);
    if (run === undefined) throw new Error(`there is no script ${name}`);
    return run(keys.length, [...keys], [...args]);
  };
}

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { type Config, ConfigError, requireComplete } from "./config.js";

const Secrets = z.object({ jwtWebSecret: z.string().min(32), jwtServiceSecret: z.string().min(32) });

/** Keys that sign web sessions and surface B tokens; they differ, so that no token passes as one of the other kind. */
export type Secrets = Readonly<z.infer<typeof Secrets>>;

/**
 * Returns the signing secrets: those of the environment, else (except in production) generated ones, which are kept in
 * `DATA_DIR/secrets.json`, readable by its owner only, so that sessions survive a restart.
 * @throws ConfigError when production lacks one or another required variable, and when the file cannot be read or written.
 */
export function loadSecrets(config: Config): Secrets {
  requireComplete(config);
  const { jwtWebSecret, jwtServiceSecret } = config;
  if (jwtWebSecret !== undefined && jwtServiceSecret !== undefined) return { jwtWebSecret, jwtServiceSecret };
  const kept = keptSecrets(path.join(config.dataDir, "secrets.json"));
  return {
    jwtWebSecret: jwtWebSecret ?? kept.jwtWebSecret,
    jwtServiceSecret: jwtServiceSecret ?? kept.jwtServiceSecret,
  };
}

function keptSecrets(file: string): Secrets {
  const fresh: Secrets = {
    jwtWebSecret: randomBytes(32).toString("base64url"),
    jwtServiceSecret: randomBytes(32).toString("base64url"),
  };
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    publishOnce(file, JSON.stringify(fresh));
    return Secrets.parse(JSON.parse(fs.readFileSync(file, "utf8")));
  } catch (error) {
    const reason = error instanceof z.ZodError ? "the file is incomplete" : String(error);
    throw new ConfigError(`cannot use ${file}: ${reason}. Remove the file to generate new secrets`);
  }
}

/** Writes the file unless it exists. The link is atomic, so that roles that start together agree on one content. */
function publishOnce(file: string, content: string): void {
  if (fs.existsSync(file)) return;
  const draft = `${file}.${process.pid}`;
  fs.writeFileSync(draft, content, { mode: 0o600 });
  try {
    fs.linkSync(draft, file);
  } catch (error) {
    if (!fs.existsSync(file)) throw error;
  } finally {
    fs.rmSync(draft);
  }
}

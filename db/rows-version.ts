/** The version of the rows, by which a build knows that a later one has changed what they mean. */

import type pg from "pg";

/** Version of the rows that this build reads and writes. A migration after which older builds would misread them raises it. */
const ROWS_VERSION = 1;
/** Interval in ms at which a process looks at the version. */
const WATCH_MS = 10_000;

/** The tables have rows of a later build. */
export class NewerRows extends Error {
  override readonly name = "NewerRows";

  constructor(version: number) {
    super(
      `the tables have rows of version ${version}, and this build reads them up to version ${ROWS_VERSION}: start the ` +
        "build that has written them, or a later one, or restore a backup from before the upgrade",
    );
  }
}

/** Throws `NewerRows` when a later build has changed what the rows mean. The tables may not exist yet. */
export async function requireReadableRows(client: Pick<pg.Pool, "query">): Promise<void> {
  const { rows: found } = await client.query("select from pg_class where oid = to_regclass('rows_version')");
  if (found.length === 0) return;
  const { rows } = await client.query<{ version: number }>("select version from rows_version");
  const version = rows[0]?.version ?? ROWS_VERSION;
  if (version > ROWS_VERSION) throw new NewerRows(version);
}

/**
 * Looks at the version of the rows until the returned function is called, and reports rows of a later build once, which may
 * come while this process runs. Only tests set `intervalMs`.
 */
export function watchRows(
  client: Pick<pg.Pool, "query">,
  onNewer: (error: NewerRows) => void,
  intervalMs = WATCH_MS,
): () => void {
  const timer = setInterval(() => {
    requireReadableRows(client).catch((error: unknown) => {
      if (!(error instanceof NewerRows)) return;
      clearInterval(timer);
      onNewer(error);
    });
  }, intervalMs);
  return () => clearInterval(timer);
}

import { expect } from "chai";
import pg from "pg";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { readRecord, writeRecord } from "../../../scripts/embedded/record.js";
import { inTemporaryDirectory } from "../../support/temporary.js";

const quiet = (): void => undefined;

/** Connects and runs a query that lasts longer than any test, so that its process does not notice a killed server. */
async function occupy(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", quiet);
  await client.connect();
  client.query("SELECT count(*) FROM generate_series(1, 1000000000000)").catch(quiet);
}

describe("a Postgres of an earlier run that has not ended yet", function () {
  this.timeout(60_000);
  const start = (dataDir: string, said: string[] = []) =>
    startPostgres({ dataDir, log: quiet, durable: false, say: (line) => said.push(line) });

  it("is waited for when it was killed and its processes still work", () =>
    inTemporaryDirectory(async (dataDir) => {
      const killed = await start(dataDir);
      for (let count = 0; count < 3; count++) await occupy(killed.url);
      process.kill(killed.pid, "SIGKILL");
      const said: string[] = [];
      const next = await start(dataDir, said);
      expect(next.url).to.equal(killed.url);
      expect(said.at(-1)).to.match(/^postgres: waiting for the processes of a killed server on .* to end$/);
      await next.stop();
    }));

  it("is waited for when only its pid file names it", () =>
    inTemporaryDirectory(async (dataDir) => {
      const earlier = await start(dataDir);
      const { port, password } = readRecord(dataDir, "postgres") ?? { port: 0, password: "" };
      writeRecord(dataDir, "postgres", { port, password });
      setTimeout(() => process.kill(earlier.pid, "SIGINT"), 1_000);
      const next = await start(dataDir);
      expect(next.pid).not.to.equal(earlier.pid);
      await next.stop();
    }));
});

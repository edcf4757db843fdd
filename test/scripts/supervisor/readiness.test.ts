import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { waitForReadyz } from "../../../scripts/supervisor/readiness.js";
import { StartError } from "../../../scripts/supervisor/start-error.js";
import { until } from "../../support/until.js";

const READY = { redis: true, postgres: true, ledgers: 16, projectorLag: 0, projecting: true, halted: [] };

describe("wait for a ready set", () => {
  let server: Server;
  let url: string;
  let answer: { readonly status: number; readonly body: string };
  let lines: string[];
  let stopping: AbortController;

  beforeEach(async () => {
    lines = [];
    stopping = new AbortController();
    server = createServer((_, response) => response.writeHead(answer.status).end(answer.body));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`;
  });

  afterEach(() => {
    stopping.abort();
    server.close();
    server.closeAllConnections();
  });

  const give = (status: number, report: object): void => {
    answer = { status, body: JSON.stringify({ ...READY, ...report }) };
  };

  const wait = (): Promise<readonly string[]> =>
    waitForReadyz({
      url,
      say: (line) => lines.push(line),
      signal: stopping.signal,
      giveUpMs: 300,
      sayMs: 100,
    });

  it("goes on, however long the database is behind, and says so", async () => {
    give(503, { projectorLag: 512_345 });
    const ready = wait();
    await until(() => lines.length >= 3);
    expect(lines[0]).to.include("the database is 512345 ledger entries behind; everything else runs");
    give(200, { halted: ["ledger:3"] });
    expect(await ready).to.deep.equal(["ledger:3"]);
  });

  for (const [report, said] of [
    [{ redis: false }, "Redis does not answer"],
    [{ postgres: false }, "Postgres does not answer"],
    [{ ledgers: 13, halted: ["ledger:1", "market:a"] }, "2 of 15 ledgers do not answer"],
    [{ projectorLag: null }, "the lag of the projector cannot be read"],
    [{ projectorLag: 60_000, projecting: false }, "60000 ledger entries behind, and no projector writes"],
  ] as const) {
    it(`names what is missing: ${said}`, async () => {
      give(503, report);
      const ready = wait();
      await until(() => lines.length > 0);
      expect(lines[0]).to.include(said);
      give(200, {});
      await ready;
    });
  }

  it("goes on when the gateway falls silent after an answer", async () => {
    answer = { status: 429, body: "too many" };
    const ready = wait();
    await until(() => lines.length > 0);
    expect(lines[0]).to.include("the gateway answers 429");
    const { port } = server.address() as AddressInfo;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await until(() => lines.some((line) => line.includes("the gateway does not answer")));
    give(200, {});
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    expect(await ready).to.deep.equal([]);
  });

  it("gives up when nothing answers", async () => {
    await new Promise((resolve) => server.close(resolve));
    const failure = await wait().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StartError);
    expect(String(failure)).to.include("it did not answer");
  });

  it("ends when the set stops", async () => {
    give(503, { postgres: false });
    const ready = wait().catch((error: unknown) => error);
    await until(() => lines.length > 0);
    stopping.abort();
    expect(await ready).to.be.instanceOf(Error);
  });
});

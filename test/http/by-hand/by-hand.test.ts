import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { Quoter } from "../../../scripts/demo/bots.js";
import { seed } from "../../../scripts/demo/seed.js";
import { randomFrom } from "../../../scripts/replay/random.js";
import { startStack, type Stack } from "../../support/stack.js";
import { GRID } from "../../scripts/replay/grid.js";

const run = promisify(execFile);
const LIMIT_MS = 60_000;
const missing = ["curl", "openssl"].filter((tool) => spawnSync(tool, ["version"]).error !== undefined);

interface Fills {
  readonly items: readonly Readonly<Record<string, unknown>>[];
}

describe("by hand", () => {
  before(function () {
    if (missing.length === 0) return;
    console.log(`    skipped: this machine has no ${missing.join(" and no ")}`);
    this.skip();
  });

  describe("a first trade with curl and openssl alone", function () {
    this.timeout(2 * LIMIT_MS);
    let stack: Stack;

    before(async () => {
      stack = await startStack({ metered: true });
    });
    after(() => stack.stop());

    for (const algorithm of ["Ed25519", "P-256"]) {
      it(algorithm, async () => {
        const { email, password } = stack.operatorLogin;
        const { stdout } = await run("sh", [path.join(import.meta.dirname, "trade.sh")], {
          timeout: LIMIT_MS,
          env: {
            PATH: process.env["PATH"],
            BASE: stack.url,
            BRAND: stack.brand,
            ALGORITHM: algorithm,
            OPERATOR_EMAIL: email,
            OPERATOR_PASSWORD: password,
          },
        });
        const [taken, made, balance] = stdout.trim().split("\n");
        const fillOf = (text = ""): unknown => (JSON.parse(text) as Fills).items[0];
        expect(fillOf(taken)).to.include({ qty: 10, cost: "0.04000", taker: true });
        expect(fillOf(made)).to.include({ qty: 10, cost: "0.06000", taker: false });
        expect(JSON.parse(balance ?? "")).to.include({ balance: "9.96000", reserved: "0.00000" });
      });
    }
  });

  describe("the first trade of the README, as it is printed there", function () {
    this.timeout(2 * LIMIT_MS);
    let stack: Stack;
    let folder: string;

    before(async () => {
      folder = mkdtempSync(path.join(os.tmpdir(), "readme-"));
      // The block speaks of the service as `npm start` starts it.
      stack = await startStack({ metered: true, signatureBrand: "Svc" });
    });
    after(async () => {
      rmSync(folder, { recursive: true });
      await stack.stop();
    });

    it("ends with a fill", async () => {
      const connection = stack.connect();
      const file = await seed(connection, stack.operator, stack.brand);
      const [account] = file.quoters;
      if (account === undefined) throw new Error("the demo has no quoter");
      const style = { edge: 0.01, levels: 2, levelStep: 0.01, largestQty: 500 };
      const quoter = new Quoter(connection, account.tradingKey, stack.brand, style, GRID, randomFrom(1));
      try {
        await quoter.start();
        const markets = await Promise.all(
          Object.entries(file.fair).map(async ([marketId, fair]) => {
            const { outcomes } = await stack.operator.market(marketId);
            const [first, second] = outcomes.map(({ outcomeId }) => outcomeId);
            return { marketId, outcomeIds: [first ?? "", second ?? ""] as const, anchor: fair, fair };
          }),
        );
        for (const market of markets) await quoter.quote(market);
        await quoter.round(markets);

        const readme = readFileSync(path.join(import.meta.dirname, "..", "..", "..", "README.md"), "utf8");
        const block = /## A first trade.*?```sh\n(.*?)```/s.exec(readme)?.[1] ?? "";
        const script = block.replace("base=http://127.0.0.1:8080", `base=${stack.url}`);
        expect(script).to.include(stack.url);
        mkdirSync(path.join(folder, ".data"));
        writeFileSync(path.join(folder, ".data", "demo.json"), JSON.stringify(file));
        const { stdout } = await run("sh", ["-e", "-c", script], { cwd: folder, timeout: LIMIT_MS });

        const [transfer, accepted, fills, positions, balance] = stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
        expect(transfer).to.include({ status: "Applied", amount: "10.00000" });
        expect(accepted).to.have.property("orderId");
        expect((fills as unknown as Fills).items[0]).to.include({ taker: true, qty: 10 });
        expect(positions).to.have.length(1);
        expect(balance).to.include({ reserved: "0.00000" });
      } finally {
        quoter.stop();
      }
    });
  });
});

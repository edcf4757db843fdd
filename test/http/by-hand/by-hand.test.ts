import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { Quoter } from "../../../scripts/demo/bots.js";
import type { DemoFile } from "../../../scripts/demo/credentials.js";
import { seed } from "../../../scripts/demo/seed.js";
import { randomFrom } from "../../../scripts/replay/random.js";
import { startStack, type Stack } from "../../support/stack.js";
import { GRID } from "../../support/exchange/commands.js";

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, "..", "..", "..");
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

  describe("the README, as it is printed", function () {
    this.timeout(3 * LIMIT_MS);
    let stack: Stack;
    let folder: string;
    let quoter: Quoter;

    before(async () => {
      folder = mkdtempSync(path.join(os.tmpdir(), "readme-"));
      // The README uses the default brand of `npm start`.
      stack = await startStack({ metered: true, signatureBrand: "Svc" });
      const demo = await seed(stack.connect(), stack.operator, stack.brand);
      mkdirSync(path.join(folder, ".data"));
      writeFileSync(path.join(folder, ".data", "demo.json"), JSON.stringify(demo));
      quoter = await quoteMarkets(stack, demo);
    });
    after(async () => {
      quoter.stop();
      rmSync(folder, { recursive: true });
      await stack.stop();
    });

    /** Runs the block that follows a heading or a sentence of the README. */
    async function runBlock(
      after: string,
      language: string,
      command: string[],
      cwd: string,
    ): Promise<string> {
      const readme = readFileSync(path.join(ROOT, "README.md"), "utf8");
      const [, block = ""] = readme.slice(readme.indexOf(after)).split(`\`\`\`${language}\n`, 2);
      const [script = ""] = block.split("```\n", 1);
      const [program = "", ...args] = command;
      const env = {
        PATH: process.env["PATH"],
        PORT: new URL(stack.url).port,
        ...(cwd !== folder && { DATA_DIR: path.join(folder, ".data") }),
      };
      const { stdout } = await run(program, [...args, script], { cwd, timeout: LIMIT_MS, env });
      return stdout;
    }

    async function trade(cwd: string): Promise<Readonly<Record<string, unknown>>[]> {
      const output = await runBlock("## A first trade", "sh", ["sh", "-e", "-c"], cwd);
      return output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    }

    it("makes a first trade", async () => {
      const [transfer, accepted, fills, positions, balance] = await trade(folder);
      expect(transfer).to.include({ status: "Applied", amount: "10.00000" });
      expect(accepted).to.have.property("orderId");
      expect((fills as unknown as Fills).items[0]).to.include({ taker: true, qty: 10 });
      expect(positions).to.have.length(1);
      expect(balance).to.include({ reserved: "0.00000" });
    });

    it("trades again with the same keys, from another folder with DATA_DIR set", async () => {
      const [transfer, accepted, fills] = await trade(os.tmpdir());
      expect(transfer).to.include({ status: "Applied", amount: "10.00000" });
      expect(accepted).to.have.property("orderId");
      expect((fills as unknown as Fills).items).to.have.length(2);
    });

    it("trades with the client", async () => {
      const command = [process.execPath, "--input-type=module", "-e"];
      const keys = path.join(folder, ".data", "first-trade");
      mkdirSync(path.join(keys, "node_modules"));
      symlinkSync(path.join(ROOT, ".build", "client"), path.join(keys, "node_modules", "overround-client"));
      const output = await runBlock("The same order from a program", "js", command, keys);
      expect(output).to.match(/orderId: '[0-9a-f-]{36}'/);
    });
  });
});

/** Quotes every market of the demo, so that a taker finds a best price. */
async function quoteMarkets(stack: Stack, demo: DemoFile): Promise<Quoter> {
  const [account] = demo.quoters;
  if (account === undefined) throw new Error("the demo has no quoter");
  const style = { edge: 0.01, levels: 2, levelStep: 0.01, largestQty: 500 };
  const quoter = new Quoter(stack.connect(), account.tradingKey, stack.brand, style, GRID, randomFrom(1));
  await quoter.start();
  for (const [marketId, fair] of Object.entries(demo.fair)) {
    const { outcomes } = await stack.operator.market(marketId);
    const [first, second] = outcomes.map(({ outcomeId }) => outcomeId);
    await quoter.quote({ marketId, outcomeIds: [first ?? "", second ?? ""], anchor: fair, fair });
  }
  return quoter;
}

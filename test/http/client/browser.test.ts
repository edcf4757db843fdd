import { isBuiltin } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { Page } from "playwright-core";
import { build } from "vite";
import { startBrowser } from "../../support/console/browser.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import type * as inBrowser from "./in-browser.js";

const ROOT = path.resolve(import.meta.dirname, "..", "..", "..");
/** Share of the client in the first load of the console, in bytes after gzip. */
const MAX_BYTES = 25_000;

/** Global name of the bundle in a page. */
interface Bundled {
  readonly bundled: typeof inBrowser;
}

/** Bundles a file for browsers. Returns its code, and the modules of Node that it asks for. */
async function bundle(entry: string): Promise<{ code: string; builtins: string[] }> {
  const builtins: string[] = [];
  const result = await build({
    root: ROOT,
    configFile: false,
    logLevel: "silent",
    plugins: [
      {
        name: "builtins",
        enforce: "pre",
        resolveId: (source, importer) => {
          if (isBuiltin(source)) builtins.push(`${source} of ${importer ?? ""}`);
        },
      },
    ],
    build: {
      write: false,
      lib: { entry: path.join(ROOT, entry), formats: ["iife"], name: "bundled" },
    },
  });
  const outputs = (Array.isArray(result) ? result : [result]).flatMap((one) =>
    "output" in one ? one.output : [],
  );
  const code = outputs.map((output) => (output.type === "chunk" ? output.code : "")).join("\n");
  return { code, builtins };
}

describe("client: in a browser", function () {
  this.timeout(60_000);

  it("needs no module of Node and is small", async () => {
    const { code, builtins } = await bundle("http/client/browser.ts");
    expect(builtins).to.deep.equal([]);
    expect(code).to.include("BEGIN PRIVATE KEY");
    expect(gzipSync(code).length).to.be.below(MAX_BYTES);
  });

  describe("Chromium", () => {
    let stack: Stack;
    let page: Page;
    /** Parts that have started: none of them where the browser is missing and the tests are skipped. */
    const closing: (() => Promise<unknown>)[] = [];

    before(async function () {
      const browser = await startBrowser(this);
      const { code } = await bundle("test/http/client/in-browser.ts");
      stack = await startStack();
      closing.push(() => stack.stop());
      // The policy of a page of the API allows no request; the console has one that allows its own origin.
      page = await browser.newPage({ bypassCSP: true });
      closing.push(() => page.close());
      await page.addInitScript({ content: `${code}\nglobalThis.bundled = bundled;` });
      await page.goto(`${stack.url}/openapi.json`);
    });
    after(() => Promise.all(closing.map((close) => close())));

    for (const algorithm of ["Ed25519", "P-256"] as const) {
      it(`trades with a hidden key of ${algorithm} over REST and the stream`, async () => {
        const { marketId, outcomes } = await newMarket(stack);
        const { account } = await newTrader(stack);
        await stack.operator.deposit(account.traderId, "10", "funds", `browser ${algorithm}`);
        const { extractable, orderId, seen } = await page.evaluate(
          (by) => (globalThis as unknown as Bundled).bundled.trade(by),
          {
            origin: stack.url,
            brand: stack.brand,
            algorithm,
            management: account.managementKey,
            marketId,
            outcomeId: outcomes[0],
          },
        );
        expect(extractable).to.equal(false);
        expect(seen).to.include.members([`open ${orderId}`, "best 0.250", `cancel ${orderId}`]);
      });
    }

    it("follows a market with the tickets of a web session, and stops when it gets no more", async () => {
      const { marketId } = await newMarket(stack);
      const { account } = await newTrader(stack);
      const { email, password } = account;
      const [known, refused] = await page.evaluate(
        (by) => (globalThis as unknown as Bundled).bundled.follow(by),
        { origin: stack.url, email, password, marketId },
      );
      expect(known).to.equal("a book of 0 orders");
      expect(refused).to.include("UNAUTHENTICATED").and.include("the session has ended");
    });
  });
});

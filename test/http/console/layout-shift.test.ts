/// <reference lib="dom" />
import { expect } from "chai";
import type { Page } from "playwright-core";
import { serveConsole } from "../../support/console/browser.js";
import { newQuoter, newWorld, type World } from "../../support/console/quotes.js";

/** Largest sum of layout shifts; browsers call a page good up to 0.1. */
const MOST = 0.05;
/** Delay of each answer in ms, so that every part of a page arrives in a frame of its own. */
const DELAY_MS = 120;

interface Shift extends PerformanceEntry {
  readonly value: number;
  readonly hadRecentInput: boolean;
  readonly sources: readonly { readonly node: Element | null }[];
}

/** Returns the layout shifts of a page so far that no input has caused, each with the elements that moved. */
function shiftsOf(page: Page): Promise<readonly { readonly value: number; readonly moved: string }[]> {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const observer = new PerformanceObserver((list) => {
          const shifts = (list.getEntries() as Shift[]).filter(({ hadRecentInput }) => !hadRecentInput);
          resolve(
            shifts.map(({ value, sources }) => ({
              value,
              moved: sources.map(({ node }) => node?.className ?? "").join(", "),
            })),
          );
        });
        observer.observe({ type: "layout-shift", buffered: true });
        // An observer without entries is not called.
        setTimeout(() => resolve([]), 500);
      }),
  );
}

describe("the layout of a page", function () {
  this.timeout(60_000);
  const demo = { email: "visitor@demo.example", password: "the password of the demo" };
  const served = serveConsole({ demoLogin: () => demo });
  let world: World;

  before(async () => {
    world = await newWorld(served.stack);
    const ann = await newQuoter(served.stack, "1000");
    await ann.quote(world.knicks.winner, [[["0.620", 300]], [["0.375", 300]]]);
    const bob = await newQuoter(served.stack);
    await bob.quote(world.knicks.winner, [[["0.625", 30]], []]);
  });

  const pages = [
    ["the markets", () => "/", [".welcome .button-main", ".market-row-volume .number", ".spark"]],
    [
      "a market",
      () => `/markets/${world.knicks.winner.marketId}`,
      [".line-price", ".market-others a", ".market-figures .number", ".tape-table"],
    ],
  ] as const;
  for (const [name, address, parts] of pages)
    for (const [width, height] of [
      [390, 844],
      [1_440, 900],
    ] as const)
      it(`of ${name} does not move while the page arrives, ${width} px wide`, async () => {
        const { page } = await served.visit("/lab", { viewport: { width, height } });
        await page.route(/\/(assets|v3)\//, async (route) => {
          await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
          await route.continue();
        });
        await page.goto(address());
        for (const part of parts) await page.locator(part).first().waitFor({ state: "attached" });
        await page.waitForTimeout(2 * DELAY_MS);
        const shifts = await shiftsOf(page);
        const sum = shifts.reduce((total, { value }) => total + value, 0);
        expect(sum, JSON.stringify(shifts)).to.be.below(MOST);
      });
});

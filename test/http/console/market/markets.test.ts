/// <reference lib="dom" />
import { expect } from "chai";
import type { Locator, Page } from "playwright-core";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { newQuoter, newWorld, type Quoter, type World } from "../../../support/console/quotes.js";

describe("markets page of the console", function () {
  this.timeout(60_000);
  const served = serveConsole();
  let world: World;
  let ann: Quoter;

  before(async () => {
    world = await newWorld(served.stack);
    ann = await newQuoter(served.stack);
    await ann.quote(world.knicks.winner, [[["0.620", 300]], [["0.375", 300]]]);
  });

  /** The row of a market, by its name. */
  const rowOf = (page: Page, name: string) =>
    page.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });
  const WINNER = "Knicks v Celtics: Winner";

  it("lists events in play first, each market with the best price to buy each outcome", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    const row = rowOf(page, WINNER);
    await row.getByText("0.625").waitFor();
    await row.getByText("0.380").waitFor();
    expect(await page.getByRole("heading", { level: 2 }).first().textContent()).to.equal("In play");
    expect(await page.getByRole("heading", { level: 3 }).allTextContents()).to.deep.equal([
      "Knicks v Celtics",
      "Arsenal v Tottenham",
    ]);
    await expectSound(opened);
  });

  it("moves prices and volume in place", async () => {
    const { page } = await served.visit("/");
    const row = rowOf(page, "Knicks v Celtics: Total points 215.5");
    await row.getByText("$0.00").waitFor();
    const bob = await newQuoter(served.stack);
    const heights = () =>
      page.evaluate(() =>
        [...document.querySelectorAll(".market-row")].map((one) => one.getBoundingClientRect().top),
      );
    const before = await heights();
    await ann.quote(world.knicks.total, [[["0.500", 100]], []]);
    await bob.quote(world.knicks.total, [
      [],
      [
        ["0.500", 60],
        ["0.480", 10],
      ],
    ]);
    await row.getByText("0.520").waitFor();
    await row.getByText("0.500").waitFor();
    await row.getByText("$0.60").waitFor();
    expect(await heights()).to.deep.equal(before);
  });

  it("asks for the prices of many markets in one request, and only for those in view", async () => {
    const { stack } = served;
    const { page } = await served.visit("/");
    await rowOf(page, WINNER).getByText("0.625").waitFor();
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().startsWith(`${stack.url}/v3/public/catalog/`))
        asked.push(new URL(request.url()).pathname);
    });
    await page.waitForTimeout(4_500);
    // Three markets are in view; a request for each of them would take six.
    expect(asked.length).to.be.within(1, 4);
    expect(new Set(asked)).to.deep.equal(new Set(["/v3/public/catalog/prices"]));
  });

  it("keeps filters in the address", async () => {
    const { page } = await served.visit("/");
    await page.getByLabel("League").selectOption("EPL");
    await page.getByRole("heading", { name: "Knicks v Celtics" }).waitFor({ state: "detached" });
    expect(new URL(page.url()).search).to.equal("?league=EPL");
    await page.getByLabel("Status").selectOption("In play");
    await page.getByText("No market passes the filters").waitFor();
    await page.reload();
    await page.getByText("No market passes the filters").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.getByRole("heading", { name: "Knicks v Celtics" }).waitFor();
    expect(new URL(page.url()).search).to.equal("");
    await page.getByLabel("Type").selectOption("TOTAL");
    await page.getByRole("link", { name: "Knicks v Celtics: Winner" }).waitFor({ state: "detached" });
  });

  it("finds markets while somebody types, and opens one with the keyboard", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await page.getByRole("heading", { name: "Knicks v Celtics" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("totten");
    await page.getByRole("option", { name: /Arsenal v Tottenham: Result/ }).waitFor();
    await expectSound(opened);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/markets/${world.derby.result.marketId}`);
  });

  it("moves through the markets with j and k", async () => {
    const { page } = await served.visit("/");
    await page.getByRole("link", { name: "Arsenal v Tottenham: Result" }).waitFor();
    const focused = (): Promise<string | null> =>
      page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? null);
    for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
    expect(await focused()).to.match(/^Knicks v Celtics: /);
    await page.keyboard.press("j");
    expect(await focused()).to.equal("Arsenal v Tottenham: Result");
  });

  it("says how old the prices are while the service does not answer, and heals by itself", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await rowOf(page, WINNER).getByText("0.625").waitFor();
    const topOf = async (place: Locator) => (await place.boundingBox())?.y ?? 0;
    const top = async () => (await topOf(rowOf(page, WINNER))) - (await topOf(page.locator(".markets-head")));
    const before = await top();
    await page.context().setOffline(true);
    const bar = page.getByText(/Connection lost\. What is shown is \d+ s old/);
    await bar.waitFor();
    expect(await top()).to.equal(before);
    await rowOf(page, WINNER).getByText("0.625").waitFor();
    await expectSound(opened);
    await page.context().setOffline(false);
    await bar.waitFor({ state: "detached" });
  });

  it("says what failed when it cannot begin, and tries again", async () => {
    const { page } = await served.visit("/status");
    const refused = { code: "UNAVAILABLE", message: "the tables are behind; try again in a second" };
    await page.route("**/catalog/events?**", (route) => route.fulfill({ status: 503, json: refused }));
    await page.goto("/");
    await page.getByText("The tables are behind; try again in a second.").waitFor();
    await page.unroute("**/catalog/events?**");
    await page.getByRole("button", { name: "Try again" }).click();
    await rowOf(page, WINNER).getByText("0.625").waitFor();
  });

  it("fits a narrow page, and stays sound in the dark", async () => {
    const opened = await served.visit("/", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
    await rowOf(opened.page, WINNER).getByText("0.625").waitFor();
    const width = await opened.page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).to.be.at.most(360);
    await expectSound(opened);
  });
});

describe("markets page of an exchange without markets", () => {
  const served = serveConsole();

  it("says what would be here", async () => {
    const opened = await served.visit("/");
    await opened.page.getByText("No markets are open").waitFor();
    await expectSound(opened);
  });
});

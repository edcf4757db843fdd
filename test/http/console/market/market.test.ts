/// <reference lib="dom" />
import { expect } from "chai";
import type { Page } from "playwright-core";
import type { MarketAnswer } from "../../../../http/client/client.js";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { newQuoter, newWorld, type Quoter, type World } from "../../../support/console/quotes.js";
import { newMarket } from "../../../support/traders.js";

describe("market page of the console", function () {
  this.timeout(60_000);
  const served = serveConsole();
  let world: World;
  let ann: Quoter;
  let bob: Quoter;

  before(async () => {
    world = await newWorld(served.stack);
    [ann, bob] = [await newQuoter(served.stack), await newQuoter(served.stack)];
    await ann.quote(world.knicks.winner, [
      [
        ["0.620", 300],
        ["0.610", 2_000],
      ],
      [["0.375", 300]],
    ]);
    await bob.quote(world.knicks.winner, [[], [["0.375", 200]]]);
    await ann.quote(world.derby.result, [[["0.450", 100]], [["0.250", 80]], [["0.270", 150]]]);
  });

  const line = (page: Page, name: string) => page.getByRole("button", { name });
  const address = ({ marketId }: MarketAnswer): string => `/markets/${marketId}`;

  it("shows what is offered and bid on each outcome", async () => {
    const opened = await served.visit(address(world.knicks.winner));
    const { page } = opened;
    await line(page, "Buy Knicks at 0.625 500 offered").waitFor();
    await line(page, "Buy Knicks at 0.620 300 bid").waitFor();
    await line(page, "Buy Celtics at 0.380 300 offered").waitFor();
    await line(page, "Buy Celtics at 0.390 2,000 offered").waitFor();
    await line(page, "Buy Celtics at 0.375 500 bid").waitFor();
    expect(await page.getByText("spread 0.005").count()).to.equal(2);
    await page.getByRole("heading", { name: "Knicks v Celtics" }).waitFor();
    await page.getByText("NBA · in play").waitFor();
    await expectSound(opened);
  });

  it("offers an outcome of three at one minus the sum of the other best bids", async () => {
    const opened = await served.visit(address(world.derby.result), { viewport: { width: 390, height: 844 } });
    const { page } = opened;
    await line(page, "Buy Arsenal at 0.480 80 offered").waitFor();
    await line(page, "Buy Draw at 0.280 100 offered").waitFor();
    await line(page, "Buy Tottenham at 0.300 80 offered").waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).to.be.at.most(390);
    await expectSound(opened);
  });

  it("moves numbers in place, and lists trades, without a reload", async () => {
    const { page } = await served.visit(address(world.knicks.total));
    await page.getByText("no orders yet").first().waitFor();
    const top = async () => (await page.getByRole("heading", { name: "Price" }).boundingBox())?.y;
    const before = await top();
    await ann.quote(world.knicks.total, [[["0.500", 40]], []]);
    await line(page, "Buy Over at 0.500 40 bid").waitFor();
    await bob.quote(world.knicks.total, [[], [["0.500", 15]]]);
    await line(page, "Buy Over at 0.500 25 bid").waitFor();
    const tape = page.getByRole("region", { name: "Trades" });
    await tape.getByRole("row", { name: /Over 0\.500 15/ }).waitFor();
    expect(await top()).to.equal(before);
  });

  it("fades a changed line, unless the visitor wants no motion", async () => {
    for (const reducedMotion of ["no-preference", "reduce"] as const) {
      const { page } = await served.visit(address(world.knicks.winner), { reducedMotion });
      await line(page, "Buy Knicks at 0.610 2,000 bid").waitFor();
      // The script is a text because the loader of the tests changes functions.
      await page.evaluate(`
        window.faded = 0;
        const { animate } = Element.prototype;
        Element.prototype.animate = function (...given) {
          if (given[1] === 400 && this.classList.contains("line")) window.faded += 1;
          return animate.apply(this, given);
        };`);
      const [orderId = ""] = await ann.quote(world.knicks.winner, [[["0.610", 5]], []]);
      await line(page, "Buy Knicks at 0.610 2,005 bid").waitFor();
      const faded = await page.evaluate("window.faded");
      expect(faded).to.equal(reducedMotion === "reduce" ? 0 : 2);
      await ann.rest.cancelOrders([orderId]);
      await page.context().close();
    }
  });

  it("shows prices in the form of the switch, and remembers it", async () => {
    const { page } = await served.visit(address(world.knicks.winner));
    await line(page, "Buy Knicks at 0.625 500 offered").waitFor();
    await page.getByTitle("Per cent").first().click();
    await line(page, "Buy Knicks at 62.5 % 500 offered").waitFor();
    await page.reload();
    await line(page, "Buy Knicks at 62.5 % 500 offered").waitFor();
    await page.getByTitle("American odds").first().click();
    await line(page, "Buy Knicks at −167 500 offered").waitFor();
  });

  it("draws the price history, and has it as a table", async () => {
    const opened = await served.visit(`${address(world.knicks.total)}?range=6h`);
    const { page } = opened;
    await page.locator(".history-chart canvas").waitFor();
    await page.getByRole("button", { name: "candles" }).click();
    await page.getByText("The same as a table").click();
    const table = page.getByRole("region", { name: "Prices of Over, last 6 hours" });
    await table.getByRole("row", { name: /0\.500 0\.500 0\.500 0\.500 15/ }).waitFor();
    await expectSound(opened);
  });

  it("says that the connection is lost and how old the data are, and heals by itself", async () => {
    const { page } = await served.visit(address(world.knicks.winner));
    await line(page, "Buy Knicks at 0.625 500 offered").waitFor();
    const top = async () => (await page.locator(".ladders").boundingBox())?.y;
    const before = await top();
    await page.context().setOffline(true);
    await page.getByText(/Connection lost\. What is shown is [4-9] s old/).waitFor();
    expect(await top()).to.equal(before);
    const [orderId = ""] = await ann.quote(world.knicks.winner, [[["0.600", 70]], []]);
    await page.context().setOffline(false);
    await line(page, "Buy Knicks at 0.600 70 bid").waitFor();
    await page.getByText(/Connection lost\. What/).waitFor({ state: "detached" });
    await ann.rest.cancelOrders([orderId]);
    await line(page, "Buy Knicks at 0.600 70 bid").waitFor({ state: "detached" });
  });

  it("moves between prices with the arrow keys, and shows its keys at ?", async () => {
    const { page } = await served.visit(address(world.knicks.winner));
    await line(page, "Buy Knicks at 0.625 500 offered").focus();
    const focused = (): Promise<string | null> =>
      page.evaluate(
        () =>
          (document.activeElement as HTMLElement | null)?.innerText.replaceAll(/\s+/g, " ").trim() ?? null,
      );
    await page.keyboard.press("ArrowDown");
    expect(await focused()).to.equal("Buy Knicks at 0.620 300 bid");
    await page.keyboard.press("ArrowRight");
    expect(await focused()).to.equal("Buy Celtics at 0.375 500 bid");
    await page.keyboard.press("ArrowUp");
    expect(await focused()).to.equal("Buy Celtics at 0.380 300 offered");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
  });

  it("shows a pause with the first numbers, and the life of the market before the page was opened", async () => {
    const { stack } = served;
    const { marketId } = await newMarket(stack);
    await stack.operator.setMarketStatus(marketId, "pause");
    const opened = await served.visit(`/markets/${marketId}`);
    const { page } = opened;
    await page.getByRole("heading", { name: "Order" }).waitFor();
    expect(await page.locator("main").innerText())
      .to.contain(
        "Paused. No new orders are taken and nothing matches; resting orders stay and can be canceled.",
      )
      .and.contain("The market is paused. The ticket is locked until it goes on.");
    const life = page.locator(".life-steps li");
    await life.nth(0).getByText("paused").waitFor();
    await life.nth(1).getByText("opened").waitFor();
    await expectSound(opened);
    let reads = 0;
    page.on("request", (request) => (reads += request.url().endsWith("/lifecycle") ? 1 : 0));
    for (const action of ["resume", "pause", "resume"] as const)
      await stack.operator.setMarketStatus(marketId, action);
    await life.filter({ hasText: "resumed" }).nth(1).waitFor();
    expect(reads).to.equal(1);
    expect(await page.locator("main").innerText()).to.not.contain("The market is paused.");
    await stack.operator.setMarketStatus(marketId, "pause");
    await page.goto("/");
    await page.getByRole("listitem").filter({ hasText: "Who wins" }).getByText("paused").waitFor();
  });

  it("says when the market closes and how it was settled", async () => {
    const { stack } = served;
    const opened = await served.visit(address(world.derby.result));
    const { page } = opened;
    await line(page, "Buy Arsenal at 0.480 80 offered").waitFor();
    await stack.operator.setEventStatus(world.derby.event.eventId, "golive");
    await page.getByText("event in play, resting orders canceled").waitFor();
    await stack.operator.setEventStatus(world.derby.event.eventId, "finalise");
    await page.getByText("The event is over. The market waits for its result and takes no orders.").waitFor();
    await page.getByText("closed, resting orders canceled").waitFor();
    const winner = world.derby.result.outcomes[1]?.outcomeId ?? "";
    await stack.operator.grade(world.derby.result.marketId, { winner });
    await page.getByText("The market is settled: Draw won.").waitFor();
    await expectSound(opened);
  });

  it("shows the name of the market while its event is away, and reads the other markets again", async () => {
    const opened = await served.visit("/status");
    const { page } = opened;
    const { eventId, description } = world.knicks.winner;
    const json = { code: "UNAVAILABLE", message: "not now" };
    await page.route(`**/v3/public/catalog/events/${eventId}`, () => undefined);
    await page.route("**/v3/public/catalog/markets?**", (route) => route.fulfill({ status: 503, json }));
    await page.goto(address(world.knicks.winner));
    await page.getByRole("heading", { name: description, level: 1 }).waitFor();
    const others = page.getByRole("navigation", { name: "Other markets of this event" });
    await others.getByText("The other markets of this event could not be read.").waitFor();
    await expectSound(opened);
    await page.unroute("**/v3/public/catalog/markets?**");
    await others.getByRole("button", { name: "Try again" }).click();
    await others.getByRole("link").first().waitFor();
  });

  it("reads the course of the market again after a refusal for a time", async () => {
    const opened = await served.visit("/status");
    const { page } = opened;
    const json = { code: "UNAVAILABLE", message: "not now" };
    const refusal = { status: 503, headers: { "Retry-After": "1" }, json };
    await page.route("**/lifecycle", (route) => route.fulfill(refusal), { times: 1 });
    await page.goto(address(world.knicks.winner));
    await page.getByText("not now").waitFor();
    await page.locator(".life-steps li").getByText("opened").waitFor();
  });

  it("says that there is no such market", async () => {
    const opened = await served.visit("/markets/00000000-0000-4000-8000-000000000000");
    await opened.page.getByText("There is no such market").waitFor();
    await expectSound(opened);
  });
});

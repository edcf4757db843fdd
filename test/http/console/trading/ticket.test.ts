import { expect } from "chai";
import type { WebSocketRoute } from "playwright-core";
import { expectSound, serveConsole, type WatchedPage } from "../../../support/console/browser.js";
import { signedIn } from "../../../support/console/signed-in.js";
import { newMarket, newTrader, type TestTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { bearerCalls, callsOf, openCalls, type Calls } from "../../calls.js";

interface OrderAnswer {
  readonly orderId: string;
  readonly price: string;
  readonly remaining: number;
}

describe("order ticket of the console", function () {
  // The page itself repeats a request without an answer for four seconds.
  this.timeout(60_000);
  const served = serveConsole();
  let trader: TestTrader;
  let other: Calls;
  let reading: Calls;
  let managing: Calls;
  let opened: WatchedPage;
  let web: string;

  before(async () => {
    const { stack } = served;
    trader = await newTrader(stack);
    managing = callsOf(stack.url, trader.management);
    other = callsOf(stack.url, (await newTrader(stack)).trading);
    // One visitor takes all steps, because the key of the page stays in one browser.
    const { email, password } = trader.account;
    const { json } = await openCalls(stack.url)("POST /v3/session", { email, password });
    reading = bearerCalls(stack.url, String(json["token"]));
    opened = await served.visit("/", await signedIn(stack, trader));
  });

  /** Opens the page of a new market, on which the other trader bids 0.400 for 200 contracts of the second outcome. */
  async function openMarket() {
    const market = await newMarket(served.stack);
    const [, bees] = market.outcomes;
    await other("POST /v3/orders", { outcomeId: bees, price: "0.400", qty: 200, tif: "GTC" });
    await opened.page.goto(`/markets/${market.marketId}`);
    return market;
  }

  const ticket = () => opened.page.getByRole("form", { name: "Order ticket" });
  const price = () => ticket().getByLabel("Price", { exact: true });
  const contracts = () => ticket().getByLabel("Contracts", { exact: true });
  const placing = () => ticket().getByRole("button", { name: /^Place: buy/ });
  const rows = () => opened.page.getByRole("region", { name: "Your orders" }).locator("tbody tr");

  /** Fills the ticket once it takes orders. */
  async function fill(atPrice: string, qty: string): Promise<void> {
    await ticket().locator("button[type=submit][aria-disabled=false]").waitFor();
    await price().fill(atPrice);
    await contracts().fill(qty);
  }

  /** Previews the ticket with Enter. */
  async function preview(): Promise<void> {
    await contracts().press("Enter");
    await placing().and(opened.page.locator("[aria-disabled=false]")).waitFor();
  }

  async function openOrders(marketId: string): Promise<readonly OrderAnswer[]> {
    const { json } = await reading(`GET /v3/orders?subaccount=${web}&market=${marketId}&status=PENDING,OPEN`);
    return json["items"] as OrderAnswer[];
  }

  it("shows a visitor what an order would pay, win and lose, and asks to log in", async () => {
    const { marketId } = await newMarket(served.stack);
    const visitor = await served.visit(`/markets/${marketId}`, { viewport: { width: 390, height: 844 } });
    const form = visitor.page.getByRole("form", { name: "Order ticket" });
    await form.getByLabel("Price", { exact: true }).fill("0.400");
    await form.getByLabel("Contracts", { exact: true }).fill("250");
    await form.getByText("Wins if Ants").waitFor();
    expect(await form.locator("dd").allInnerTexts()).to.deep.equal([
      "$1.00",
      "$0.01925",
      "$2.50",
      "$1.01925",
    ]);
    const logIn = visitor.page.getByRole("link", { name: "Log in to trade" });
    expect(await logIn.getAttribute("href")).to.equal(
      `/login?next=${encodeURIComponent(`/markets/${marketId}`)}`,
    );
    await expectSound(visitor);
  });

  it("opens the key of the page with one click", async () => {
    await openMarket();
    await opened.page.getByRole("button", { name: "Open Web" }).click();
    await ticket().getByRole("button", { name: "Preview" }).waitFor();
    const { json } = await managing("GET /v3/account/subaccounts");
    const subaccounts = json as unknown as { keyId: string; label: string }[];
    web = subaccounts.find(({ label }) => label === "Web")?.keyId ?? "";
    const main = trader.trading.key.keyId;
    await managing(`POST /v3/account/subaccounts/${main}/transfer`, { direction: "defund", amount: "50" });
    await managing(`POST /v3/account/subaccounts/${web}/transfer`, { direction: "fund", amount: "50" });
    await opened.page.reload();
    await opened.page.getByText("$50.00 available").waitFor();
  });

  it("steps along the tick table, previews with Enter, and places with Enter again", async () => {
    const { marketId } = await openMarket();
    await fill("0.050", "100");
    await price().press("ArrowUp");
    expect(await price().inputValue()).to.equal("0.055");
    await price().press("ArrowDown");
    await price().press("ArrowDown");
    expect(await price().inputValue()).to.equal("0.049");
    await preview();
    expect(await ticket().locator("dd").allInnerTexts()).to.deep.equal([
      "$0.049",
      "$0.00",
      "$1.00",
      "$0.049",
    ]);
    await ticket().getByText("rests 100 at 0.049, first in the queue").waitFor();
    await contracts().press("Escape");
    await ticket()
      .getByRole("button", { name: /^Preview/ })
      .waitFor();
    expect(await openOrders(marketId)).to.have.length(0);
    await preview();
    await contracts().press("Enter");
    await rows().filter({ hasText: "resting" }).waitFor();
    expect(await openOrders(marketId)).to.have.length(1);
    await expectSound(opened);
  });

  it("names every wrong field, and keeps what was typed", async () => {
    await openMarket();
    await fill("0.051", "1.5");
    await contracts().press("Enter");
    await ticket().getByText("Nearest: 0.050 or 0.055").waitFor();
    await ticket().getByText("Enter a whole number").waitFor();
    expect(await price().inputValue()).to.equal("0.051");
    await opened.page.getByRole("link", { name: "Keys", exact: true }).click();
    await opened.page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await opened.page.goBack();
    await contracts().waitFor();
    expect([await price().inputValue(), await contracts().inputValue()]).to.deep.equal(["0.051", "1.5"]);
  });

  it("places nothing that nobody has read: by a double click on Preview, or a held Enter", async () => {
    const { page } = opened;
    const { marketId } = await openMarket();
    await fill("0.200", "10");
    const placed: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/v3/orders")) placed.push(request.url());
    });
    const button = ticket().getByRole("button", { name: /^Preview: buy/ });
    // The second click comes when the preview stands, and once more when it could be placed.
    await button.hover();
    for (const clickCount of [1, 2, 3]) {
      await page.mouse.down({ clickCount });
      await page.mouse.up({ clickCount });
      if (clickCount === 1) await placing().waitFor();
      await page.waitForTimeout(clickCount * 200);
    }
    expect(placed).to.deep.equal([]);
    await contracts().press("Escape");
    await contracts().focus();
    await page.keyboard.down("Enter");
    await placing().and(page.locator("[aria-disabled=false]")).waitFor();
    for (let repeat = 0; repeat < 3; repeat++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    // A second press that comes before the preview can have been read.
    await contracts().press("Escape");
    await contracts().press("Enter");
    await placing().waitFor();
    await contracts().press("Enter");
    await page.waitForTimeout(300);
    expect(placed).to.deep.equal([]);
    expect(await openOrders(marketId)).to.have.length(0);
    await contracts().press("Escape");
  });

  it("places one order for a double click and for a lost answer", async () => {
    const { page } = opened;
    const { marketId } = await openMarket();
    await fill("0.500", "10");
    await preview();
    await ticket()
      .getByRole("button", { name: /^Place: buy/ })
      .dblclick();
    await rows().filter({ hasText: "resting" }).waitFor();
    expect(await openOrders(marketId)).to.have.length(1);

    // The first order reaches the exchange, and its answer is lost each time.
    let sent = 0;
    await page.route("**/v3/orders", async (route) => {
      sent += 1;
      await route.fetch();
      await route.abort();
    });
    await fill("0.490", "11");
    await preview();
    await contracts().press("Enter");
    await rows().filter({ hasText: "on its way" }).and(page.locator(".ticket-hollow")).waitFor();
    await rows().filter({ hasText: "11" }).filter({ hasText: "resting" }).waitFor();
    // The page has found the order, so Enter previews another one and repeats none.
    await ticket()
      .getByRole("button", { name: /^Preview: buy/ })
      .waitFor();
    expect(sent).to.be.greaterThan(1);
    await page.unroute("**/v3/orders");
    expect(await ticket().getByRole("alert").count()).to.equal(0);
    await contracts().press("Enter");
    await placing().waitFor();
    expect(await openOrders(marketId)).to.have.length(2);
    expect(await rows().count()).to.equal(2);
  });

  it("repeats an order without an answer after Escape, and takes no later refusal for its end", async () => {
    const { page } = opened;
    const { marketId } = await openMarket();
    const ids = new Set<unknown>();
    let sent = 0;
    // The first answer is lost, the repeats come too late, and reads do not find the order yet.
    await page.route("**/v3/orders", async (route) => {
      ids.add((route.request().postDataJSON() as { clientId: string }).clientId);
      sent += 1;
      if (sent > 1)
        return route.fulfill({ status: 401, json: { code: "TIMESTAMP_EXPIRED", message: "late" } });
      await route.fetch();
      await route.abort();
    });
    await page.route("**/v3/orders?clientId=*", (route) => route.abort());
    await fill("0.450", "12");
    await preview();
    await contracts().press("Enter");
    await ticket().getByText("may have taken effect").waitFor();
    await rows().filter({ hasText: "no answer yet" }).waitFor();
    await contracts().press("Escape");
    await ticket().getByText("may have been placed").waitFor();
    await preview();
    await contracts().press("Enter");
    await ticket().getByText("TIMESTAMP_EXPIRED").waitFor();
    await rows().filter({ hasText: "no answer yet" }).waitFor();
    await page.unroute("**/v3/orders");
    await contracts().press("Escape");
    await preview();
    await contracts().press("Enter");
    await rows().filter({ hasText: "12" }).filter({ hasText: "resting" }).waitFor();
    await page.unroute("**/v3/orders?clientId=*");
    expect(ids.size).to.equal(1);
    expect(await openOrders(marketId)).to.have.length(1);
  });

  it("keeps a refusal beside the ticket until it is dismissed", async () => {
    const { page } = opened;
    await openMarket();
    await fill("0.600", "100");
    await preview();
    await page.route("**/v3/orders", (route) => {
      const body = JSON.stringify({
        code: "MARKET_PAUSED",
        message: "the market is paused; wait until it goes on",
      });
      return route.fulfill({ status: 409, contentType: "application/json", body });
    });
    await contracts().press("Enter");
    const refusal = ticket().getByRole("alert");
    await refusal.getByText("The market is paused; wait until it goes on.").waitFor();
    await page.unroute("**/v3/orders");
    expect(await rows().count()).to.equal(0);
    expect([await price().inputValue(), await contracts().inputValue()]).to.deep.equal(["0.600", "100"]);
    await refusal.getByRole("button", { name: "Dismiss" }).click();
    await refusal.waitFor({ state: "detached" });
  });

  it("says in a preview why the exchange would not take the order", async () => {
    await openMarket();
    await fill("0.500", "100000");
    await contracts().press("Enter");
    await ticket().getByText("the subaccount has too little available").waitFor();
    await ticket().getByText("INSUFFICIENT_BALANCE").waitFor();
  });

  it("fills at the better price, and shows the profit at each result", async () => {
    await openMarket();
    await opened.page.getByRole("button", { name: "Buy Ants at 0.600 200 offered" }).click();
    expect([await price().inputValue(), await contracts().inputValue()]).to.deep.equal(["0.600", "200"]);
    await fill("0.650", "100");
    await preview();
    await ticket().getByText("fills 100 at 0.600").waitFor();
    expect(await ticket().locator("dd").first().innerText()).to.equal("$0.60");
    await contracts().press("Enter");
    await opened.page.getByText("100 Ants at 0.650: filled").waitFor();
    const position = opened.page.getByRole("region", { name: "Your position" }).locator("tbody tr");
    await position.first().getByText("100").waitFor();
    expect(await position.nth(0).locator("td").allInnerTexts()).to.deep.equal([
      "Ants",
      "100",
      "0.6000",
      "$0.40",
    ]);
    expect(await position.nth(1).locator("td").allInnerTexts()).to.deep.equal(["Bees", "", "", "−$0.60"]);

    // The preview of another order shows what it would change.
    await fill("0.300", "50");
    await preview();
    await position.nth(0).getByText("$0.75").waitFor();
    expect(await position.nth(1).locator("td").last().innerText()).to.equal("−$0.75");
    await expectSound(opened);
  });

  it("changes orders in place, and cancels the one under the cursor with c", async () => {
    const { page } = opened;
    const { marketId } = await openMarket();
    await fill("0.300", "100");
    await preview();
    await contracts().press("Enter");
    const resting = rows().filter({ hasText: "resting" });
    await resting.waitFor();
    const [before] = await openOrders(marketId);

    await resting.getByRole("button", { name: "Change" }).click();
    await rows().getByLabel("New open quantity").fill("60");
    await rows().getByLabel("New open quantity").press("Enter");
    await resting.filter({ hasText: "60" }).waitFor();
    const [smaller] = await openOrders(marketId);
    expect(smaller).to.include({ orderId: before?.orderId, remaining: 60 });

    await resting.getByRole("button", { name: "Change" }).click();
    await rows().getByLabel("New price").press("ArrowUp");
    await rows().getByLabel("New price").press("Enter");
    await resting.filter({ hasText: "0.305" }).waitFor();
    const [moved] = await until(
      () => openOrders(marketId),
      (orders) => orders.length === 1 && orders[0]?.price === "0.305",
    );
    expect(moved?.orderId).to.not.equal(before?.orderId);

    await page.getByRole("heading", { name: "Your orders" }).click();
    await resting.hover();
    await page.keyboard.press("c");
    await resting.waitFor({ state: "detached" });
    await until(async () => (await openOrders(marketId)).length === 0);
  });

  it("changes only what was edited, and keeps it when the change is refused", async () => {
    const { page } = opened;
    const market = await openMarket();
    await fill("0.300", "100");
    await preview();
    await contracts().press("Enter");
    const resting = rows().filter({ hasText: "resting" });
    await resting.waitFor();
    await resting.getByRole("button", { name: "Change" }).click();
    const taker = { outcomeId: market.outcomes[1], price: "0.700", qty: 40, tif: "IOC" };
    await other("POST /v3/orders", taker);
    await rows().getByText("60 are open now").waitFor();
    const newPrice = rows().getByLabel("New price");
    await newPrice.press("ArrowUp");
    await page.route("**/v3/orders/*", (route) =>
      route.fulfill({ status: 409, json: { code: "MARKET_PAUSED", message: "the market is paused" } }),
    );
    await newPrice.press("Enter");
    await page.getByText("MARKET_PAUSED").waitFor();
    expect(await newPrice.inputValue()).to.equal("0.305");
    await page.unroute("**/v3/orders/*");
    await newPrice.press("Enter");
    const [moved] = await until(
      () => openOrders(market.marketId),
      (orders) => orders.length === 1 && orders[0]?.price === "0.305",
    );
    expect(moved?.remaining).to.equal(60);
  });

  it("locks while the connection is lost, and unlocks by itself", async () => {
    const { page } = opened;
    // A browser that is offline keeps the sockets that are open, so the test closes them.
    const sockets: WebSocketRoute[] = [];
    await page.routeWebSocket(/\/v3\/ws/, (socket) => {
      socket.connectToServer();
      sockets.push(socket);
    });
    await openMarket();
    await until(() => sockets.length > 0);
    await fill("0.300", "10");
    await ticket()
      .getByRole("button", { name: /^Preview/ })
      .waitFor();
    await page.context().setOffline(true);
    for (const socket of sockets) await socket.close();
    await ticket().getByText("The ticket is locked until it is back").waitFor();
    await contracts().press("Enter");
    expect(
      await ticket()
        .getByRole("button", { name: /^Preview/ })
        .getAttribute("aria-disabled"),
    ).to.equal("true");
    await page.context().setOffline(false);
    await ticket().getByText("The ticket is locked").waitFor({ state: "detached" });
    await preview();
  });
});

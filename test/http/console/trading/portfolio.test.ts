import { expect } from "chai";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { signedIn } from "../../../support/console/signed-in.js";
import { newMarket, newTrader, type TestTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { callsOf, type Calls } from "../../calls.js";

describe("portfolio of the console", function () {
  this.timeout(60_000);
  const served = serveConsole();
  let trader: TestTrader;
  let calls: Calls;
  let market: Awaited<ReturnType<typeof newMarket>>;

  before(async () => {
    const { stack } = served;
    trader = await newTrader(stack);
    const other = await newTrader(stack);
    market = await newMarket(stack);
    const [ants, bees] = market.outcomes;
    calls = callsOf(stack.url, trader.trading);
    const theirs = callsOf(stack.url, other.trading);
    const order = { tif: "GTC", qty: 100 };
    // The trader buys 100 ants at 0.600; the best bid on ants is then 0.550, and one order rests, one is refused.
    await calls("POST /v3/orders", { ...order, outcomeId: ants, price: "0.600" });
    await theirs("POST /v3/orders", { ...order, outcomeId: bees, price: "0.400" });
    await theirs("POST /v3/orders", { ...order, outcomeId: ants, price: "0.550" });
    await calls("POST /v3/orders", { ...order, outcomeId: bees, price: "0.300" });
    await calls("POST /v3/orders", { ...order, outcomeId: bees, price: "0.100", tif: "IOC" });
    await until(async () => {
      const { json } = await calls("GET /v3/orders?status=OPEN,FILLED,REJECTED");
      return (json["items"] as unknown[]).length === 3;
    });
  });

  async function visit(address: string, options = {}) {
    return served.visit(address, await signedIn(served.stack, trader, options));
  }

  const rowOf = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

  it("values positions at the best bid, exactly", async () => {
    const opened = await visit("/portfolio");
    const row = opened.page.getByRole("region", { name: "Positions" }).getByRole("row").nth(1);
    await row.getByText("$0.55").waitFor();
    expect(await row.locator("td").allInnerTexts()).to.deep.equal([
      "Ants at Bees · Who wins",
      "Ants",
      "100",
      "0.6000",
      "$0.60",
      "0.550",
      "$0.55",
      "−$0.05",
    ]);
    // Averages follow the switch, as prices do.
    for (const [form, average] of [
      ["Per cent", "60.00 %"],
      ["Decimal odds", "1.67"],
      ["American odds", "−150"],
      ["Dollars per dollar paid out", "0.6000"],
    ] as const) {
      await opened.page.getByTitle(form).first().click();
      await row.getByText(average, { exact: true }).waitFor();
    }
    const main = await rowOf(opened.page, "main").locator("td").allInnerTexts();
    expect(main.slice(1, 4)).to.deep.equal(["$99.40", "$0.00", "$99.40"]);
    await expectSound(opened);
  });

  it("distinguishes a missing bid from one that cannot be read, in each market by itself", async () => {
    const { stack } = served;
    const [held, empty, away] = [market, await newMarket(stack), await newMarket(stack)];
    const position = (
      { marketId, outcomes }: typeof market,
      outcome: 0 | 1,
      rest: { readonly currency?: "COIN" } = {},
    ) => ({ marketId, outcomeId: outcomes[outcome], qty: 100, cost: "0.60000", ...rest });
    const opened = await visit("/status");
    const { page } = opened;
    // The public route leaves out the bids of markets that nobody watches.
    await page.route("**/v3/public/catalog/prices?**", (route) => route.abort());
    await page.route("**/v3/portfolio/positions?**", (route) =>
      route.fulfill({
        json: [
          position(held, 0),
          position(empty, 0),
          position(empty, 1, { currency: "COIN" }),
          position(away, 1, { currency: "COIN" }),
        ],
      }),
    );
    const unavailable = { code: "UNAVAILABLE", message: "the book is being read" };
    await page.route(`**/v3/public/catalog/markets/${away.marketId}/book?**`, (route) =>
      route.fulfill({ status: 503, json: unavailable }),
    );
    await page.goto("/portfolio");
    await page.getByText("The book is being read.").waitFor();
    const rows = page.getByRole("region", { name: "Positions" }).locator("tbody tr");
    const values = async (): Promise<string[]> => {
      const cells = await Promise.all((await rows.all()).map((row) => row.locator("td").allInnerTexts()));
      return cells.map((texts) => texts.at(-2) ?? "");
    };
    expect(await values()).to.deep.equal(["$0.55", "no bid", "no bid", "unknown"]);
    await expectSound(opened);

    await page.route("**/v3/catalog/prices?**", (route) => route.fulfill({ status: 503, json: unavailable }));
    await page.reload();
    await page.getByText("The book is being read.").waitFor();
    expect(await values()).to.deep.equal(["unknown", "unknown", "no bid", "unknown"]);
  });

  it("lists orders with their final reasons, and filters them in the address", async () => {
    const opened = await visit("/portfolio?show=orders", { viewport: { width: 390, height: 844 } });
    const { page } = opened;
    // A narrow page shows the state below the market, a wide one in a column.
    const state = (text: string) =>
      page.getByRole("region", { name: "Orders" }).getByText(text).filter({ visible: true });
    await state("rejected: nothing was offered at this price or better").waitFor();
    await state("filled").waitFor();
    await page.getByLabel("Status").selectOption("open");
    await state("filled").waitFor({ state: "detached" });
    await state("resting").waitFor();
    expect(page.url()).to.contain("status=open");
    expect(await page.getByRole("region", { name: "Orders" }).getByRole("row").count()).to.equal(2);
    await expectSound(opened);
  });

  it("adds older orders on request, and narrows the list to one market", async () => {
    const { stack } = served;
    const many = await newTrader(stack);
    const { marketId, outcomes } = await newMarket(stack);
    const order = { outcomeId: outcomes[0], price: "0.100", qty: 1, tif: "GTC" };
    const orders = Array.from({ length: 55 }, () => order);
    await callsOf(stack.url, many.trading)("POST /v3/orders/batch", { orders });
    const { page } = await served.visit(
      `/portfolio?show=orders&market=${marketId}`,
      await signedIn(stack, many),
    );
    const rows = page.getByRole("region", { name: "Orders" }).locator("tbody tr");
    await until(async () => (await rows.count()) === 50);
    await page.getByRole("button", { name: "Older" }).click();
    await until(async () => (await rows.count()) === 55);
    await page.getByRole("button", { name: "Older" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Show all markets" }).click();
    await until(() => !page.url().includes("market="));
  });

  it("exports fills and transactions as they are, from all pages", async () => {
    const { page } = await visit("/portfolio?show=fills");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).to.equal("fills-main.csv");
    const text = await readFile(await download.path(), "utf8");
    const [heading = "", ...lines] = text.trimEnd().split("\r\n");
    const { json } = await calls("GET /v3/portfolio/fills");
    const [fill] = json["items"] as { fillId: string; cost: string }[];
    expect(heading.startsWith("time,fillId,orderId,clientId,event,market,outcome,")).to.equal(true);
    expect(lines).to.have.length(1);
    expect(lines[0])
      .to.contain(`${fill?.fillId},`)
      .and.contain(`Ants at Bees,Who wins,Ants,${market.marketId}`);
    expect(lines[0]).to.contain(`,100,${fill?.cost},0.00000,maker,false,CASH`);

    await page.goto("/portfolio?show=transactions&kind=TRANSFER_IN");
    const [other] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    const transactions = await readFile(await other.path(), "utf8");
    expect(transactions.split("\r\n")[1]).to.match(/,TRANSFER_IN,100\.00000,[^,]+,CASH$/);
  });

  it("waits for the rate limit during an export, and goes on", async () => {
    const { page } = await visit("/portfolio?show=transactions");
    await page.getByRole("cell", { name: "Transfer in" }).waitFor();
    let refused = 0;
    await page.route(/transactions\?.*limit=1000/, async (route) => {
      refused += 1;
      if (refused > 1) return route.continue();
      const body = JSON.stringify({ code: "RATE_LIMIT_EXCEEDED", message: "the bucket is empty" });
      return route.fulfill({
        status: 429,
        headers: { "Retry-After": "1" },
        contentType: "application/json",
        body,
      });
    });
    const downloaded = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as CSV" }).click();
    await page.getByText("waiting 1 s for the rate limit").waitFor();
    const text = await readFile(await (await downloaded).path(), "utf8");
    expect(text).to.contain("TRANSFER_IN,100.00000");
  });

  it("moves money with the file of the management key", async () => {
    const buffer = Buffer.from(trader.management.key.privateKey);
    const file = { name: "management.pem", mimeType: "application/x-pem-file", buffer };
    const opened = await visit("/portfolio");
    const { page } = opened;
    const unavailable = { code: "UNAVAILABLE", message: "the balances are being read" };
    await page.getByRole("button", { name: "Move money: main" }).waitFor();
    await page.route("**/v3/session", (route) => route.fulfill({ status: 503, json: unavailable }));
    await page.getByRole("button", { name: "Move money: main" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The balances are being read.").waitFor();
    await dialog.getByText("What is available is unknown.").waitFor();
    const top = async (): Promise<number> => {
      const [field, frame] = [
        await dialog.getByLabel("Amount in dollars").boundingBox(),
        await dialog.boundingBox(),
      ];
      return (field?.y ?? NaN) - (frame?.y ?? NaN);
    };
    const before = await top();
    await page.unroute("**/v3/session");
    await dialog.getByRole("button", { name: "Try again" }).click();
    await dialog.getByText(/^Your account has/).waitFor();
    await dialog.getByText("The balances are being read.").waitFor({ state: "detached" });
    expect(await top()).to.be.closeTo(before, 1);
    await page.getByLabel("Direction").selectOption("defund");
    await page.getByLabel("Amount in dollars").fill("9.40");
    await page.getByLabel("File of the management key").setInputFiles(file);
    await page.getByRole("button", { name: "Move money", exact: true }).click();
    await page.getByText("$9.40 moved out of main").waitFor();
    await expectSound(opened);
    await page.getByRole("button", { name: "Close" }).click();
    await rowOf(page, "Your account").getByText("$9.40").first().waitFor();
    await rowOf(page, "main").getByText("$90.00").first().waitFor();
  });

  it("excludes the trader only after a confirmation in words, and cancels the open orders", async () => {
    const opened = await visit("/portfolio?show=break");
    const { page } = opened;
    await page.getByLabel("For how long").selectOption("7");
    await page.getByRole("button", { name: "Exclude me from trading" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Nobody can end this early").waitFor();
    // Playwright would wait until the button is enabled.
    await dialog.getByRole("button", { name: "Exclude me", exact: true }).click({ force: true });
    await dialog.getByLabel("I understand that this cannot be undone.").check();
    expect((await calls("GET /v3/orders?status=OPEN")).json["items"]).to.have.length(1);
    await dialog.getByRole("button", { name: "Exclude me", exact: true }).click();
    await page.getByText("This account is self-excluded until").waitFor();
    await expectSound(opened);
    await until(async () => {
      const { json } = await calls("GET /v3/orders?status=OPEN");
      return (json["items"] as unknown[]).length === 0;
    });
    const refused = await calls("POST /v3/orders", {
      outcomeId: market.outcomes[0],
      price: "0.500",
      qty: 1,
      tif: "GTC",
    });
    expect(refused.status).to.equal(423);
  });
});

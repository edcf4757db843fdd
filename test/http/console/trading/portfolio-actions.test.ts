import { expect } from "chai";
import type { Page } from "playwright-core";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { signedIn } from "../../../support/console/signed-in.js";
import { newMarket, newTrader, type TestTrader } from "../../../support/traders.js";
import { callsOf, operatorCalls, type Calls } from "../../calls.js";

const ORDER = { tif: "GTC", qty: 100 };

const rowOf = (page: Page, table: string, text: string) =>
  page.getByRole("region", { name: table }).getByRole("row").filter({ hasText: text });

/** Returns the texts of the cells of a row, without those that are empty. */
async function cellsOf(page: Page, table: string, text: string): Promise<string[]> {
  const cells = await rowOf(page, table, text).locator("td").allInnerTexts();
  return cells.map((cell) => cell.replaceAll(/\s+/g, " ")).filter((cell) => cell !== "");
}

describe("cancels on the portfolio of the console", function () {
  this.timeout(60_000);
  const served = serveConsole();
  let trader: TestTrader;
  let market: Awaited<ReturnType<typeof newMarket>>;

  before(async () => {
    trader = await newTrader(served.stack);
    market = await newMarket(served.stack);
  });

  /** Opens the subaccount Web in a page, with $50, and places orders in it by the ticket. */
  async function openWeb(page: Page, prices: readonly string[]): Promise<void> {
    await page.goto(`/markets/${market.marketId}`);
    await page.getByRole("button", { name: "Open Web" }).click();
    const ticket = page.getByRole("form", { name: "Order ticket" });
    await ticket.getByRole("button", { name: "Preview" }).waitFor();
    const manage = callsOf(served.stack.url, trader.management);
    const { json } = await manage("GET /v3/account/subaccounts");
    const web = (json as unknown as { keyId: string; label: string }[]).find(({ label }) => label === "Web");
    const transfer = (keyId: string | undefined, direction: string) =>
      manage(`POST /v3/account/subaccounts/${keyId}/transfer`, { direction, amount: "50" });
    await transfer(trader.trading.key.keyId, "defund");
    await transfer(web?.keyId, "fund");
    const contracts = ticket.getByLabel("Contracts", { exact: true });
    for (const price of prices) {
      await ticket.locator("button[type=submit][aria-disabled=false]").waitFor();
      await ticket.getByLabel("Price", { exact: true }).fill(price);
      await contracts.fill("10");
      await contracts.press("Enter");
      await ticket
        .getByRole("button", { name: /^Place: buy/ })
        .and(page.locator("[aria-disabled=false]"))
        .waitFor();
      await contracts.press("Enter");
      await rowOf(page, "Your orders", price).filter({ hasText: "resting" }).waitFor();
    }
  }

  it("cancels an order of Web once, shows a refusal, and says why other orders are not canceled here", async () => {
    const { stack } = served;
    const main = callsOf(stack.url, trader.trading);
    await main("POST /v3/orders", { ...ORDER, outcomeId: market.outcomes[0], price: "0.100" });
    const opened = await served.visit("/", await signedIn(stack, trader));
    const { page } = opened;
    await openWeb(page, ["0.200", "0.300"]);
    await page.goto("/portfolio?show=orders");
    const cancel = (price: string) => page.getByRole("button", { name: `Cancel: 10 Ants at ${price}` });

    let refuse = true;
    const sent: string[] = [];
    await page.route("**/v3/orders/*", async (route) => {
      if (route.request().method() !== "DELETE") return route.continue();
      sent.push(route.request().url());
      const json = { code: "UNAVAILABLE", message: "the market cannot be reached" };
      return refuse ? route.fulfill({ status: 503, json }) : route.continue();
    });
    await cancel("0.200").click();
    await page.getByText("The market cannot be reached.").waitFor();
    await page.getByText("UNAVAILABLE").waitFor();
    // Each order keeps its own refusal.
    await cancel("0.300").click();
    const refusals = page.getByRole("region", { name: "Refused cancel" });
    await refusals.nth(1).waitFor();
    expect(await refusals.getByText(/^Cancel of/).allInnerTexts()).to.deep.equal([
      "Cancel of 10 Ants at 0.200:",
      "Cancel of 10 Ants at 0.300:",
    ]);
    await expectSound(opened);
    await refusals.nth(1).getByRole("button", { name: "Dismiss" }).click();
    refuse = false;
    sent.splice(0);
    await cancel("0.200").dblclick();
    await rowOf(page, "Orders", "0.200").getByText("canceled").filter({ visible: true }).waitFor();
    expect(sent).to.have.length(1);
    expect(await page.getByText("UNAVAILABLE").count()).to.equal(0);
    expect(await cancel("0.200").count()).to.equal(0);
    expect(await cancel("0.300").count()).to.equal(1);

    await page.getByRole("radio", { name: "main" }).check();
    await page.getByText("Open orders of main are canceled by the program that has its key.").waitFor();
    await rowOf(page, "Orders", "0.100").waitFor();
    expect(await page.getByRole("button", { name: /^Cancel: / }).count()).to.equal(0);
    await expectSound(opened);
  });

  it("brings the key of Web to another browser, which then cancels", async () => {
    const { page } = await served.visit("/portfolio?show=orders", await signedIn(served.stack, trader));
    await page.getByText("this browser needs the key of Web").waitFor();
    expect(await page.getByRole("button", { name: /^Cancel: / }).count()).to.equal(0);
    await page.getByRole("button", { name: "Move the key to this browser" }).click();
    await page.getByRole("button", { name: "Cancel: 10 Ants at 0.300" }).click();
    await rowOf(page, "Orders", "0.300").getByText("canceled").filter({ visible: true }).waitFor();
  });
});

describe("COIN on the portfolio of the console", function () {
  this.timeout(60_000);
  const served = serveConsole();
  let trader: TestTrader;
  let operator: Calls;

  before(async () => {
    trader = await newTrader(served.stack);
    operator = await operatorCalls(served.stack);
  });

  const deposit = ({ account }: TestTrader, amount: string) =>
    operator(`POST /admin/v1/traders/${account.traderId}/transactions`, {
      kind: "DEPOSIT",
      amount,
      currency: "COIN",
      reason: "coins of the season",
    });

  it("shows the balances in COIN, and moves COIN", async () => {
    await deposit(trader, "7.5");
    const opened = await served.visit("/portfolio", await signedIn(served.stack, trader));
    const { page } = opened;
    await rowOf(page, "Balances", "Your account, in COIN").waitFor();
    const own = ["Your account, in COIN", "7.50 COIN", "7.50 COIN"];
    expect(await cellsOf(page, "Balances", "Your account, in COIN")).to.deep.equal(own);
    const none = ["main, in COIN", "0.00 COIN", "0.00 COIN", "0.00 COIN"];
    expect(await cellsOf(page, "Balances", "main, in COIN")).to.deep.equal(none);

    await page.getByRole("button", { name: "Move money: main" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Your account has $0.00 available.").waitFor();
    await dialog.getByLabel("Currency").selectOption("COIN");
    await dialog.getByText("Your account has 7.50 COIN available.").waitFor();
    await dialog.getByLabel("Amount in COIN").fill("9");
    const buffer = Buffer.from(trader.management.key.privateKey);
    const file = { name: "management.pem", mimeType: "application/x-pem-file", buffer };
    await dialog.getByLabel("File of the management key").setInputFiles(file);
    await dialog.getByRole("button", { name: "Move money", exact: true }).click();
    await dialog.getByText("Your account has 7.50 COIN available. Send a smaller amount.").waitFor();
    await dialog.getByLabel("Amount in COIN").fill("2.5");
    await dialog.getByRole("button", { name: "Move money", exact: true }).click();
    await dialog.getByText("2.50 COIN moved into main.").waitFor();
    await expectSound(opened);
    await dialog.getByRole("button", { name: "Close" }).click();
    await rowOf(page, "Balances", "main, in COIN").getByText("2.50 COIN").first().waitFor();
    await rowOf(page, "Balances", "Your account, in COIN").getByText("5.00 COIN").first().waitFor();
    // The dollars have not moved.
    expect(await cellsOf(page, "Balances", "Move money")).to.include("$100.00");
  });

  it("values positions in COIN at the best bid of the book in COIN", async () => {
    const { stack } = served;
    const other = await newTrader(stack);
    await deposit(other, "5");
    await callsOf(stack.url, other.management)(
      `POST /v3/account/subaccounts/${other.trading.key.keyId}/transfer`,
      { direction: "fund", amount: "5", currency: "COIN" },
    );
    const { outcomes } = await newMarket(stack);
    const [ants, bees] = outcomes;
    const mine = callsOf(stack.url, trader.trading);
    const theirs = callsOf(stack.url, other.trading);
    const order = { ...ORDER, currency: "COIN" };
    await mine("POST /v3/orders", { ...order, outcomeId: ants, price: "0.600" });
    await theirs("POST /v3/orders", { ...order, outcomeId: bees, price: "0.400" });
    await theirs("POST /v3/orders", { ...order, outcomeId: ants, price: "0.550" });
    // A bid in dollars is of another book.
    await theirs("POST /v3/orders", { ...ORDER, outcomeId: ants, price: "0.500" });
    const opened = await served.visit("/portfolio", await signedIn(stack, trader));
    const { page } = opened;
    await rowOf(page, "Positions", "0.60 COIN").getByText("0.55 COIN", { exact: true }).waitFor();
    expect((await cellsOf(page, "Positions", "0.60 COIN")).slice(1)).to.deep.equal([
      "Ants",
      "100",
      "0.6000",
      "0.60 COIN",
      "0.550",
      "0.55 COIN",
      "−0.05 COIN",
    ]);
    await expectSound(opened);
  });
});

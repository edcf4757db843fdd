import { expect } from "chai";
import type { Locator, Page } from "playwright-core";
import { expectSound, serveConsole, type WatchedPage } from "../../../support/console/browser.js";
import { visitAsOperator } from "../../../support/console/operator.js";
import { addOperator } from "../../../support/operators.js";
import { newMarket, newTrader, type TestTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { callsOf, operatorCalls, type Calls } from "../../calls.js";
import { idOf } from "../../resources.js";

const NARROW = { viewport: { width: 360, height: 740 } };

describe("the desk in the console", function () {
  this.timeout(90_000);
  const served = serveConsole();
  let trader: TestTrader;
  let operator: Calls;
  let orderId = "";
  let market: Awaited<ReturnType<typeof newMarket>>;

  before(async () => {
    const { stack } = served;
    operator = await operatorCalls(stack);
    trader = await newTrader(stack);
    market = await newMarket(stack);
    const [first, second] = market.outcomes;
    const trading = callsOf(stack.url, trader.trading);
    const other = callsOf(stack.url, (await newTrader(stack)).trading);
    orderId = idOf(
      await trading("POST /v3/orders", { outcomeId: first, price: "0.600", qty: 100, tif: "GTC" }),
      "orderId",
    );
    await other("POST /v3/orders", { outcomeId: second, price: "0.400", qty: 40, tif: "IOC" });
    await until(
      () => operator(`GET /admin/v1/orders/${orderId}`),
      ({ json }) => json["filled"] === 40,
    );
  });

  const visit = (address: string, options = {}): Promise<WatchedPage> =>
    visitAsOperator(served, served.stack.operatorLogin, "owner", address, options);
  const button = (place: Page | Locator, name: string): Locator =>
    place.getByRole("button", { name, exact: true });

  it("finds a trader by a part of the e-mail address, and an order by its id", async () => {
    const opened = await visit("/operator/desk", NARROW);
    const { page } = opened;
    const search = page.getByLabel("Find a trader or an order");
    const { email } = trader.account;
    await search.fill(email.slice(0, -4).toUpperCase());
    await page.getByRole("heading", { name: "Accounts with" }).waitFor();
    await page.getByRole("link", { name: email }).waitFor();
    await expectSound(opened);
    await search.fill("nobody.at.all");
    await page.getByText("No account has this in its e-mail address").waitFor();
    await search.fill(orderId);
    await page.getByRole("heading", { name: "Order", exact: true }).waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/operator/desk/${trader.account.traderId}/${orderId}`);
  });

  it("shows one order from its acceptance to the settlement of its market", async () => {
    const opened = await visit(`/operator/desk/${trader.account.traderId}/${orderId}`);
    const { page } = opened;
    await page.getByText("100 Ants at 0.600, GTC").waitFor();
    await page.getByRole("heading", { name: "40 filled" }).waitFor();
    await page.getByRole("heading", { name: "60 rest in the book" }).waitFor();
    await page.getByText("The market has no grade yet.").waitFor();
    await expectSound(opened);
  });

  it("shows the records of each wallet", async () => {
    const opened = await visit(`/operator/desk/${trader.account.traderId}`, NARROW);
    const { page } = opened;
    await page.getByRole("heading", { name: trader.account.email }).waitFor();
    const shows = async (tab: string, text: string): Promise<void> => {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByRole("tabpanel").getByText(text).first().waitFor();
      await expectSound(opened);
    };
    await shows("Orders", "OPEN");
    await shows("Fills", "$0.24");
    await shows("Transactions", "transfer in");
    await shows("Keys", "trading");
    await shows("Check-ins", "US-NY");
    await shows("What operators did", "trader.kyc");
  });

  it("locks a trader after it has said what that does, with the reason in the audit log", async () => {
    const other = await newTrader(served.stack);
    const body = { outcomeId: market.outcomes[0], price: "0.100", qty: 5, tif: "GTC" };
    await callsOf(served.stack.url, other.trading)("POST /v3/orders", body);
    const { traderId } = other.account;
    const opened = await visit(`/operator/desk/${traderId}`);
    const { page } = opened;
    await button(page, "Change the state").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 open order of the trader is canceled").waitFor();
    await expectSound(opened);
    // Playwright waits for a disabled button; a person clicks anyway.
    await button(dialog, "Change the state").click({ force: true });
    expect((await operator(`GET /admin/v1/traders/${traderId}`)).json["state"], "no reason yet").to.equal(
      "ACTIVE",
    );
    await dialog.getByLabel("Reason").fill("a review");
    await button(dialog, "Change the state").click();
    await page.getByText("The trader is locked.").waitFor();
    const audit = await operator(`GET /admin/v1/audit-log?subject=${traderId}&action=trader.state`);
    expect(audit.json["items"]).to.have.nested.property("[0].after.reason", "a review");
  });

  it("posts a transaction once, and keeps what was typed when it is refused", async () => {
    const { traderId } = trader.account;
    const opened = await visit(`/operator/desk/${traderId}`);
    const { page } = opened;
    await button(page, "Post a transaction").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Kind").selectOption("WITHDRAWAL");
    await dialog.getByLabel("Amount in dollars").fill("5000");
    await dialog.getByLabel("Reason").fill("paid out");
    await button(dialog, "Post the transaction").click();
    await dialog.getByText("INSUFFICIENT_BALANCE").waitFor();
    expect(await dialog.getByLabel("Amount in dollars").inputValue()).to.equal("5000");
    await dialog.getByLabel("Kind").selectOption("DEPOSIT");
    await dialog.getByLabel("Amount in dollars").fill("12.50");
    await button(dialog, "Post the transaction").dblclick();
    await page.getByText("Posted. The wallet holds $12.50.").waitFor();
    const { json } = await operator(`GET /admin/v1/traders/${traderId}/transactions`);
    const amounts = (json["items"] as { amount: string }[]).map(({ amount }) => amount);
    expect(amounts.filter((amount) => amount === "12.50000")).to.have.length(1);
  });

  it("posts a transaction once when its answer is lost and its dialog is opened again", async () => {
    const { traderId } = trader.account;
    const path = `/admin/v1/traders/${traderId}/transactions`;
    const { page } = await visit(`/operator/desk/${traderId}`);
    let isLost = false;
    await page.route(`**${path}`, async (route) => {
      if (route.request().method() !== "POST" || isLost) return route.continue();
      isLost = true;
      await route.fetch();
      return route.abort();
    });
    const dialog = page.getByRole("dialog");
    const post = async (amount: string): Promise<void> => {
      await button(page, "Post a transaction").click();
      await dialog.getByLabel("Amount in dollars").fill(amount);
      await dialog.getByLabel("Reason").fill("paid in");
      await button(dialog, "Post the transaction").click();
    };
    await post("7.25");
    await dialog.getByText("UNREACHABLE").waitFor();
    await button(dialog, "Leave it as it is").click();
    await post("7.25");
    await page.getByText(/^Posted\./).waitFor();
    const { json } = await operator(`GET ${path}`);
    const amounts = (json["items"] as { amount: string }[]).map(({ amount }) => amount);
    expect(amounts.filter((amount) => amount === "7.25000")).to.have.length(1);
  });

  it("says in words what the role of the operator may not do", async () => {
    const viewer = await addOperator(served.stack, "viewer");
    const address = `/operator/desk/${trader.account.traderId}`;
    const { page } = await visitAsOperator(served, viewer, "viewer", address);
    const lock = button(page, "Change the state");
    await lock.waitFor();
    expect(await lock.getAttribute("title")).to.equal(
      "Your role is viewer; this needs the role support or owner.",
    );
    await lock.click({ force: true });
    expect(await page.getByRole("dialog").count()).to.equal(0);
  });
});

describe("the other pages of operators in the console", function () {
  this.timeout(90_000);
  const served = serveConsole();
  const visit = (address: string, options = {}): Promise<WatchedPage> =>
    visitAsOperator(served, served.stack.operatorLogin, "owner", address, options);

  it("create an operator, lock the operator and unlock the operator", async () => {
    const opened = await visit("/operator/people", NARROW);
    const { page } = opened;
    await page.getByRole("button", { name: "New operator" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail").fill("second@example.com");
    await dialog.getByLabel("First password").fill("short");
    await dialog.getByLabel("Role").selectOption("finance");
    await dialog.getByRole("button", { name: "Create the operator" }).click();
    await dialog.getByText("INVALID_BODY").waitFor();
    await dialog.getByLabel("First password").fill("a long password");
    await expectSound(opened);
    await dialog.getByRole("button", { name: "Create the operator" }).click();
    await page.getByText("second@example.com is an operator with the role finance.").waitFor();
    await page.getByRole("button", { name: "Lock: second@example.com" }).click();
    await dialog.getByRole("button", { name: "Lock", exact: true }).click();
    await page.getByText("second@example.com is locked.").waitFor();
    await page.getByRole("button", { name: "Unlock: second@example.com" }).click();
    await dialog.getByRole("button", { name: "Unlock", exact: true }).click();
    await page.getByText("second@example.com is active.").waitFor();
    await expectSound(opened);
  });

  it("show the money, and that both sides agree", async () => {
    await newTrader(served.stack, "250");
    const opened = await visit("/operator/money", NARROW);
    const { page } = opened;
    await page.getByText("All money is accounted for").waitFor();
    const deposits = page.getByRole("row", { name: "Deposits" });
    await until(async () => {
      await page.getByRole("button", { name: "Compute again" }).click();
      return (await deposits.innerText()).match(/\$250\.00/g)?.length === 2;
    });
    await expectSound(opened);
  });

  it("filter the audit log, and show clocks, quarantine and figures", async () => {
    const opened = await visit("/operator/safety");
    const { page } = opened;
    await page.getByRole("cell", { name: "trader.kyc" }).first().waitFor();
    await page.getByLabel("Action").fill("operator.create");
    await page.getByRole("cell", { name: "trader.kyc" }).first().waitFor({ state: "detached" });
    await page.getByRole("cell", { name: "operator.create" }).first().waitFor();
    await expectSound(opened);
    for (const [tab, text] of [
      ["Clocks", "Engine time follows the clock of Redis."],
      ["Quarantine", "No command has failed"],
      ["Figures", "Memory left until new orders are refused"],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByText(text).waitFor();
      await expectSound(opened);
    }
    await page.locator(".plot-now .number", { hasText: /^\d/ }).first().waitFor();
    // The plots follow the appearance of the system.
    const colorOf = (): Promise<string> =>
      page
        .locator("canvas")
        .first()
        .evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    await page.emulateMedia({ colorScheme: "light" });
    const light = await colorOf();
    await page.emulateMedia({ colorScheme: "dark" });
    await until(colorOf, (drawn) => drawn !== light);
  });
});

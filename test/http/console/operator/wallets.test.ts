import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { visitAsOperator } from "../../../support/console/operator.js";
import { addOperator } from "../../../support/operators.js";
import { newTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { operatorCalls } from "../../calls.js";

describe("the list of all wallets in the console", function () {
  this.timeout(60_000);
  const served = serveConsole();

  it("has its filters in the address, and a file of the filter", async () => {
    const { stack } = served;
    const rich = await newTrader(stack, "2500");
    const poor = await newTrader(stack, "20");
    const operator = await operatorCalls(stack);
    await until(
      () => operator("GET /admin/v1/wallets?atLeast=20"),
      ({ json }) => (json["items"] as unknown[]).length === 2,
    );
    const narrow = { viewport: { width: 390, height: 844 } };
    const opened = await visitAsOperator(served, stack.operatorLogin, "owner", "/operator/money", narrow);
    const { page } = opened;
    await page.getByRole("link", { name: "All wallets" }).click();
    const region = page.getByRole("region", { name: "Wallets" });
    await region.getByText("$2,500.00").first().waitFor();
    await region.getByText("$20.00").first().waitFor();
    await expectSound(opened);
    expect(await region.evaluate((table) => table.scrollWidth - table.clientWidth)).to.equal(0);

    await page.getByLabel("Balances").selectOption("1000");
    await region.getByText("$20.00").waitFor({ state: "detached" });
    expect(new URL(page.url()).search).to.equal("?balance=1000");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    const [heading, ...lines] = (await readFile(await download.path(), "utf8")).trim().split("\r\n");
    expect(heading).to.match(/^traderId,email,walletId,keyId,wallet,currency,total,/);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include(`${rich.account.traderId},${rich.account.email}`).and.include("2500.00000");

    await page.goto(`/operator/money/wallets?owner=${encodeURIComponent(poor.account.email)}`);
    await region.getByText("$20.00").first().waitFor();
    expect(await page.getByLabel("Owner", { exact: true }).inputValue()).to.equal(poor.account.email);
    // A link to another owner, followed within the page, brings its owner into the field.
    await page.evaluate((email) => {
      history.pushState(null, "", `/operator/money/wallets?owner=${encodeURIComponent(email)}`);
      dispatchEvent(new PopStateEvent("popstate"));
    }, rich.account.email);
    await region.getByText("$2,500.00").first().waitFor();
    expect(await page.getByLabel("Owner", { exact: true }).inputValue()).to.equal(rich.account.email);
    await page.getByLabel("Balances").selectOption("negative");
    await page.getByText("No wallet is like this; choose other filters").waitFor();
  });

  it("is not for operators who handle neither money nor accounts, and says so", async () => {
    const viewer = await addOperator(served.stack, "viewer");
    const { page } = await visitAsOperator(served, viewer, "viewer", "/operator/money/wallets");
    await page.getByText("Your role is viewer; this needs the role support or finance or owner.").waitFor();
    expect(await page.getByRole("button", { name: "Export as CSV" }).count()).to.equal(0);
  });
});

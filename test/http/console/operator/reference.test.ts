import { expect } from "chai";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { visitAsOperator } from "../../../support/console/operator.js";
import { expectGoneAfterBack } from "../../../support/console/history.js";
import { newTrader } from "../../../support/traders.js";
import { operatorCalls } from "../../calls.js";

const NARROW = { viewport: { width: 360, height: 740 } };

describe("the reference data in the console", function () {
  this.timeout(90_000);
  const served = serveConsole();
  const visit = (address: string, options = {}) =>
    visitAsOperator(served, served.stack.operatorLogin, "owner", address, options);

  it("announces a change that the status page shows, and keeps what was typed when it is refused", async () => {
    const opened = await visit("/operator/reference", NARROW);
    const { page } = opened;
    await page.getByLabel("Title").fill("Finer prices");
    await page.getByRole("button", { name: "Announce" }).click();
    await page.getByText("INVALID_BODY").waitFor();
    expect(await page.getByLabel("Title").inputValue()).to.equal("Finer prices");
    await page.getByLabel("What changes").fill("More ticks near the edges.");
    await page.getByLabel("Takes effect").fill("2090-01-01T12:00");
    await page.getByRole("button", { name: "Announce" }).click();
    await page.getByText("Announced. Everybody reads it under Status.").waitFor();
    await page.getByRole("cell", { name: "Finer prices" }).waitFor();
    await expectSound(opened);
    await page.getByRole("link", { name: "Status" }).first().click();
    await page.getByRole("heading", { name: "Finer prices" }).waitFor({ timeout: 15_000 });
  });

  it("begins and ends a maintenance, after it has said what that does", async () => {
    const opened = await visit("/operator/reference?show=maintenance");
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Begin a maintenance" }).click();
    await dialog.getByText("All open orders of all traders are canceled").waitFor();
    await dialog.getByLabel("Message for traders").fill("back at noon");
    await expectSound(opened);
    await dialog.getByRole("button", { name: "Begin it" }).click();
    await page.getByText("back at noon").waitFor();
    await page.getByRole("button", { name: "End the maintenance" }).click();
    await dialog.getByRole("button", { name: "End it" }).click();
    await page.getByText("The exchange is not in maintenance.").waitFor();
  });

  it("adds a league, a type and a player", async () => {
    const opened = await visit("/operator/reference?show=leagues");
    const { page } = opened;
    await page.getByLabel("League", { exact: true }).fill("Ant League");
    await page.getByLabel("Sport").fill("FOOTBALL");
    await page.getByRole("button", { name: "Add the league" }).click();
    await page.getByRole("cell", { name: "Ant League" }).waitFor();
    await page.getByLabel("Type", { exact: true }).fill("ANTS");
    await page.getByRole("button", { name: "Add the type" }).click();
    await page.getByRole("cell", { name: "ANTS", exact: true }).waitFor();
    await expectSound(opened);
    await page.getByRole("tab", { name: "Players" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Ada Ant");
    await page.getByRole("button", { name: "Add the player" }).click();
    await page.getByRole("cell", { name: "Ada Ant" }).first().waitFor();
    await expectSound(opened);
  });

  it("replaces ticks, and rules about regions and networks", async () => {
    const opened = await visit("/operator/reference?show=regions");
    const { page } = opened;
    await page.getByLabel("Restricted regions").fill("US-WA, US-NV");
    await page
      .getByRole("textbox", { name: "Networks" })
      .fill("192.0.2.0/24 VPN\n198.51.100.0/24 REGION US-NY\nnonsense");
    await page.getByText('Write "nonsense" as network').waitFor();
    await page
      .getByRole("textbox", { name: "Networks" })
      .fill("192.0.2.0/24 VPN\n198.51.100.0/24 REGION US-NY");
    await page.getByRole("button", { name: "Replace the rules" }).click();
    await page.getByText("The rules are in force at every gateway.").waitFor();
    await expectSound(opened);
    const operator = await operatorCalls(served.stack);
    expect((await operator("GET /admin/v1/geo")).json).to.deep.equal({
      restrictedRegions: ["US-NV", "US-WA"],
      networks: [
        { cidr: "192.0.2.0/24", kind: "VPN" },
        { cidr: "198.51.100.0/24", kind: "REGION", region: "US-NY" },
      ],
    });
    await page.getByRole("tab", { name: "Ticks" }).click();
    await page.getByRole("textbox", { name: "Prices" }).fill("0.100 0.500 0.900");
    await page.getByRole("button", { name: "Replace the table" }).click();
    await page.getByText("The table has 3 prices.").waitFor();
    await expectSound(opened);
  });

  it("adds a client of a market maker, and shows its secret once", async () => {
    const { account } = await newTrader(served.stack);
    const opened = await visit("/operator/reference?show=makers");
    const { page } = opened;
    await page.getByLabel("Name").fill("maker");
    await page.getByLabel("Key of the subaccount").fill(account.tradingKey.keyId);
    await page.getByRole("button", { name: "Add the client" }).click();
    await page.getByText("The secret is shown only now").waitFor();
    await expectSound(opened);
    await page.getByRole("tab", { name: "Strike requests" }).click();
    await page.getByText("The secret is shown only now").waitFor();
    await page.getByRole("button", { name: "It is handed over" }).click();
    expect(await page.getByText("client_secret").count()).to.equal(0);
    await page.getByRole("button", { name: "Remove maker" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove the client" }).click();
    await page.getByText("No market maker has a client").waitFor();
    await page.getByRole("tab", { name: "Strike requests" }).click();
    await page.getByText("No request waits").waitFor();
    await expectSound(opened);
  });

  it("does not show the secret of a client again after Back and Forward", async () => {
    const { account } = await newTrader(served.stack);
    const { page, problems } = await visit("/operator");
    await page.getByRole("link", { name: "Reference" }).click();
    await page.getByRole("tab", { name: "Market makers" }).click();
    await page.getByLabel("Name").fill("returner");
    await page.getByLabel("Key of the subaccount").fill(account.tradingKey.keyId);
    await page.getByRole("button", { name: "Add the client" }).click();
    const shown = await page.getByText(/client_secret \S+/).textContent();
    await expectGoneAfterBack(page, shown?.split("client_secret ")[1] ?? "");
    await page.getByText("returner").first().waitFor();
    expect(problems).to.deep.equal([]);
  });
});

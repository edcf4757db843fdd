import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { becomeTrader, hideEd25519 } from "../../../support/console/visitor.js";
import { newMarket, newTrader } from "../../../support/traders.js";
import { callsOf } from "../../calls.js";

describe("way of a visitor through the console", function () {
  this.timeout(90_000);
  const served = serveConsole();

  for (const [algorithm, hides] of [
    ["Ed25519", false],
    ["P-256", true],
  ] as const) {
    it(`leads from the registration to a settled bet and its CSV file, with keys of ${algorithm}`, async () => {
      const { stack } = served;
      const { marketId, outcomes } = await newMarket(stack);
      const other = callsOf(stack.url, (await newTrader(stack)).trading);
      await other("POST /v3/orders", { outcomeId: outcomes[1], price: "0.400", qty: 100, tif: "GTC" });
      const opened = await served.visit("/");
      const { page } = opened;
      if (hides) await hideEd25519(page);
      await becomeTrader(page, stack, `${algorithm.toLowerCase()}@example.com`);

      await page.goto(`/markets/${marketId}`);
      await page.getByRole("textbox", { name: "Price", exact: true }).fill("0.600");
      await page.getByRole("textbox", { name: "Contracts", exact: true }).fill("40");
      await page.getByRole("button", { name: /^Preview: buy/ }).click();
      await page.getByRole("button", { name: /^Place: buy/ }).click();
      const position = page.getByRole("region", { name: "Your position" }).last();
      await position.getByRole("cell", { name: "40", exact: true }).waitFor();
      await expectSound(opened);

      await stack.operator.setMarketStatus(marketId, "close");
      await stack.operator.grade(marketId, { winner: outcomes[0] });
      await page
        .getByText(/settled/i)
        .first()
        .waitFor();

      // 40 contracts at 0.600 cost $0.24 and pay $0.40.
      await page.goto("/portfolio?show=transactions");
      await page.getByText("$25.66").first().waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export as CSV" }).click(),
      ]);
      const text = await readFile(await download.path(), "utf8");
      for (const kind of ["TRANSFER_IN,25.50000", "0.40000", "-0.24000"]) expect(text).to.contain(kind);
      await expectSound(opened);
    });
  }
});

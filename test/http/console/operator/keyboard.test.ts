import { expect } from "chai";
import type { Page } from "playwright-core";
import { serveConsole } from "../../../support/console/browser.js";
import { visitAsOperator } from "../../../support/console/operator.js";
import { addOperator } from "../../../support/operators.js";
import { until } from "../../../support/until.js";
import { newMarket } from "../../../support/traders.js";

describe("dangerous actions with the keyboard alone", function () {
  this.timeout(60_000);
  const served = serveConsole();

  async function visit(address: string): Promise<Page> {
    const { operatorLogin } = served.stack;
    return (await visitAsOperator(served, operatorLogin, "owner", address)).page;
  }

  /** Returns the text or the label of the element that has the focus. */
  const focused = (page: Page): Promise<string> =>
    page.evaluate(() => {
      const { activeElement: element } = document;
      const { labels } = element as Partial<HTMLInputElement>;
      return element?.getAttribute("aria-label") ?? labels?.[0]?.textContent ?? element?.textContent ?? "";
    });

  /** Presses Tab until an element has the focus. */
  async function tabTo(page: Page, name: string): Promise<void> {
    const passed: string[] = [];
    while ((await focused(page)) !== name) {
      passed.push(await focused(page));
      if (passed.length > 60) throw new Error(`no Tab reaches ${name}, but ${passed.join("; ")}`);
      await page.keyboard.press("Tab");
    }
  }

  const dialogs = (page: Page) => page.getByRole("dialog");

  /** Opens a dialog, leaves it with Escape and by its button, and opens it again. */
  async function openTwice(page: Page, opener: string, title: RegExp): Promise<void> {
    await tabTo(page, opener);
    for (const leave of ["Escape", "Leave it as it is"]) {
      await page.keyboard.press("Enter");
      await dialogs(page).getByRole("heading", { name: title }).waitFor();
      expect(await focused(page)).to.match(title);
      // A key that is held confirms nothing.
      await page.keyboard.press("Enter");
      await dialogs(page).getByRole("heading", { name: title }).waitFor();
      if (leave === "Escape") await page.keyboard.press("Escape");
      else {
        await tabTo(page, leave);
        await page.keyboard.press("Enter");
      }
      // The browser hides the dialog and moves the focus before the page knows of it.
      await page.locator("dialog h2").waitFor({ state: "detached" });
      await until(
        () => focused(page),
        (name) => name === opener,
      );
    }
    await page.keyboard.press("Enter");
    await dialogs(page).getByRole("heading", { name: title }).waitFor();
  }

  it("closes markets, and asks for the reason that is missing", async () => {
    const { eventId } = await newMarket(served.stack);
    const page = await visit(`/operator/events/${eventId}`);
    await page.getByRole("checkbox", { name: "Choose Who wins" }).waitFor();
    await tabTo(page, "Choose Who wins");
    await page.keyboard.press("Space");
    await page.keyboard.press("Shift+Tab");
    while ((await focused(page)) !== "Close") await page.keyboard.press("Shift+Tab");
    await openTwice(page, "Close", /^Close 1 market$/);
    await tabTo(page, "Close the market");
    await page.keyboard.press("Enter");
    await page.getByText("Say why first").waitFor();
    expect(await focused(page)).to.equal("Reason");
    await page.keyboard.type("the score is not known");
    await page.keyboard.press("Enter");
    await page.getByText("1 market closed.").waitFor();
    await until(
      () => focused(page),
      (name) => name === "Close",
    );
  });

  it("grades and remediates", async () => {
    const { marketId } = await newMarket(served.stack);
    const page = await visit(`/operator/settlement/${marketId}`);
    await page.getByLabel("Ants wins").waitFor();
    await tabTo(page, "Ants wins");
    await page.keyboard.press("Space");
    await page.getByText("No wallet holds a position").first().waitFor();
    await openTwice(page, "Grade the market", /^Grade: Who wins$/);
    await tabTo(page, "Grade");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Settled", exact: true }).waitFor();
    await tabTo(page, "Take the settlement back");
    await page.keyboard.press("Enter");
    await page.getByText("No wallet holds a position").first().waitFor();
    await openTwice(page, "Remediate", /^Remediate: Who wins$/);
    await tabTo(page, "Reason");
    await page.keyboard.type("a wrong score");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Grade", exact: true }).waitFor();
  });

  it("locks an operator", async () => {
    const { email } = await addOperator(served.stack, "support");
    const page = await visit("/operator/people");
    await page.getByRole("button", { name: `Lock: ${email}` }).waitFor();
    await openTwice(page, `Lock: ${email}`, /^Lock an operator$/);
    await tabTo(page, "Lock");
    await page.keyboard.press("Enter");
    await page.getByText(`${email} is locked.`).waitFor();
    await until(
      () => focused(page),
      (name) => name === `Unlock: ${email}`,
    );
  });

  it("begins and ends a maintenance", async () => {
    const page = await visit("/operator/reference?show=maintenance");
    await page.getByRole("button", { name: "Begin a maintenance" }).waitFor();
    await openTwice(page, "Begin a maintenance", /^Begin a maintenance$/);
    await tabTo(page, "Begin it");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "End the maintenance" }).waitFor();
    await until(
      () => focused(page),
      (name) => name === "End the maintenance",
    );
    await openTwice(page, "End the maintenance", /^End the maintenance$/);
    await tabTo(page, "End it");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Begin a maintenance" }).waitFor();
  });
});

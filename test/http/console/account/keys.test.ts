/// <reference lib="dom" />
import { expect } from "chai";
import { expectSound, serveConsole, type WatchedPage } from "../../../support/console/browser.js";
import { expectGoneAfterBack } from "../../../support/console/history.js";
import {
  becomeTrader,
  checkIn,
  hideEd25519,
  makeManagementKey,
  moveMoney,
  register,
  saveKey,
  signIn,
  welcome,
  type KeyFile,
} from "../../../support/console/visitor.js";

describe("keys in the console", function () {
  this.timeout(60_000);
  const served = serveConsole();

  /** Takes a visitor to a funded subaccount, and returns the page and the file of the management key. */
  async function funded(email: string, hides = false): Promise<WatchedPage & { readonly file: KeyFile }> {
    const opened = await served.visit("/");
    if (hides) await hideEd25519(opened.page);
    return { ...opened, file: await becomeTrader(opened.page, served.stack, email) };
  }

  for (const [algorithm, hides] of [
    ["Ed25519", false],
    ["P-256", true],
  ] as const) {
    it(`take a visitor from the registration to a funded subaccount with ${algorithm}`, async () => {
      const { file, ...opened } = await funded(`${algorithm.toLowerCase()}@example.com`, hides);
      expect(file.name).to.equal("overround-management.pem");
      expect(file.buffer.toString()).to.match(/^-----BEGIN PRIVATE KEY-----\n/);
      const live = opened.page.getByRole("region", { name: "Live keys" });
      expect(await live.getByRole("cell", { name: algorithm, exact: true }).count()).to.equal(2);
      await expectSound(opened);
    });
  }

  it("of Web move to another browser, which says so before it does", async () => {
    const email = "mover@example.com";
    const first = await funded(email);
    const second = await served.visit("/");
    await signIn(second.page, email, "/keys");
    await second.page.getByRole("cell", { name: "another browser" }).waitFor();
    await second.page.getByText("Moving it here revokes that key").waitFor();
    await second.page.getByRole("button", { name: "Move the key to this browser" }).click();
    await second.page.getByRole("cell", { name: "this browser" }).waitFor();
    await first.page.reload();
    await first.page.getByRole("cell", { name: "another browser" }).waitFor();
    await expectSound(second);
  });

  it("refuse the file of another key, more money than there is, and a subaccount that is not empty", async () => {
    const { page, problems, file } = await funded("careful@example.com");
    await page.getByRole("button", { name: "Open a subaccount for a program" }).click();
    await page.getByLabel("Name of the subaccount").fill("bot");
    await page.getByRole("dialog").getByRole("button", { name: "Open the subaccount" }).click();
    const botFile = await saveKey(page);
    await moveMoney(page, "5", botFile);
    await page.getByText(/holds the trading key "bot".*Choose the file of the management key/i).waitFor();
    await page.getByLabel("File of the management key").setInputFiles(file);
    await page.getByLabel("Amount in dollars").fill("500");
    await page.getByRole("dialog").getByRole("button", { name: "Move money" }).click();
    await page.getByText("Your account has $74.50 available").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Close: Web" }).click();
    await page.getByRole("button", { name: "Close the subaccount for ever" }).click();
    await page.getByText("SUBACCOUNT_NOT_EMPTY").waitFor();
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("button", { name: "Close: bot" }).click();
    await page.getByRole("button", { name: "Close the subaccount for ever" }).click();
    await page.getByRole("cell", { name: "bot", exact: true }).first().waitFor({ state: "detached" });
    expect(problems).to.deep.equal([]);
  });

  it("are revoked after the page has said what stops working, and a pasted public key takes their place", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await register(page, "paster@example.com");
    await makeManagementKey(page);
    await page.getByRole("button", { name: "Revoke management" }).click();
    await page.getByText("Nobody can then move money").waitFor();
    await expectSound(opened);
    await page.getByRole("button", { name: "Revoke the key for ever" }).click();
    await page.getByText("No keys yet").waitFor();
    await page.getByRole("button", { name: "Make a management key" }).click();
    await page.getByLabel("Key", { exact: true }).selectOption("elsewhere");
    await page.getByLabel("Public key").fill("-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByText("This is a private key").waitFor();
    const pem = await page.evaluate(async () => {
      const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
      const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
      return `-----BEGIN PUBLIC KEY-----\n${btoa(String.fromCharCode(...spki))}\n-----END PUBLIC KEY-----`;
    });
    await page.getByLabel("Public key").fill(pem);
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByRole("cell", { name: "management" }).first().waitFor();
    await expectSound(opened);
  });

  it("are made once, and money moves once, when the answers are lost and the clock of the device is wrong", async () => {
    const email = "unlucky@example.com";
    const opened = await served.visit("/");
    const { page } = opened;
    await page.clock.install({ time: Date.now() + 600_000 });
    await register(page, email);
    await checkIn(page);
    await welcome(served.stack, email, "100");
    const lost = { keys: 0, transfer: 0 };
    for (const name of ["keys", "transfer"] as const)
      await page.route(`**/${name}`, async (route) => {
        const isCounted = route.request().method() === "POST" && lost[name] === 0;
        const response = await route.fetch();
        if (!isCounted) return route.fulfill({ response });
        lost[name] += 1;
        return route.abort();
      });
    const file = await makeManagementKey(page);
    await page.getByRole("button", { name: "Open Web" }).click();
    await page.getByRole("cell", { name: "this browser" }).waitFor();
    await moveMoney(page, "40", file);
    await page.clock.runFor(5_000);
    await page.getByText("$40.00 moved into Web").waitFor();
    expect(lost).to.deep.equal({ keys: 1, transfer: 1 });
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByRole("cell", { name: "$40.00" }).waitFor();
    await page.goto("/account");
    await page.getByText("$60.00", { exact: true }).waitFor();
    await expectSound(opened);
  });

  it("are offered once: Back asks before it leaves the offer, and Forward does not show it again", async () => {
    const { page, problems } = await served.visit("/");
    await register(page, "returner@example.com");
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByRole("button", { name: "Make a management key" }).click();
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByText("Save the file of this key now").waitFor();
    const file = (await page.getByRole("link", { name: /\.pem$/ }).getAttribute("href")) ?? "";
    expect(file).to.match(/^blob:/);
    await expectGoneAfterBack(page, file);
    await page.getByText("Its file signs transfers on this page").waitFor();
    await page.getByRole("button", { name: "Revoke management" }).click();
    await page.getByRole("button", { name: "Revoke the key for ever" }).click();
    await page.getByText("No keys yet").waitFor();
    // A browser that keeps the document for Back hides it, and shows it again without loading it.
    await page.getByRole("button", { name: "Make a management key" }).click();
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByText("Save the file of this key now").waitFor();
    for (const moment of ["pagehide", "pageshow"])
      await page.evaluate(
        (type) => window.dispatchEvent(new PageTransitionEvent(type, { persisted: true })),
        moment,
      );
    await page.getByText("Its file signs transfers on this page").waitFor();
    expect(await page.getByText("Save the file of this key now").count()).to.equal(0);
    expect(problems).to.deep.equal([]);
  });

  it("are not lost by Escape or a release, and without HTTPS the page says why it makes none", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await register(page, "hasty@example.com");
    await page.goto("/keys");
    await page.getByRole("button", { name: "Make a management key" }).click();
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByText("Save the file of this key now").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    // A new release reloads a page that is shown again, unless something on it is unfinished.
    await page.route("**/release.json", (route) => route.fulfill({ json: { release: "another" } }));
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.waitForTimeout(500);
    await page.unroute("**/release.json");
    await saveKey(page);
    await page.getByText("Its file signs transfers on this page").waitFor();

    await page.addInitScript({
      content: `Object.defineProperty(window, "isSecureContext", { value: false })`,
    });
    await page.reload();
    await page.getByText(/over HTTPS and on localhost only.*Open it under an https:/).waitFor();
    await page.getByRole("button", { name: "Open a subaccount for a program" }).click();
    await page.getByLabel("Key", { exact: true }).selectOption("here");
    await expectSound(opened);
  });
});

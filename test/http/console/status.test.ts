import { expect } from "chai";
import type { Page } from "playwright-core";
import { expectSound, serveConsole } from "../../support/console/browser.js";
import { startProxy, type Proxy } from "../../support/proxy.js";
import { until } from "../../support/until.js";
import { bearerCalls } from "../calls.js";

const NARROW = { viewport: { width: 360, height: 740 } };

describe("the status page", function () {
  this.timeout(60_000);
  let redis: Proxy | undefined;
  let postgres: Proxy | undefined;
  const served = serveConsole({
    via: {
      redis: async (url) => (redis = await startProxy(url)).url,
      database: async (url) => (postgres = await startProxy(url)).url,
    },
  });

  before(async () => {
    const operator = bearerCalls(served.stack.url, await served.stack.operatorToken());
    for (const change of [
      { title: "New leagues", body: "Two more leagues.", effectiveTs: 1_700_000_000_000 },
      { title: "An hour of maintenance", body: "No trading.", effectiveTs: 4_000_000_000_000 },
    ])
      expect((await operator("POST /admin/v1/changelog", change)).status).to.equal(201);
    // The announcements are known to the gateway before its Postgres goes away.
    await until(
      async () => (await fetch(`${served.stack.url}/v3/public/status`)).text(),
      (text) => text.includes("An hour") && text.includes('"UP"'),
    );
  });
  after(async () => {
    redis?.heal();
    postgres?.heal();
    await redis?.close();
    await postgres?.close();
  });

  const says = (page: Page, heading: string): Promise<void> =>
    page.locator(".status-heading", { hasText: heading }).waitFor({ timeout: 15_000 });
  const row = (page: Page, name: string): Promise<string> => page.getByRole("row", { name }).innerText();

  it("says that everything works, what is planned and what has changed", async () => {
    const opened = await served.visit("/status", NARROW);
    await says(opened.page, "Everything works");
    const titles = await opened.page.getByRole("heading").allInnerTexts();
    expect(titles).to.deep.equal(["Status", "Planned", "An hour of maintenance", "Changes", "New leagues"]);
    const { scrollWidth, clientWidth } = await opened.page.evaluate(() => document.documentElement);
    expect(scrollWidth).to.equal(clientWidth);
    await expectSound(opened);
  });

  it("opens without Postgres, and shows the announcements that are known", async () => {
    postgres?.cut();
    try {
      const opened = await served.visit("/status");
      await says(opened.page, "Some things do not work");
      expect(await row(opened.page, "Trading")).to.contain("Open");
      expect(await row(opened.page, "Lists and history")).to.contain("Away");
      await opened.page.getByRole("heading", { name: "An hour of maintenance" }).waitFor();
      await expectSound(opened);
    } finally {
      postgres?.heal();
    }
  });

  it("opens without Redis, and says by itself when trading goes on", async () => {
    redis?.cut();
    try {
      const opened = await served.visit("/status");
      await says(opened.page, "Trading is interrupted");
      expect(await row(opened.page, "Trading")).to.contain("Closed");
      await expectSound(opened);
      redis?.heal();
      await says(opened.page, "Everything works");
    } finally {
      redis?.heal();
    }
  });

  it("keeps what was known while the service cannot be reached", async () => {
    const opened = await served.visit("/status");
    await says(opened.page, "Everything works");
    await opened.page.context().setOffline(true);
    await opened.page.getByText("UNREACHABLE").waitFor({ timeout: 15_000 });
    await opened.page
      .getByText(/^The status cannot be read, .* money stay as they are, .* try again/)
      .waitFor();
    await says(opened.page, "Everything works");
    await expectSound(opened);
    await opened.page.context().setOffline(false);
    await opened.page.getByText("UNREACHABLE").waitFor({ state: "detached", timeout: 15_000 });
  });
});

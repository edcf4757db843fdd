import { expect } from "chai";
import { expectSound, serveConsole } from "../../support/console/browser.js";

describe("shell of the console", () => {
  const served = serveConsole();

  it("answers a visitor at /, on a narrow page too", async () => {
    const opened = await served.visit("/", { viewport: { width: 360, height: 740 } });
    await opened.page.getByRole("link", { name: "Overround" }).waitFor();
    const { scrollWidth, clientWidth } = await opened.page.evaluate(() => {
      const { documentElement: root } = document;
      return { scrollWidth: root.scrollWidth, clientWidth: root.clientWidth };
    });
    expect(scrollWidth).to.be.at.most(clientWidth);
    await expectSound(opened);
  });

  it("serves the files of the pages for a year, and the document anew each time", async () => {
    const { url } = served.stack;
    const page = await fetch(url);
    expect(page.headers.get("cache-control")).to.equal("no-cache");
    expect(page.headers.get("content-security-policy")).to.contain("script-src 'self'");
    const html = await page.text();
    const script = /src="(\/assets\/[^"]+)"/.exec(html)?.[1];
    const asset = await fetch(`${url}${script}`);
    expect(asset.headers.get("cache-control")).to.contain("immutable");
    expect(asset.headers.get("content-encoding")).to.equal("gzip");
    const release = (await (await fetch(`${url}/release.json`)).json()) as { release: string };
    expect(html).to.contain(`name="overround-release" content="${release.release}"`);
    expect((await fetch(`${url}/assets/none.js`)).status).to.equal(404);
  });
});
